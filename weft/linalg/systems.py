"""Inverses, determinants and systems of equations, around LAPACK.

Factors are those of the transpose, which LAPACK sees in memory: derivatives use them again, unless they
are to be differentiated themselves. ``g`` stands before the name of the gradient of a result, and ``_h``
is the conjugate transpose.
"""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.linalg.common import (
    _batch,
    _h,
    _matrix,
    _real,
    _same_dtype,
    _square,
)
from weft.linalg.decompose import svd
from weft.ops import op, primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@primitive("linalg_inv(Tensor A) -> Tensor")
class _Inv:
    """The inverse of a square matrix, or of each of a batch.

    >>> weft.linalg.inv(weft.tensor([[2.0, 1.0], [1.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  2.]])
    """

    keeps = ("result",)

    def infer(A):
        return [(_square("inv", A), A.dtype)]

    def backward(ctx, g):
        y = _h(ctx.result)
        return -(y @ g @ y)


inv: Any = _Inv


@primitive("_linalg_inv_factored(Tensor factors, Tensor pivots) -> Tensor")
class _InvFactored:
    """The inverse of a matrix, given the factors of its transpose.

    >>> weft.linalg.systems._inv_factored(weft.eye(1) * 2, weft.ones(1, dtype=weft.int32))
    tensor([[0.5000]])
    """

    no_derivative = "use linalg.inv, which has one"

    def infer(factors, pivots):
        _check_factors("inv", factors, pivots)
        return [(factors.shape, factors.dtype)]


_inv_factored: Any = _InvFactored


@primitive("_linalg_det(Tensor A) -> (Tensor result, Tensor factors, Tensor pivots)")
class _Det:
    """The determinant of a square matrix, or of each of a batch, and the factors of its transpose.

    >>> weft.linalg.det(weft.tensor([[2.0, 1.0], [0.0, 4.0]]))
    tensor(8.)
    """

    keeps = ("A", "result", "factors", "pivots")

    def infer(A):
        shape = _square("det", A)
        return [(shape[:-2], A.dtype), (shape, A.dtype), (shape[:-1], weft.int32)]

    def backward(ctx, g, *rest):
        a, g = ctx.A, g[..., None, None]
        if _nearly_singular(ctx.factors.detach()):
            return g * _h(_adjugate(a))
        inverse = inv(a) if ctx.create_graph else _inv_factored(ctx.factors, ctx.pivots)
        return g * ctx.result.conj()[..., None, None] * _h(inverse)


_det: Any = _Det


@op(name="linalg_det", function=False, method=False, out=True)
def det(A: Tensor) -> Tensor:
    """Return the determinant of a square matrix, or of each of a batch.

    >>> weft.linalg.det(weft.tensor([[2.0, 1.0], [0.0, 4.0]]))
    tensor(8.)
    """
    return _det(A)[0]


def _nearly_singular(factors: Tensor) -> bool:
    """Say whether a pivot is lost in the rounding of the largest."""
    if not factors.numel():
        return False
    sizes = factors.diagonal(0, -2, -1).abs()
    limit = weft.finfo(factors.dtype).eps * factors.shape[-1]
    return bool((sizes.amin(-1) <= limit * sizes.amax(-1)).any())


def _check_factors(name: str, factors: Tensor, pivots: Tensor) -> None:
    """Check that there is an exchange for each row."""
    shape = _square(name, factors)
    if tuple(pivots.shape) != shape[:-1] or pivots.dtype != weft.int32:
        raise RuntimeError(
            f"linalg.{name}: expected pivots of int32, of shape {list(shape[:-1])}, got "
            f"{pivots.dtype} of shape {list(pivots.shape)}"
        )


def _adjugate(a: Tensor) -> Tensor:
    """Return det(a) times the inverse, also where there is none.

    It is made of the products of all but one singular value.
    """
    u, s, vh = svd(a, full_matrices=False)
    n = a.shape[-1]
    others = [
        s.narrow(-1, 0, i).prod(-1) * s.narrow(-1, i + 1, n - i - 1).prod(-1) for i in range(n)
    ]
    phase = det(u.detach()) * det(vh.detach())
    middle = weft.stack(others, -1).to(a.dtype) * phase.unsqueeze(-1)
    return (_h(vh) * middle.unsqueeze(-2)) @ _h(u)


@primitive("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)")
class _Slogdet:
    """The sign of the determinant and the logarithm of its absolute value.

    >>> weft.linalg.slogdet(weft.eye(2)).logabsdet
    tensor(0.)
    """

    keeps = ("A", "sign")

    def infer(A):
        shape = _square("slogdet", A)[:-2]
        return [(shape, A.dtype), (shape, _real(A.dtype))]

    def backward(ctx, gsign, glog):
        g = weft.zeros_like(weft.real(gsign)) if glog is None else glog
        if ctx.A.is_complex():
            turn = weft.zeros_like(g) if gsign is None else -weft.imag(gsign.conj() * ctx.sign)
            g = weft.complex(g, turn)
        elif glog is None:
            return None
        return g[..., None, None] * _h(inv(ctx.A))


