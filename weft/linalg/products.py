"""Products of more than two matrices, and along one dimension."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.linalg.systems import inv
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


cross: Any = _C._op_function("linalg_cross")


@op(name="linalg_vecdot", function=False, method=False, out=True)
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Return the inner products along a dimension, the first operand conjugated.

    >>> weft.linalg.vecdot(weft.ones(2, 3), weft.ones(2, 3))
    tensor([3., 3.])
    """
    if x.ndim and y.ndim and x.shape[dim] != y.shape[dim]:
        raise RuntimeError(
            f"linalg.vecdot: sizes {x.shape[dim]} and {y.shape[dim]} along dim {dim} do not match"
        )
    if x.shape == y.shape and x.dtype == y.dtype and x.dtype in _DOTS:
        if x.ndim and dim in (-1, x.ndim - 1):
            return _row_dots(x, y)
    return ((x.conj() if x.is_complex() else x) * y).sum(dim)


_row_dots, _DOTS = _C._op_function("row_dots"), (weft.float32, weft.float64)


@op(name="linalg_multi_dot", function=False, method=False, out=True)
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Return the product of several matrices, multiplied in the order that costs least.

    >>> weft.linalg.multi_dot([weft.ones(2, 3), weft.ones(3, 4), weft.ones(4)])
    tensor([12., 12.])
    """
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, last = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if first:
        tensors[0] = tensors[0].unsqueeze(0)
    if last:
        tensors[-1] = tensors[-1].unsqueeze(1)
    for i, t in enumerate(tensors):
        if t.ndim != 2:
            kind = "a 1D or 2D" if i in (0, len(tensors) - 1) else "a 2D"
            raise RuntimeError(f"multi_dot(): tensor {i} must be {kind} tensor, got {t.ndim}D")
        if i and tensors[i - 1].shape[1] != t.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(tensors[i - 1].shape)} "
                f"and {list(t.shape)} cannot be multiplied"
            )
    out = _product(tensors, *_cheapest([t.shape[0] for t in tensors] + [tensors[-1].shape[1]]))
    if first:
        out = out.squeeze(0)
    return out.squeeze(-1) if last else out


def _cheapest(sizes: list[int]) -> tuple[list[list[int]], int, int]:
    """Return where to split each run of a chain of matrices, for the fewest multiplications."""
    n = len(sizes) - 1
    if n == 3:
        a, b, c, d = sizes
        return [[0, 0, 0 if b * c * d + a * b * d <= a * b * c + a * c * d else 1], [0, 0, 1]], 0, 2
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            choices = [
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i][j], split[i][j] = min(choices)
    return split, 0, n - 1


def _product(tensors: list[Tensor], split: list[list[int]], i: int, j: int) -> Tensor:
    if i == j:
        return tensors[i]
    k = split[i][j]
    return _product(tensors, split, i, k) @ _product(tensors, split, k + 1, j)


@op(name="linalg_diagonal", function=False, method=False)
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return the diagonal of the last two dimensions (or of others), as a view.

    >>> weft.linalg.diagonal(weft.eye(2))
    tensor([1., 1.])
    """
    return A.diagonal(offset, dim1, dim2)


@op(name="linalg_vander", function=False, method=False, out=True)
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Return the powers 0 … N - 1 of each element, in a new last dimension.

    >>> weft.linalg.vander(weft.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    n = (x.shape[-1] if x.ndim else 1) if N is None else N
    if n < 1:
        raise RuntimeError(f"N must be greater than 1. Got {n}.")
    x = x.unsqueeze(0) if x.ndim == 0 else x
    return powers(x, n).movedim(0, -1).contiguous()


def powers(x: Tensor, n: int) -> Tensor:
    """Return the powers 0 … n - 1, one after the other in memory, which is faster than side by side."""
    return weft.cat([weft.ones_like(x).unsqueeze(0), x.expand(n - 1, *x.shape)]).cumprod(0)


@op(name="linalg_matrix_power", function=False, method=False, out=True)
def matrix_power(A: Tensor, n: int) -> Tensor:
    """Return a square matrix multiplied n times with itself; its inverse, where n is negative.

    >>> weft.linalg.matrix_power(weft.tensor([[2.0, 0.0], [0.0, 3.0]]), 2)
    tensor([[4., 0.],
            [0., 9.]])
    """
    if A.ndim < 2:
        raise RuntimeError(
            "linalg.matrix_power: The input tensor A must have at least 2 dimensions."
        )
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, but they are "
            f"{A.shape[-2]} by {A.shape[-1]} matrices"
        )
    if n == 0:
        # A has a part in the result, and a gradient of zero.
        everywhere = weft.ones(A.shape, dtype=weft.bool)
        return weft.where(everywhere, weft.eye(A.shape[-1], dtype=A.dtype), A)
    base = inv(A) if n < 0 else A
    n, out = abs(n), None
    while n:
        if n & 1:
            out = base if out is None else out @ base
        n >>= 1
        if n:
            base = base @ base
    return out.clone() if out is A else out
