"""Adam and AdamW: steps scaled by running means of the gradient and its square."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft import _C

from .by_group import (
    ByGroup,
    add_,
    addcdiv_,
    as_real,
    can_be_native,
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

__all__ = ["Adam", "AdamW", "adam", "plain_adam"]


class Adam(ByGroup):
    """Adam (Kingma and Ba, 2015)::

        g = grad + weight_decay p                   (decoupled: p = p (1 - lr weight_decay))
        m = beta1 m + (1 - beta1) g
        v = beta2 v + (1 - beta2) g^2               (amsgrad: the largest v so far)
        p = p - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        betas: decay of the running means of gradient and square, numbers or tensors.
        eps: keeps the denominator from zero.
        weight_decay: strength of the L2 penalty.
        amsgrad: divide by the largest mean square so far.
        foreach, fused: choices of implementation in PyTorch; here all give the same.
        maximize: climb instead of descending.
        capturable: not supported.
        differentiable: let derivatives flow through the step.
        decoupled_weight_decay: shrink the parameters instead of adding to the gradient (AdamW).

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Adam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr)
        check(eps=eps)
        check_betas(betas)
        check(weight_decay=weight_decay)
        tensors = [isinstance(b, weft.Tensor) for b in betas]
        if tensors[0] != tensors[1]:
            raise ValueError("betas must be either both floats or both Tensors")
        for name, x in (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
            if isinstance(x, weft.Tensor):
                if foreach and not capturable:
                    raise ValueError(
                        f"{name} as a Tensor is not supported for capturable=False and foreach=True"
                    )
                if x.numel() != 1:
                    raise ValueError(f"Tensor {name} must be 1-element")
        check_paths(type(self).__name__, foreach, fused, differentiable, capturable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    _native = True

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = counter()
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros(p)

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        check_dense("Adam", grads, ", please consider SparseAdam instead")
        amsgrad = group["amsgrad"]
        adam(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_avg_sq"] for s in states],
            [s["max_exp_avg_sq"] for s in states] if amsgrad else [],
            [s["step"] for s in states],
            amsgrad=amsgrad,
            beta1=number(group["betas"][0], group),
            beta2=number(group["betas"][1], group),
            lr=number(group["lr"], group),
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
            decoupled_weight_decay=group["decoupled_weight_decay"],
        )


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    The arguments are those of :class:`Adam`; parameters shrink by ``lr weight_decay`` in each step.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.AdamW([x], lr=0.1, weight_decay=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8500, 1.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        """Check the options and make the groups."""
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a state; the decay of older ones was decoupled without saying so."""
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    *,
    amsgrad: bool,
    beta1: Any,
    beta2: Any,
    lr: Any,
    weight_decay: float,
    eps: float,
    maximize: bool = False,
    decoupled_weight_decay: bool = False,
) -> None:
    """Update ``params`` and their states in place.

    Natively, all at once, where the tensors are plain; otherwise by :func:`plain_adam`.
    """
    if can_be_native(params, lr, beta1, beta2) and _C._adam(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs,
        state_steps,
        lr,
        beta1,
        beta2,
        eps,
        weight_decay,
        decoupled_weight_decay,
        maximize,
    ):
        return
    plain_adam(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs,
        state_steps,
        amsgrad=amsgrad,
        beta1=beta1,
        beta2=beta2,
        lr=lr,
        weight_decay=weight_decay,
        eps=eps,
        maximize=maximize,
        decoupled_weight_decay=decoupled_weight_decay,
    )


def plain_adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    *,
    amsgrad: bool,
    beta1: Any,
    beta2: Any,
    lr: Any,
    weight_decay: float,
    eps: float,
    maximize: bool = False,
    decoupled_weight_decay: bool = False,
) -> None:
    """Do what :func:`adam` does with weft's ops: its twin, for all tensors and with derivatives."""
    params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs = as_real(
        params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs
    )
    grads = decayed(params, grads, 0 if decoupled_weight_decay else weight_decay, maximize)
    if decoupled_weight_decay and weight_decay != 0:
        for p in params:
            p.mul_(1 - lr * weight_decay)
    last = None
    for i, t in enumerate(count(state_steps)):
        if t != last:
            size = lr / (1 - beta1**t)
            root, last = (1 - beta2**t) ** 0.5, t
        g, m, v = grads[i], exp_avgs[i], exp_avg_sqs[i]
        m.lerp_(g, 1 - beta1)
        _mean_square(v, g, beta2)
        if amsgrad:
            top = max_exp_avg_sqs[i]
            v = top.copy_(weft.maximum(top, v))
        addcdiv_(params[i], m, v.sqrt().div(root).add_(eps), -size)


def _mean_square(v: Tensor, g: Tensor, beta2: Any) -> None:
    """``v = beta2 v + (1 - beta2) g^2``."""
    if isinstance(beta2, weft.Tensor):
        v.mul_(beta2)
        add_(v, g * g, 1 - beta2)
    else:
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
