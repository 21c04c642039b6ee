"""Adadelta: steps in the units of the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .by_group import (
    ByGroup,
    add_,
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

__all__ = ["Adadelta", "adadelta"]


class Adadelta(ByGroup):
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
        foreach: a choice of implementation in PyTorch; here all give the same.
        maximize: climb instead of descending.
        capturable: not supported.
        differentiable: let derivatives flow through the step.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Adadelta([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9997, 1.9997], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check(eps=eps, weight_decay=weight_decay)
        check_paths("Adadelta", foreach, None, differentiable, capturable)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = counter()
        state["square_avg"] = zeros(p)
        state["acc_delta"] = zeros(p)

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        check_dense("Adadelta", grads)
        adadelta(
            params,
            grads,
            [s["square_avg"] for s in states],
            [s["acc_delta"] for s in states],
            [s["step"] for s in states],
            lr=number(group["lr"], group),
            rho=group["rho"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    *,
    lr: Any,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool = False,
) -> None:
    """Update ``params`` and their states in place."""
    params, grads, square_avgs, acc_deltas = as_real(params, grads, square_avgs, acc_deltas)
    grads = decayed(params, grads, weight_decay, maximize)
    count(state_steps)
    for p, g, v, u in zip(params, grads, square_avgs, acc_deltas):
        v.mul_(rho).addcmul_(g, g, value=1 - rho)
        d = u.add(eps).sqrt().div(v.add(eps).sqrt()).mul(g)
        u.mul_(rho).addcmul_(d, d, value=1 - rho)
        add_(p, d, -lr)
