"""Products with a weight: linear and bilinear."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import functional, hot
from weft.ops import _write

_linear = _C._op_function("linear")


def plain_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x W^T + b as a product and a sum."""
    if weight.ndim > 2:
        raise RuntimeError(f"linear: weight must have one or two dimensions, got {weight.ndim}")
    y = weft.matmul(input, weight.t())
    return y if bias is None else y + bias


@hot
def linear(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Return x W^T + b: the last dimension of input becomes the first of weight.

    >>> weft.nn.functional.linear(weft.ones(2), weft.tensor([[1.0, 2.0]]), weft.ones(1))
    tensor([4.])
    """
    if out is not None:
        return _write(out, linear(input, weight, bias), "linear")
    if weight.ndim != 2:
        return plain_linear(input, weight, bias)
    return _linear(input, weight, bias)


@functional
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x1^T W x2 + b for every matrix W of weight.

    >>> weft.nn.functional.bilinear(weft.ones(1, 2), weft.ones(1, 2), weft.ones(1, 2, 2))
    tensor([[4.]])
    """
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear: input batch dimensions do not match, got {list(input1.shape)} and "
            f"{list(input2.shape)}"
        )
    outputs, n1, n2 = weight.shape
    for x, size, which in ((input1, n1, "input1"), (input2, n2, "input2")):
        if x.shape[-1] != size:
            raise RuntimeError(
                f"bilinear: {which} has {x.shape[-1]} features, weight expects {size}"
            )
    if bias is not None and tuple(bias.shape) != (outputs,):
        raise RuntimeError(f"bilinear: bias must have {outputs} elements, got {list(bias.shape)}")
    batch = input1.shape[:-1]
    x1, x2 = input1.reshape(-1, n1), input2.reshape(-1, n2)
    left = weft.matmul(x1, weight.permute(1, 0, 2).reshape(n1, outputs * n2))
    y = weft.matmul(left.reshape(-1, outputs, n2), x2.unsqueeze(-1)).squeeze(-1)
    y = y.reshape(*batch, outputs)
    return y if bias is None else y + bias
