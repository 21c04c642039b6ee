"""Adafactor: Adam's second moment, kept as one row and one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft

from .by_group import ByGroup, check_dense, check_lr, count, counter, decayed, number

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["Adafactor", "adafactor"]


class Adafactor(ByGroup):
    """Adafactor (Shazeer and Stern, 2018)::

        beta = 1 - t^beta2_decay
        r = beta r + (1 - beta) mean(g^2, dim=-1);  c = beta c + (1 - beta) mean(g^2, dim=-2)
        v = r c / mean(r)                           (vectors: the running mean of g^2 itself)
        u = g / sqrt(v)
        u = u / max(1, rms(u) / d)
        p = p (1 - lr weight_decay) - max(eps[1], rms(p)) min(lr, 1 / sqrt(t)) u

    Args:
        params: tensors, or groups of them.
        lr: the largest relative step, a number or a tensor with one element.
        beta2_decay: how fast the memory of squares grows longer.
        eps: keeps ``v`` from zero (None: the precision of the dtype), and the step too.
        d: the largest root mean square of an update.
        weight_decay: parameters shrink by ``lr weight_decay`` in each step.
        foreach: a choice of implementation in PyTorch; here all give the same.
        maximize: climb instead of descending.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Adafactor([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8419, 1.8419], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr, "Learning rate should be >= 0 but is")
        for bad, rule, value in (
            (beta2_decay > 0, "beta2_decay should be <= 0", beta2_decay),
            (eps[0] is not None and eps[0] < 0, "epsilon1 should be >= 0", eps[0]),
            (eps[1] < 0, "epsilon2 should be >= 0", eps[1]),
            (d < 1, "Clipping threshold d should be >= 1", d),
            (weight_decay < 0, "weight_decay should be >= 0", weight_decay),
        ):
            if bad:
                raise ValueError(f"{rule} but is: {value}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = counter()
        if p.dim() > 1:
            *batch, rows, columns = p.shape
            state["row_var"] = p.new_zeros((*batch, rows, 1))
            state["col_var"] = p.new_zeros((*batch, 1, columns))
        else:
            state["variance"] = weft.zeros_like(p)

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        check_dense("Adafactor", grads)
        adafactor(
            params,
            grads,
            [s.get("row_var") for s in states],
            [s.get("col_var") for s in states],
            [s.get("variance") for s in states],
            [s["step"] for s in states],
            d=group["d"],
            lr=number(group["lr"], group),
            beta2_decay=group["beta2_decay"],
            weight_decay=group["weight_decay"],
            eps1=group["eps"][0],
            eps2=group["eps"][1],
            maximize=group["maximize"],
        )

    def _states(self, group: dict[str, Any], params: list[Tensor]) -> list[dict[str, Any]]:
        if any(p.is_complex() for p in params):
            raise RuntimeError("Adafactor does not support complex parameters")
        return super()._states(group, params)


def adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    row_vars: list[Tensor | None],
    col_vars: list[Tensor | None],
    variances: list[Tensor | None],
    state_steps: list[Tensor],
    *,
    d: float,
    lr: float,
    beta2_decay: float,
    weight_decay: float,
    eps1: float | None,
    eps2: float,
    maximize: bool = False,
) -> None:
    """Update ``params`` and their states in place."""
    grads = decayed(params, grads, 0, maximize)
    for i, t in enumerate(count(state_steps)):
        p, g, row, column, v = params[i], grads[i], row_vars[i], col_vars[i], variances[i]
        tiny = weft.finfo(p.dtype).eps if eps1 is None else eps1
        new = t**beta2_decay
        size = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * min(lr, 1 / t**0.5)
        if weight_decay != 0:
            p.mul_(1 - lr * weight_decay)
        if row is not None and column is not None:
            squares = g.square()
            row.lerp_(squares.mean(-1, keepdim=True), new)
            column.lerp_(squares.mean(-2, keepdim=True), new)
            v = (row @ column).div_(row.mean(-2, keepdim=True).clamp_(min=tiny))
        elif v is not None:
            v = v.lerp_(g.square(), new).clone()
        else:
            raise RuntimeError("Adafactor: a state without row_var and variance")
        u = v.clamp_(min=tiny * tiny).rsqrt_().mul_(g)
        p.add_(u, alpha=-size / max(1.0, u.norm(2).item() / (u.numel() ** 0.5 * d)))
