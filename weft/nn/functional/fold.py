"""Elements moved between space, channels and columns."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import functional

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Ints = int | Sequence[int]

_unfold_windows, _fold_windows = _C._op_function("unfold_windows"), _C._op_function("fold_windows")


def _copied(x: Tensor) -> Tensor:
    """Return the elements in memory of their own, even where they are in order already."""
    return x.clone(memory_format=weft.contiguous_format)


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
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    x = input.reshape(*lead, c // (r * r), r, r, h, w)
    x = x.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return _copied(x).view(*lead, c // (r * r), h * r, w * r)


@functional
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Make images smaller by moving elements to channels: the inverse of ``pixel_shuffle``.

    >>> weft.nn.functional.pixel_unshuffle(weft.arange(4.0).reshape(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if h % r or w % r:
        raise RuntimeError(
            "pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
            f"{(h, w)} is not divisible by {r}"
        )
    n = len(lead)
    x = input.reshape(*lead, c, h // r, r, w // r, r)
    x = x.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return _copied(x).view(*lead, c * r * r, h // r, w // r)


@functional
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Deal the channels of groups out in turn.

    >>> weft.nn.functional.channel_shuffle(weft.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"channel_shuffle: Number of groups to divide channels in must be positive, got {groups}"
        )
    n, c = input.shape[:2]
    if c % groups:
        raise RuntimeError(
            f"channel_shuffle: Number of channels must be divisible by groups. Got {c} channels and "
            f"{groups} groups."
        )
    x = input.reshape(n, groups, c // groups, *input.shape[2:]).transpose(1, 2)
    return _copied(x).view(input.shape)


native_channel_shuffle = channel_shuffle
