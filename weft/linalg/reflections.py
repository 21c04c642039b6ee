"""Products of Householder reflections, as LAPACK keeps the factor Q of a QR decomposition.

Reflection i is ``I - tau[i] v v^H``, where v is zero above place i, one there, and column i of the
matrix below it. ``Q`` is the product of all of them.
"""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.linalg import lapack
from weft.linalg.common import _matrix, _same_dtype
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

    def run(input):
        return lapack.reflections(input)


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


def _vectors(a: Tensor, count: int) -> Tensor:
    m = a.shape[-2]
    return a[..., :count].tril(-1) + weft.eye(m, count, dtype=a.dtype)


def _reflected(v: Tensor, tau: Tensor, x: Tensor, order: Any, adjoint: bool) -> Tensor:
    """Apply reflections from the left, one after the other."""
    for i in order:
        one, factor = v[..., i : i + 1], tau[..., i, None, None]
        x = x - (factor.conj() if adjoint else factor) * (one @ (one.mH @ x))
    return x


@op(name="linalg_householder_product", function=False, method=False, out=True)
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """Return the first columns of the product of reflections: the Q of ``geqrf``.

    >>> a, tau = weft.geqrf(weft.tensor([[3.0], [4.0]]))
    >>> weft.linalg.householder_product(a, tau)
    tensor([[-0.6000],
            [-0.8000]])
    """
    *batch, m, n = _check("linalg.householder_product", input, tau)
    if m < n:
        raise RuntimeError(
            "linalg.householder_product: input.shape[-2] must be greater than or equal to "
            f"input.shape[-1], got {[m, n]}"
        )
    k = tau.shape[-1]
    start = weft.eye(m, n, dtype=input.dtype).expand(*batch, m, n)
    if not k:  # no reflection: the derivatives are zero
        return start + weft.zeros_like(input) * input
    return _reflected(_vectors(input, k), tau, start, reversed(range(k)), False)


def multiplied(a: Tensor, tau: Tensor, other: Tensor, left: bool, adjoint: bool) -> Tensor:
    """Return ``Q @ other``, or ``other @ Q``, or these with the adjoint of Q, which is square.

    >>> a, tau = weft.geqrf(weft.tensor([[3.0], [4.0]]))
    >>> weft.linalg.reflections.multiplied(a, tau, weft.tensor([[3.0], [4.0]]), True, True)
    tensor([[-5.],
            [ 0.]])
    """
    *batch, m, _ = _check("ormqr", a, tau)
    rows = _matrix("ormqr", other, "other")[-2 if left else -1]
    _same_dtype("ormqr", a, other, ("input", "other"))
    if rows != m or list(other.shape[:-2]) != batch:
        raise RuntimeError(
            f"ormqr: an input of shape {list(a.shape)} does not fit other of shape "
            f"{list(other.shape)}, {'left' if left else 'right'} of it"
        )
    k = tau.shape[-1]
    if k > m:
        raise RuntimeError(f"ormqr: expected at most {m} factors in tau, got {k}")
    v = _vectors(a, k)
    if not left:  # C Q = (Q^H C^H)^H
        other, adjoint = other.mH, not adjoint
    order = range(k) if adjoint else reversed(range(k))
    found = _reflected(v, tau, other, order, adjoint)
    return found if left else found.mH
