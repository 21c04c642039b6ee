"""Adamax: Adam by the largest gradient instead of the mean square."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft

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

__all__ = ["Adamax", "adamax"]


class Adamax(ByGroup):
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
        foreach: a choice of implementation in PyTorch; here all give the same.
        maximize: climb instead of descending.
        capturable: not supported.
        differentiable: let derivatives flow through the step.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Adamax([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr)
        check(eps=eps)
        check_betas(betas)
        check(weight_decay=weight_decay)
        check_paths("Adamax", foreach, None, differentiable, capturable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = counter()
        state["exp_avg"] = zeros(p)
        state["exp_inf"] = zeros(p)

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        check_dense("Adamax", grads)
        adamax(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_inf"] for s in states],
            [s["step"] for s in states],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=number(group["lr"], group),
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    *,
    beta1: float,
    beta2: float,
    lr: Any,
    weight_decay: float,
    eps: float,
    maximize: bool = False,
) -> None:
    """Update ``params`` and their states in place."""
    params, grads, exp_avgs, exp_infs = as_real(params, grads, exp_avgs, exp_infs)
    grads = decayed(params, grads, weight_decay, maximize)
    for i, t in enumerate(count(state_steps)):
        p, g, m, u = params[i], grads[i], exp_avgs[i], exp_infs[i]
        m.lerp_(g, 1 - beta1)
        u.copy_(weft.maximum(u * beta2, g.abs().add_(eps)))
        addcdiv_(p, m, u, -lr / (1 - beta1**t))
