"""SparseAdam: Adam for gradients that name only a few rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .by_group import ByGroup, check_betas, check_lr, number, zeros

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["SparseAdam", "sparse_adam"]


class SparseAdam(ByGroup):
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

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr)
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        defaults = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, defaults)
        params = [p for group in self.param_groups for p in group["params"]]
        sparse = [i for i, p in enumerate(params) if p.is_sparse]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )
        complexes = [i for i, p in enumerate(params) if p.is_complex()]
        if complexes:
            raise ValueError(
                f"Complex params at indices {complexes}: SparseAdam does not support complex "
                "parameters"
            )

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = 0
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)

    def _states(self, group: dict[str, Any], params: list[Tensor]) -> list[dict[str, Any]]:
        if not all(p.grad.is_sparse for p in params):
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )
        return super()._states(group, params)

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        for state in states:
            state["step"] += 1
        sparse_adam(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_avg_sq"] for s in states],
            [s["step"] for s in states],
            eps=group["eps"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=number(group["lr"], group),
            maximize=group["maximize"],
        )


def sparse_adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[int],
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    maximize: bool = False,
) -> None:
    """Update the elements of ``params`` that ``grads`` name, and their states, in place."""
    for p, g, m, v, t in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps):
        g = g.coalesce()  # each index once
        at = tuple(g.indices())
        x = g.values()
        if x.numel() == 0:
            continue
        x = -x if maximize else x
        m[at] = m_new = m[at].lerp(x, 1 - beta1)
        v[at] = v_new = v[at].lerp(x * x, 1 - beta2)
        size = lr * (1 - beta2**t) ** 0.5 / (1 - beta1**t)
        p[at] = p[at].addcdiv(m_new, v_new.sqrt().add_(eps), value=-size)
