"""``QuantStub`` and ``DeQuantStub``: where the quantised part of a model begins and ends."""

from __future__ import annotations

from weft.nn.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper", "add_quant_dequant"]


class _Stub(Module):
    """Passes numbers on, and may have settings of its own."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class QuantStub(_Stub):
    """Where numbers become quantised: passes them on until the model is converted.

    Args:
        qconfig: what observes them (default: that of the model).

    >>> weft.quantization.QuantStub()(weft.ones(1))
    tensor([1.])
    """


class DeQuantStub(_Stub):
    """Where numbers leave the quantised part.

    Args:
        qconfig: as for ``QuantStub``.

    >>> weft.quantization.DeQuantStub()(weft.ones(1))
    tensor([1.])
    """


class QuantWrapper(Module):
    """A module between a ``QuantStub`` and a ``DeQuantStub``.

    Args:
        module: the module.

    >>> weft.quantization.QuantWrapper(weft.nn.Linear(2, 3))(weft.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.quant, self.dequant = QuantStub(qconfig), DeQuantStub(qconfig)
        self.module = module
        self.train(module.training)

    def forward(self, X: Tensor) -> Tensor:
        return self.dequant(self.module(self.quant(X)))


def add_quant_dequant(module: Module) -> Module:
    """Return a module with a ``QuantWrapper`` around all leaves that have a ``qconfig``.

    >>> layer = weft.nn.Linear(2, 3)
    >>> layer.qconfig = weft.quantization.default_qconfig
    >>> type(weft.quantization.add_quant_dequant(layer)).__name__
    'QuantWrapper'
    """
    children = list(module.named_children())
    if not children and getattr(module, "qconfig", None) is not None:
        return QuantWrapper(module)
    for name, child in children:
        setattr(module, name, add_quant_dequant(child))
    return module
