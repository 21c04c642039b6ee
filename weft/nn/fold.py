"""Windows of images as columns, and back."""

from __future__ import annotations

from weft.nn import functional as F
from weft.nn.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

    Ints = int | tuple[int, ...]

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Adds columns up into images where their windows overlap.

    Args:
        output_size: the size of the images.
        kernel_size: size of a window.
        dilation: distance of the elements of a window.
        padding: what is cut off at the borders.
        stride: distance of windows.

    >>> weft.nn.Fold((4, 5), (2, 2))(weft.randn(1, 12, 12)).shape
    torch.Size([1, 3, 4, 5])
    """

    def __init__(
        self,
        output_size: Ints,
        kernel_size: Ints,
        dilation: Ints = 1,
        padding: Ints = 0,
        stride: Ints = 1,
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """Returns the windows of images as columns.

    Args:
        kernel_size: size of a window.
        dilation: distance of the elements of a window.
        padding: zeros added at the borders.
        stride: distance of windows.

    >>> weft.nn.Unfold((2, 3))(weft.randn(2, 5, 3, 4)).shape
    torch.Size([2, 30, 4])
    """

    def __init__(
        self, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
    ) -> None:
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )
