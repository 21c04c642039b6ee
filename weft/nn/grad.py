"""Gradients of convolutions, as functions of their own."""

from __future__ import annotations

from weft import _C
from weft.nn.functional.common import tuple_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

    Ints = int | Sequence[int]

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]

_of_input, _of_weight = _C._op_function("convolve_input"), _C._op_function("convolve_weight")


def _numbers(name: str, **given: Any) -> list[tuple[int, ...]]:
    """Return stride, padding and dilation, one number for each dimension."""
    for what, value in given.items():
        if isinstance(value, str):
            raise RuntimeError(f"{name}: {what} must be numbers, got {value!r}")
    return [tuple_of(value, int(name[4]), name, what) for what, value in given.items()]


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of ``conv1d`` for its input.

    Args:
        input_size: the shape of the input.
        weight: the weight of the convolution.
        grad_output: the gradient for its result.
        stride: as in the convolution.
        padding: as in the convolution.
        dilation: as in the convolution.
        groups: as in the convolution.

    >>> weft.nn.grad.conv1d_input((1, 1, 3), weft.ones(1, 1, 2), weft.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
    numbers = _numbers("conv1d_input", stride=stride, padding=padding, dilation=dilation)
    return _of_input(grad_output, weight, input_size, *numbers, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of ``conv1d`` for its weight.

    Args:
        input: the input of the convolution.
        weight_size: the shape of the weight.
        grad_output: the gradient for its result.
        stride: as in the convolution.
        padding: as in the convolution.
        dilation: as in the convolution.
        groups: as in the convolution.

    >>> x = weft.arange(3.0).reshape(1, 1, 3)
    >>> weft.nn.grad.conv1d_weight(x, (1, 1, 2), weft.ones(1, 1, 2))
    tensor([[[1., 3.]]])
    """
    numbers = _numbers("conv1d_weight", stride=stride, padding=padding, dilation=dilation)
    return _of_weight(grad_output, input, weight_size, *numbers, groups)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of ``conv2d`` for its input: see ``conv1d_input``.

    >>> weft.nn.grad.conv2d_input((1, 1, 1, 2), weft.ones(1, 1, 1, 2), weft.ones(1, 1, 1, 1))
    tensor([[[[1., 1.]]]])
    """
    numbers = _numbers("conv2d_input", stride=stride, padding=padding, dilation=dilation)
    return _of_input(grad_output, weight, input_size, *numbers, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of ``conv2d`` for its weight: see ``conv1d_weight``.

    >>> weft.nn.grad.conv2d_weight(weft.ones(1, 1, 2, 2), (1, 1, 1, 1), weft.ones(1, 1, 2, 2))
    tensor([[[[4.]]]])
    """
    numbers = _numbers("conv2d_weight", stride=stride, padding=padding, dilation=dilation)
    return _of_weight(grad_output, input, weight_size, *numbers, groups)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of ``conv3d`` for its input: see ``conv1d_input``.

    >>> g = weft.ones(1, 1, 1, 1, 1)
    >>> weft.nn.grad.conv3d_input((1, 1, 1, 1, 2), weft.ones(1, 1, 1, 1, 2), g)
    tensor([[[[[1., 1.]]]]])
    """
    numbers = _numbers("conv3d_input", stride=stride, padding=padding, dilation=dilation)
    return _of_input(grad_output, weight, input_size, *numbers, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Return the gradient of ``conv3d`` for its weight: see ``conv1d_weight``.

    >>> x = weft.ones(1, 1, 1, 2, 2)
    >>> weft.nn.grad.conv3d_weight(x, (1, 1, 1, 1, 1), x)
    tensor([[[[[4.]]]]])
    """
    numbers = _numbers("conv3d_weight", stride=stride, padding=padding, dilation=dilation)
    return _of_weight(grad_output, input, weight_size, *numbers, groups)
