"""Muon: momentum, orthogonalised by a few Newton-Schulz iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft

from .by_group import ByGroup, check_dense, check_lr, number, zeros

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["Muon", "muon"]


class Muon(ByGroup):
    """Muon (Jordan, 2024), for matrices only::

        b = momentum b + (1 - momentum) g
        u = (1 - momentum) g + momentum b  if nesterov  else  b
        o = a matrix near u whose singular values are near 1
        p = p (1 - lr weight_decay) - lr' o

    ``lr'`` is ``lr sqrt(max(1, rows / columns))``, or with ``adjust_lr_fn="match_rms_adamw"``
    ``0.2 lr sqrt(max(rows, columns))``.

    Args:
        params: matrices, or groups of them.
        lr: the learning rate, a number or a tensor with one element.
        weight_decay: parameters shrink by ``lr weight_decay`` in each step.
        momentum: how much of the last direction is kept.
        nesterov: look ahead along the momentum.
        ns_coefficients: of the polynomial in each Newton-Schulz iteration.
        eps: keeps the norm that ``u`` is divided by from zero.
        ns_steps: number of iterations.
        adjust_lr_fn: None or "original", or "match_rms_adamw".

    >>> x = weft.eye(2, requires_grad=True)
    >>> optimizer = weft.optim.Muon([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> bool(x[0, 0] < 1)
    True
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        """Check the options and make the groups."""
        check_lr(lr, "Learning rate should be >= 0 but is")
        if momentum < 0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if weight_decay < 0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with "
                        f"size: {p.size()}"
                    )

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["momentum_buffer"] = zeros(p)

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        check_dense("Muon", grads)
        if any(p.is_complex() for p in params):
            raise RuntimeError("Muon does not support complex parameters")
        muon(
            params,
            grads,
            [s["momentum_buffer"] for s in states],
            lr=number(group["lr"], group),
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            nesterov=group["nesterov"],
            ns_coefficients=group["ns_coefficients"],
            eps=group["eps"],
            ns_steps=group["ns_steps"],
            adjust_lr_fn=group["adjust_lr_fn"],
        )


def muon(
    params: list[Tensor],
    grads: list[Tensor],
    muon_momentum_bufs: list[Tensor],
    *,
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    eps: float,
    ns_steps: int,
    adjust_lr_fn: str | None,
) -> None:
    """Update ``params`` and their buffers in place."""
    for p, g, b in zip(params, grads, muon_momentum_bufs):
        b.lerp_(g, 1 - momentum)
        u = g.lerp(b, momentum) if nesterov else b
        u = _orthogonalized(u, ns_coefficients, ns_steps, eps)
        rows, columns = p.shape
        if adjust_lr_fn == "match_rms_adamw":
            ratio = 0.2 * max(rows, columns) ** 0.5
        else:
            ratio = max(1.0, rows / columns) ** 0.5
        p.mul_(1 - lr * weight_decay).add_(u.to(p.dtype), alpha=-lr * ratio)


def _orthogonalized(
    u: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """Return ``u`` with its singular values driven towards 1, in bfloat16 as PyTorch does it."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = u.to(weft.bfloat16)
    wide = x.shape[0] <= x.shape[1]
    x = x if wide else x.t()
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.t()
        x = weft.addmm(x, weft.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x if wide else x.t()
