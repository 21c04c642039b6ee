"""RAdam: Adam whose first steps are rectified."""

from __future__ import annotations

from typing import Any

from weft import Tensor

from .declared import DeclaredOptimizer, add_, addcdiv_, average_square_, options

__all__ = ["RAdam", "radam"]


class RAdam(DeclaredOptimizer):
    """Rectified Adam (Liu et al., 2020)::

        g = grad + weight_decay p                   (decoupled: p = p (1 - lr weight_decay))
        m = beta1 m + (1 - beta1) g
        v = beta2 v + (1 - beta2) g^2
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 t beta2^t / (1 - beta2^t)
        r = sqrt((rho - 4) (rho - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho))
        s = r sqrt(1 - beta2^t) / (sqrt(v) + eps)   if rho > 5   else 1
        p = p - lr s m / (1 - beta1^t)

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        betas: decay of the running means of gradient and square.
        eps: keeps the denominator from zero.
        weight_decay: strength of the L2 penalty.
        decoupled_weight_decay: shrink the parameters instead of adding to the gradient.
        maximize, foreach, capturable, differentiable: see :class:`DeclaredOptimizer`.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.RAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    states = "exp_avg", "exp_avg_sq", "step"

    @options(
        "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay "
        "differentiable"
    )
    def __init__(
        self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        """Check the options and make the groups."""

    @staticmethod
    def update(
        p: Tensor, g: Tensor, m: Tensor, v: Tensor, t: float,
        *, beta1: float, beta2: float, lr: Any, eps: float,
    ) -> None:  # fmt: skip
        """Move ``p``, scaled only when enough is known about the squares (``rho > 5``)."""
        m.lerp_(g, 1 - beta1)
        average_square_(v, g, beta2)
        size = -lr / (1 - beta1**t)
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * t * beta2**t / (1 - beta2**t)
        if rho > 5:
            r2 = (rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)
            addcdiv_(p, m, v.sqrt().add(eps), size * (r2 * (1 - beta2**t)) ** 0.5)
        else:
            add_(p, m, size)


radam = RAdam.functional
