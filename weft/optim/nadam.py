"""NAdam: Adam that looks ahead along its momentum."""

from __future__ import annotations

from typing import Any

from weft import Tensor

from .declared import DeclaredOptimizer, State, addcdiv_, average_square_, counter, options

__all__ = ["NAdam", "nadam"]


class NAdam(DeclaredOptimizer):
    """Adam with Nesterov momentum (Dozat, 2016)::

        g = grad + weight_decay p                   (decoupled: p = p (1 - lr weight_decay))
        mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2)
        m = beta1 m + (1 - beta1) g
        v = beta2 v + (1 - beta2) g^2
        n = mu_(t+1) m / (1 - mu_1 ... mu_(t+1)) + (1 - mu_t) g / (1 - mu_1 ... mu_t)
        p = p - lr n / (sqrt(v / (1 - beta2^t)) + eps)

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        betas: decay of the running means of gradient and square.
        eps: keeps the denominator from zero.
        weight_decay: strength of the L2 penalty.
        momentum_decay: how fast the momentum grows to beta1.
        decoupled_weight_decay: shrink the parameters instead of adding to the gradient.
        maximize, foreach, capturable, differentiable: see :class:`DeclaredOptimizer`.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.NAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8944, 1.8944], requires_grad=True)
    """

    states = (
        "exp_avg",
        "exp_avg_sq",
        State("mu_product", lambda p, group: counter(1.0), scalar=True),
        "step",
    )

    @options(
        "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach "
        "capturable differentiable"
    )
    def __init__(
        self, params: Any, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        """Check the options and make the groups."""

    @staticmethod
    def update(
        p: Tensor, g: Tensor, m: Tensor, v: Tensor, mu_product: Tensor, t: float,
        *, beta1: float, beta2: float, lr: Any, momentum_decay: float, eps: float,
    ) -> None:  # fmt: skip
        """Move ``p`` along the momentum that the next step would have."""
        mu = beta1 * (1 - 0.5 * 0.96 ** (t * momentum_decay))
        mu_next = beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * momentum_decay))
        product = mu_product.mul_(mu).item()
        m.lerp_(g, 1 - beta1)
        average_square_(v, g, beta2)
        root = v.div(1 - beta2**t).sqrt().add(eps)
        addcdiv_(p, g, root, -lr * (1 - mu) / (1 - product))
        addcdiv_(p, m, root, -lr * mu_next / (1 - product * mu_next))


nadam = NAdam.functional
