"""RMSprop: steps scaled by a running mean of squares."""

from __future__ import annotations

from typing import Any

from weft import Tensor

from .declared import (
    DeclaredOptimizer,
    State,
    add_,
    addcdiv_,
    average_square_,
    not_negative,
    options,
)

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(DeclaredOptimizer):
    """RMSprop (Hinton, 2012)::

        g = grad + weight_decay p
        v = alpha v + (1 - alpha) g^2
        a = alpha a + (1 - alpha) g                 if centered, else a = 0
        d = g / (sqrt(v - a^2) + eps)
        b = momentum b + d
        p = p - lr b

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        alpha: decay of the running means.
        eps: keeps the denominator from zero.
        weight_decay: strength of the L2 penalty.
        momentum: how much of the last direction is kept.
        centered: divide by the estimated standard deviation instead of the root mean square.
        maximize, foreach, capturable, differentiable: see :class:`DeclaredOptimizer`.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.RMSprop([x], lr=0.05)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    states = (
        "square_avg",
        State("grad_avg", when="centered"),
        State("momentum_buffer", when="momentum", plural="momentum_buffer_list"),
        "step",
    )

    @options(
        "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable",
        alpha=not_negative("alpha"),
    )
    def __init__(
        self, params: Any, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0, momentum: float = 0, centered: bool = False,
        capturable: bool = False, foreach: bool | None = None, maximize: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        """Check the options and make the groups."""

    @staticmethod
    def update(
        p: Any, g: Any, v: Any, a: Any, b: Any, t: float,
        *, lr: Any, alpha: float, eps: float, momentum: float, centered: bool,
    ) -> None:  # fmt: skip
        """Move ``p`` along the gradient, scaled by the root of its mean square."""
        average_square_(v, g, alpha)
        if centered:
            a.lerp_(g, 1 - alpha)
            v = v.addcmul(a, a, value=-1)
        root = v.sqrt().add(eps)
        if momentum > 0:
            add_(p, b.mul_(momentum).addcdiv_(g, root), -lr)
        else:
            addcdiv_(p, g, root, -lr)


rmsprop = RMSprop.functional
