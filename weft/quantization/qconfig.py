"""Which observers watch activations and weights."""

from __future__ import annotations

from typing import NamedTuple

import weft
from weft.quantization import fake_quantize as fake
from weft.quantization import observer as watch
from weft.quantization.histogram import HistogramObserver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "QConfig",
    "default_dynamic_qconfig",
    "default_per_channel_qconfig",
    "default_qat_qconfig",
    "default_qconfig",
    "float_qparams_weight_only_qconfig",
    "get_default_qat_qconfig",
    "get_default_qconfig",
    "per_channel_dynamic_qconfig",
]


class QConfig(NamedTuple):
    """What makes the observers of a layer's activations and of its weights.

    >>> weft.quantization.default_qconfig.weight().dtype
    torch.qint8
    """

    activation: Any
    weight: Any


def check_qconfig(qconfig: Any) -> None:
    """Raise if it holds observers instead of what makes them."""
    for name in ("activation", "weight"):
        if isinstance(getattr(qconfig, name, None), weft.nn.Module):
            raise ValueError(
                f"QConfig: {name} must be a class or with_args(...) of one, which makes an observer "
                "for each layer, got an observer"
            )


_default_weight = watch.default_per_channel_weight_observer

default_qconfig = QConfig(watch.default_observer, watch.default_weight_observer)
default_per_channel_qconfig = QConfig(watch.default_observer, _default_weight)
default_dynamic_qconfig = QConfig(watch.default_dynamic_quant_observer, _default_weight)
per_channel_dynamic_qconfig = QConfig(watch.default_dynamic_quant_observer, _default_weight)
float_qparams_weight_only_qconfig = QConfig(
    watch.PlaceholderObserver, watch.default_float_qparams_observer
)
default_qat_qconfig = QConfig(fake.default_fake_quant, fake.default_weight_fake_quant)

_BACKENDS = ("x86", "fbgemm", "onednn", "qnnpack")


def _check_backend(name: str, backend: str, version: int) -> None:
    if backend not in _BACKENDS:
        raise ValueError(f"{name}: backend must be one of {_BACKENDS}, got {backend!r}")
    if version not in (0, 1):
        raise ValueError(f"{name}: version must be 0 or 1, got {version}")


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """Return what watches with histograms, and one scale per channel of weights.

    For "x86" and "fbgemm" activations use 128 integers, as in PyTorch: CPUs without VNNI multiply these
    about a third faster. For "onednn" and "qnnpack" they use all 256. Products are exact either way.

    Args:
        backend: "x86", "fbgemm", "onednn" or "qnnpack" ("qnnpack": one scale for all weights).
        version: 0 or 1.

    >>> weft.quantization.get_default_qconfig("x86").weight().qscheme
    torch.per_channel_symmetric
    """
    _check_backend("get_default_qconfig", backend, version)
    weight = watch.default_weight_observer if backend == "qnnpack" else _default_weight
    return QConfig(HistogramObserver.with_args(reduce_range=backend in ("x86", "fbgemm")), weight)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """Return what rounds while a network learns.

    Args:
        backend: "x86", "fbgemm", "onednn" or "qnnpack" ("qnnpack": one scale for all weights).
        version: 0 or 1.

    >>> weft.quantization.get_default_qat_qconfig().activation().quant_max
    255
    """
    _check_backend("get_default_qat_qconfig", backend, version)
    by_channel = fake.default_per_channel_weight_fake_quant
    weight = fake.default_weight_fake_quant if backend == "qnnpack" else by_channel
    return QConfig(fake.default_fake_quant, weight)
