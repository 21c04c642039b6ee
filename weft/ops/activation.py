"""Activation functions made of other ops."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_native_elu = _C._op_function("elu")
_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805  # keep mean 0 and variance 1: see selu


def _wide(input: Tensor, name: str) -> Tensor:
    """The input with at least 32 bits, refused if it is not floating point."""
    if not input.is_floating_point():
        kind = str(input.dtype).rpartition(".")[2]
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'")
    return input.float() if input.dtype in (weft.float16, weft.bfloat16) else input


def _elu(input: Tensor, alpha: Any, rate: float, name: str) -> Tensor:
    """``x`` above zero, ``alpha (exp(rate x) - 1)`` below; both halves are computed."""
    x = _wide(input, name)
    low = x <= 0
    below = weft.expm1(weft.where(low, x, 0.0) * rate) * alpha
    return weft.where(low, below, x).to(input.dtype)


@op(method=False, inplace=True)
def selu(input: Tensor) -> Tensor:
    """Return an exponential linear unit that keeps mean 0 and variance 1 from layer to layer.

    scale * x above zero, scale * alpha * (exp(x) - 1) below, with scale = 1.0507… and
    alpha = 1.6732….

    >>> weft.selu(weft.tensor([0.0, 1.0]))
    tensor([0.0000, 1.0507])
    """
    return (_native_elu(_wide(input, "selu"), _ALPHA) * _SCALE).to(input.dtype)


@op(method=False, inplace=True)
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Return x above zero and alpha * (exp(x / alpha) - 1) below: smooth at zero for every alpha.

    >>> weft.celu(weft.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
    if alpha == 0:
        raise RuntimeError("celu: ZeroDivisionError: alpha cannot be 0 for CELU")
    if alpha < 0:  # grows below zero, too
        return _elu(input, alpha, 1 / alpha, "celu")
    x = _wide(input, "celu")
    if alpha == 1:
        return _native_elu(x, 1.0).to(input.dtype)
    return weft.where(x > 0, x, _native_elu(x * (1 / alpha), alpha)).to(input.dtype)


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
    return weft.where(input > 0, input, w * input)
