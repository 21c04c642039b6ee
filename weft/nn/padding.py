"""More elements around the last dimensions."""

from __future__ import annotations

from weft.nn import functional as F
from weft.nn.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


def _sides(padding: int | Sequence[int], dims: int) -> tuple[int, ...]:
    """Return one number for each side of each dimension, the last dimension first."""
    return (padding,) * (2 * dims) if isinstance(padding, int) else tuple(padding)


class _PadNd(Module):
    """What these modules share: how much to add, and by which rule."""

    dims = 0
    mode = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _sides(padding, self.dims)

    def _check(self, input: Tensor) -> None:
        """For subclasses that allow only some numbers of dimensions."""

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    value: float

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Adds a number at the ends of the last dimension.

    >>> weft.nn.ConstantPad1d(1, 7.0)(weft.zeros(1, 2))
    tensor([[7., 0., 0., 7.]])
    """

    dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Adds a number around the last two dimensions.

    >>> weft.nn.ConstantPad2d(1, 7.0)(weft.zeros(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Adds a number around the last three dimensions.

    >>> weft.nn.ConstantPad3d(1, 7.0)(weft.zeros(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    dims = 3


class _ZeroPad(_ConstantPadNd):
    """Padding with zeros: only how much is to be said."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Adds zeros at the ends of the last dimension.

    >>> weft.nn.ZeroPad1d((1, 0))(weft.ones(1, 2))
    tensor([[0., 1., 1.]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Adds zeros around the last two dimensions.

    >>> weft.nn.ZeroPad2d(1)(weft.ones(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Adds zeros around the last three dimensions.

    >>> weft.nn.ZeroPad3d(1)(weft.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """


class _ReflectionPadNd(_PadNd):
    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Adds the mirror image of the last dimension, without its end.

    >>> weft.nn.ReflectionPad1d(2)(weft.arange(3.0).reshape(1, 3))
    tensor([[2., 1., 0., 1., 2., 1., 0.]])
    """

    dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Adds the mirror image around the last two dimensions.

    >>> weft.nn.ReflectionPad2d(1)(weft.ones(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Adds the mirror image around the last three dimensions.

    >>> weft.nn.ReflectionPad3d(1)(weft.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    dims = 3


class _ReplicationPadNd(_PadNd):
    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Adds copies of the ends of the last dimension.

    >>> weft.nn.ReplicationPad1d(2)(weft.arange(3.0).reshape(1, 3))
    tensor([[0., 0., 0., 1., 2., 2., 2.]])
    """

    dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Adds copies of the edges of the last two dimensions.

    >>> weft.nn.ReplicationPad2d(1)(weft.ones(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Adds copies of the faces of the last three dimensions.

    >>> weft.nn.ReplicationPad3d(1)(weft.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    dims = 3


class _CircularPadNd(_PadNd):
    mode = "circular"

    def _check(self, input: Tensor) -> None:
        if input.dim() not in (self.dims + 1, self.dims + 2):
            raise ValueError(
                f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.dim()}D input)"
            )


class CircularPad1d(_CircularPadNd):
    """Continues the last dimension at its other end.

    >>> weft.nn.CircularPad1d(1)(weft.arange(3.0).reshape(1, 3))
    tensor([[2., 0., 1., 2., 0.]])
    """

    dims = 1


class CircularPad2d(_CircularPadNd):
    """Continues the last two dimensions at their other ends.

    >>> weft.nn.CircularPad2d(1)(weft.ones(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    dims = 2


class CircularPad3d(_CircularPadNd):
    """Continues the last three dimensions at their other ends.

    >>> weft.nn.CircularPad3d(1)(weft.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    dims = 3
