"""Reductions of segments: stretches of one dimension, given by their lengths or borders."""

from __future__ import annotations

import math

import weft
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# How elements are joined, and what a segment without elements gives.
_WAYS = {
    "sum": ("sum", 0.0),
    "mean": ("sum", 0.0),
    "max": ("amax", -math.inf),
    "min": ("amin", math.inf),
    "prod": ("prod", 1.0),
}


@op(method=False)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Return the sum, mean, maximum, minimum or product of each segment along an axis.

    Args:
        data: what is cut into segments.
        reduce: ``"sum"``, ``"mean"``, ``"max"``, ``"min"`` or ``"prod"``.
        lengths: how long each segment is; dimensions before the last are those before ``axis``.
        indices: not in weft.
        offsets: in the place of ``lengths``: where each segment begins, and where the last ends.
        axis: the dimension that is cut.
        unsafe: do not check the lengths.
        initial: what each segment begins with; that is also what one without elements gives.

    >>> weft.segment_reduce(weft.arange(4.0), "sum", lengths=weft.tensor([1, 3]))
    tensor([0., 6.])
    """
    if reduce not in _WAYS:
        raise RuntimeError(f"segment_reduce: unsupported reduction given: {reduce!r}")
    if indices is not None:
        raise NotImplementedError("segment_reduce: indices= is not in weft: give lengths= instead")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce: give either lengths= or offsets=")
    axis = axis + data.dim() if axis < 0 else axis
    if not 0 <= axis < max(data.dim(), 1):
        raise IndexError(f"segment_reduce: axis={axis} of {data.dim()} dimensions")
    starts = _starts(data, lengths, offsets, axis, unsafe)
    count = starts.shape[-1] - 1
    before, size, after = data.shape[:axis], data.shape[axis], data.shape[axis + 1 :]
    batch = math.prod(before)
    ids = _ids(starts.reshape(batch, count + 1), size)
    how, nothing = _WAYS[reduce]
    start = nothing if initial is None else initial
    base = weft.full((batch * count + 1, *after), start, dtype=data.dtype)
    index = ids.reshape(-1, *[1] * len(after)).expand(batch * size, *after)
    rows = data.reshape(batch * size, *after)
    found = weft.scatter_reduce(base, 0, index, rows, how)[: batch * count]
    found = found.reshape(*before, count, *after)
    if reduce != "mean":
        return found
    lengths = starts.diff(dim=-1).reshape(*before, count, *[1] * len(after)).to(data.dtype)
    if initial is not None:
        lengths = lengths.clamp(min=1)
    return found / lengths


def _starts(
    data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int, unsafe: bool
) -> Tensor:
    """Return where each segment begins, and where the last one ends."""
    given: Any = offsets if lengths is None else lengths
    if given.dtype not in (weft.int32, weft.int64):
        raise RuntimeError(f"segment_reduce: expected lengths of int32 or int64, got {given.dtype}")
    if given.dim() != axis + 1 or given.shape[:-1] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce: lengths or offsets of shape {list(given.shape)} do not fit data of "
            f"shape {list(data.shape)} along axis {axis}"
        )
    if lengths is None:
        return given.to(weft.int64)
    if not unsafe:
        if bool((given < 0).any()):
            raise RuntimeError("segment_reduce: lengths contains negative value!")
        if bool((given.sum(-1) != data.shape[axis]).any()):
            raise RuntimeError(
                "segment_reduce: Expected all rows of lengths along axis to sum to "
                f"data.size({axis}), {data.shape[axis]}"
            )
    ends = given.to(weft.int64).cumsum(-1)
    return weft.cat([weft.zeros((*given.shape[:-1], 1), dtype=weft.int64), ends], -1)


def _ids(starts: Tensor, size: int) -> Tensor:
    """Return the segment of each element, counted over the batch; the last one is for the rest."""
    batch, borders = starts.shape
    count = borders - 1
    places = weft.arange(size).expand(batch, size).contiguous()
    found = weft.searchsorted(starts.contiguous(), places, right=True) - 1
    outside = (found < 0) | (found >= count)
    ids = found + weft.arange(batch).unsqueeze(1) * count
    return weft.where(outside, weft.tensor(batch * count), ids)
