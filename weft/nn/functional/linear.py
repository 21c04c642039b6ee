"""Products with a weight: linear and bilinear."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.nn.functional.common import functional, functional_out


@functional_out
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x W^T + b: the last dimension of input becomes the first of weight.

    >>> weft.nn.functional.linear(weft.ones(2), weft.tensor([[1.0, 2.0]]), weft.ones(1))
    tensor([4.])
    """
    n = weight.ndim
    if n == 2:
        if bias is not None and input.ndim == 2:
            return weft.addmm(bias, input, weight.t())
        y = weft.matmul(input, weight.t())
    elif n == 1:
        y = weft.matmul(input, weight)
    else:
        raise RuntimeError(f"linear: weight must have one or two dimensions, got {n}")
    return y if bias is None else y + bias


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
