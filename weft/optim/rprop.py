"""Rprop: steps by the sign of the gradient alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft

from .by_group import (
    ByGroup,
    as_real,
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

__all__ = ["Rprop", "rprop"]


class Rprop(ByGroup):
    """Resilient backpropagation (Riedmiller and Braun, 1993)::

        s = clip(s eta, step_sizes)   with eta = etas[1] where the gradient kept its sign,
                                      etas[0] where it turned (there, g = 0), else 1
        p = p - sign(g) s

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        etas: factors by which a step shrinks and grows.
        step_sizes: the smallest and the largest step.
        foreach: a choice of implementation in PyTorch; here all give the same.
        maximize: climb instead of descending.
        capturable: not supported.
        differentiable: let derivatives flow through the step.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Rprop([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        check_paths("Rprop", foreach, None, differentiable, capturable)
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        lr = number(group["lr"], {})
        state["step"] = counter()
        state["prev"] = zeros(p)
        state["step_size"] = weft.full_like(p.detach(), complex(lr, lr) if p.is_complex() else lr)

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        check_dense("Rprop", grads)
        rprop(
            params,
            grads,
            [s["prev"] for s in states],
            [s["step_size"] for s in states],
            [s["step"] for s in states],
            step_size_min=group["step_sizes"][0],
            step_size_max=group["step_sizes"][1],
            etaminus=group["etas"][0],
            etaplus=group["etas"][1],
            maximize=group["maximize"],
        )


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
    maximize: bool = False,
) -> None:
    """Update ``params`` and their states in place."""
    params, grads, prevs, step_sizes = as_real(params, grads, prevs, step_sizes)
    grads = decayed(params, grads, 0, maximize)
    count(state_steps)
    for p, g, prev, size in zip(params, grads, prevs, step_sizes):
        kept = g * prev
        eta = weft.ones_like(size)
        eta.masked_fill_(kept > 0, etaplus).masked_fill_(kept < 0, etaminus)
        size.mul_(eta).clamp_(step_size_min, step_size_max)
        g = g.masked_fill(kept < 0, 0)
        p.addcmul_(g.sign(), size, value=-1)
        prev.copy_(g)
