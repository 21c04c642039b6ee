"""Cholesky factorisation, around LAPACK, and triangular systems.

In derivatives, ``g`` stands before the name of the gradient of a result, and ``_h`` is the conjugate
transpose.
"""

from __future__ import annotations

from weft import _C
from weft.linalg import lapack
from weft.linalg.common import (
    _batch,
    _h,
    _matrix,
    _refuse_failed,
    _same_dtype,
    _square,
    _together,
)
from weft.ops import primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


solve_triangular: Any = _C._op_function("linalg_solve_triangular")


# ---- Cholesky ----


@primitive("linalg_cholesky(Tensor A, *, bool upper=False) -> Tensor")
class _Cholesky:
    """The lower triangle L with A = L Lᴴ, or the upper one with A = Uᴴ U.

    >>> weft.linalg.cholesky(weft.tensor([[4.0, 0.0], [0.0, 9.0]]))
    tensor([[2., 0.],
            [0., 3.]])
    """

    keeps = ("result",)

    def infer(A, upper):
        return [(_square("cholesky", A), A.dtype)]

    def run(A, upper):
        factor, info = lapack.cholesky(A, upper)
        why = "The factorization could not be completed because the input is not positive-definite."
        _refuse_failed(info, A.shape[:-2], f"linalg.cholesky: {why}")
        return [factor]

    def backward(ctx, g):
        low, g = (_h(ctx.result), _h(g)) if ctx.upper else (ctx.result, g)
        p = (_h(low) @ g).tril()
        p = p - p.diagonal(0, -2, -1).diag_embed() * 0.5
        half = solve_triangular(_h(low), p, upper=True)
        s = solve_triangular(low, half, upper=False, left=False)
        return (s + _h(s)) * 0.5


cholesky: Any = _Cholesky


@primitive("_cholesky_solve(Tensor B, Tensor L, bool upper=False) -> Tensor")
class _CholeskySolve:
    """The X of A X = B, given the Cholesky factor of A.

    >>> weft.cholesky_solve(weft.ones(1, 1), weft.tensor([[2.0]]))
    tensor([[0.2500]])
    """

    keeps = ("L", "result")

    def infer(B, L, upper):
        shape = _square("cholesky_solve", L)
        _matrix("cholesky_solve", B, "B")
        _same_dtype("cholesky_solve", L, B)
        if B.shape[-2] != shape[-1]:
            raise RuntimeError(
                f"cholesky_solve: Incompatible matrix sizes: A is {shape[-1]} by {shape[-1]} "
                f"but b is {B.shape[-2]} by {B.shape[-1]}"
            )
        return [
            (
                _batch("cholesky_solve", shape[:-2], tuple(B.shape[:-2])) + tuple(B.shape[-2:]),
                B.dtype,
            )
        ]

    def run(B, L, upper):
        L, B = _together(L, B)
        y = lapack.solve_triangular(L, B, upper, adjoint=upper)
        return [lapack.solve_triangular(L, y, upper, adjoint=not upper)]

    def backward(ctx, g):
        gb = _cholesky_solve(g, ctx.L, ctx.upper)
        if not ctx.needs("L"):
            return gb, None
        ga = -(gb @ _h(ctx.result))
        ga = ga + _h(ga)
        return gb, ctx.L @ ga if ctx.upper else ga @ ctx.L


_cholesky_solve: Any = _CholeskySolve


@primitive("_cholesky_inverse(Tensor L, bool upper=False) -> Tensor")
class _CholeskyInverse:
    """The inverse of A, given its Cholesky factor.

    >>> weft.cholesky_inverse(weft.tensor([[2.0]]))
    tensor([[0.2500]])
    """

    keeps = ("L", "result")

    def infer(L, upper):
        return [(_square("cholesky_inverse", L), L.dtype)]

    def run(L, upper):
        inverse, info = lapack.cholesky_inverse(L, upper)
        why = "The inversion could not be completed because the input matrix is singular."
        _refuse_failed(info, L.shape[:-2], f"cholesky_inverse: {why}")
        return [inverse]

    def backward(ctx, g):
        ga = ctx.result @ (g + _h(g)) @ -ctx.result
        return ctx.L @ ga if ctx.upper else ga @ ctx.L


_cholesky_inverse: Any = _CholeskyInverse
