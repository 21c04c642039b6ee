"""Activation functions."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import (
    functional,
    functional_out,
    hot,
    into,
    like,
    need_floating,
    random,
    wide,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# One native op each.
_hardtanh, _hardsigmoid = _C._op_function("hardtanh"), _C._op_function("hardsigmoid")
_hardswish, _elu_op = _C._op_function("hardswish"), _C._op_function("elu")
_leaky_relu, _silu = _C._op_function("leaky_relu"), _C._op_function("silu")
_mish, _softsign = _C._op_function("mish"), _C._op_function("softsign")
_gelu_erf, _gelu_tanh = _C._op_function("gelu_erf"), _C._op_function("gelu_tanh")
_softplus, _logsigmoid = _C._op_function("softplus"), _C._op_function("logsigmoid")
_hardshrink = _C._op_function("hardshrink")
_softshrink, _threshold = _C._op_function("softshrink"), _C._op_function("threshold")


@hot
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return x above zero, and zero below.

    >>> weft.nn.functional.relu(weft.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return weft.relu_(input) if inplace else weft.relu(input)


@functional
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return x between 0 and 6, and the nearer of the two outside.

    >>> weft.nn.functional.relu6(weft.tensor([-1.0, 2.0, 7.0]))
    tensor([0., 2., 6.])
    """
    return into(input, _hardtanh, 0, 6) if inplace else _hardtanh(input, 0, 6)


