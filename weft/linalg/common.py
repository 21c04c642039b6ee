"""What the functions of weft.linalg share: checks of arguments, errors of LAPACK, small helpers."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.linalg import openblas

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class LinAlgError(RuntimeError):
    """A matrix does not have what was asked for: an inverse, a Cholesky factor …"""


_C._set_linalg_error(LinAlgError)
_C._set_lapack(openblas.address, openblas.use_threads)


def _matrix(name: str, a: Tensor, what: str = "A") -> tuple[int, ...]:
    """Check that a holds floating-point matrices and return its shape."""
    if a.ndim < 2:
        raise RuntimeError(
            f"linalg.{name}: The input tensor {what} must have at least 2 dimensions."
        )
    if not (a.is_floating_point() or a.is_complex()):
        raise RuntimeError(
            f"linalg.{name}: Expected a floating point or complex tensor as input. Got {a.dtype}"
        )
    if a.dtype in (weft.float16, weft.bfloat16):
        raise RuntimeError(f"linalg.{name}: Low precision dtypes not supported. Got {a.dtype}")
    return tuple(a.shape)


def _square(name: str, a: Tensor) -> tuple[int, ...]:
    shape = _matrix(name, a)
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, "
            f"but they are {shape[-2]} by {shape[-1]} matrices"
        )
    return shape


def _same_dtype(name: str, a: Tensor, b: Tensor, called: tuple[str, str] = ("A", "B")) -> None:
    if a.dtype != b.dtype:
        one, other = called
        raise RuntimeError(
            f"linalg.{name}: Expected {one} and {other} to have the same dtype, but found {one} of "
            f"type {a.dtype} and {other} of type {b.dtype} instead"
        )


def _batch(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast of two batches."""
    if a == b:
        return a
    try:
        return tuple(weft.broadcast_shapes(a, b))
    except RuntimeError:
        raise RuntimeError(
            f"linalg.{name}: the batches {list(a)} and {list(b)} do not fit together"
        ) from None


def _real(dtype: Any) -> Any:
    return {weft.complex64: weft.float32, weft.complex128: weft.float64}.get(dtype, dtype)


def _complex(dtype: Any) -> Any:
    return {weft.float32: weft.complex64, weft.float64: weft.complex128}.get(dtype, dtype)


def _h(x: Tensor) -> Tensor:
    x = x.transpose(-2, -1)
    return x.conj() if x.is_complex() else x


def _eye_like(x: Tensor) -> Tensor:
    return weft.eye(x.shape[-1], dtype=x.dtype)


def _rows_and_columns(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return a vector of values as a column and as a row."""
    return x.unsqueeze(-1), x.unsqueeze(-2)
