"""Decompositions and solvers by their older names; ``weft.linalg`` has the newer ones."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.ops import named_tuple, op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _h(x: Tensor) -> Tensor:
    x = x.transpose(-2, -1)
    return x.conj() if x.is_complex() else x


@op(out=True)
def inverse(input: Tensor) -> Tensor:
    """Return the inverse of a square matrix.

    >>> weft.inverse(weft.tensor([[2.0]]))
    tensor([[0.5000]])
    """
    return weft.linalg.inv(input)


@op()
def det(input: Tensor) -> Tensor:
    """Return the determinant of a square matrix.

    >>> weft.det(weft.eye(2))
    tensor(1.)
    """
    return weft.linalg.det(input)


@op(out=True)
def slogdet(input: Tensor) -> Any:
    """Return the sign of the determinant and the logarithm of its absolute value.

    >>> weft.slogdet(weft.eye(2)).logabsdet
    tensor(0.)
    """
    return weft.linalg.slogdet(input)


@op()
def matrix_exp(input: Tensor) -> Tensor:
    """Return the exponential of a square matrix.

    >>> weft.matrix_exp(weft.zeros(1, 1))
    tensor([[1.]])
    """
    return weft.linalg.matrix_exp(input)


@op(out=True)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Return a square matrix multiplied n times with itself; its inverse, where n is negative.

    >>> weft.matrix_power(weft.tensor([[2.0]]), 3)
    tensor([[8.]])
    """
    return weft.linalg.matrix_power(input, n)


@op()
def logdet(input: Tensor) -> Tensor:
    """Return the logarithm of the determinant; not a number where that is negative.

    >>> weft.logdet(weft.eye(2))
    tensor(0.)
    """
    sign, value = weft.linalg.slogdet(input)
    if input.is_complex():
        return value + sign.log()
    return weft.where(sign.detach() < 0, weft.full_like(value, float("nan")), value)


@op(out=True)
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Return the pseudo-inverse of a matrix.

    >>> weft.pinverse(weft.tensor([[2.0]]))
    tensor([[0.5000]])
    """
    return weft.linalg.pinv(input, rcond)


@op(out=True, casts_out=True)
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Return the Cholesky factor of a positive-definite matrix.

    >>> weft.cholesky(weft.tensor([[4.0]]))
    tensor([[2.]])
    """
    return weft.linalg.cholesky(input, upper=upper)