slogdet: Any = _Slogdet


def _as_columns(a: Any, b: Any) -> bool:
    """Say whether b holds one right-hand side per matrix of a, without a dimension for it."""
    return b.ndim == 1 or (b.ndim == a.ndim - 1 and tuple(b.shape) == tuple(a.shape[:-1]))


@primitive(
    "_linalg_solve(Tensor A, Tensor B, bool left) -> (Tensor result, Tensor factors, Tensor pivots)"
)
class _Solve:
    """The X of A X = B, or of X A = B with left=False, and the factors that it takes.

    >>> weft.linalg.solve(weft.tensor([[2.0, 0.0], [0.0, 4.0]]), weft.tensor([1.0, 1.0]))
    tensor([0.5000, 0.2500])
    """

    keeps = ("A", "result", "factors", "pivots")

    def infer(A, B, left):
        shape = _square("solve", A)
        _same_dtype("solve", A, B)
        if _as_columns(A, B):
            if not left:
                raise RuntimeError(
                    "linalg.solve: Vector broadcasting of the left hand side is not supported for "
                    "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
                )
            if B.shape[-1] != shape[-1]:
                raise RuntimeError(
                    f"linalg.solve: B of shape {list(B.shape)} does not fit A of shape "
                    f"{list(shape)}"
                )
            batch = _batch("solve", shape[:-2], tuple(B.shape[:-1]))
            return _with_factors(batch, shape[-1:], A)
        _matrix("solve", B, "B")
        if B.shape[-2 if left else -1] != shape[-1]:
            raise RuntimeError(
                "linalg.solve: Incompatible shapes of A and B for the equation "
                f"{'AX = B' if left else 'XA = B'} ({shape[-2]}x{shape[-1]} and "
                f"{B.shape[-2]}x{B.shape[-1]})"
            )
        batch = _batch("solve", shape[:-2], tuple(B.shape[:-2]))
        return _with_factors(batch, tuple(B.shape[-2:]), A)

    def backward(ctx, g, *rest):
        x, left = ctx.result, ctx.left
        if ctx.create_graph:
            gb = solve(_h(ctx.A), g, left=left)
        else:
            gb = _solve_adjoint(ctx.factors, ctx.pivots, g, left)
        if not ctx.needs("A"):
            return None, gb
        if _as_columns(ctx.A, x):
            return -(gb.unsqueeze(-1) @ _h(x.unsqueeze(-1))), gb
        return -(gb @ _h(x)) if left else -(_h(x) @ gb), gb


_solve: Any = _Solve


def _with_factors(batch: tuple[int, ...], shape: tuple[int, ...], A: Tensor) -> list[Any]:
    """What is known of a solution, factors and exchanged rows."""
    n = A.shape[-1]
    return [((*batch, *shape), A.dtype), ((*batch, n, n), A.dtype), ((*batch, n), weft.int32)]


@primitive("_linalg_solve_adjoint(Tensor factors, Tensor pivots, Tensor B, bool left) -> Tensor")
class _SolveAdjoint:
    """The X of Aᴴ X = B, or of X Aᴴ = B, with the factors that ``_linalg_solve`` took for A and B.

    >>> weft.linalg.systems._solve_adjoint(*weft.linalg.systems._solve(
    ...     weft.eye(1) * 2, weft.ones(1), True)[1:], weft.ones(1), True)
    tensor([0.5000])
    """

    no_derivative = "use linalg.solve, which has one"

    def infer(factors, pivots, B, left):
        _check_factors("solve", factors, pivots)
        _same_dtype("solve", factors, B)
        shape = tuple(factors.shape[:-1] if B.ndim < factors.ndim else B.shape)
        if tuple(B.shape) != shape or (
            B.ndim == factors.ndim
            and (shape[:-2] != factors.shape[:-2] or shape[-2 if left else -1] != pivots.shape[-1])
        ):
            raise RuntimeError(
                f"linalg.solve: factors of shape {list(factors.shape)} do not fit B of shape "
                f"{list(B.shape)}"
            )
        return [(B.shape, B.dtype)]


_solve_adjoint: Any = _SolveAdjoint


@op(name="linalg_solve", function=False, method=False, out=True)
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Return the X of A X = B, or of X A = B with left=False.

    >>> weft.linalg.solve(weft.tensor([[2.0, 0.0], [0.0, 4.0]]), weft.tensor([1.0, 1.0]))
    tensor([0.5000, 0.2500])
    """
    return _solve(A, B, left)[0]
