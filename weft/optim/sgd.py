"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

import weft
from weft import _C, Tensor

from .declared import DeclaredOptimizer, State, add_, options

__all__ = ["SGD", "sgd"]


class SGD(DeclaredOptimizer):
    """Stochastic gradient descent::

        g = grad + weight_decay p
        b = momentum b + (1 - dampening) g          (the first b is g)
        g = g + momentum b  if nesterov  else  b
        p = p - lr g

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        momentum: how much of the last direction is kept.
        dampening: how much of the gradient is held back from the momentum.
        weight_decay: strength of the L2 penalty.
        nesterov: look ahead along the momentum.
        maximize, foreach, fused, differentiable: see :class:`DeclaredOptimizer`.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.SGD([x], lr=0.1, momentum=0.9)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    states = (State("momentum_buffer", None, "momentum", plural="momentum_buffer_list"),)
    takes_sparse = True

    @options()
    def __init__(
        self, params: Any, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
        weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        """Refuse Nesterov momentum without a momentum to look along."""
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    @staticmethod
    def update(
        p: Tensor, g: Tensor, b: Any,
        *, lr: Any, momentum: float = 0, dampening: float = 0, nesterov: bool = False,
    ) -> Tensor | None:  # fmt: skip
        """Return the buffer."""
        if momentum != 0:
            g = g.coalesce() if g.is_sparse else g  # so that the buffer has each index once
            if b is None:
                b = g.detach().clone()
            else:
                b.mul_(momentum).add_(g, alpha=1 - dampening)
            g = g.add(b, alpha=momentum) if nesterov else b
        add_(p, g, -lr)
        return b

    @staticmethod
    def native(
        params: list[Tensor], grads: list[Tensor], buffers: list[Any],
        *, lr: Any, momentum: float, dampening: float, nesterov: bool, weight_decay: Any,
        maximize: bool,
    ) -> bool:  # fmt: skip
        """Update all at once, where the tensors are plain."""
        found, first = buffers if momentum != 0 else [], False
        for b in found:
            if b is None:
                first = all(b is None for b in buffers)
                if not first:
                    return False  # some are begun, some not
                found = [weft.empty_like(p) for p in params]
                break
        done: bool = _C._sgd(
            params, grads, found, lr, weight_decay, momentum, dampening, nesterov, maximize, first
        )
        if done and first:
            buffers[:] = found
        return done


sgd = SGD.functional
