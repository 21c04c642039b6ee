"""Rprop: steps by the sign of the gradient alone."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor

from .declared import DeclaredOptimizer, State, filled, options, rule

__all__ = ["Rprop", "rprop"]


class Rprop(DeclaredOptimizer):
    """Resilient backpropagation (Riedmiller and Braun, 1993)::

        s = clip(s eta, step_sizes)   with eta = etas[1] where the gradient kept its sign,
                                      etas[0] where it turned (there, g = 0), else 1
        p = p - sign(g) s

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        etas: factors by which a step shrinks and grows.
        step_sizes: the smallest and the largest step.
        maximize, foreach, capturable, differentiable: see :class:`DeclaredOptimizer`.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Rprop([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    states = "prev", State("step_size", filled("lr")), "step"

    @options(
        "lr etas step_sizes foreach maximize differentiable capturable",
        etas=rule(lambda x: 0.0 < x[0] < 1.0 < x[1], "Invalid eta values: {}"),
    )
    def __init__(
        self, params: Any, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        """Check the options and make the groups."""

    @staticmethod
    def update(
        p: Tensor, g: Tensor, prev: Tensor, size: Tensor, t: float,
        *, step_size_min: float, step_size_max: float, etaminus: float, etaplus: float,
    ) -> None:  # fmt: skip
        """Move ``p`` by its step size against the sign of the gradient."""
        kept = g * prev
        eta = weft.ones_like(size)
        eta.masked_fill_(kept > 0, etaplus).masked_fill_(kept < 0, etaminus)
        size.mul_(eta).clamp_(step_size_min, step_size_max)
        g = g.masked_fill(kept < 0, 0)
        p.addcmul_(g.sign(), size, value=-1)
        prev.copy_(g)


rprop = Rprop.functional
