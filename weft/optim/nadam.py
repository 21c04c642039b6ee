"""NAdam: Adam that looks ahead along its momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .by_group import (
    ByGroup,
    addcdiv_,
    as_real,
    check,
    check_betas,
    check_dense,
    check_lr,
    check_paths,
    count,
    counter,
    decayed,
    number,
    zeros,
)

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["NAdam", "nadam"]


class NAdam(ByGroup):
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
        foreach: a choice of implementation in PyTorch; here all give the same.
        maximize: climb instead of descending.
        capturable: not supported.
        differentiable: let derivatives flow through the step.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.NAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8944, 1.8944], requires_grad=True)
    """

    _numbers = ("step", "mu_product")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr)
        check(eps=eps)
        check_betas(betas)
        check(weight_decay=weight_decay, momentum_decay=momentum_decay)
        check_paths("NAdam", foreach, None, differentiable, capturable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = counter()
        state["mu_product"] = counter(1.0)
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        check_dense("NAdam", grads)
        nadam(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_avg_sq"] for s in states],
            [s["mu_product"] for s in states],
            [s["step"] for s in states],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=number(group["lr"], group),
            weight_decay=group["weight_decay"],
            momentum_decay=group["momentum_decay"],
            eps=group["eps"],
            decoupled_weight_decay=group["decoupled_weight_decay"],
            maximize=group["maximize"],
        )


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    *,
    beta1: float,
    beta2: float,
    lr: Any,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
    decoupled_weight_decay: bool = False,
    maximize: bool = False,
) -> None:
    """Update ``params`` and their states in place."""
    params, grads, exp_avgs, exp_avg_sqs = as_real(params, grads, exp_avgs, exp_avg_sqs)
    grads = decayed(params, grads, 0 if decoupled_weight_decay else weight_decay, maximize)
    if decoupled_weight_decay and weight_decay != 0:
        for p in params:
            p.mul_(1 - lr * weight_decay)
    for i, t in enumerate(count(state_steps)):
        p, g, m, v = params[i], grads[i], exp_avgs[i], exp_avg_sqs[i]
        mu = beta1 * (1 - 0.5 * 0.96 ** (t * momentum_decay))
        mu_next = beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * momentum_decay))
        product = mu_products[i].mul_(mu).item()
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        below = v.div(1 - beta2**t).sqrt().add(eps)
        addcdiv_(p, g, below, -lr * (1 - mu) / (1 - product))
        addcdiv_(p, m, below, -lr * mu_next / (1 - product * mu_next))
