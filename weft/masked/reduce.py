"""Reductions that respect a mask: ``sum``, ``mean``, ``var`` and others."""

from __future__ import annotations

import weft

from .common import cast, chosen, extreme, filled, summed_type, whole_dims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the sum of the elements that the mask chooses; of none it is 0.

    >>> weft.masked.sum(weft.tensor([1.0, 2.0, 4.0]), mask=weft.tensor([True, False, True]))
    tensor(5.)
    """
    input = cast(input, summed_type(input, dtype))
    return filled(input, mask, 0, "sum").sum(whole_dims(input, dim), keepdim)


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the product of the elements that the mask chooses; of none it is 1.

    >>> weft.masked.prod(weft.tensor([3.0, 2.0, 4.0]), mask=weft.tensor([True, False, True]))
    tensor(12.)
    """
    found = filled(cast(input, summed_type(input, dtype)), mask, 1, "prod")
    for d in sorted((d % max(input.dim(), 1) for d in whole_dims(input, dim)), reverse=True):
        found = found.prod(d, keepdim)
    return found


def _extreme(
    name: str, input: Tensor, dim: Any, keepdim: bool, dtype: Any, mask: Tensor | None
) -> Tensor:
    """Return what a method of Tensor finds, to which masked elements are the last to be chosen."""
    input = cast(input, dtype)
    found = filled(input, mask, extreme(input.dtype, name.endswith("min")), name)
    return getattr(found, name)(dim, keepdim).to(input.dtype)


def amax(
    input: Tensor, dim: Any = None, *, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the largest of the elements that the mask chooses; of none, the least of the dtype.

    >>> weft.masked.amax(weft.tensor([1.0, 9.0, 4.0]), mask=weft.tensor([True, False, True]))
    tensor(4.)
    """
    return _extreme("amax", input, whole_dims(input, dim), keepdim, dtype, mask)


def amin(
    input: Tensor, dim: Any = None, *, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the least of the elements that the mask chooses; of none, the largest of the dtype.

    >>> weft.masked.amin(weft.tensor([3.0, 1.0, 4.0]), mask=weft.tensor([True, False, True]))
    tensor(3.)
    """
    return _extreme("amin", input, whole_dims(input, dim), keepdim, dtype, mask)


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return where the largest of the elements is that the mask chooses.

    As in PyTorch the place has the dtype of the input, unless ``dtype=weft.int64`` is given.

    >>> weft.masked.argmax(weft.tensor([1, 9, 4]), mask=weft.tensor([True, False, True]))
    tensor(2)
    """
    return _extreme("argmax", input, dim, keepdim, dtype, mask)


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return where the least of the elements is that the mask chooses.

    As in PyTorch the place has the dtype of the input, unless ``dtype=weft.int64`` is given.

    >>> weft.masked.argmin(weft.tensor([3, 1, 4]), mask=weft.tensor([True, False, True]))
    tensor(0)
    """
    return _extreme("argmin", input, dim, keepdim, dtype, mask)


def _count(input: Tensor, dim: Any, mask: Tensor | None, name: str) -> Tensor:
    at = chosen(input, mask, name)
    ones = weft.ones(input.shape, dtype=weft.int64) if at is None else at.to(weft.int64)
    return ones.sum(whole_dims(input, dim), True)


def _float_type(input: Tensor, dtype: Any) -> Any:
    floating = input.is_floating_point() or input.is_complex()
    return dtype or (input.dtype if floating else weft.float32)


def _without(t: Tensor, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Drop the reduced dimensions, which have length 1, unless they are to be kept."""
    return t if keepdim else t.squeeze(whole_dims(input, dim)) if input.dim() else t


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the mean of the elements that the mask chooses; of none it is NaN.

    >>> weft.masked.mean(weft.tensor([1.0, 9.0, 4.0]), mask=weft.tensor([True, False, True]))
    tensor(2.5000)
    """
    input = cast(input, _float_type(input, dtype))
    total = sum(input, dim, keepdim=True, mask=mask)
    return _without(total / _count(input, dim, mask, "mean"), input, dim, keepdim)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the lower median along a dimension of the elements that the mask chooses, or NaN.

    >>> x = weft.tensor([1.0, 9.0, 4.0])
    >>> weft.masked.median(x, 0, mask=weft.tensor([True, False, True]))
    tensor(1.)
    """
    input = cast(input, _float_type(input, dtype))
    found = filled(input, mask, float("nan"), "median")
    if mask is None and bool(input.isnan().any()):
        raise ValueError("masked.median: the input has NaN, which stands for what is masked out")
    return found.nanmedian(dim, keepdim).values


def _variance(
    input: Tensor, dim: Any, unbiased: Any, correction: Any, keepdim: bool, dtype: Any,
    mask: Tensor | None, name: str,
) -> Tensor:  # fmt: skip
    if unbiased is not None and correction is not None:
        raise ValueError(f"masked.{name}: give unbiased or correction, not both")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    input = cast(input, _float_type(input, dtype))
    count = _count(input, dim, mask, name)
    off = input - sum(input, dim, keepdim=True, mask=mask) / count
    squares = off * off.conj()  # of a complex input the result is complex too, as in PyTorch
    total = sum(squares, dim, keepdim=True, mask=mask)
    return _without(total / (count - correction).clamp(min=0).to(total.dtype), input, dim, keepdim)


def var(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, *,
    correction: float | None = None, keepdim: bool = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the variance of the elements that the mask chooses.

    >>> weft.masked.var(weft.tensor([1.0, 9.0, 3.0]), mask=weft.tensor([True, False, True]))
    tensor(2.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask, "var")


def std(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, *,
    correction: float | None = None, keepdim: bool = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the standard deviation of the elements that the mask chooses.

    >>> weft.masked.std(weft.tensor([1.0, 9.0, 3.0]), mask=weft.tensor([True, False, True]))
    tensor(1.4142)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask, "std").sqrt()


def norm(
    input: Tensor, ord: float | None = 2.0, dim: Any = None, *, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the norm of the elements that the mask chooses.

    >>> weft.masked.norm(weft.tensor([3.0, 9.0, 4.0]), 2, mask=weft.tensor([True, False, True]))
    tensor(5.)
    """
    ord = 2.0 if ord is None else ord
    found = filled(cast(input, dtype), mask, 0 if ord >= 0 else float("inf"), "norm")
    return weft.linalg.vector_norm(found, ord, whole_dims(input, dim), keepdim)


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the logarithm of the sum of exponentials of the elements that the mask chooses.

    >>> weft.masked.logsumexp(weft.zeros(3), 0, mask=weft.tensor([True, False, True]))
    tensor(0.6931)
    """
    input = cast(input, dtype)
    whole = not (input.is_floating_point() or input.is_complex())
    least = extreme(input.dtype, False) if whole else float("-inf")
    found = filled(input, mask, least, "logsumexp").logsumexp(whole_dims(input, dim), keepdim)
    return found.to(input.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """Return ``log(exp(input) + exp(other))``, where masked elements are minus infinity.

    >>> weft.masked.logaddexp(weft.zeros(1), weft.ones(1), other_mask=weft.tensor([False]))
    tensor([0.])
    """
    least = float("-inf")
    x = filled(cast(input, dtype), input_mask, least, "logaddexp")
    return weft.logaddexp(x, filled(cast(other, dtype), other_mask, least, "logaddexp"))
