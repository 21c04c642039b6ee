"""Windows that slide over the last dimensions: what convolution, pooling and folding stand on."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.nn.functional.common import prod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Ints = tuple[int, ...]

_places: dict[Any, Tensor] = {}


def sliding(x: Tensor, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> Tensor:
    """Return a view of shape (..., *kernel, *out): what each window sees of the last dims."""
    x = x.contiguous()
    n = len(kernel)
    lead, strides = x.shape[:-n], x.stride()
    inner = [d * s for d, s in zip(dilation, strides[-n:])]
    outer = [d * s for d, s in zip(stride, strides[-n:])]
    return x.as_strided((*lead, *kernel, *out), (*strides[:-n], *inner, *outer))


def places(size: Ints, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> Tensor:
    """Return the place of each element of ``sliding`` in the flattened last dims."""
    key = (size, kernel, stride, dilation, out)
    if key not in _places:
        if len(_places) > 8:
            _places.clear()
        index = weft.arange(prod(size)).reshape(size)
        _places[key] = sliding(index, kernel, stride, dilation, out).reshape(-1)
    return _places[key]


def gathered(
    columns: Tensor, size: Ints, kernel: Ints, stride: Ints, dilation: Ints, out: Ints
) -> Tensor:
    """Add windows (N, C, elements, windows) up where they overlap: the adjoint of ``sliding``."""
    n, c = columns.shape[:2]
    zeros = columns.new_zeros(n, c, prod(size))
    index = places(size, kernel, stride, dilation, out)
    return zeros.index_add(2, index, columns.reshape(n, c, -1)).reshape(n, c, *size)


def padded(x: Tensor, before: Sequence[int], after: Sequence[int], value: Any = 0) -> Tensor:
    """Widen the last dims of x."""
    if not any(before) and not any(after):
        return x
    pad: list[int] = []
    for b, a in zip(reversed(before), reversed(after)):
        pad += [b, a]
    return weft.constant_pad_nd(x, pad, value)


def pooled_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """Return the number of windows along a dimension."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    out = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (out - 1) * stride >= size + padding:
        out -= 1  # the last window must begin inside the input or the padding before it
    return out
