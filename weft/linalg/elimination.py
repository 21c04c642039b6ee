"""Gaussian elimination: A = P L U, with unit-lower L, upper U and rows exchanged by P.

Both factors are kept in one matrix, LU. ``pivots`` says with which row, counted from 1, each row was
exchanged, one after the other.
"""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.linalg.common import (
    _batch,
    _h,
    _matrix,
    _same_dtype,
    _square,
)
from weft.linalg.triangles import solve_triangular
from weft.ops import named_tuple, op, primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# ---- the factors ----


@primitive(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> "
    "(Tensor LU, Tensor pivots, Tensor info)"
)
class _FactorEx:
    """The factors L and U in one matrix, the exchanged rows, and where a pivot is zero.

    >>> weft.linalg.lu_factor_ex(weft.tensor([[0.0, 2.0], [4.0, 8.0]])).pivots
    tensor([2, 2], dtype=torch.int32)
    """

    keeps = ("LU", "pivots")

    def infer(A, pivot, check_errors):
        *batch, m, n = _matrix("lu_factor", A)
        if not pivot:
            raise RuntimeError(
                "linalg.lu_factor: LU without pivoting is not implemented on the CPU"
            )
        return [(A.shape, A.dtype), ([*batch, min(m, n)], weft.int32), (batch, weft.int32)]

    def backward(ctx, g, *rest):
        m, n = ctx.shape("A")[-2:]
        k = min(m, n)
        square, gsquare = ctx.LU[..., :k, :k], g[..., :k, :k]
        l_h, u_h = _h(_unit_lower(square)), _h(square.triu())
        gl, gu, more = gsquare.tril(-1), gsquare.triu(), []
        if n > k:  # the columns beyond the square are solve(L, ·)
            more = [solve_triangular(l_h, g[..., k:], upper=True, unitriangular=True)]
            gl = gl - (more[0] @ _h(ctx.LU[..., k:])).tril(-1)
        elif m > k:  # the rows beyond it are solve(·, U)
            more = [solve_triangular(u_h, g[..., k:, :], upper=False, left=False)]
            gu = gu - (_h(ctx.LU[..., k:, :]) @ more[0]).triu()
        middle = (l_h @ gl).tril(-1) + (gu @ u_h).triu()
        ga = solve_triangular(l_h, middle, upper=True, unitriangular=True)
        ga = solve_triangular(u_h, ga, upper=False, left=False)
        ga = weft.cat([ga, *more], -1 if n > k else -2)
        return _rows(ga, _order(ctx.pivots, m).argsort(-1))


lu_factor_ex: Any = _FactorEx


@primitive("_lu_order(Tensor pivots, int rows) -> Tensor")
class _Order:
    """The rows of A in the order in which they are in L U.

    >>> weft.linalg.lu_factor(weft.eye(2)).pivots
    tensor([1, 2], dtype=torch.int32)
    """

    no_derivative = "made of indices"

    def infer(pivots, rows):
        if not pivots.ndim or pivots.shape[-1] > rows:
            raise RuntimeError(
                f"lu_unpack: expected exchanges of at most {rows} rows, got {list(pivots.shape)}"
            )
        return [([*pivots.shape[:-1], rows], weft.int64)]


_order: Any = _Order


def _rows(x: Tensor, order: Tensor) -> Tensor:
    return weft.take_along_dim(x, order.unsqueeze(-1), -2)


def _unit_lower(lu: Tensor) -> Tensor:
    return lu.tril(-1).add_(weft.eye(lu.shape[-2], lu.shape[-1], dtype=lu.dtype))


def _check_pivots(pivots: Tensor, name: str) -> None:
    if pivots.dtype != weft.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type int32")


@op(name="linalg_lu_factor", function=False, method=False, out=True)
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """Return the factors L and U in one matrix, and the exchanged rows; for ``lu_solve``.

    >>> weft.linalg.lu_factor(weft.tensor([[0.0, 2.0], [4.0, 8.0]])).LU
    tensor([[4., 8.],
            [0., 2.]])
    """
    lu, pivots, _ = lu_factor_ex(A, pivot=pivot, check_errors=True)
    return named_tuple("linalg_lu_factor", LU=lu, pivots=pivots)


