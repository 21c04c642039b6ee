"""Activation functions made of other ops."""

from __future__ import annotations

from weft import _C
from weft._C import Tensor
from weft.ops import op

_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805  # keep mean 0 and variance 1: see selu


_elu_op, _leaky_relu = _C._op_function("elu"), _C._op_function("leaky_relu")


@op(method=False, inplace=True)
def selu(input: Tensor) -> Tensor:
    """Return an exponential linear unit that keeps mean 0 and variance 1 from layer to layer.

    scale * x above zero, scale * alpha * (exp(x) - 1) below, with scale = 1.0507… and
    alpha = 1.6732….

    >>> weft.selu(weft.tensor([0.0, 1.0]))
    tensor([0.0000, 1.0507])
    """
    return _elu_op(input, _ALPHA, _SCALE)


@op(method=False, inplace=True)
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Return x above zero and alpha * (exp(x / alpha) - 1) below: smooth at zero for every alpha.

    >>> weft.celu(weft.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
    if alpha == 0:
        raise RuntimeError("celu: ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu_op(input, alpha, 1.0, 1 / alpha)


@op()
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return x above zero, and weight times x below; one weight, or one for each channel.

    >>> weft.prelu(weft.tensor([-1.0, 2.0]), weft.tensor(0.25))
    tensor([-0.2500,  2.0000])
    """
    if input.dtype != weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}"
        )
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    count = weight.numel()
    if count != 1:
        if input.ndim == 0:
            raise RuntimeError("prelu: Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim >= 2 else 1
        if channels != count:
            raise RuntimeError(
                "prelu: Mismatch of parameter numbers and input channel size. Found parameter "
                f"numbers = {count} and channel size = {channels}."
            )
    w = weight.reshape((1, count) + (1,) * (input.ndim - 2) if input.ndim >= 2 else (count,))
    w = w.reshape(()) if input.ndim == 0 else w
    return _leaky_relu(input, w)
