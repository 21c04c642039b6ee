"""Norms of matrices, and the condition number."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.linalg.common import _matrix
from weft.linalg.decompose import svdvals
from weft.linalg.functions import inv_ex
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_inf = float("inf")


def _movedims(A: Tensor, dims: Sequence[int]) -> Tensor:
    a, b = (d % A.ndim for d in dims)
    return A.permute(*[i for i in range(A.ndim) if i not in (a, b)], a, b)


def _extreme(t: Tensor, dim: int, largest: bool, keepdim: bool = False) -> Tensor:
    """Return the largest or smallest along dim; the largest of nothing is zero."""
    if largest and t.shape[dim] == 0:
        return t.sum(dim, keepdim)
    return t.amax(dim, keepdim) if largest else t.amin(dim, keepdim)


@op(name="linalg_matrix_norm", function=False, method=False, out=True)
def matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """Return a norm of a matrix: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.

    >>> weft.linalg.matrix_norm(weft.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    if dtype is not None:
        A = A.to(dtype)
    if A.ndim < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    if not (A.is_floating_point() or A.is_complex()):
        raise RuntimeError(
            "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got "
            f"{A.dtype}"
        )
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {list(dim)}")
    for d in dim:
        if not -A.ndim <= d < A.ndim:
            raise IndexError(
                f"linalg.matrix_norm: Dimension out of range (expected to be in [{-A.ndim}, "
                f"{A.ndim - 1}], but got {d})"
            )
    a, b = (d % A.ndim for d in dim)
    if a == b:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return weft.linalg_vector_norm(A, 2, [a, b], keepdim)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        s = svdvals(_movedims(A, (a, b)))
        out = s.sum(-1) if ord == "nuc" else _extreme(s, -1, ord > 0)
        if keepdim:
            for d in sorted((a, b)):
                out = out.unsqueeze(d)
        return out
    if isinstance(ord, str) or abs(ord) not in (1, _inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if abs(ord) == _inf:
        a, b = b, a
    sums = weft.linalg_vector_norm(A, 1, a, True)
    out = _extreme(sums, b, ord > 0, True)
    return out if keepdim else out.squeeze((a, b))


@op(name="linalg_norm", function=False, method=False, out=True)
def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Return a norm of a vector or a matrix; without ord, the root of the sum of all squares.

    >>> weft.linalg.norm(weft.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dims = [dim] if isinstance(dim, int) else dim
    if dims is not None and len(dims) not in (1, 2) and ord is not None:
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}"
        )
    if ord is None:
        return weft.linalg_vector_norm(A, 2, dims, keepdim, dtype=dtype)
    if dims is None:
        if A.ndim not in (1, 2):
            raise RuntimeError(
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                f"{A.ndim}D."
            )
        dims = list(range(A.ndim))
    if len(dims) == 2:
        return matrix_norm(A, ord, dims, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(
            f"linalg.norm: the {ord} norm is defined for matrices, but got 1 dimension"
        )
    return weft.linalg_vector_norm(A, ord, dims, keepdim, dtype=dtype)


@op(name="linalg_cond", function=False, method=False, out=True, casts_out=True)
def cond(A: Tensor, p: Any = None) -> Tensor:
    """Return the condition number of a matrix in the p-norm (by default 2).

    >>> weft.linalg.cond(weft.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(2.)
    """
    _matrix("cond", A)
    if p is None or p in (2, -2):
        s = svdvals(A)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"linalg.cond: with p={p}, A must be batches of square matrices")
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    inverse, info = inv_ex(A)
    out = matrix_norm(A, p) * matrix_norm(inverse, p)
    return weft.where(info == 0, out, weft.full_like(out, _inf)) if bool((info != 0).any()) else out
