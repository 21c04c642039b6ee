"""Closeness and equality of tensors."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.ops import op

_equal_elements = _C._op_function("equal_elements")


@op(derivative="the result is bool")
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Say of each element whether ``|input - other| <= atol + rtol * |other|``.

    >>> weft.isclose(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    if input.dtype != other.dtype:
        raise RuntimeError(f"isclose: {input.dtype} did not match {other.dtype}")
    if rtol < 0 or atol < 0:
        raise RuntimeError(
            f"isclose: rtol and atol must be greater than or equal to zero, got {rtol} and {atol}"
        )
    close = input == other
    if equal_nan and (input.is_floating_point() or input.is_complex()):
        close = close | (weft.isnan(input) & weft.isnan(other))
    if rtol == 0 and atol == 0:
        return close
    with weft.no_grad():
        a, b = input.detach(), other.detach()
        if not (a.is_floating_point() or a.is_complex()):
            a, b = a.to(weft.get_default_dtype()), b.to(weft.get_default_dtype())
        error = (a - b).abs()
        return close | (weft.isfinite(error) & (error <= atol + (rtol * b).abs()))


@op(derivative="the result is a Python bool")
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Say whether all elements are close, as ``isclose`` does.

    >>> weft.allclose(weft.ones(2), weft.ones(2))
    True
    """
    return isclose(input, other, rtol, atol, equal_nan).all().item()


@op(direct=True, derivative="the result is a Python bool")
def equal(input: Tensor, other: Tensor) -> bool:
    """Say whether shapes and all elements agree.

    >>> weft.equal(weft.ones(2), weft.ones(2))
    True
    """
    return _equal_elements(input, other).item()
