"""Pooling layers."""

from __future__ import annotations

from weft.nn import functional as F
from weft.nn.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

    Ints = int | tuple[int, ...]

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


def _tuple(value: Any, n: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * n


class _MaxPoolNd(Module):
    _function: Any = None

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.padding, self.dilation = kernel_size, padding, dilation
        self.stride = stride if stride is not None else kernel_size
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Keeps the largest element of every window of a sequence.

    Args:
        kernel_size: size of a window.
        stride: distance of windows (default: their size).
        padding: elements added at the borders; they are never the largest.
        dilation: distance of the elements of a window.
        return_indices: whether to return the places of the maxima too.
        ceil_mode: whether the last window may stick out.

    >>> weft.nn.MaxPool1d(2)(weft.tensor([[1.0, 3.0, 2.0, 4.0]]))
    tensor([[3., 4.]])
    """

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """Keeps the largest element of every window of an image. See ``MaxPool1d``.

    >>> weft.nn.MaxPool2d(3, stride=2)(weft.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 15])
    """

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """Keeps the largest element of every window of a volume. See ``MaxPool1d``.

    >>> weft.nn.MaxPool3d(2)(weft.randn(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    _function = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    _n = 0
    _function: Any = None

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None:
        super().__init__()
        self.kernel_size = _tuple(kernel_size, self._n)
        self.stride = _tuple(stride if stride is not None else kernel_size, self._n)
        self.padding = _tuple(padding, self._n)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return type(self)._function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts maxima back where ``MaxPool1d`` found them, zeros elsewhere.

    Args:
        kernel_size: size of a window.
        stride: distance of windows (default: their size).
        padding: what was added at the borders.

    >>> y, at = weft.nn.MaxPool1d(2, return_indices=True)(weft.tensor([[1.0, 3.0]]))
    >>> weft.nn.MaxUnpool1d(2)(y, at)
    tensor([[0., 3.]])
    """

    _n, _function = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts maxima back where ``MaxPool2d`` found them. See ``MaxUnpool1d``.

    >>> y, at = weft.nn.MaxPool2d(2, return_indices=True)(weft.randn(1, 4, 4))
    >>> weft.nn.MaxUnpool2d(2)(y, at).shape
    torch.Size([1, 4, 4])
    """

    _n, _function = 2, staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts maxima back where ``MaxPool3d`` found them. See ``MaxUnpool1d``.

    >>> y, at = weft.nn.MaxPool3d(2, return_indices=True)(weft.randn(1, 4, 4, 4))
    >>> weft.nn.MaxUnpool3d(2)(y, at).shape
    torch.Size([1, 4, 4, 4])
    """

    _n, _function = 3, staticmethod(F.max_unpool3d)


class _AvgPoolNd(Module):
    _function: Any = None

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = stride if stride is not None else kernel_size
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """Takes the mean of every window of a sequence.

    Args:
        kernel_size: size of a window.
        stride: distance of windows (default: their size).
        padding: zeros added at the borders.
        ceil_mode: whether the last window may stick out.
        count_include_pad: whether these zeros count in the mean.

    >>> weft.nn.AvgPool1d(2)(weft.tensor([[1.0, 3.0, 2.0, 4.0]]))
    tensor([[2., 3.]])
    """

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        size = _tuple(kernel_size, 1)
        stride = _tuple(stride, 1) if stride is not None else size
        super().__init__(size, stride, _tuple(padding, 1), ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad,
        )  # fmt: skip


class AvgPool2d(_AvgPoolNd):
    """Takes the mean of every window of an image.

    Args:
        kernel_size: size of a window.
        stride: distance of windows (default: their size).
        padding: zeros added at the borders.
        ceil_mode: whether the last window may stick out.
        count_include_pad: whether these zeros count in the mean.
        divisor_override: divide the sum by this instead.

    >>> weft.nn.AvgPool2d(2)(weft.randn(1, 4, 4)).shape
    torch.Size([1, 2, 2])
    """

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """Takes the mean of every window of a volume. See ``AvgPool2d``.

    >>> weft.nn.AvgPool3d(2)(weft.randn(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    _function = staticmethod(F.avg_pool3d)


class _LPPoolNd(Module):
    _function: Any = None

    def __init__(
        self,
        norm_type: float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """Takes the p-norm of every window of a sequence.

    Args:
        norm_type: p.
        kernel_size: size of a window.
        stride: distance of windows (default: their size).
        ceil_mode: whether the last window may stick out.

    >>> weft.nn.LPPool1d(2, 2)(weft.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """Takes the p-norm of every window of an image. See ``LPPool1d``.

    >>> weft.nn.LPPool2d(2, 2)(weft.randn(1, 4, 4)).shape
    torch.Size([1, 2, 2])
    """

    _function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """Takes the p-norm of every window of a volume. See ``LPPool1d``.

    >>> weft.nn.LPPool3d(2, 2)(weft.randn(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    _function = staticmethod(F.lp_pool3d)


class _AdaptiveAvgPoolNd(Module):
    _function: Any = None

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Takes means of as many windows of a sequence as asked for.

    Args:
        output_size: the number of windows.

    >>> weft.nn.AdaptiveAvgPool1d(2)(weft.tensor([[1.0, 3.0, 2.0, 4.0]]))
    tensor([[2., 3.]])
    """

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Takes means of as many windows of an image as asked for; None keeps a size.

    >>> weft.nn.AdaptiveAvgPool2d((1, None))(weft.randn(1, 4, 3)).shape
    torch.Size([1, 1, 3])
    """

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Takes means of as many windows of a volume as asked for; None keeps a size.

    >>> weft.nn.AdaptiveAvgPool3d(1)(weft.randn(1, 4, 3, 2)).shape
    torch.Size([1, 1, 1, 1])
    """

    _function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(Module):
    _function: Any = None

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Keeps maxima of as many windows of a sequence as asked for.

    Args:
        output_size: the number of windows.
        return_indices: whether to return the places of the maxima too.

    >>> weft.nn.AdaptiveMaxPool1d(2)(weft.tensor([[1.0, 3.0, 2.0, 4.0]]))
    tensor([[3., 4.]])
    """

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Keeps maxima of as many windows of an image as asked for; None keeps a size.

    >>> weft.nn.AdaptiveMaxPool2d((1, None))(weft.randn(1, 4, 3)).shape
    torch.Size([1, 1, 3])
    """

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Keeps maxima of as many windows of a volume as asked for; None keeps a size.

    >>> weft.nn.AdaptiveMaxPool3d(1)(weft.randn(1, 4, 3, 2)).shape
    torch.Size([1, 1, 1, 1])
    """

    _function = staticmethod(F.adaptive_max_pool3d)


class _FractionalMaxPool(Module):
    _n = 0
    _function: Any = None

    def __init__(
        self,
        kernel_size: Ints,
        output_size: Ints | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        n = self._n
        self.kernel_size, self.return_indices = _tuple(kernel_size, n), return_indices
        self.output_size = None if output_size is None else _tuple(output_size, n)
        self.output_ratio = None if output_ratio is None else _tuple(output_ratio, n)
        self.register_buffer("_random_samples", _random_samples)
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPool):
    """Keeps maxima of windows of an image whose distances are drawn at random.

    Args:
        kernel_size: size of a window.
        output_size: the number of windows, or …
        output_ratio: … that number as a share of the size of the image.
        return_indices: whether to return the places of the maxima too.

    >>> weft.nn.FractionalMaxPool2d(2, output_size=3)(weft.randn(1, 5, 5)).shape
    torch.Size([1, 3, 3])
    """

    _n, _function = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """Keeps maxima of windows of a volume whose distances are drawn at random.

    Arguments are those of ``FractionalMaxPool2d``.

    >>> weft.nn.FractionalMaxPool3d(2, output_size=3)(weft.randn(1, 5, 5, 5)).shape
    torch.Size([1, 3, 3, 3])
    """

    _n, _function = 3, staticmethod(F.fractional_max_pool3d)