@op(out=True, casts_out=True)
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """Return the X of A X = B, given the Cholesky factor of A.

    >>> weft.cholesky_solve(weft.ones(1, 1), weft.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    return weft.linalg.triangles._cholesky_solve(B, L, upper)


@op(out=True, casts_out=True)
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """Return the inverse of A, given its Cholesky factor.

    >>> weft.cholesky_inverse(weft.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    return weft.linalg.triangles._cholesky_inverse(L, upper)


@op(out=True)
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """Return the X of A X = b for a triangular A, and A.

    >>> weft.triangular_solve(weft.ones(1, 1), weft.tensor([[2.0]])).solution
    tensor([[0.5000]])
    """
    a = A.transpose(-2, -1) if transpose else A
    x = weft.linalg.solve_triangular(a, b, upper=upper != transpose, unitriangular=unitriangular)
    return named_tuple("triangular_solve", solution=x, cloned_coefficient=A.clone())


@op(out=True)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """Return U, the singular values S, and V, with input = U diag(S) Vᴴ.

    >>> weft.svd(weft.tensor([[3.0]])).S
    tensor([3.])
    """
    if not compute_uv:
        m, n = input.shape[-2:]
        u, v = (weft.zeros([*input.shape[:-2], k, k], dtype=input.dtype) for k in (m, n))
        return named_tuple("svd", U=u, S=weft.linalg.svdvals(input), V=v)
    u, s, vh = weft.linalg.svd(input, full_matrices=not some)
    return named_tuple("svd", U=u, S=s, V=_h(vh))


@op(out=True)
def qr(input: Tensor, some: bool = True) -> Any:
    """Return Q and R with input = Q R.

    >>> weft.qr(weft.eye(2)).R.abs()
    tensor([[1., 0.],
            [0., 1.]])
    """
    q, r = weft.linalg.qr(input, "reduced" if some else "complete")
    return named_tuple("qr", Q=q, R=r)


@op(out=True)
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """Return the factors L and U in one matrix and the exchanged rows, as ``linalg.lu_factor`` does.

    >>> weft.lu(weft.tensor([[0.0, 2.0], [4.0, 8.0]]))[1]
    tensor([2, 2], dtype=torch.int32)
    """
    if get_infos:
        return weft.linalg.lu_factor_ex(A, pivot=pivot)
    return tuple(weft.linalg.lu_factor(A, pivot=pivot))


@op(out=True)
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Return the x with A x = b, from the factors of A.

    >>> weft.lu_solve(weft.ones(2, 1), *weft.lu(2 * weft.eye(2)))
    tensor([[0.5000],
            [0.5000]])
    """
    return weft.linalg.lu_solve(LU_data, LU_pivots, b)


@op(method=False, out=True)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """Return P, L and U from the factors in one matrix; what is not asked for is empty.

    >>> weft.lu_unpack(*weft.lu(weft.tensor([[0.0, 2.0], [4.0, 8.0]]))).U
    tensor([[4., 8.],
            [0., 2.]])
    """
    from weft.linalg.elimination import _check_pivots, _unpacked

    _check_pivots(LU_pivots, "lu_unpack")
    nothing = LU_data.new_empty(0)
    p, lower, upper = _unpacked(LU_data, LU_pivots)
    if not unpack_data:
        lower, upper = nothing, nothing
    return named_tuple("lu_unpack", P=p if unpack_pivots else nothing, L=lower, U=upper)


@op(out=True, derivative="use linalg.qr, which has one")
def geqrf(input: Tensor) -> Any:
    """Return a QR decomposition as LAPACK leaves it: R above reflections, and their factors.

    >>> weft.geqrf(weft.tensor([[3.0], [4.0]])).tau
    tensor([1.6000])
    """
    from weft.linalg.reflections import factor

    a, tau = factor(input)
    return named_tuple("geqrf", a=a, tau=tau)


@op(out=True)
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """Return the first columns of the product of reflections: ``linalg.householder_product``.

    >>> weft.orgqr(weft.ones(1, 1), weft.tensor([2.0]))
    tensor([[-1.]])
    """
    return weft.linalg.householder_product(input, input2)


@op(out=True)
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """Return ``Q @ other``, where Q is the square product of reflections.

    Args:
        input: the reflections, as ``geqrf`` gives them.
        tau: their factors.
        other: the matrix.
        left: multiply from the left; else from the right.
        transpose: multiply with the adjoint of Q.

    >>> a, tau = weft.geqrf(weft.tensor([[3.0], [4.0]]))
    >>> weft.ormqr(a, tau, weft.tensor([[3.0], [4.0]]), transpose=True)
    tensor([[-5.],
            [ 0.]])
    """
    from weft.linalg.reflections import multiplied

    return multiplied(input, tau, other, left, transpose)


@op(method=False, out=True)
def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """Return the sum of the singular values of matrices.

    >>> weft.nuclear_norm(weft.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)
    """
    return weft.linalg.matrix_norm(input, "nuc", dim, keepdim)


@op(method=False, out=True)
def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """Return the root of the sum of squares along one or two dimensions, or of all elements.

    >>> weft.frobenius_norm(weft.tensor([[3.0, 4.0]]), 1)
    tensor([5.])
    """
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(f"frobenius_norm: expected at most 2 dimensions, got {list(dims)}")
    return weft.linalg.vector_norm(input, 2, dims or None, keepdim)


@op(method=False)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norm over all dimensions but one; with ``dim=-1``, over all.

    >>> weft.norm_except_dim(weft.ones(2, 4))
    tensor([[2.],
            [2.]])
    """
    if dim == -1:
        return weft.linalg.vector_norm(v, pow)
    others = [d for d in range(v.dim()) if d != dim]
    return weft.linalg.vector_norm(v, pow, others, True) if others else v.abs()
