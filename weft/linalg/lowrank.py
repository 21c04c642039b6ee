"""Low-rank decompositions of large matrices: by products with random vectors."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """Return q orthonormal columns that nearly span what A - M maps to."""

    def times(x: Tensor) -> Tensor:
        return A @ x if M is None else A @ x - M @ x

    def back(x: Tensor) -> Tensor:
        return A.mH @ x if M is None else A.mH @ x - M.mH @ x

    start = weft.randn(*A.shape[:-2], A.shape[-1], q, dtype=A.dtype)
    found = weft.linalg.qr(times(start)).Q
    for _ in range(niter):
        found = weft.linalg.qr(times(weft.linalg.qr(back(found)).Q)).Q
    return found


@op(method=False)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> Any:
    """Return U, S and V with ``A - M`` nearly ``U diag(S) V^H``, for matrices of rank below q.

    Args:
        A: matrices.
        q: how many singular values to find, somewhat more than the rank.
        niter: how many times to improve the basis.
        M: subtracted from A; its rows may be broadcast.

    >>> U, S, V = weft.svd_lowrank(weft.ones(4, 3), 2)
    >>> weft.allclose(U * S @ V.mH, weft.ones(4, 3), atol=1e-5)
    True
    """
    q = 6 if q is None else q
    niter = 2 if niter is None else niter
    m, n = A.shape[-2:]
    if not 0 <= q <= min(m, n):
        raise ValueError(f"svd_lowrank: q={q} must be between 0 and {min(m, n)}, for {m}x{n}")
    if niter < 0:
        raise ValueError(f"svd_lowrank: niter={niter} must not be negative")
    if M is not None:
        M = M.broadcast_to(A.shape)
    if m < n:
        V, S, U = svd_lowrank(A.mH, q, niter, None if M is None else M.mH)
        return U, S, V
    Q = _basis(A, q, niter, M)
    small = Q.mH @ A if M is None else Q.mH @ A - Q.mH @ M
    U, S, Vh = weft.linalg.svd(small, full_matrices=False)
    return Q @ U, S, Vh.mH


@op(method=False)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """Return the principal components of the rows of A: ``svd_lowrank`` of the centred matrix.

    Args:
        A: one row for each sample.
        q: how many components to find (default: 6, or as many as there can be).
        center: subtract the mean of the rows.
        niter: how many times to improve the basis.

    >>> x = weft.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 10.0]])
    >>> U, S, V = weft.pca_lowrank(x)
    >>> S[1] < 1e-4
    tensor(True)
    """
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"pca_lowrank: q={q} must be between 0 and {min(m, n)}, for {m}x{n}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
