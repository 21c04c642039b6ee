"""Ops along one dimension that respect a mask: cumulative sums, softmax, ``normalize``."""

from __future__ import annotations

import weft

from .common import cast, filled
from .reduce import norm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return running sums of the elements that the mask chooses.

    >>> x = weft.tensor([1.0, 2.0, 4.0])
    >>> weft.masked.cumsum(x, 0, mask=weft.tensor([True, False, True]))
    tensor([1., 1., 5.])
    """
    input = cast(input, dtype)
    return filled(input, mask, 0, "cumsum").cumsum(dim, dtype=input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return running products of the elements that the mask chooses.

    >>> x = weft.tensor([3.0, 2.0, 4.0])
    >>> weft.masked.cumprod(x, 0, mask=weft.tensor([True, False, True]))
    tensor([ 3.,  3., 12.])
    """
    input = cast(input, dtype)
    return filled(input, mask, 1, "cumprod").cumprod(dim, dtype=input.dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return exponentials scaled to sum to one, of the elements that the mask chooses.

    >>> weft.masked.softmax(weft.zeros(3), 0, mask=weft.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return filled(cast(input, dtype), mask, float("-inf"), "softmax").softmax(dim)


def log_softmax(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the logarithm of ``softmax``.

    >>> weft.masked.log_softmax(weft.zeros(3), 0, mask=weft.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    return filled(cast(input, dtype), mask, float("-inf"), "log_softmax").log_softmax(dim)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return ``softmax`` of the negated elements that the mask chooses.

    >>> weft.masked.softmin(weft.zeros(3), 0, mask=weft.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return (-filled(cast(input, dtype), mask, float("inf"), "softmin")).softmax(dim)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return vectors along ``dim`` divided by the norm of what the mask chooses, the rest zero.

    >>> weft.masked.normalize(weft.tensor([3.0, 9.0, 4.0]), 2, 0, mask=weft.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    input = cast(input, dtype)
    length = norm(input, ord, dim, keepdim=True, mask=mask)
    return filled(input, mask, 0, "normalize") / weft.maximum(
        length, weft.tensor(eps, dtype=length.dtype)
    )
