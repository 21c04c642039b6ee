"""Indexing ops with several kinds of results: ``nonzero``, ``where``, ``unravel_index``."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_rows = weft.nonzero


@op(derivative="the result is made of indices")
def nonzero(
    input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False
) -> Tensor | tuple[Tensor, ...]:
    """Return the coordinates of the elements that are not zero.

    One in each row; with ``as_tuple=True``, one tensor for each dimension, as an index takes them.

    >>> weft.nonzero(weft.tensor([[0, 7], [5, 0]]))
    tensor([[0, 1],
            [1, 0]])
    >>> weft.nonzero(weft.tensor([0, 7, 5]), as_tuple=True)
    (tensor([1, 2]),)
    """
    if as_tuple:
        return weft.where(input)
    return _rows(input) if out is None else _rows(input, out=out)


@op(out=True, derivative="the result is made of indices")
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Return the coordinates of the first ``size`` elements that are not zero, then rows of ``fill_value``.

    >>> weft.nonzero_static(weft.tensor([0, 7]), size=2)
    tensor([[ 1],
            [-1]])
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be a non-negative value, got {size}")
    found = _rows(input)[:size]
    rest = weft.full((size - found.shape[0], found.shape[1]), fill_value, dtype=weft.int64)
    return weft.cat([found, rest])


@op(method=False, derivative="the result is made of indices")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Return the coordinates, one tensor for each dimension of ``shape``, of elements counted in order.

    >>> weft.unravel_index(weft.tensor([3, 5]), (2, 3))
    (tensor([1, 1]), tensor([0, 2]))
    """
    if indices.is_floating_point() or indices.is_complex() or indices.dtype == _C.bool:
        raise TypeError(
            f"unravel_index: expected 'indices' to be integer dtype, but got {indices.dtype}"
        )
    if isinstance(shape, Tensor):
        raise TypeError("unravel_index: expected 'shape' to be int or sequence of ints, not Tensor")
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if not all(isinstance(n, int) for n in sizes):
        raise TypeError(f"unravel_index: expected 'shape' to only contain ints, but got {sizes}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"unravel_index: 'shape' cannot have negative values, but got {sizes}")
    places, step, indices = [], 1, indices.to(weft.int64)
    for n in reversed(sizes):
        places.append(weft.div(indices, step, rounding_mode="floor") % n)
        step *= n
    return tuple(reversed(places))


def where(self: Tensor, condition: Tensor, other: Tensor | complex) -> Tensor:
    """Return this tensor where ``condition`` holds, else ``other``.

    >>> weft.tensor([1, 2]).where(weft.tensor([True, False]), 0)
    tensor([1, 0])
    """
    return weft.where(condition, self, other)


Tensor.where = where
