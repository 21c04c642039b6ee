"""Products of Householder reflections, as LAPACK keeps the factor Q of a QR decomposition.

Reflection i is ``I - tau[i] v v^H``, where v is zero above place i, one there, and column i of the
matrix below it. ``Q`` is the product of all of them.
"""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.linalg.common import _matrix, _same_dtype
from weft.linalg.triangles import solve_triangular
from weft.ops import op, primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@primitive("_geqrf(Tensor input) -> (Tensor a, Tensor tau)")
class _Factor:
    """Return a QR decomposition as LAPACK leaves it: R above reflections, and their factors.

    >>> weft.geqrf(weft.tensor([[3.0], [4.0]])).tau
    tensor([1.6000])
    """

    no_derivative = "use linalg.qr, which has one"

    def infer(input):
        *batch, m, n = _matrix("geqrf", input)
        return [(input.shape, input.dtype), ([*batch, min(m, n)], input.dtype)]


factor: Any = _Factor


def _check(name: str, a: Tensor, tau: Tensor) -> tuple[int, ...]:
    *batch, m, n = _matrix(name, a, "input")
    _same_dtype(name, a, tau, ("input", "tau"))
    if list(tau.shape[:-1]) != batch or tau.shape[-1] > n:
        raise RuntimeError(
            f"{name}: Expected tau of shape {batch} and at most {n} factors more, for an input of "
            f"shape {list(a.shape)}, got {list(tau.shape)}"
        )
    return (*batch, m, n)


def _back(a: Tensor, tau: Tensor, x: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of a and tau, given that of Q x.

    Q is I - V T V^H, with the vectors as columns of V, and T = (I + diag(tau) S)^-1 diag(tau), where S is
    what V^H V has above its diagonal.
    """
    m, k = a.shape[-2], tau.shape[-1]
    v = a[..., :k].tril(-1) + weft.eye(m, k, dtype=a.dtype)
    d, s = tau.unsqueeze(-1), (v.mH @ v).triu(1)
    unit = d * s  # the ones of its diagonal are not read
    vx, vg = v.mH @ x, v.mH @ g
    tvx = solve_triangular(unit, d * vx, upper=True, unitriangular=True)
    w = solve_triangular(unit.mH, vg, upper=False, unitriangular=True)
    twg = d.conj() * w
    gunit = (w @ tvx.mH).triu(1)
    gs = d.conj() * gunit
    gtau = (gunit * s.conj()).sum(-1) - (w * vx.conj()).sum(-1)
    gv = v @ (gs + gs.mH) - g @ tvx.mH - x @ twg.mH
    ga = gv.tril(-1)
    if k < a.shape[-1]:
        ga = weft.cat([ga, weft.zeros_like(a[..., k:])], -1)
    return ga, gtau


@primitive("_householder_product(Tensor input, Tensor tau) -> Tensor")
class _Product:
    """The first columns of the product of reflections.

    >>> weft.orgqr(weft.ones(1, 1), weft.tensor([2.0]))
    tensor([[-1.]])
    """

    keeps = ("input", "tau")

    def infer(input, tau):
        *_, m, n = _check("linalg.householder_product", input, tau)
        if m < n:
            raise RuntimeError(
                "linalg.householder_product: input.shape[-2] must be greater than or equal to "
                f"input.shape[-1], got {[m, n]}"
            )
        return [(input.shape, input.dtype)]

    def backward(ctx, g):
        m, n = ctx.input.shape[-2:]
        return _back(ctx.input, ctx.tau, weft.eye(m, n, dtype=g.dtype).expand(g.shape), g)


_product: Any = _Product


@primitive("_ormqr(Tensor input, Tensor tau, Tensor other, bool adjoint) -> Tensor")
class _Multiplied:
    """The product of reflections, or its adjoint, times a matrix.

    >>> weft.ormqr(weft.ones(1, 1), weft.tensor([2.0]), weft.ones(1, 1))
    tensor([[-1.]])
    """

    keeps = ("input", "tau", "other")

    def infer(input, tau, other, adjoint):
        *batch, m, _ = _check("ormqr", input, tau)
        rows = _matrix("ormqr", other, "other")[-2]
        _same_dtype("ormqr", input, other, ("input", "other"))
        if rows != m or list(other.shape[:-2]) != batch:
            raise RuntimeError(
                f"ormqr: an input of shape {list(input.shape)} does not fit other of shape "
                f"{list(other.shape)}"
            )
        if tau.shape[-1] > m:
            raise RuntimeError(f"ormqr: expected at most {m} factors in tau, got {tau.shape[-1]}")
        return [(other.shape, other.dtype)]

    def backward(ctx, g):
        gother = _multiplied(ctx.input, ctx.tau, g, not ctx.adjoint)
        if not (ctx.needs("input") or ctx.needs("tau")):
            return None, None, gother
        x, g = (g, ctx.other) if ctx.adjoint else (ctx.other, g)
        return *_back(ctx.input, ctx.tau, x, g), gother


_multiplied: Any = _Multiplied


@op(name="linalg_householder_product", function=False, method=False, out=True)
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """Return the first columns of the product of reflections: the Q of ``geqrf``.

    >>> a, tau = weft.geqrf(weft.tensor([[3.0], [4.0]]))
    >>> weft.linalg.householder_product(a, tau)
    tensor([[-0.6000],
            [-0.8000]])
    """
    return _product(input, tau)


def multiplied(a: Tensor, tau: Tensor, other: Tensor, left: bool, adjoint: bool) -> Tensor:
    """Return ``Q @ other``, or ``other @ Q``, or these with the adjoint of Q, which is square.

    >>> a, tau = weft.geqrf(weft.tensor([[3.0], [4.0]]))
    >>> weft.linalg.reflections.multiplied(a, tau, weft.tensor([[3.0], [4.0]]), True, True)
    tensor([[-5.],
            [ 0.]])
    """
    if left:
        return _multiplied(a, tau, other, adjoint)
    return _multiplied(a, tau, other.mH, not adjoint).mH  # C Q = (Q^H C^H)^H
