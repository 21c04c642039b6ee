"""SparseAdam: Adam for gradients that name only a few rows."""

from __future__ import annotations

from typing import Any

from weft import Tensor

from .declared import STEP, DeclaredOptimizer, learning_rate, options, rule

__all__ = ["SparseAdam", "sparse_adam"]


def _positive_rate(value: Any) -> None:
    learning_rate(value)
    rule(lambda x: 0.0 < x, "Invalid learning rate: {}")(value)


class SparseAdam(DeclaredOptimizer):
    """Adam that moves only the elements that a sparse gradient names, and their moments.

    Args:
        params: dense tensors whose gradients are sparse, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        betas: decay of the running means of gradient and square.
        eps: keeps the denominator from zero.
        maximize: climb instead of descending.

    >>> table = weft.nn.Embedding.from_pretrained(weft.ones(3, 2), freeze=False, sparse=True)
    >>> optimizer = weft.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(weft.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> table.weight.detach()
    tensor([[1.0000, 1.0000],
            [0.9000, 0.9000],
            [1.0000, 1.0000]])
    """

    states = "exp_avg", "exp_avg_sq", STEP._replace(start=lambda p, group: 0)
    takes_sparse = True

    @options(lr=_positive_rate, eps=rule(lambda x: 0.0 < x, "Invalid epsilon value: {}"))
    def __init__(
        self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, maximize: bool = False,
    ) -> None:  # fmt: skip
        """Refuse parameters that are sparse or complex."""
        every = [p for group in self.param_groups for p in group["params"]]
        if sparse := [i for i, p in enumerate(every) if p.is_sparse]:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )
        if complexes := [i for i, p in enumerate(every) if p.is_complex()]:
            raise ValueError(
                f"Complex params at indices {complexes}: SparseAdam does not support complex "
                "parameters"
            )

    def _check(self, params: list[Tensor], grads: list[Tensor]) -> None:
        if not all(g.is_sparse for g in grads):
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )

    def _states_of(self, group: dict[str, Any], params: list[Tensor]) -> list[dict[str, Any]]:
        states = super()._states_of(group, params)
        for s in states:
            s["step"] += 1  # a number, not a tensor
        return states

    @staticmethod
    def update(
        p: Tensor, g: Tensor, m: Tensor, v: Tensor, t: float,
        *, eps: float, beta1: float, beta2: float, lr: float,
    ) -> None:  # fmt: skip
        """Move the elements of ``p`` that ``g`` names."""
        g = g.coalesce()  # each index once
        at, x = tuple(g.indices()), g.values()
        if x.numel() == 0:
            return
        m[at] = m_new = m[at].lerp(x, 1 - beta1)
        v[at] = v_new = v[at].lerp(x * x, 1 - beta2)
        size = lr * (1 - beta2**t) ** 0.5 / (1 - beta1**t)
        p[at] = p[at].addcdiv(m_new, v_new.sqrt().add_(eps), value=-size)


sparse_adam = SparseAdam.functional
