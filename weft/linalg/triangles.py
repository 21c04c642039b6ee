"""Cholesky factorisation, around LAPACK, and triangular systems.

In derivatives, ``g`` stands before the name of the gradient of a result, and ``_h`` is the conjugate
transpose.
"""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.linalg.common import (
    _batch,
    _h,
    _matrix,
    _same_dtype,
    _square,
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

    def backward(ctx, g):
        return _cholesky_back(ctx.result, g, ctx.upper)


cholesky: Any = _Cholesky


def _cholesky_back(factor: Tensor, g: Tensor, upper: bool) -> Tensor:
    """Return the gradient of A, given a factor and its gradient."""
    low, g = (_h(factor), _h(g)) if upper else (factor, g)
    p = (_h(low) @ g).tril()
    p = p - p.diagonal(0, -2, -1).diag_embed() * 0.5
    half = solve_triangular(_h(low), p, upper=True)
    s = solve_triangular(low, half, upper=False, left=False)
    return (s + _h(s)) * 0.5


@primitive(
    "linalg_cholesky_ex(Tensor A, *, bool upper=False, bool check_errors=False) -> "
    "(Tensor L, Tensor info)"
)
class _CholeskyEx:
    """The Cholesky factor and, per matrix, a code that is not zero where there is none.

    >>> weft.linalg.cholesky_ex(weft.eye(2)).info
    tensor(0, dtype=torch.int32)
    """

    keeps = ("L", "info")

    def infer(A, upper, check_errors):
        shape = _square("cholesky_ex", A)
        return [(shape, A.dtype), (shape[:-2], weft.int32)]

    def backward(ctx, g, *rest):
        ga = _cholesky_back(ctx.L, g, ctx.upper)
        return weft.where((ctx.info == 0)[..., None, None], ga, 0)  # what failed is the identity


cholesky_ex: Any = _CholeskyEx


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

    def backward(ctx, g):
        ga = ctx.result @ (g + _h(g)) @ -ctx.result
        return ctx.L @ ga if ctx.upper else ga @ ctx.L


_cholesky_inverse: Any = _CholeskyInverse