@primitive("_lu_permutation(Tensor LU, Tensor pivots) -> Tensor")
class _Permutation:
    """The P of A = P L U, in the dtype of the factors.

    >>> weft.linalg.lu(weft.tensor([[0.0, 2.0], [4.0, 8.0]])).P
    tensor([[0., 1.],
            [1., 0.]])
    """

    no_derivative = "made of indices"

    def infer(LU, pivots):
        *batch, m, n = _matrix("lu_unpack", LU, "LU_data")
        if list(pivots.shape) != [*batch, min(m, n)]:
            raise RuntimeError(
                f"lu_unpack: expected pivots of shape {[*batch, min(m, n)]} for factors of shape "
                f"{list(LU.shape)}, got {list(pivots.shape)}"
            )
        return [([*batch, m, m], LU.dtype)]


_permutation: Any = _Permutation


def _unpacked(lu: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    k = min(lu.shape[-2:])
    lower, upper = lu[..., :k], lu[..., :k, :]
    wide = lu.detach().float() if lu.dtype in (weft.bfloat16, weft.float16) else lu.detach()
    return _permutation(wide, pivots).to(lu.dtype), _unit_lower(lower), upper.triu()


@op(name="linalg_lu", function=False, method=False, out=True)
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """Return P, L and U, whose product is A.

    >>> weft.linalg.lu(weft.tensor([[0.0, 2.0], [4.0, 8.0]])).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    p, lower, upper = _unpacked(*lu_factor_ex(A, pivot=pivot)[:2])
    return named_tuple("linalg_lu", P=p, L=lower, U=upper)


# ---- what they are for ----


@primitive("_linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, bool adjoint) -> Tensor")
class _Solve:
    """The X with A X = B, or Aᴴ X = B, from the factors of A.

    >>> LU, pivots = weft.linalg.lu_factor(weft.tensor([[0.0, 2.0], [4.0, 8.0]]))
    >>> weft.linalg.lu_solve(LU, pivots, weft.tensor([[2.0], [4.0]]))
    tensor([[-1.],
            [ 1.]])
    """

    keeps = ("LU", "pivots", "result")

    def infer(LU, pivots, B, adjoint):
        n = _square("lu_solve", LU)[-1]
        shape = _matrix("lu_solve", B, "B")
        _same_dtype("lu_solve", LU, B)
        _check_pivots(pivots, "linalg.lu_solve")
        if pivots.shape != LU.shape[:-1]:
            raise RuntimeError(
                "linalg.lu_solve: Number of pivots per batch should be same as the dimension of "
                f"the matrix, got {list(pivots.shape)} for {list(LU.shape)}"
            )
        if shape[-2] != n:
            raise RuntimeError(
                f"linalg.lu_solve: Incompatible shapes of A and B: {n}x{n} and {shape[-2]} rows"
            )
        batch = _batch("lu_solve", tuple(LU.shape[:-2]), shape[:-2])
        return [((*batch, *shape[-2:]), B.dtype)]

    def backward(ctx, g):
        LU, order = ctx.LU, _order(ctx.pivots, ctx.LU.shape[-1])
        gb = _lu_solve(LU, ctx.pivots, g, not ctx.adjoint)
        if not ctx.needs("LU"):
            return None, None, gb
        left, right = (ctx.result, gb) if ctx.adjoint else (gb, ctx.result)
        left = _rows(left, order)
        gl = left @ _h(LU.triu() @ right)
        gu = (_h(_unit_lower(LU)) @ left) @ _h(right)
        return -(gl.tril(-1) + gu.triu()), None, gb


_lu_solve: Any = _Solve


@op(name="linalg_lu_solve", function=False, method=False, out=True)
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """Return the X with A X = B, from the factors of A (``left=False``: X A = B).

    >>> LU, pivots = weft.linalg.lu_factor(weft.tensor([[0.0, 2.0], [4.0, 8.0]]))
    >>> weft.linalg.lu_solve(LU, pivots, weft.tensor([[2.0], [4.0]]))
    tensor([[-1.],
            [ 1.]])
    """
    if not left:
        return _h(_lu_solve(LU, pivots, _h(B), not adjoint))
    return _lu_solve(LU, pivots, B, adjoint)
