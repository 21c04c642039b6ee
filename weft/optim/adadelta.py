"""Adadelta: steps in the units of the parameters."""

from __future__ import annotations

from typing import Any

from weft import Tensor

from .declared import DeclaredOptimizer, add_, average_square_, options, rule

__all__ = ["Adadelta", "adadelta"]


class Adadelta(DeclaredOptimizer):
    """Adadelta (Zeiler, 2012)::

        g = grad + weight_decay p
        v = rho v + (1 - rho) g^2
        d = sqrt(u + eps) / sqrt(v + eps) g
        u = rho u + (1 - rho) d^2
        p = p - lr d

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        rho: decay of the running means of squares.
        eps: keeps numerator and denominator from zero.
        weight_decay: strength of the L2 penalty.
        maximize, foreach, capturable, differentiable: see :class:`DeclaredOptimizer`.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Adadelta([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9997, 1.9997], requires_grad=True)
    """

    states = "square_avg", "acc_delta", "step"

    @options(
        "lr rho eps weight_decay maximize capturable foreach differentiable",
        rho=rule(lambda x: 0.0 <= x <= 1.0, "Invalid rho value: {}"),
    )
    def __init__(
        self, params: Any, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
        weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        """Check the options and make the groups."""

    @staticmethod
    def update(
        p: Tensor, g: Tensor, v: Tensor, u: Tensor, t: float, *, lr: Any, rho: float, eps: float
    ) -> None:
        """Move ``p`` by ``d``, which has the units of ``p``."""
        average_square_(v, g, rho)
        d = u.add(eps).sqrt().div(v.add(eps).sqrt()).mul(g)
        average_square_(u, d, rho)
        add_(p, d, -lr)


adadelta = Adadelta.functional