@functional
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Return x between two bounds, and the nearer bound outside.

    >>> weft.nn.functional.hardtanh(weft.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("hardtanh: min_val cannot be greater than max_val")
    if input.dtype == weft.bool:
        raise RuntimeError("hardtanh: bool inputs are not supported")
    if not (input.is_floating_point() or input.is_complex()):
        min_val, max_val = int(min_val), int(max_val)
        if input.dtype == weft.uint8 and min_val < 0:
            raise RuntimeError("hardtanh: cannot do hardtanh on an unsigned type with a bound < 0")
    return (
        into(input, _hardtanh, min_val, max_val) if inplace else _hardtanh(input, min_val, max_val)
    )


@hot
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return (x + 3) / 6, between 0 and 1: a sigmoid made of straight lines.

    >>> weft.nn.functional.hardsigmoid(weft.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return into(input, _hardsigmoid) if inplace else _hardsigmoid(input)


@hot
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return x (x + 3) / 6 between -3 and 3, zero below, x above.

    >>> weft.nn.functional.hardswish(weft.tensor([0.0, 1.5, 4.0]))
    tensor([0.0000, 1.1250, 4.0000])
    """
    return into(input, _hardswish) if inplace else _hardswish(input)


@hot
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x above zero, and alpha (exp(x) - 1) below.

    >>> weft.nn.functional.elu(weft.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
    return into(input, _elu_op, alpha) if inplace else _elu_op(input, alpha)


@functional
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the exponential linear unit that keeps mean 0 and variance 1.

    >>> weft.nn.functional.selu(weft.tensor([0.0, 1.0]))
    tensor([0.0000, 1.0507])
    """
    return weft.selu_(input) if inplace else weft.selu(input)


@functional
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x above zero, and alpha (exp(x / alpha) - 1) below.

    >>> weft.nn.functional.celu(weft.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
    return weft.celu_(input, alpha) if inplace else weft.celu(input, alpha)


@hot
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return x above zero, and a small multiple of x below.

    >>> weft.nn.functional.leaky_relu(weft.tensor([-1.0, 2.0]), 0.5)
    tensor([-0.5000,  2.0000])
    """
    return (
        into(input, _leaky_relu, negative_slope) if inplace else _leaky_relu(input, negative_slope)
    )


def _rrelu(input: Tensor, lower: float, upper: float, training: bool) -> Tensor:
    need_floating(input, "rrelu_cpu")
    if not training:
        return _leaky_relu(input, (lower + upper) / 2)
    slope = weft.empty_like(input).uniform_(lower, upper)
    return weft.where(input <= 0, input * slope, input)


@random
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Return x above zero, and a random multiple of x below; without training, the mean multiple.

    >>> weft.nn.functional.rrelu(weft.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    if lower > upper:
        raise ValueError(f"rrelu: lower must not be larger than upper, got {lower} and {upper}")
    args = (input, lower, upper, training)
    return into(input, _rrelu, *args[1:]) if inplace else _rrelu(*args)


@functional
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return x where it is larger than threshold, and value elsewhere.

    >>> weft.nn.functional.threshold(weft.tensor([0.5, 2.0]), 1.0, 9.0)
    tensor([9., 2.])
    """
    return (
        into(input, _threshold, threshold, value)
        if inplace
        else _threshold(input, threshold, value)
    )


@functional_out
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """Return x times the share of a normal distribution below x; 'tanh' approximates it.

    >>> weft.nn.functional.gelu(weft.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("gelu: approximate argument must be either none or tanh.")
    return _gelu_erf(input) if approximate == "none" else _gelu_tanh(input)


def plain_silu(input: Tensor) -> Tensor:
    """Return x times its sigmoid."""
    need_floating(input, "silu_cpu", complex=True)
    x = wide(input)
    return like(x * weft.sigmoid(x), input)


@hot
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return x times its sigmoid.

    >>> weft.nn.functional.silu(weft.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """
    f = plain_silu if isinstance(input, Tensor) and input.is_complex() else _silu
    return into(input, f) if inplace else f(input)


@hot
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return x tanh(log(1 + exp(x))).

    >>> weft.nn.functional.mish(weft.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """
    return into(input, _mish) if inplace else _mish(input)


@functional_out
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return log(1 + exp(beta x)) / beta: a smooth relu; x itself where beta x > threshold.

    >>> weft.nn.functional.softplus(weft.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """
    return _softplus(input, beta, threshold)


@functional_out
def logsigmoid(input: Tensor) -> Tensor:
    """Return the logarithm of the sigmoid.

    >>> weft.nn.functional.logsigmoid(weft.tensor([0.0]))
    tensor([-0.6931])
    """
    return _logsigmoid(input)


@functional
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Cut input in two halves along dim, and return the first times the sigmoid of the second.

    >>> weft.nn.functional.glu(weft.tensor([3.0, 0.0]))
    tensor([1.5000])
    """
    if input.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    size = input.size(dim)
    if size % 2:
        raise RuntimeError(
            f"glu: Halving dimension must be even, but dimension {dim} is size {size}"
        )
    a, b = input.split(size // 2, dim) if size else (input, input)
    return a * weft.sigmoid(b)


@functional_out
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Move x towards zero by lambd; what would cross zero becomes zero.

    >>> weft.nn.functional.softshrink(weft.tensor([-1.0, 0.25, 1.0]))
    tensor([-0.5000,  0.0000,  0.5000])
    """
    if not lambd >= 0:
        raise RuntimeError(f"softshrink: lambda must be greater or equal to 0, but found {lambd}")
    return _softshrink(input, lambd)


@functional_out
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return x, but zero where it is between -lambd and lambd.

    >>> weft.nn.functional.hardshrink(weft.tensor([-1.0, 0.25, 1.0]))
    tensor([-1.,  0.,  1.])
    """
    return _hardshrink(input, lambd)


@functional
def tanhshrink(input: Tensor) -> Tensor:
    """Return x - tanh(x).

    >>> weft.nn.functional.tanhshrink(weft.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
    return input - weft.tanh(input)


@functional
def softsign(input: Tensor) -> Tensor:
    """Return x / (1 + |x|).

    >>> weft.nn.functional.softsign(weft.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return _softsign(input) if input.is_floating_point() else input / (weft.abs(input) + 1)


@hot
def sigmoid(input: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x)).

    >>> weft.nn.functional.sigmoid(weft.tensor([0.0]))
    tensor([0.5000])
    """
    return weft.sigmoid(input)


@hot
def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent.

    >>> weft.nn.functional.tanh(weft.tensor([0.0]))
    tensor([0.])
    """
    return weft.tanh(input)


def _softmax_dim(name: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    if dim is not None:
        return dim
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=stacklevel + 2,
    )
    return 0 if input.ndim in (0, 1, 3) else 1


@hot
def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Return exponentials along dim, scaled to sum to one.

    >>> weft.nn.functional.softmax(weft.tensor([1.0, 1.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return weft.softmax(input, _softmax_dim("softmax", input, dim, _stacklevel), dtype=dtype)


@functional
def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Return the softmax of -x.

    >>> weft.nn.functional.softmin(weft.tensor([1.0, 1.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return weft.softmax(-input, _softmax_dim("softmin", input, dim, _stacklevel), dtype=dtype)


@hot
def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Return the logarithm of the softmax.

    >>> weft.nn.functional.log_softmax(weft.tensor([1.0, 1.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return weft.log_softmax(
        input, _softmax_dim("log_softmax", input, dim, _stacklevel), dtype=dtype
    )


@random
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Draw from a relaxed categorical distribution; hard gives one-hot draws, soft gradients.

    >>> weft.nn.functional.gumbel_softmax(weft.zeros(3), hard=True).sum()
    tensor(1.)
    """
    noise = -weft.empty_like(logits).exponential_().log()  # Gumbel(0, 1)
    soft = weft.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    one = weft.zeros_like(soft).scatter(dim, index, 1.0)
    return one - soft.detach() + soft if _C._grad_enabled() and soft.requires_grad else one


def relu_(input: Tensor) -> Tensor:
    """In-place twin of ``relu``."""
    return relu(input, True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place twin of ``elu``."""
    return elu(input, alpha, True)


def selu_(input: Tensor) -> Tensor:
    """In-place twin of ``selu``."""
    return selu(input, True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place twin of ``celu``."""
    return celu(input, alpha, True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place twin of ``leaky_relu``."""
    return leaky_relu(input, negative_slope, True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place twin of ``hardtanh``."""
    return hardtanh(input, min_val, max_val, True)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """In-place twin of ``rrelu``."""
    return rrelu(input, lower, upper, training, True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place twin of ``threshold``."""
    return globals()["threshold"](input, threshold, value, True)
