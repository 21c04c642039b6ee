"""RAdam: Adam whose first steps are rectified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .by_group import (
    ByGroup,
    add_,
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

__all__ = ["RAdam", "radam"]


class RAdam(ByGroup):
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
        foreach: a choice of implementation in PyTorch; here all give the same.
        maximize: climb instead of descending.
        capturable: not supported.
        differentiable: let derivatives flow through the step.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.RAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
        check(weight_decay=weight_decay)
        check_paths("RAdam", foreach, None, differentiable, capturable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = counter()
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        check_dense("RAdam", grads)
        radam(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_avg_sq"] for s in states],
            [s["step"] for s in states],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=number(group["lr"], group),
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            decoupled_weight_decay=group["decoupled_weight_decay"],
            maximize=group["maximize"],
        )


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    *,
    beta1: float,
    beta2: float,
    lr: Any,
    weight_decay: float,
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
    rho_inf = 2 / (1 - beta2) - 1
    for i, t in enumerate(count(state_steps)):
        p, g, m, v = params[i], grads[i], exp_avgs[i], exp_avg_sqs[i]
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        size = -lr / (1 - beta1**t)
        rho = rho_inf - 2 * t * beta2**t / (1 - beta2**t)
        if rho > 5:
            over = (rho - 4) * (rho - 2) * rho_inf * (1 - beta2**t)
            size = size * (over / ((rho_inf - 4) * (rho_inf - 2) * rho)) ** 0.5
            addcdiv_(p, m, v.sqrt().add(eps), size)
        else:
            add_(p, m, size)
