"""Elements moved between space, channels and columns."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.nn.functional.common import functional, prod, tuple_of
from weft.nn.functional.windows import gathered, padded, sliding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Ints = int | Sequence[int]


def _numbers(
    name: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> list[tuple[int, ...]]:
    values = [
        tuple_of(v, 2, name, what)
        for v, what in (
            (kernel_size, "kernel_size"), (dilation, "dilation"), (padding, "padding"),
            (stride, "stride"),
        )
    ]  # fmt: skip
    for what, v, least in zip(("kernel", "dilation", "padding", "stride"), values, (1, 1, 0, 1)):
        if any(i < least for i in v):
            raise RuntimeError(f"{name}: {what} should be at least {least}, but got {v}")
    return values


def _blocks(size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> tuple[int, ...]:
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, kernel, dilation, padding, stride)
    )


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
    kernel, dilation, padding, stride = _numbers("unfold", kernel_size, dilation, padding, stride)
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "unfold: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )
    x = input if input.ndim == 4 else input.unsqueeze(0)
    out = _blocks(x.shape[2:], kernel, dilation, padding, stride)
    if any(o < 1 for o in out):
        raise RuntimeError(
            f"unfold: Given input with spatial size {tuple(x.shape[2:])}, kernel_size={kernel}, "
            f"dilation={dilation}, padding={padding}, stride={stride}, calculated shape of the "
            f"array of sliding blocks as {out}, but its components must be at least one."
        )
    windows = sliding(padded(x, padding, padding), kernel, stride, dilation, out)
    y = _copied(windows).view(x.shape[0], x.shape[1] * prod(kernel), prod(out))
    return y if input.ndim == 4 else y.squeeze(0)


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
    kernel, dilation, padding, stride = _numbers("fold", kernel_size, dilation, padding, stride)
    size = tuple_of(output_size, 2, "fold", "output_size")
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "fold: Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )
    x = input if input.ndim == 3 else input.unsqueeze(0)
    if x.shape[1] % prod(kernel):
        raise RuntimeError(
            "fold: Expected size of input's dimension 1 to be divisible by the product of "
            f"kernel_size, but got input.size(1)={x.shape[1]} and kernel_size={kernel}."
        )
    out = _blocks(size, kernel, dilation, padding, stride)
    if any(o < 1 for o in out) or x.shape[2] != prod(out):
        raise RuntimeError(
            f"fold: Given output_size={size}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, stride={stride}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {out}, but got input.size(2)={x.shape[2]}."
        )
    full = tuple(s + 2 * p for s, p in zip(size, padding))
    columns = x.reshape(x.shape[0], x.shape[1] // prod(kernel), prod(kernel), prod(out))
    y = gathered(columns, full, kernel, stride, dilation, out)
    less = [-p for p in padding]
    y = padded(y, less, less)
    return y if input.ndim == 3 else y.squeeze(0)


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
