"""ASGD: descent, and the mean of where it came by."""

from __future__ import annotations

from typing import Any

from weft import Tensor

from .declared import DeclaredOptimizer, State, counter, options

__all__ = ["ASGD", "asgd"]


class ASGD(DeclaredOptimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992)::

        g = grad + weight_decay p
        p = p (1 - lambd eta) - eta g
        ax = ax + mu (p - ax)
        eta = lr / (1 + lambd lr t)^alpha
        mu = 1 / max(1, t - t0)

    The mean is ``optimizer.state[p]["ax"]``.

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        lambd: decay of the parameters.
        alpha: how fast the step shrinks.
        t0: the step from which on the mean is taken.
        weight_decay: strength of the L2 penalty.
        maximize, foreach, capturable, differentiable: see :class:`DeclaredOptimizer`.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.ASGD([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    states = (
        "ax",
        State("mu", lambda p, group: counter(1.0), scalar=True),
        "step",
        State("eta", lambda p, group: counter(float(group["lr"])), scalar=True),
    )

    @options()
    def __init__(
        self, params: Any, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
        t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        """Check the options and make the groups."""

    @staticmethod
    def update(
        p: Tensor, g: Tensor, ax: Tensor, mu: Tensor, t: float, eta: Tensor,
        *, lambd: float, lr: Any, t0: float, alpha: float,
    ) -> None:  # fmt: skip
        """Move ``p``, and ``ax`` to the mean of where it was from step ``t0`` on."""
        size, share, lr = eta.item(), mu.item(), float(lr)
        p.mul_(1 - lambd * size).add_(g, alpha=-size)
        if share == 1:
            ax.copy_(p)
        else:
            ax.lerp_(p, share)
        eta.fill_(lr / (1 + lambd * lr * t) ** alpha)
        mu.fill_(1 / max(1, t - t0))


asgd = ASGD.functional
