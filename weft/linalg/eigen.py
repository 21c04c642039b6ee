"""Eigenvalues and eigenvectors, around LAPACK."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.linalg.common import (
    _complex,
    _eye_like,
    _h,
    _real,
    _rows_and_columns,
    _square,
)
from weft.linalg.systems import solve
from weft.ops import op, primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _check_triangle(name: str, UPLO: str) -> None:
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(
            f"linalg.{name}: Expected UPLO argument to be 'L' or 'U', but got {UPLO}"
        )


@primitive("linalg_eigh(Tensor A, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)")
class _Eigh:
    """Eigenvalues, in ascending order, and eigenvectors of a symmetric or Hermitian matrix.

    >>> weft.linalg.eigh(weft.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """

    keeps = ("eigenvalues", "eigenvectors")

    def infer(A, UPLO):
        shape = _square("eigh", A)
        _check_triangle("eigh", UPLO)
        return [(shape[:-1], _real(A.dtype)), (shape, A.dtype)]

    def backward(ctx, gl, gv):
        values, v = ctx.eigenvalues, ctx.eigenvectors
        if gv is None:
            return (v * gl.unsqueeze(-2)) @ _h(v)
        column, row = _rows_and_columns(values)
        middle = (_h(v) @ gv) / (row - column + _eye_like(values))
        middle = middle - middle.diagonal(0, -2, -1).diag_embed()
        if gl is not None:
            middle = middle + gl.diag_embed()
        return v @ middle @ _h(v)


eigh: Any = _Eigh


@primitive("_linalg_eigvalsh(Tensor A, str UPLO) -> Tensor")
class _Eigvalsh:
    """The eigenvalues of a symmetric or Hermitian matrix, in ascending order.

    >>> weft.linalg.eigvalsh(weft.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """

    no_derivative = "linalg.eigh has one"

    def infer(A, UPLO):
        shape = _square("eigvalsh", A)
        _check_triangle("eigvalsh", UPLO)
        return [(shape[:-1], _real(A.dtype))]


_eigvalsh: Any = _Eigvalsh


@op(name="linalg_eigvalsh", function=False, method=False, out=True)
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues of a symmetric or Hermitian matrix, in ascending order.

    >>> weft.linalg.eigvalsh(weft.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    _square("eigvalsh", A)
    _check_triangle("eigvalsh", UPLO)
    if A.requires_grad and weft.is_grad_enabled():  # the derivative needs the vectors
        return eigh(A, UPLO)[0]
    return _eigvalsh(A, UPLO)


@primitive("linalg_eig(Tensor A) -> (Tensor eigenvalues, Tensor eigenvectors)")
class _Eig:
    """The complex eigenvalues and eigenvectors of a square matrix.

    >>> weft.linalg.eig(weft.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([2.+0.j, 1.+0.j])
    """

    keeps = ("eigenvalues", "eigenvectors")

    def infer(A):
        shape = _square("eig", A)
        return [(shape[:-1], _complex(A.dtype)), (shape, _complex(A.dtype))]

    def backward(ctx, gl, gv):
        values, v = ctx.eigenvalues, ctx.eigenvectors
        if gv is None:
            middle = gl.diag_embed()
        else:
            column, row = _rows_and_columns(values)
            a = _h(v) @ gv
            # Eigenvectors have length one: what only stretches them does not count.
            a = a - (_h(v) @ v) * weft.real(a.diagonal(0, -2, -1)).unsqueeze(-2)
            middle = a / (row - column + _eye_like(values)).conj()
            middle = middle - middle.diagonal(0, -2, -1).diag_embed()
            if gl is not None:
                middle = middle + gl.diag_embed()
        return solve(_h(v), middle @ _h(v))


eig: Any = _Eig


@primitive("_linalg_eigvals(Tensor A) -> Tensor")
class _Eigvals:
    """The complex eigenvalues of a square matrix.

    >>> weft.linalg.eigvals(weft.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([2.+0.j, 1.+0.j])
    """

    no_derivative = "linalg.eig has one"

    def infer(A):
        return [(_square("eigvals", A)[:-1], _complex(A.dtype))]


_eigvals: Any = _Eigvals


@op(name="linalg_eigvals", function=False, method=False, out=True)
def eigvals(A: Tensor) -> Tensor:
    """Return the complex eigenvalues of a square matrix.

    >>> weft.linalg.eigvals(weft.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([2.+0.j, 1.+0.j])
    """
    _square("eigvals", A)
    if A.requires_grad and weft.is_grad_enabled():  # the derivative needs the vectors
        return eig(A)[0]
    return _eigvals(A)
