"""Adam and AdamW: steps scaled by running means of the gradient and its square."""

from __future__ import annotations

from typing import Any, ClassVar

import weft
from weft import _C, Tensor

from .declared import (
    DeclaredOptimizer,
    State,
    addcdiv_,
    average_square_,
    options,
)

__all__ = ["Adam", "AdamW", "adam"]


class Adam(DeclaredOptimizer):
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
        maximize, foreach, fused, capturable, differentiable: see :class:`DeclaredOptimizer`.
        decoupled_weight_decay: shrink the parameters instead of adding to the gradient (AdamW).

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Adam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    states = "exp_avg", "exp_avg_sq", State("max_exp_avg_sq", when="amsgrad"), "step"

    @options(
        "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused "
        "decoupled_weight_decay"
    )
    def __init__(
        self, params: Any, lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
        fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        """Refuse tensors as options where PyTorch does."""
        _check_tensors(lr, betas, foreach)

    @staticmethod
    def update(
        p: Any, g: Any, m: Any, v: Any, v_max: Any, t: float,
        *, amsgrad: bool, beta1: Any, beta2: Any, lr: Any, eps: float,
    ) -> None:  # fmt: skip
        """Move ``p`` along the mean of gradients, scaled by the root of their mean square."""
        m.lerp_(g, 1 - beta1)
        average_square_(v, g, beta2)
        if amsgrad:
            v = v_max.copy_(weft.maximum(v_max, v))
        root = v.sqrt().div((1 - beta2**t) ** 0.5)
        addcdiv_(p, m, root.add_(eps), -lr / (1 - beta1**t))

    @staticmethod
    def native(
        params: list[Tensor], grads: list[Tensor], ms: Any, vs: Any, v_maxs: Any, ts: Any,
        *, amsgrad: bool, beta1: Any, beta2: Any, lr: Any, eps: float, weight_decay: float,
        decoupled_weight_decay: bool, maximize: bool,
    ) -> bool:  # fmt: skip
        """Update all at once, where the tensors are plain."""
        return _C._adam(
            params, grads, ms, vs, v_maxs, ts, lr, beta1, beta2, eps, weight_decay,
            decoupled_weight_decay, maximize,
        )  # fmt: skip


def _check_tensors(lr: Any, betas: Any, foreach: bool | None) -> None:
    """Refuse a mix of numbers and tensors, larger tensors, and ``foreach`` with tensors."""
    if isinstance(betas[0], weft.Tensor) != isinstance(betas[1], weft.Tensor):
        raise ValueError("betas must be either both floats or both Tensors")
    for name, x in (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
        if isinstance(x, weft.Tensor):
            if foreach:
                raise ValueError(
                    f"{name} as a Tensor is not supported for capturable=False and foreach=True"
                )
            if x.numel() != 1:
                raise ValueError(f"Tensor {name} must be 1-element")


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

    fixed: ClassVar[dict[str, Any]] = {"decoupled_weight_decay": True}

    @options()
    def __init__(
        self, params: Any, lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        """Refuse tensors as options where PyTorch does."""
        _check_tensors(lr, betas, foreach)


adam = Adam.functional
