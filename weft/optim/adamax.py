"""Adamax: Adam by the largest gradient instead of the mean square."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor

from .declared import DeclaredOptimizer, addcdiv_, options

__all__ = ["Adamax", "adamax"]


class Adamax(DeclaredOptimizer):
    """Adam with the infinity norm (Kingma and Ba, 2015)::

        g = grad + weight_decay p
        m = beta1 m + (1 - beta1) g
        u = max(beta2 u, |g| + eps)
        p = p - lr m / ((1 - beta1^t) u)

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        betas: decay of the running mean and of the largest gradient.
        eps: keeps the denominator from zero.
        weight_decay: strength of the L2 penalty.
        maximize, foreach, capturable, differentiable: see :class:`DeclaredOptimizer`.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Adamax([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    states = "exp_avg", "exp_inf", "step"

    @options()
    def __init__(
        self, params: Any, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        """Check the options and make the groups."""

    @staticmethod
    def update(
        p: Tensor, g: Tensor, m: Tensor, u: Tensor, t: float,
        *, beta1: float, beta2: float, lr: Any, eps: float,
    ) -> None:  # fmt: skip
        """Move ``p`` along the mean of gradients, scaled by the largest of late."""
        m.lerp_(g, 1 - beta1)
        u.copy_(weft.maximum(u * beta2, g.abs().add_(eps)))
        addcdiv_(p, m, u, -lr / (1 - beta1**t))


adamax = Adamax.functional
