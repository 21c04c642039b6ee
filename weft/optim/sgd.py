"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft import _C

from .by_group import (
    ByGroup,
    add_,
    as_real,
    can_be_native,
    check,
    check_lr,
    check_paths,
    decayed,
    number,
)

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["SGD", "plain_sgd", "sgd"]


class SGD(ByGroup):
    """Stochastic gradient descent::

        g = grad + weight_decay p
        b = momentum b + (1 - dampening) g          (the first b is g)
        g = g + momentum b  if nesterov  else  b
        p = p - lr g

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        momentum: how much of the last direction is kept.
        dampening: how much of the gradient is held back from the momentum.
        weight_decay: strength of the L2 penalty.
        nesterov: look ahead along the momentum.
        maximize: climb instead of descending.
        foreach, fused: choices of implementation in PyTorch; here all give the same.
        differentiable: let derivatives flow through the step.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.SGD([x], lr=0.1, momentum=0.9)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr)
        check(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_paths("SGD", foreach, fused, differentiable)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    _native = True

    def _states(self, group: dict[str, Any], params: list[Tensor]) -> list[dict[str, Any]]:
        return [self.state[p] for p in params] if group["momentum"] != 0 else []

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        buffers = [s.get("momentum_buffer") for s in states]
        sgd(
            params,
            grads,
            buffers,
            lr=number(group["lr"], group),
            momentum=group["momentum"],
            dampening=group["dampening"],
            weight_decay=number(group["weight_decay"], group),
            nesterov=group["nesterov"],
            maximize=group["maximize"],
        )
        for state, buffer in zip(states, buffers):
            state["momentum_buffer"] = buffer


def sgd(
    params: list[Tensor],
    grads: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    *,
    lr: Any,
    momentum: float = 0,
    dampening: float = 0,
    weight_decay: Any = 0,
    nesterov: bool = False,
    maximize: bool = False,
) -> None:
    """Update ``params`` and, with momentum, the list of buffers, in place.

    Natively, all at once, where the tensors are plain; otherwise by :func:`plain_sgd`.
    """
    options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
    options |= {"nesterov": nesterov, "maximize": maximize}
    if can_be_native(params, lr, weight_decay):
        buffers: list[Any] = momentum_buffer_list if momentum != 0 else []
        first = bool(buffers) and all(b is None for b in buffers)
        if first:
            buffers = [weft.empty_like(p) for p in params]
        if None not in buffers and _C._sgd(
            params,
            grads,
            buffers,
            lr,
            weight_decay,
            momentum,
            dampening,
            nesterov,
            maximize,
            first,
        ):
            momentum_buffer_list[:] = buffers or momentum_buffer_list
            return
    plain_sgd(params, grads, momentum_buffer_list, **options)


def plain_sgd(
    params: list[Tensor],
    grads: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    *,
    lr: Any,
    momentum: float = 0,
    dampening: float = 0,
    weight_decay: Any = 0,
    nesterov: bool = False,
    maximize: bool = False,
) -> None:
    """Do what :func:`sgd` does with weft's ops: its twin, for all tensors and with derivatives."""
    params, grads = as_real(params, grads)
    grads = decayed(params, grads, weight_decay, maximize)
    if momentum != 0:
        for i, g in enumerate(grads):
            g = g.coalesce() if g.is_sparse else g  # so that the buffer has each index once
            b = momentum_buffer_list[i]
            if b is None:
                momentum_buffer_list[i] = b = g.detach().clone()
            else:
                b.mul_(momentum).add_(g, alpha=1 - dampening)
            grads[i] = g.add(b, alpha=momentum) if nesterov else b
    for p, g in zip(params, grads):
        add_(p, g, -lr)
