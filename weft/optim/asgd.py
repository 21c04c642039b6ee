"""ASGD: descent, and the mean of where it came by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .by_group import (
    ByGroup,
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

__all__ = ["ASGD", "asgd"]


class ASGD(ByGroup):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992)::

        g = grad + weight_decay p
        p = p (1 - lambd eta) - eta g
        ax = ax + mu (p - ax)
        eta = lr / (1 + lambd lr t)^alpha
        mu = 1 / max(1, t - t0)

    The mean is ``optimizer.state[p]["ax"]``.

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        lambd: decay of the parameters.
        alpha: how fast the step shrinks.
        t0: the step from which on the mean is taken.
        weight_decay: strength of the L2 penalty.
        foreach: a choice of implementation in PyTorch; here all give the same.
        maximize: climb instead of descending.
        capturable: not supported.
        differentiable: let derivatives flow through the step.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.ASGD([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    _numbers = ("step", "eta", "mu")

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr)
        check(weight_decay=weight_decay)
        check_paths("ASGD", foreach, None, differentiable, capturable)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = counter()
        state["eta"] = counter(number(group["lr"], {}))
        state["mu"] = counter(1.0)
        state["ax"] = zeros(p)

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        check_dense("ASGD", grads)
        asgd(
            params,
            grads,
            [s["ax"] for s in states],
            [s["mu"] for s in states],
            [s["step"] for s in states],
            [s["eta"] for s in states],
            lambd=group["lambd"],
            lr=number(group["lr"], {}),
            t0=group["t0"],
            alpha=group["alpha"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    state_steps: list[Tensor],
    etas: list[Tensor],
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
    maximize: bool = False,
) -> None:
    """Update ``params`` and their states in place."""
    params, grads, axs = as_real(params, grads, axs)
    grads = decayed(params, grads, weight_decay, maximize)
    for i, t in enumerate(count(state_steps)):
        p, ax, eta, mu = params[i], axs[i], etas[i].item(), mus[i].item()
        p.mul_(1 - lambd * eta).add_(grads[i], alpha=-eta)
        if mu == 1:
            ax.copy_(p)
        else:
            ax.lerp_(p, mu)
        etas[i].fill_(lr / (1 + lambd * lr * t) ** alpha)
        mus[i].fill_(1 / max(1, t - t0))
