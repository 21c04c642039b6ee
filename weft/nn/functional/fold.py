"""Elements moved between space, channels and columns."""

from __future__ import annotations

from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import functional

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Ints = int | Sequence[int]

_unfold_windows, _fold_windows = _C._op_function("unfold_windows"), _C._op_function("fold_windows")


_pixel_shuffle, _pixel_unshuffle = (
    _C._op_function("pixel_shuffle"),
    _C._op_function("pixel_unshuffle"),
)
_channel_shuffle = _C._op_function("channel_shuffle")


@functional
def unfold(
    input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Tensor:
    """Return the windows of images as columns: (N, C, H, W) becomes (N, C * KH * KW, windows).

    >>> weft.nn.functional.unfold(weft.arange(4.0).reshape(1, 1, 2, 2), (1, 2))
    tensor([[[0., 2.],
             [1., 3.]]])
    """
    return _unfold_windows(input, kernel_size, dilation, padding, stride)


@functional
def fold(
    input: Tensor,
    output_size: Ints,
    kernel_size: Ints,
    dilation: Ints = 1,
    padding: Ints = 0,
    stride: Ints = 1,
) -> Tensor:
    """Add columns up into images where their windows overlap: the adjoint of ``unfold``.

    >>> weft.nn.functional.fold(weft.ones(1, 2, 2), (1, 3), (1, 2))
    tensor([[[[1., 2., 1.]]]])
    """
    return _fold_windows(input, output_size, kernel_size, dilation, padding, stride)


@functional
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Make images larger with elements of their channels: (C r^2, H, W) becomes (C, H r, W r).

    >>> weft.nn.functional.pixel_shuffle(weft.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    return _pixel_shuffle(input, upscale_factor)


@functional
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Make images smaller by moving elements to channels: the inverse of ``pixel_shuffle``.

    >>> weft.nn.functional.pixel_unshuffle(weft.arange(4.0).reshape(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    return _pixel_unshuffle(input, downscale_factor)


@functional
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Deal the channels of groups out in turn.

    >>> weft.nn.functional.channel_shuffle(weft.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return _channel_shuffle(input, groups)


native_channel_shuffle = channel_shuffle
