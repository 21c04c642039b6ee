"""What masked functions share: masks, neutral elements, dimensions."""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["cast", "chosen", "extreme", "filled", "summed_type", "whole_dims"]


def chosen(input: Tensor, mask: Tensor | None, name: str) -> Tensor | None:
    """Return the mask in the shape of the input.

    >>> from weft.masked.common import chosen
    >>> chosen(weft.zeros(2, 2), weft.tensor([True, False]), "sum")
    tensor([[ True, False],
            [ True, False]])
    """
    if mask is None:
        return None
    if mask.dtype != weft.bool:
        mask = mask != 0
    if mask.dim() > input.dim():
        raise IndexError(
            f"masked.{name}: expected a mask with at most {input.dim()} dimensions, as many as the "
            f"input has, got {mask.dim()}"
        )
    return mask.expand(input.shape)


def filled(input: Tensor, mask: Tensor | None, value: Any, name: str) -> Tensor:
    """Return the input with ``value`` where the mask is False.

    >>> from weft.masked.common import filled
    >>> filled(weft.ones(2), weft.tensor([True, False]), 5, "sum")
    tensor([1., 5.])
    """
    at = chosen(input, mask, name)
    return input if at is None else weft.where(at, input, weft.tensor(value, dtype=input.dtype))


def cast(input: Tensor, dtype: Any) -> Tensor:
    """Return the input in a dtype, if one is asked for.

    >>> from weft.masked.common import cast
    >>> cast(weft.ones(1), None).dtype
    torch.float32
    """
    return input if dtype is None else input.to(dtype)


def summed_type(input: Tensor, dtype: Any) -> Any:
    """Return the dtype in which elements are added: whole numbers as int64.

    >>> from weft.masked.common import summed_type
    >>> summed_type(weft.tensor([True]), None)
    torch.int64
    """
    if dtype is not None:
        return dtype
    return input.dtype if input.is_floating_point() or input.is_complex() else weft.int64


def extreme(dtype: Any, largest: bool) -> Any:
    """Return the largest or smallest value of a dtype.

    >>> from weft.masked.common import extreme
    >>> extreme(weft.uint8, True), extreme(weft.float32, False)
    (255, -inf)
    """
    if dtype == weft.bool:
        return largest
    if dtype.is_floating_point:
        return float("inf") if largest else float("-inf")
    limits = weft.iinfo(dtype)
    return limits.max if largest else limits.min


def whole_dims(input: Tensor, dim: Any) -> tuple[int, ...]:
    """Return dimensions as a tuple: all of them for None or ``()``.

    >>> from weft.masked.common import whole_dims
    >>> whole_dims(weft.zeros(2, 3), None), whole_dims(weft.zeros(2, 3), -1)
    ((0, 1), (-1,))
    """
    if dim is None or dim == ():
        return tuple(range(input.dim()))
    return (dim,) if isinstance(dim, int) else tuple(dim)
