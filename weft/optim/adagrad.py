"""Adagrad: steps scaled by the sum of all squares so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft

from .by_group import (
    ByGroup,
    addcdiv_,
    as_real,
    check,
    check_lr,
    check_paths,
    count,
    counter,
    decayed,
    number,
)

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["Adagrad", "adagrad"]


class Adagrad(ByGroup):
    """Adagrad (Duchi, Hazan and Singer, 2011)::

        g = grad + weight_decay p
        s = s + g^2
        p = p - lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps)

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        lr_decay: how fast the learning rate shrinks.
        weight_decay: strength of the L2 penalty.
        initial_accumulator_value: where the sum of squares begins.
        eps: keeps the denominator from zero.
        fused: as ``foreach``.
        foreach: a choice of implementation in PyTorch; here all give the same.
        maximize: climb instead of descending.
            differentiable: let derivatives flow through the step.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Adagrad([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr)
        check(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        check_paths("Adagrad", foreach, fused, differentiable)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            self._states(group, group["params"])  # PyTorch's states are there from the start

    def share_memory(self) -> None:
        """Move the sums of squares to memory that processes share, as far as weft has it."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        first = group["initial_accumulator_value"]
        state["step"] = counter()
        state["sum"] = weft.full_like(
            p.detach(), complex(first, first) if p.is_complex() else first
        )

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        adagrad(
            params,
            grads,
            [s["sum"] for s in states],
            [s["step"] for s in states],
            lr=number(group["lr"], group),
            weight_decay=group["weight_decay"],
            lr_decay=group["lr_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    *,
    lr: Any,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool = False,
) -> None:
    """Update ``params`` and their states in place; those of sparse gradients where they have entries."""
    if weight_decay != 0 and any(g.is_sparse for g in grads):
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    params, grads, state_sums = as_real(params, grads, state_sums)
    grads = decayed(params, grads, weight_decay, maximize)
    for i, t in enumerate(count(state_steps)):
        g, s, size = grads[i], state_sums[i], lr / (1 + (t - 1) * lr_decay)
        if g.is_sparse:
            g = g.coalesce()  # each index once
            s.add_(g * g)
            change = g.values() / s.sparse_mask(g).values().sqrt().add(eps)
            params[i].add_(weft.sparse_coo_tensor(g.indices(), change, g.shape), alpha=-size)
            continue
        s.addcmul_(g, g, value=1)
        addcdiv_(params[i], g, s.sqrt().add(eps), -size)
