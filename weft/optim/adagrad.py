"""Adagrad: steps scaled by the sum of all squares so far."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor

from .declared import DeclaredOptimizer, State, addcdiv_, filled, options

__all__ = ["Adagrad", "adagrad"]


class Adagrad(DeclaredOptimizer):
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
        maximize, foreach, fused, differentiable: see :class:`DeclaredOptimizer`.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Adagrad([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    states = State("sum", filled("initial_accumulator_value"), plural="state_sums"), "step"
    takes_sparse = True

    @options(
        "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize "
        "differentiable fused"
    )
    def __init__(
        self, params: Any, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        """Begin the states, which PyTorch has from the start."""
        for group in self.param_groups:
            self._states_of(group, group["params"])

    def share_memory(self) -> None:
        """Move the sums of squares to memory that processes share, as far as weft has it."""
        for state in self.state.values():
            state["sum"].share_memory_()

    @classmethod
    def _decayed(cls, params: list[Any], grads: list[Any], values: dict[str, Any]) -> list[Any]:
        if values["weight_decay"] != 0 and any(g.is_sparse for g in grads):
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        return super()._decayed(params, grads, values)

    @staticmethod
    def update(
        p: Tensor, g: Tensor, s: Tensor, t: float, *, lr: Any, lr_decay: float, eps: float
    ) -> None:
        """Move ``p``; of sparse gradients only the elements that they name."""
        size = lr / (1 + (t - 1) * lr_decay)
        if g.is_sparse:
            g = g.coalesce()  # each index once
            s.add_(g * g)
            d = g.values() / s.sparse_mask(g).values().sqrt().add(eps)
            p.add_(weft.sparse_coo_tensor(g.indices(), d, g.shape), alpha=-size)
        else:
            s.addcmul_(g, g, value=1)
            addcdiv_(p, g, s.sqrt().add(eps), -size)


adagrad = Adagrad.functional
