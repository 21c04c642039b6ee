"""Fake quantisation: numbers rounded to a grid and back, with gradients as if they were not."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _rounded(name: str, x: Tensor, scale: Tensor, zero: Tensor, low: int, high: int) -> Tensor:
    if not x.is_floating_point():
        raise RuntimeError(f"{name}: expected floating-point numbers, got {x.dtype}")
    if low > high:
        raise RuntimeError(f"{name}: quant_min must not be above quant_max, got {low} and {high}")
    with weft.no_grad():
        ints = weft.round(x * (1.0 / scale)) + zero
        inside = (ints >= low) & (ints <= high)
        y = (ints.clamp(low, high) - zero) * scale
    if not (x.requires_grad and weft.is_grad_enabled()):
        return y.to(x.dtype)
    # Nothing is added but the gradient: that of x, where x is within the grid.
    return y.to(x.dtype) + weft.where(inside, x - x.detach(), 0.0)


@op(method=False)
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """Rounds to the numbers (i - zero_point) * scale, for i from quant_min to quant_max.

    >>> x = weft.tensor([0.3, 9.0], requires_grad=True)
    >>> y = weft.fake_quantize_per_tensor_affine(x, 0.5, 0, 0, 10)
    >>> y.sum().backward()
    >>> y, x.grad
    (tensor([0.5000, 5.0000], grad_fn=<AddBackward0>), tensor([1., 0.]))
    """
    name = "fake_quantize_per_tensor_affine"
    for what, value in (("scale", scale), ("zero_point", zero_point)):
        if isinstance(value, Tensor) and value.numel() != 1:
            raise RuntimeError(f"{name}: {what} must have one element, got {list(value.shape)}")
    s = scale.reshape(()) if isinstance(scale, Tensor) else scale
    z = zero_point.reshape(()) if isinstance(zero_point, Tensor) else zero_point
    return _rounded(name, input, s, z, quant_min, quant_max)


@op(method=False)
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """Rounds each channel to its own grid.

    >>> x, s, z = weft.tensor([[0.3], [0.3]]), weft.tensor([0.5, 0.25]), weft.tensor([0, 0])
    >>> weft.fake_quantize_per_channel_affine(x, s, z, 0, -8, 7)
    tensor([[0.5000],
            [0.2500]])
    """
    name = "fake_quantize_per_channel_affine"
    if not -input.dim() <= axis < input.dim():
        raise IndexError(f"{name}: axis {axis} is none of an input of shape {list(input.shape)}")
    axis %= input.dim()
    for what, value in (("scale", scale), ("zero_point", zero_point)):
        if list(value.shape) != [input.shape[axis]]:
            raise RuntimeError(
                f"{name}: {what} must have shape [{input.shape[axis]}], got {list(value.shape)}"
            )
    shape = [-1 if i == axis else 1 for i in range(input.dim())]
    return _rounded(
        name, input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max
    )
