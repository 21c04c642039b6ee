"""A convolution or linear layer with the batch norm behind it, as one layer, for evaluation."""

from __future__ import annotations

import copy

import weft
from weft.nn.parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a copy of a convolution that also does what the batch norm behind it does.

    Args:
        conv: a convolution in evaluation mode.
        bn: a batch norm in evaluation mode.
        transpose: whether it is a transposed convolution.

    >>> conv, bn = weft.nn.Conv1d(1, 2, 1).eval(), weft.nn.BatchNorm1d(2).eval()
    >>> x = weft.randn(1, 1, 4)
    >>> weft.allclose(weft.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5)
    True
    """
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Fusion needs a batch norm with running statistics")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a convolution with the batch norm behind it.

    Args:
        conv_w: weight of the convolution.
        conv_b: its bias.
        bn_rm: the running mean.
        bn_rv: the running variance.
        bn_eps: what is added to it.
        bn_w: the scale.
        bn_b: the shift.
        transpose: whether it is a transposed convolution.

    >>> one = weft.ones(1)
    >>> w, b = weft.nn.utils.fuse_conv_bn_weights(weft.ones(1, 1, 1), one, one, one, 0.0, one, one)
    >>> w.item(), b.item()
    (1.0, 1.0)
    """
    with weft.no_grad():
        b = weft.zeros_like(bn_rm) if conv_b is None else conv_b
        scale = weft.rsqrt(bn_rv + bn_eps)
        scale = scale if bn_w is None else scale * bn_w
        shift = weft.zeros_like(bn_rm) if bn_b is None else bn_b
        sizes = [1, -1] if transpose else [-1, 1]
        weight = conv_w * scale.reshape(sizes + [1] * (conv_w.dim() - 2))
        bias = (b - bn_rm) * scale + shift
    grad = conv_w.requires_grad
    bias_grad = grad if conv_b is None else conv_b.requires_grad
    return (
        Parameter(weight.to(conv_w.dtype), grad),
        Parameter(bias.to(conv_w.dtype if conv_b is None else conv_b.dtype), bias_grad),
    )


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a copy of a linear layer that also does what the batch norm behind it does.

    >>> linear, bn = weft.nn.Linear(2, 3).eval(), weft.nn.BatchNorm1d(3).eval()
    >>> x = weft.randn(4, 2)
    >>> weft.allclose(weft.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-5)
    True
    """
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a linear layer with the batch norm behind it.

    Args:
        linear_w: weight of the layer.
        linear_b: its bias.
        bn_rm: the running mean.
        bn_rv: the running variance.
        bn_eps: what is added to it.
        bn_w: the scale.
        bn_b: the shift.

    >>> one = weft.ones(1)
    >>> w, b = weft.nn.utils.fuse_linear_bn_weights(weft.ones(1, 1), one, one, one, 0.0, one, one)
    >>> w.item(), b.item()
    (1.0, 1.0)
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
