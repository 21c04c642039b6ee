"""RMSprop: steps scaled by a running mean of squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .by_group import (
    ByGroup,
    add_,
    addcdiv_,
    as_real,
    check,
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

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(ByGroup):
    """RMSprop (Hinton, 2012)::

        g = grad + weight_decay p
        v = alpha v + (1 - alpha) g^2
        a = alpha a + (1 - alpha) g                 if centered, else a = 0
        d = g / (sqrt(v - a^2) + eps)
        b = momentum b + d
        p = p - lr b

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        alpha: decay of the running means.
        eps: keeps the denominator from zero.
        weight_decay: strength of the L2 penalty.
        momentum: how much of the last direction is kept.
        centered: divide by the estimated standard deviation instead of the root mean square.
        foreach: a choice of implementation in PyTorch; here all give the same.
        maximize: climb instead of descending.
        capturable: not supported.
        differentiable: let derivatives flow through the step.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.RMSprop([x], lr=0.05)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr)
        check(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        check_paths("RMSprop", foreach, None, differentiable, capturable)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = counter()
        state["square_avg"] = zeros(p)
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros(p)
        if group["centered"]:
            state["grad_avg"] = zeros(p)

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        check_dense("RMSprop", grads)
        rmsprop(
            params,
            grads,
            [s["square_avg"] for s in states],
            [s["grad_avg"] for s in states] if group["centered"] else [],
            [s["momentum_buffer"] for s in states] if group["momentum"] > 0 else [],
            [s["step"] for s in states],
            lr=number(group["lr"], group),
            alpha=group["alpha"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            centered=group["centered"],
            maximize=group["maximize"],
        )


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    *,
    lr: Any,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
    maximize: bool = False,
) -> None:
    """Update ``params`` and their states in place."""
    params, grads, square_avgs, grad_avgs, momentum_buffer_list = as_real(
        params, grads, square_avgs, grad_avgs, momentum_buffer_list
    )
    grads = decayed(params, grads, weight_decay, maximize)
    count(state_steps)
    for i, (p, g, v) in enumerate(zip(params, grads, square_avgs)):
        v.mul_(alpha).addcmul_(g, g, value=1 - alpha)
        if centered:
            a = grad_avgs[i].lerp_(g, 1 - alpha)
            below = v.addcmul(a, a, value=-1).sqrt().add(eps)
        else:
            below = v.sqrt().add(eps)
        if momentum > 0:
            add_(p, momentum_buffer_list[i].mul_(momentum).addcdiv_(g, below), -lr)
        else:
            addcdiv_(p, g, below, -lr)
