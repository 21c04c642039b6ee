# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""Linear algebra: products, norms, decompositions and solvers, for matrices and batches of them."""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft._C import _Device as _Device
from weft._C import _DType as _DType
from weft._C import _Hook as _Hook
from weft._C import _Index as _Index
from weft._C import _Ints as _Ints
from weft._C import _Layout as _Layout
from weft._C import _MemoryFormat as _MemoryFormat
from weft._C import _Number as _Number
from weft._C import _Operand as _Operand
from weft._C import _bool as _bool
from weft._C import _complex as _complex
from weft._C import _float as _float
from weft._C import _int as _int
from weft._C import _str as _str
from weft._C import Generator
from weft._C import Size
from weft._C import Tensor
from weft.linalg.common import LinAlgError as LinAlgError

class _EigenvaluesEigenvectors(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class _LDPivotsInfo(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class _LInfo(NamedTuple):
    L: Tensor
    info: Tensor

class _LUPivotsInfo(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _QR(NamedTuple):
    Q: Tensor
    R: Tensor

class _SignLogabsdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _USVh(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

def cholesky(A: Tensor, *, upper: _bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangle L with A = L Lᴴ, or the upper one with A = Uᴴ U.

    >>> weft.linalg.cholesky(weft.tensor([[4.0, 0.0], [0.0, 9.0]]))
    tensor([[2., 0.],
            [0., 3.]])
    """
def cholesky_ex(
    A: Tensor,
    *,
    upper: _bool = False,
    check_errors: _bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> _LInfo:
    """The Cholesky factor and, per matrix, a code that is not zero where there is none.

    >>> weft.linalg.cholesky_ex(weft.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
def cond(A: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Return the condition number of a matrix in the p-norm (by default 2).

    >>> weft.linalg.cond(weft.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(2.)
    """
def cross(input: Tensor, other: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """The vector products along a dimension of size 3.

    >>> weft.linalg.cross(weft.tensor([1, 0, 0]), weft.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the determinant of a square matrix, or of each of a batch.

    >>> weft.linalg.det(weft.tensor([[2.0, 1.0], [0.0, 4.0]]))
    tensor(8.)
    """
def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Return the diagonal of the last two dimensions (or of others), as a view.

    >>> weft.linalg.diagonal(weft.eye(2))
    tensor([1., 1.])
    """
def eig(A: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> _EigenvaluesEigenvectors:
    """The complex eigenvalues and eigenvectors of a square matrix.

    >>> weft.linalg.eig(weft.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([2.+0.j, 1.+0.j])
    """
def eigh(
    A: Tensor,
    UPLO: _str = 'L',
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> _EigenvaluesEigenvectors:
    """Eigenvalues, in ascending order, and eigenvectors of a symmetric or Hermitian matrix.

    >>> weft.linalg.eigh(weft.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the complex eigenvalues of a square matrix.

    >>> weft.linalg.eigvals(weft.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([2.+0.j, 1.+0.j])
    """
def eigvalsh(A: Tensor, UPLO: _str = 'L', *, out: Tensor | None = None) -> Tensor:
    """Return the eigenvalues of a symmetric or Hermitian matrix, in ascending order.

    >>> weft.linalg.eigvalsh(weft.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the first columns of the product of reflections: the Q of ``geqrf``.

    >>> a, tau = weft.geqrf(weft.tensor([[3.0], [4.0]]))
    >>> weft.linalg.householder_product(a, tau)
    tensor([[-0.6000],
            [-0.8000]])
    """
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a square matrix, or of each of a batch.

    >>> weft.linalg.inv(weft.tensor([[2.0, 1.0], [1.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  2.]])
    """
def inv_ex(A: Tensor, *, check_errors: _bool = False, out: Tensor | None = None) -> Any:
    """Return the inverse and, per matrix, a code that is not zero where there is none.

    >>> weft.linalg.inv_ex(weft.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
def ldl_factor(A: Tensor, *, hermitian: _bool = False, out: Tensor | None = None) -> Any:
    """Return the factors of symmetric matrices in one matrix, and the exchanged rows.

    >>> weft.linalg.ldl_factor(weft.tensor([[2.0, 1.0], [1.0, 3.0]])).pivots
    tensor([1, 2], dtype=torch.int32)
    """
def ldl_factor_ex(
    A: Tensor,
    *,
    hermitian: _bool = False,
    check_errors: _bool = False,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> _LDPivotsInfo:
    """The factors of symmetric matrices, the exchanged rows, and where a block is singular.

    >>> weft.linalg.ldl_factor_ex(weft.tensor([[2.0, 1.0], [1.0, 3.0]])).LD
    tensor([[2.0000, 0.0000],
            [0.5000, 2.5000]])
    """
def ldl_solve(
    LD: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    hermitian: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The X with A X = B, from the factors of A that ``ldl_factor`` gives.

    >>> A, B = weft.tensor([[2.0, 1.0], [1.0, 3.0]]), weft.tensor([[4.0], [7.0]])
    >>> weft.linalg.ldl_solve(*weft.linalg.ldl_factor(A), B)
    tensor([[1.],
            [2.]])
    """
def lstsq(
    A: Tensor,
    B: Tensor,
    rcond: Any = None,
    *,
    driver: _str | None = None,
    out: Tensor | None = None,
) -> Any:
    """Return the X that makes A X - B smallest, the residuals, rank and singular values of A.

    >>> weft.linalg.lstsq(weft.tensor([[1.0], [1.0]]), weft.tensor([[1.0], [3.0]])).solution
    tensor([[2.0000]])
    """
def lu(A: Tensor, *, pivot: _bool = True, out: Tensor | None = None) -> tuple[Tensor, ...]:
    """Return P, L and U, whose product is A.

    >>> weft.linalg.lu(weft.tensor([[0.0, 2.0], [4.0, 8.0]])).P
    tensor([[0., 1.],
            [1., 0.]])
    """
def lu_factor(A: Tensor, *, pivot: _bool = True, out: Tensor | None = None) -> Any:
    """Return the factors L and U in one matrix, and the exchanged rows; for ``lu_solve``.

    >>> weft.linalg.lu_factor(weft.tensor([[0.0, 2.0], [4.0, 8.0]])).LU
    tensor([[4., 8.],
            [0., 2.]])
    """
def lu_factor_ex(
    A: Tensor,
    *,
    pivot: _bool = True,
    check_errors: _bool = False,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> _LUPivotsInfo:
    """The factors L and U in one matrix, the exchanged rows, and where a pivot is zero.

    >>> weft.linalg.lu_factor_ex(weft.tensor([[0.0, 2.0], [4.0, 8.0]])).pivots
    tensor([2, 2], dtype=torch.int32)
    """
def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: _bool = True,
    adjoint: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Return the X with A X = B, from the factors of A (``left=False``: X A = B).

    >>> LU, pivots = weft.linalg.lu_factor(weft.tensor([[0.0, 2.0], [4.0, 8.0]]))
    >>> weft.linalg.lu_solve(LU, pivots, weft.tensor([[2.0], [4.0]]))
    tensor([[-1.],
            [ 1.]])
    """
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; vectors and batches of matrices too, with broadcasting.

    >>> weft.matmul(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of a square matrix.

    >>> weft.linalg.matrix_exp(weft.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
def matrix_norm(
    A: Tensor,
    ord: Any = 'fro',
    dim: Sequence[_int] = (-2, -1),
    keepdim: _bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return a norm of a matrix: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.

    >>> weft.linalg.matrix_norm(weft.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
def matrix_power(A: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Return a square matrix multiplied n times with itself; its inverse, where n is negative.

    >>> weft.linalg.matrix_power(weft.tensor([[2.0, 0.0], [0.0, 3.0]]), 2)
    tensor([[4., 0.],
            [0., 9.]])
    """
def matrix_rank(
    A: Tensor,
    tol: Any = None,
    hermitian: _bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the number of singular values that are not (nearly) zero.

    >>> weft.linalg.matrix_rank(weft.ones(3, 3))
    tensor(1)
    """
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return the product of several matrices, multiplied in the order that costs least.

    >>> weft.linalg.multi_dot([weft.ones(2, 3), weft.ones(3, 4), weft.ones(4)])
    tensor([12., 12.])
    """
def norm(
    A: Tensor,
    ord: Any = None,
    dim: _Ints | None = None,
    keepdim: _bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return a norm of a vector or a matrix; without ord, the root of the sum of all squares.

    >>> weft.linalg.norm(weft.tensor([3.0, 4.0]))
    tensor(5.)
    """
def pinv(
    A: Tensor,
    rcond: Any = None,
    hermitian: _bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the pseudo-inverse: the inverse where there is one, else the closest thing to it.

    >>> weft.linalg.pinv(weft.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
def qr(A: Tensor, mode: _str = 'reduced', *, out: tuple[Tensor, Tensor] | None = None) -> _QR:
    """Q with orthonormal columns and the upper triangle R, whose product is A.

    >>> weft.linalg.qr(weft.eye(2)).R.abs()
    tensor([[1., 0.],
            [0., 1.]])
    """
def slogdet(A: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> _SignLogabsdet:
    """The sign of the determinant and the logarithm of its absolute value.

    >>> weft.linalg.slogdet(weft.eye(2)).logabsdet
    tensor(0.)
    """
def solve(A: Tensor, B: Tensor, *, left: _bool = True, out: Tensor | None = None) -> Tensor:
    """Return the X of A X = B, or of X A = B with left=False.

    >>> weft.linalg.solve(weft.tensor([[2.0, 0.0], [0.0, 4.0]]), weft.tensor([1.0, 1.0]))
    tensor([0.5000, 0.2500])
    """
def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: _bool = True,
    check_errors: _bool = False,
    out: Tensor | None = None,
) -> Any:
    """Return the solution of A X = B and, per matrix, a code that is not zero where there is none.

    >>> weft.linalg.solve_ex(weft.eye(2), weft.ones(2)).result
    tensor([1., 1.])
    """
def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: _bool,
    left: _bool = True,
    unitriangular: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The X of A X = B (X A = B with left=False) for a triangular A, whose other half is not read.

    >>> A = weft.tensor([[2.0, 0.0], [1.0, 1.0]])
    >>> weft.linalg.solve_triangular(A, weft.tensor([[2.0], [3.0]]), upper=False)
    tensor([[1.],
            [2.]])
    """
def svd(
    A: Tensor,
    full_matrices: _bool = True,
    *,
    driver: _str | None = None,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> _USVh:
    """The singular values S of A and the vectors with A = U diag(S) Vh.

    >>> weft.linalg.svd(weft.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
def svdvals(A: Tensor, *, driver: _str | None = None, out: Tensor | None = None) -> Tensor:
    """Return the singular values of a matrix, largest first.

    >>> weft.linalg.svdvals(weft.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
def tensorinv(A: Tensor, ind: _int = 2, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of A with respect to tensordot over its last dimensions.

    >>> weft.linalg.tensorinv(weft.eye(4).reshape(2, 2, 4)).shape
    torch.Size([4, 2, 2])
    """
def tensorsolve(
    A: Tensor,
    B: Tensor,
    dims: _Ints | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the X of tensordot(A, X, X.ndim) = B.

    >>> weft.linalg.tensorsolve(weft.eye(4).reshape(2, 2, 4), weft.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
def vander(x: Tensor, *, N: _int | None = None, out: Tensor | None = None) -> Tensor:
    """Return the powers 0 … N - 1 of each element, in a new last dimension.

    >>> weft.linalg.vander(weft.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
def vecdot(x: Tensor, y: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """Return the inner products along a dimension, the first operand conjugated.

    >>> weft.linalg.vecdot(weft.ones(2, 3), weft.ones(2, 3))
    tensor([3., 3.])
    """
def vector_norm(
    input: Tensor,
    ord: Tensor | _Number = 2,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The ord-norm of the elements over dim.

    >>> weft.linalg.vector_norm(weft.tensor([3.0, 4.0]))
    tensor(5.)
    """
