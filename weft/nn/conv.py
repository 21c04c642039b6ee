"""Convolutions."""

from __future__ import annotations

import math

import weft
from weft._environment import at_line
from weft.nn import functional as F
from weft.nn import init
from weft.nn.lazy import LazyModuleMixin
from weft.nn.module import Module
from weft.nn.parameter import Parameter, UninitializedParameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

    Ints = int | tuple[int, ...]

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

_MODES = ("zeros", "reflect", "replicate", "circular")


def _tuple(value: Any, n: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * n


class _ConvNd(Module):
    """What convolutions share: their settings, parameters and text."""

    weight: Any
    bias: Any
    _n = 0
    _function: Any = None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any,
        dilation: Any, transposed: bool, output_padding: Any, groups: int, bias: bool,
        padding_mode: str, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        n = self._n
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError(
                at_line(
                    f"{type(self).__name__}: in_channels must be divisible by groups, "
                    f"got {in_channels} and {groups}"
                )
            )
        if out_channels % groups:
            raise ValueError(
                at_line(
                    f"{type(self).__name__}: out_channels must be divisible by groups, "
                    f"got {out_channels} and {groups}"
                )
            )
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {set(_MODES)}, but got {padding_mode!r}")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}"
                )
            if padding == "same" and any(s != 1 for s in _tuple(stride, n)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = _tuple(kernel_size, n), _tuple(stride, n)
        self.padding = padding if isinstance(padding, str) else _tuple(padding, n)
        self.dilation, self.transposed = _tuple(dilation, n), transposed
        self.output_padding, self.groups = _tuple(output_padding, n), groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._borders()
        sizes = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (sizes[0], sizes[1] // groups, *self.kernel_size)
        self.weight = Parameter(weft.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(weft.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _borders(self) -> list[int]:
        """Return what ``F.pad`` needs to pad in other ways than with zeros."""
        if not isinstance(self.padding, str):
            return [p for p in reversed(self.padding) for _ in range(2)]
        borders: list[int] = []
        for d, k in zip(reversed(self.dilation), reversed(self.kernel_size)):
            total = d * (k - 1) if self.padding == "same" else 0
            borders += [total // 2, total - total // 2]
        return borders

    def reset_parameters(self) -> None:
        """Draw the parameters anew, evenly between ±1/sqrt(fan in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        n = len(self.kernel_size)
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0,) * n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    """A convolution, of as many dimensions as its subclass says."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints | str = 0,
        dilation: Ints = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups,
            bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return type(self)._function(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Slides weights over sequences: (N, C, L) becomes (N, out_channels, windows).

    Args:
        in_channels: channels C of the input.
        out_channels: channels of the result.
        kernel_size: length of a window.
        stride: distance of windows.
        padding: elements added at both ends, or "same" or "valid".
        dilation: distance of the elements of a window.
        groups: cuts the channels into parts that do not see each other.
        bias: whether a number is added to each channel.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.Conv1d(16, 33, 3, stride=2)(weft.randn(20, 16, 50)).shape
    torch.Size([20, 33, 24])
    """

    _n, _function = 1, staticmethod(F.conv1d)


class Conv2d(_Conv):
    """Slides weights over images: (N, C, H, W) becomes (N, out_channels, windows…).

    Args:
        in_channels: channels C of the input.
        out_channels: channels of the result.
        kernel_size: size of a window.
        stride: distance of windows.
        padding: elements added on all sides, or "same" or "valid".
        dilation: distance of the elements of a window.
        groups: cuts the channels into parts that do not see each other.
        bias: whether a number is added to each channel.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.Conv2d(3, 8, 3, padding=1)(weft.randn(2, 3, 5, 5)).shape
    torch.Size([2, 8, 5, 5])
    """

    _n, _function = 2, staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Slides weights over volumes: (N, C, D, H, W) becomes (N, out_channels, windows…).

    Args:
        in_channels: channels C of the input.
        out_channels: channels of the result.
        kernel_size: size of a window.
        stride: distance of windows.
        padding: elements added on all sides, or "same" or "valid".
        dilation: distance of the elements of a window.
        groups: cuts the channels into parts that do not see each other.
        bias: whether a number is added to each channel.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.Conv3d(1, 2, 2)(weft.randn(1, 1, 3, 3, 3)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _n, _function = 3, staticmethod(F.conv3d)


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution, of as many dimensions as its subclass says."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Ints = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """Return what makes the result as large as asked for."""
        if output_size is None:
            return self.output_padding
        n, sizes = self._n, list(output_size)
        if len(sizes) == input.ndim:
            sizes = sizes[input.ndim - n :]
        if len(sizes) != n:
            raise ValueError(
                f"{type(self).__name__}: for {input.ndim}D input, output_size must have {n} or "
                f"{input.ndim} elements (got {len(sizes)})"
            )
        extra = []
        for k, size in enumerate(sizes):
            least = (
                (input.shape[input.ndim - n + k] - 1) * self.stride[k]
                - 2 * self.padding[k]
                + self.dilation[k] * (self.kernel_size[k] - 1)
                + 1
            )
            if not least <= size <= least + self.stride[k] - 1:
                raise ValueError(
                    f"requested an output size of {sizes}, but valid sizes in dimension {k} are "
                    f"from {least} to {least + self.stride[k] - 1}"
                )
            extra.append(size - least)
        return tuple(extra)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return type(self)._function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
            self.dilation,
        )  # fmt: skip


class ConvTranspose1d(_ConvTransposeNd):
    """Adds a kernel for every element of a sequence: the adjoint of ``Conv1d``.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: length of a kernel.
        stride: distance of kernels.
        padding: elements cut off at both ends.
        output_padding: elements added behind.
        groups: cuts the channels into parts that do not see each other.
        bias: whether a number is added to each channel.
        dilation: distance of the elements of a kernel.
        padding_mode: "zeros".
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.ConvTranspose1d(2, 3, 3, stride=2)(weft.randn(1, 2, 4)).shape
    torch.Size([1, 3, 9])
    """

    _n, _function = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """Adds a kernel for every element of an image: the adjoint of ``Conv2d``.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: size of a kernel.
        stride: distance of kernels.
        padding: elements cut off on all sides.
        output_padding: elements added behind.
        groups: cuts the channels into parts that do not see each other.
        bias: whether a number is added to each channel.
        dilation: distance of the elements of a kernel.
        padding_mode: "zeros".
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.ConvTranspose2d(2, 3, 3, stride=2)(weft.randn(1, 2, 4, 4)).shape
    torch.Size([1, 3, 9, 9])
    """

    _n, _function = 2, staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """Adds a kernel for every element of a volume: the adjoint of ``Conv3d``.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: size of a kernel.
        stride: distance of kernels.
        padding: elements cut off on all sides.
        output_padding: elements added behind.
        groups: cuts the channels into parts that do not see each other.
        bias: whether a number is added to each channel.
        dilation: distance of the elements of a kernel.
        padding_mode: "zeros".
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.ConvTranspose3d(1, 1, 2)(weft.randn(1, 1, 2, 2, 2)).shape
    torch.Size([1, 1, 3, 3, 3])
    """

    _n, _function = 3, staticmethod(F.conv_transpose3d)


# ---- channels from the first batch ---------------------------------------------------------------


class _LazyConvMixin(LazyModuleMixin):
    """Takes ``in_channels`` from the first batch."""

    def _make_lazy(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        me: Any = self
        me.out_channels = out_channels
        me.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            me.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters anew, once there are any."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take the channels from the first batch."""
        me: Any = self
        if not self.has_uninitialized_params():
            return
        if input.ndim not in (me._n + 1, me._n + 2):
            raise RuntimeError(
                f"Expected {me._n + 1}D (unbatched) or {me._n + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {list(input.shape)}"
            )
        self.in_channels = input.shape[-me._n - 1]
        if self.in_channels % me.groups:
            raise ValueError(
                at_line(
                    f"{type(self).__name__}: in_channels must be divisible by groups, "
                    f"got {self.in_channels} and {me.groups}"
                )
            )
        sizes = (me.out_channels, self.in_channels)
        sizes = sizes[::-1] if me.transposed else sizes
        me.weight.materialize((sizes[0], sizes[1] // me.groups, *me.kernel_size))
        if me.bias is not None:
            me.bias.materialize((me.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvMixin, _Conv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints | str = 0,
        dilation: Ints = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._make_lazy(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvMixin, _ConvTransposeNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Ints = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation,
            padding_mode, device, dtype,
        )  # fmt: skip
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """A ``Conv1d`` whose ``in_channels`` are those of the first batch.

    >>> weft.nn.LazyConv1d(3, 2)(weft.randn(1, 2, 4)).shape
    torch.Size([1, 3, 3])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A ``Conv2d`` whose ``in_channels`` are those of the first batch.

    >>> weft.nn.LazyConv2d(3, 2)(weft.randn(1, 2, 4, 4)).shape
    torch.Size([1, 3, 3, 3])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A ``Conv3d`` whose ``in_channels`` are those of the first batch.

    >>> weft.nn.LazyConv3d(3, 2)(weft.randn(1, 2, 4, 4, 4)).shape
    torch.Size([1, 3, 3, 3, 3])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ``ConvTranspose1d`` whose ``in_channels`` are those of the first batch.

    >>> weft.nn.LazyConvTranspose1d(3, 2)(weft.randn(1, 2, 4)).shape
    torch.Size([1, 3, 5])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ``ConvTranspose2d`` whose ``in_channels`` are those of the first batch.

    >>> weft.nn.LazyConvTranspose2d(3, 2)(weft.randn(1, 2, 4, 4)).shape
    torch.Size([1, 3, 5, 5])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ``ConvTranspose3d`` whose ``in_channels`` are those of the first batch.

    >>> weft.nn.LazyConvTranspose3d(3, 2)(weft.randn(1, 2, 4, 4, 4)).shape
    torch.Size([1, 3, 5, 5, 5])
    """

    cls_to_become = ConvTranspose3d
