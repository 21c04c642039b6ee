"""``make_tensor``: tensors with random values, to test with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import weft

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor with values that are drawn evenly from ``low`` to below ``high``.

    Args:
        shape: the sizes, one by one or in a sequence.
        dtype: the type of the values.
        device: where it goes.
        low: the least value; by default -9, 0 for ``uint8`` and ``bool``.
        high: the least value that is too large; by default 9 for floating-point numbers, 10 for
            whole ones, 2 for ``bool``.
        requires_grad: record what is done with it.
        noncontiguous: leave gaps between its elements; not with ``memory_format``.
        exclude_zero: put the least positive number, or 1, in place of 0.
        memory_format: the order of its elements in memory.

    >>> x = weft.testing.make_tensor(2, 3, dtype=weft.int64, device="cpu", low=0, high=5)
    >>> x.shape, bool((x >= 0).all() and (x < 5).all())
    (torch.Size([2, 3]), True)
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
    inexact = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not inexact:
        raise ValueError(
            f"make_tensor: requires_grad=True is for floating-point and complex types, got {dtype}"
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"make_tensor: give noncontiguous=True or memory_format={memory_format}, not both"
        )
    least, most = _interval(dtype, low, high)
    if dtype.is_complex:
        part = weft.float64 if dtype == weft.complex128 else weft.float32
        made = weft.complex(*(_even(sizes, part, device, least, most) for _ in range(2))).to(dtype)
    elif inexact:
        made = _even(sizes, dtype, device, least, most)
    else:
        made = weft.randint(int(least), int(most), sizes, dtype=dtype, device=device)
    if exclude_zero:
        made = made.masked_fill(made == 0, weft.finfo(dtype).tiny if inexact else 1)
    if noncontiguous and made.numel() > 1:
        made = made.repeat_interleave(2, dim=-1)[..., ::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    return made.requires_grad_(requires_grad)


def _interval(dtype: Any, low: float | None, high: float | None) -> tuple[float, float]:
    """Return from where to below where values are drawn, within what the type can hold."""
    inexact = dtype.is_floating_point or dtype.is_complex
    first: float
    last: float
    if inexact:
        first, last, usual = weft.finfo(dtype).min, weft.finfo(dtype).max, (-9, 9)
    elif dtype == weft.bool:
        first, last, usual = 0, 2, (0, 2)
    else:
        first, last = weft.iinfo(dtype).min, weft.iinfo(dtype).max + 1
        usual = (0, 10) if first == 0 else (-9, 10)
    least, most = usual[0] if low is None else low, usual[1] if high is None else high
    if math.isnan(least) or math.isnan(most):
        raise ValueError(f"make_tensor: low and high cannot be NaN, got {least} and {most}")
    if least > most or (least == most and not inexact):
        raise ValueError(f"make_tensor: low must be less than high, got {least} and {most}")
    if most < first or least > last or (not inexact and (most <= first or least >= last)):
        raise ValueError(
            f"make_tensor: {dtype} holds values from {first} to below {last}, got low={least} and "
            f"high={most}"
        )
    least, most = max(least, first), min(most, last)
    if inexact:
        return least, most
    least, most = math.ceil(least), math.ceil(most)
    if least >= most:
        raise ValueError(f"make_tensor: no whole number is from {low} to below {high}")
    return least, min(most, 2**63 - 1)  # randint's own limit


def _even(sizes: Any, dtype: Any, device: Any, low: float, high: float) -> Tensor:
    if low == high:
        return weft.full(sizes, low, dtype=dtype, device=device)
    u = weft.rand(sizes, dtype=weft.float64, device=device)
    x = (low * (1 - u) + high * u).to(dtype)  # the difference of both may be too large
    return x.masked_fill(x >= high, low)
