"""Orthogonal factors and singular values, around LAPACK.

Derivatives are written with weft's ops. In them, ``g`` stands before the name of the gradient of a
result, and ``_h`` is the conjugate transpose.
"""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.linalg.common import _eye_like, _h, _matrix, _real, _rows_and_columns
from weft.linalg.triangles import solve_triangular
from weft.ops import op, primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@primitive("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)")
class _QR:
    """Q with orthonormal columns and the upper triangle R, whose product is A.

    >>> weft.linalg.qr(weft.eye(2)).R.abs()
    tensor([[1., 0.],
            [0., 1.]])
    """

    keeps = ("Q", "R")

    def infer(A, mode):
        shape = _matrix("qr", A)
        m, n = shape[-2:]
        if mode not in ("reduced", "complete", "r"):
            raise RuntimeError(
                f"linalg.qr received unrecognized mode '{mode}' but expected one of 'reduced' "
                "(default), 'r', or 'complete'"
            )
        k = m if mode == "complete" else min(m, n)
        q = (0,) if mode == "r" else (*shape[:-2], m, k)
        return [(q, A.dtype), ((*shape[:-2], k, n), A.dtype)]

    def backward(ctx, gq, gr):
        q, r = ctx.Q, ctx.R
        if ctx.mode == "r":
            raise RuntimeError(
                "linalg.qr: the derivative depends on Q, which is not computed when mode='r'."
            )
        m, n = q.shape[-2], r.shape[-1]
        if ctx.mode == "complete" and m > n:
            raise RuntimeError(
                "linalg.qr: the derivative is not implemented when mode='complete' and nrows > "
                "ncols."
            )
        gq = weft.zeros_like(q) if gq is None else gq
        gr = weft.zeros_like(r) if gr is None else gr
        if m >= n:
            return _qr_back(q, r, gq, gr)
        # Wide: A = [X | Y] with X = Q U square, and Y = Q V.
        y = q @ r.narrow(-1, m, n - m)
        gv = gr.narrow(-1, m, n - m)
        gx = _qr_back(q, r.narrow(-1, 0, m), gq + y @ _h(gv), gr.narrow(-1, 0, m))
        return weft.cat([gx, q @ gv], -1)


qr: Any = _QR


def _qr_back(q: Tensor, r: Tensor, gq: Tensor, gr: Tensor) -> Tensor:
    m = r @ _h(gr) - _h(gq) @ q
    low = m.tril(-1)
    diagonal = m.diagonal(0, -2, -1)
    if m.is_complex():
        diagonal = weft.complex(weft.real(diagonal), weft.zeros_like(weft.real(diagonal)))
    total = gq + q @ (low + _h(low) + diagonal.diag_embed())
    return solve_triangular(_h(r), total, upper=False, left=False)


@primitive(
    "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, "
    "Tensor Vh)"
)
class _SVD:
    """The singular values S of A and the vectors with A = U diag(S) Vh.

    >>> weft.linalg.svd(weft.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """

    keeps = ("U", "S", "Vh")

    def infer(A, full_matrices, driver):
        shape = _matrix("svd", A)
        m, n = shape[-2:]
        k = min(m, n)
        u, v = (m, n) if full_matrices else (k, k)
        batch = shape[:-2]
        return [((*batch, m, u), A.dtype), ((*batch, k), _real(A.dtype)), ((*batch, v, n), A.dtype)]

    def backward(ctx, gu, gs, gvh):
        k = ctx.S.shape[-1]
        u, s, vh = ctx.U.narrow(-1, 0, k), ctx.S, ctx.Vh.narrow(-2, 0, k)
        gu = None if gu is None else gu.narrow(-1, 0, k)
        gvh = None if gvh is None else gvh.narrow(-2, 0, k)
        return _svd_back(u, s, vh, gu, gs, gvh)


svd: Any = _SVD


def _svd_back(
    u: Tensor, s: Tensor, vh: Tensor, gu: Tensor | None, gs: Tensor | None, gvh: Tensor | None
) -> Tensor:
    column, row = _rows_and_columns(s)
    if gu is None and gvh is None:
        return (u * gs.unsqueeze(-2)) @ vh if gs is not None else weft.zeros_like(u @ vh)
    gap = (row - column) * (row + column) + _eye_like(s)
    middle = weft.zeros_like(u.transpose(-2, -1) @ u)
    if gs is not None:
        middle = middle + gs.diag_embed()
    total = None
    if gu is not None:
        a = _h(u) @ gu
        skew = a - _h(a)
        middle = middle + skew / gap * row
        if s.shape[-1] < u.shape[-2]:
            total = ((gu - u @ a) / row) @ vh
    if gvh is not None:
        b = _h(gvh @ _h(vh))
        other = b - _h(b)
        middle = middle + column * (other / gap)
        if s.shape[-1] < vh.shape[-1]:
            outside = u @ ((gvh - _h(b) @ vh) / column)
            total = outside if total is None else total + outside
    if u.is_complex() and gu is not None:
        # The diagonal of the skew part is a phase, which only u's gradient carries.
        turn = skew.diagonal(0, -2, -1)
        middle = (
            middle
            - (skew / gap * row).diagonal(0, -2, -1).diag_embed()
            + (turn / (2 * s)).diag_embed()
        )
        if gvh is not None:
            middle = middle - (column * (other / gap)).diagonal(0, -2, -1).diag_embed()
    inside = u @ middle @ vh
    return inside if total is None else inside + total


@primitive("_linalg_svdvals(Tensor A) -> Tensor")
class _SVDVals:
    """The singular values of a matrix, largest first.

    >>> weft.linalg.svdvals(weft.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """

    no_derivative = "linalg.svd has one"

    def infer(A):
        shape = _matrix("svdvals", A)
        return [((*shape[:-2], min(shape[-2:])), _real(A.dtype))]


_svdvals: Any = _SVDVals


@op(name="linalg_svdvals", function=False, method=False, out=True)
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Return the singular values of a matrix, largest first.

    >>> weft.linalg.svdvals(weft.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    _matrix("svdvals", A)
    if A.requires_grad and weft.is_grad_enabled():  # the derivative needs the vectors
        return svd(A, full_matrices=False)[1]
    return _svdvals(A)
