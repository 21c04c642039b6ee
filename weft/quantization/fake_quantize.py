"""Fake quantisation for training: forward rounds as int8 does, backward does not."""

from __future__ import annotations

import weft
from weft import Tensor
from weft.nn.module import Module
from weft.quantization.kinds import (
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint8,
)
from weft.quantization.observer import (
    Maker,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "FakeQuantize",
    "FakeQuantizeBase",
    "default_fake_quant",
    "default_per_channel_weight_fake_quant",
    "default_weight_fake_quant",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
]


class FakeQuantizeBase(Module):
    """What such modules share: two switches, for watching and for rounding.

    >>> weft.quantization.FakeQuantize().fake_quant_enabled
    tensor([1], dtype=torch.uint8)
    """

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", weft.tensor([1], dtype=weft.uint8))
        self.register_buffer("observer_enabled", weft.tensor([1], dtype=weft.uint8))

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round, or do not."""
        self.fake_quant_enabled[0] = int(enabled)

    def disable_fake_quant(self) -> None:
        """Let numbers pass as they are."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Go on watching, or stop."""
        self.observer_enabled[0] = int(enabled)

    def disable_observer(self) -> None:
        """Keep the grid as it is."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> Maker:
        """Return what makes such modules with these arguments."""
        return Maker(cls, **kwargs)


class FakeQuantize(FakeQuantizeBase):
    """Watches numbers and rounds them to the grid that suits, with straight-through gradients.

    Args:
        observer: the class of the observer.
        quant_min: the lowest integer of the grid.
        quant_max: the highest one.
        observer_kwargs: further arguments of the observer.

    >>> f = weft.quantization.FakeQuantize(dtype=weft.quint8)
    >>> f(weft.tensor([0.0, 0.1, 25.5])), f.scale
    (tensor([ 0.0000,  0.1000, 25.5000]), tensor([0.1000]))
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None or quant_max is not None:
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        self.activation_post_process = observer(**observer_kwargs)
        watching = self.activation_post_process
        self.quant_min, self.quant_max = watching.quant_min, watching.quant_max
        self.dtype, self.qscheme = watching.dtype, watching.qscheme
        self.ch_axis = getattr(watching, "ch_axis", -1)
        self.register_buffer("scale", weft.tensor([1.0]))
        self.register_buffer("zero_point", weft.tensor([0]))

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Return scale and zero point of the grid."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        if self.observer_enabled[0]:
            self.activation_post_process(X.detach())
            self.scale, self.zero_point = self.calculate_qparams()
        if not self.fake_quant_enabled[0]:
            return X
        bounds = self.quant_min, self.quant_max
        if self.qscheme.per_channel:
            grid = self.scale, self.zero_point, self.ch_axis
            return weft.fake_quantize_per_channel_affine(X, *grid, *bounds)
        return weft.fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, *bounds)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name in ("scale", "zero_point"):  # these may have one element per channel
            value = state_dict.get(prefix + name)
            if isinstance(value, Tensor):
                setattr(self, name, value.detach().clone())
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def extra_repr(self) -> str:
        return (
            f"quant_min={self.quant_min}, quant_max={self.quant_max}, dtype={self.dtype}, "
            f"qscheme={self.qscheme}"
        )


default_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=0,
    quant_max=255,
    dtype=quint8,
    qscheme=per_tensor_affine,
)
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=qint8,
    qscheme=per_tensor_symmetric,
)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=qint8,
    qscheme=per_channel_symmetric,
    ch_axis=0,
)


def enable_fake_quant(mod: Module) -> None:
    """Let a module round; for ``model.apply``.

    >>> f = weft.quantization.FakeQuantize()
    >>> weft.quantization.disable_fake_quant(f), weft.quantization.enable_fake_quant(f)
    (None, None)
    >>> f.fake_quant_enabled.item()
    1
    """
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_fake_quant(mod: Module) -> None:
    """Let a module pass numbers as they are; for ``model.apply``.

    >>> f = weft.quantization.FakeQuantize().apply(weft.quantization.disable_fake_quant)
    >>> f.fake_quant_enabled.item()
    0
    """
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_observer(mod: Module) -> None:
    """Let a module watch; for ``model.apply``.

    >>> f = weft.quantization.FakeQuantize().apply(weft.quantization.enable_observer)
    >>> f.observer_enabled.item()
    1
    """
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()


def disable_observer(mod: Module) -> None:
    """Let a module keep its grid; for ``model.apply``.

    >>> f = weft.quantization.FakeQuantize().apply(weft.quantization.disable_observer)
    >>> f.observer_enabled.item()
    0
    """
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()
