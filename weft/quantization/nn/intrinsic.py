"""Layers that follow each other and are quantised as one."""

from __future__ import annotations

from weft.nn import activation, batchnorm, conv, linear
from weft.nn.container import Sequential

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "ConvBn1d",
    "ConvBn2d",
    "ConvBn3d",
    "ConvBnReLU1d",
    "ConvBnReLU2d",
    "ConvBnReLU3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "LinearReLU",
]


class Fused(Sequential):
    """Layers of the classes that a subclass names, one behind the other."""

    _kinds: tuple[Any, ...] = ()

    def __init__(self, *layers: Any) -> None:
        kinds = tuple(type(layer) for layer in layers)
        if len(kinds) != len(self._kinds) or not all(map(issubclass, kinds, self._kinds)):
            wanted = ", ".join(kind.__name__ for kind in self._kinds)
            got = ", ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"{type(self).__name__}: expected layers {wanted}, got {got}")
        super().__init__(*layers)


class LinearReLU(Fused):
    """A linear layer and a ReLU.

    >>> weft.quantization.nn.intrinsic.LinearReLU(weft.nn.Linear(2, 3), weft.nn.ReLU())[0].bias.shape
    torch.Size([3])
    """

    _kinds = (linear.Linear, activation.ReLU)


class ConvReLU1d(Fused):
    """A convolution over sequences and a ReLU.

    >>> len(weft.quantization.nn.intrinsic.ConvReLU1d(weft.nn.Conv1d(1, 2, 3), weft.nn.ReLU()))
    2
    """

    _kinds = (conv.Conv1d, activation.ReLU)


class ConvReLU2d(Fused):
    """A convolution over images and a ReLU.

    >>> len(weft.quantization.nn.intrinsic.ConvReLU2d(weft.nn.Conv2d(1, 2, 3), weft.nn.ReLU()))
    2
    """

    _kinds = (conv.Conv2d, activation.ReLU)


class ConvReLU3d(Fused):
    """A convolution over volumes and a ReLU.

    >>> len(weft.quantization.nn.intrinsic.ConvReLU3d(weft.nn.Conv3d(1, 2, 3), weft.nn.ReLU()))
    2
    """

    _kinds = (conv.Conv3d, activation.ReLU)


class ConvBn1d(Fused):
    """A convolution over sequences and a batch norm, which learn together.

    >>> n = weft.nn
    >>> len(weft.quantization.nn.intrinsic.ConvBn1d(n.Conv1d(1, 2, 3), n.BatchNorm1d(2)))
    2
    """

    _kinds = (conv.Conv1d, batchnorm.BatchNorm1d)


class ConvBn2d(Fused):
    """A convolution over images and a batch norm, which learn together.

    >>> n = weft.nn
    >>> len(weft.quantization.nn.intrinsic.ConvBn2d(n.Conv2d(1, 2, 3), n.BatchNorm2d(2)))
    2
    """

    _kinds = (conv.Conv2d, batchnorm.BatchNorm2d)


class ConvBn3d(Fused):
    """A convolution over volumes and a batch norm, which learn together.

    >>> n = weft.nn
    >>> len(weft.quantization.nn.intrinsic.ConvBn3d(n.Conv3d(1, 2, 3), n.BatchNorm3d(2)))
    2
    """

    _kinds = (conv.Conv3d, batchnorm.BatchNorm3d)


class ConvBnReLU1d(Fused):
    """A convolution over sequences, a batch norm and a ReLU, which learn together.

    >>> n = weft.nn
    >>> layers = n.Conv1d(1, 2, 3), n.BatchNorm1d(2), n.ReLU()
    >>> len(weft.quantization.nn.intrinsic.ConvBnReLU1d(*layers))
    3
    """

    _kinds = (conv.Conv1d, batchnorm.BatchNorm1d, activation.ReLU)


class ConvBnReLU2d(Fused):
    """A convolution over images, a batch norm and a ReLU, which learn together.

    >>> n = weft.nn
    >>> layers = n.Conv2d(1, 2, 3), n.BatchNorm2d(2), n.ReLU()
    >>> len(weft.quantization.nn.intrinsic.ConvBnReLU2d(*layers))
    3
    """

    _kinds = (conv.Conv2d, batchnorm.BatchNorm2d, activation.ReLU)


class ConvBnReLU3d(Fused):
    """A convolution over volumes, a batch norm and a ReLU, which learn together.

    >>> n = weft.nn
    >>> layers = n.Conv3d(1, 2, 3), n.BatchNorm3d(2), n.ReLU()
    >>> len(weft.quantization.nn.intrinsic.ConvBnReLU3d(*layers))
    3
    """

    _kinds = (conv.Conv3d, batchnorm.BatchNorm3d, activation.ReLU)
