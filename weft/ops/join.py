"""Joining several tensors: ``meshgrid``, ``cartesian_prod``, ``block_diag`` and others."""

from __future__ import annotations

import math

import weft
from weft import _C
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


_block_diagonal = _C._op_function("block_diagonal")


def _given(tensors: tuple[Tensor | Sequence[Tensor], ...]) -> list[Tensor]:
    """Return the tensors of a call that takes them one by one or as one sequence."""
    many = len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
    found = list(tensors[0] if many else tensors)
    for i, t in enumerate(found):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected a Tensor as element {i}, got {type(t).__name__}")
    return found


@op(method=False)
def meshgrid(
    *tensors: Tensor | Sequence[Tensor], indexing: str | None = None
) -> tuple[Tensor, ...]:
    """Return a grid of coordinates for each vector: all have the shape that the vectors span.

    With ``indexing="ij"`` (the default) the first vector runs along the first dimension; with
    ``"xy"`` along the second, as in a picture.

    >>> x, y = weft.meshgrid(weft.tensor([1, 2]), weft.tensor([3, 4, 5]), indexing="ij")
    >>> x
    tensor([[1, 1, 1],
            [2, 2, 2]])
    >>> y
    tensor([[3, 4, 5],
            [3, 4, 5]])
    """
    vectors = _given(tensors)
    if not vectors:
        raise ValueError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f"meshgrid: indexing must be one of 'xy' or 'ij', but received: {indexing}"
        )
    for vector in vectors:
        if vector.dim() > 1:
            raise RuntimeError(
                f"meshgrid: expected scalar or 1D tensors, but got shape {list(vector.shape)}"
            )
        if vector.dtype != vectors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(vectors) >= 2
    if swap:
        vectors[:2] = vectors[1::-1]
    shape = [vector.numel() for vector in vectors]
    grids = []
    for i, vector in enumerate(vectors):
        own = [1] * len(shape)
        own[i] = shape[i]
        grids.append(vector.reshape(own).expand(shape))
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@op(method=False)
def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Return all choices of one element of each vector, one in each row.

    >>> weft.cartesian_prod(weft.tensor([1, 2]), weft.tensor([4, 5]))
    tensor([[1, 4],
            [1, 5],
            [2, 4],
            [2, 5]])
    """
    vectors = _given(tensors)
    for vector in vectors:
        if vector.dim() != 1:
            raise RuntimeError(
                f"cartesian_prod: Expect a 1D vector, but got shape {list(vector.shape)}"
            )
    if len(vectors) == 1:
        return vectors[0]
    columns = weft.stack(meshgrid(*vectors, indexing="ij")).reshape(len(vectors), -1)
    return columns.t().contiguous()


@op()
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return all choices of ``r`` elements of a vector, in its order, one in each row.

    >>> weft.combinations(weft.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError(f"combinations: Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    return input[_choices(input.numel(), r, with_replacement)]


def _choices(n: int, r: int, again: bool) -> Tensor:
    """Return the indices of all choices of r among n, in order, one in each row, column by column."""
    if r > n and (n == 0 or not again):
        return weft.empty(0, r, dtype=weft.int64)
    count = math.comb(n + r - 1 if again else n, r)
    weft.empty(count, r, dtype=weft.int64)  # refused now, not when memory is full
    rows, low = weft.empty(1, 0, dtype=weft.int64), weft.zeros(1, dtype=weft.int64)
    for left in range(r - 1, -1, -1):  # columns that still follow need larger indices, unless again
        counts = (n if again else n - left) - low
        kept = weft.repeat_interleave(counts)
        first = low - (counts.cumsum(0) - counts)
        column = weft.arange(kept.numel()) + first[kept]
        rows = weft.cat([rows[kept], column[:, None]], 1)
        low = column if again else column + 1
    return rows


@op(method=False)
def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Return a matrix with the given matrices along its diagonal, zeros elsewhere.

    Vectors count as rows, single elements as matrices of one.

    >>> weft.block_diag(weft.tensor([[1, 2]]), weft.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    blocks = []
    for i, block in enumerate(_given(tensors)):
        if block.dim() > 2:
            raise RuntimeError(
                f"block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                f"{block.dim()} dimensions"
            )
        blocks.append(block.reshape(1, -1) if block.dim() < 2 else block)
    if not blocks:
        return weft.empty(1, 0)
    return _block_diagonal(blocks, *zip(*[block.shape for block in blocks]))
