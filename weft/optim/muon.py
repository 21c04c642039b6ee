"""Muon: momentum, orthogonalised by a few Newton-Schulz iterations."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor

from .declared import DeclaredOptimizer, State, learning_rate, options, rule

__all__ = ["Muon", "muon"]


class Muon(DeclaredOptimizer):
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

    states = (State("momentum_buffer", plural="muon_momentum_bufs"),)
    takes_complex = False

    @options(
        lr=lambda x: learning_rate(x, "Learning rate should be >= 0 but is: {}"),
        momentum=rule(lambda x: x >= 0, "momentum should be >= 0 but is: {}"),
        weight_decay=rule(lambda x: x >= 0, "weight decay should be >= 0 but is: {}"),
        eps=None,
        adjust_lr_fn=rule(
            lambda x: x in (None, "original", "match_rms_adamw"),
            "Adjust learning rate function {} is not supported",
        ),
    )
    def __init__(
        self, params: Any, lr: float | Tensor = 1e-3, weight_decay: float = 0.1,
        momentum: float = 0.95, nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315), eps: float = 1e-7,
        ns_steps: int = 5, adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        """Refuse parameters that are no matrices."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with "
                        f"size: {p.size()}"
                    )

    @staticmethod
    def update(
        p: Tensor, g: Tensor, b: Tensor,
        *, lr: float, weight_decay: float, momentum: float, nesterov: bool,
        ns_coefficients: tuple[float, float, float], eps: float, ns_steps: int,
        adjust_lr_fn: str | None,
    ) -> None:  # fmt: skip
        """Move ``p`` along the momentum, made orthogonal."""
        b.lerp_(g, 1 - momentum)
        u = g.lerp(b, momentum) if nesterov else b
        o = _orthogonalized(u, ns_coefficients, ns_steps, eps)
        rows, columns = p.shape
        if adjust_lr_fn == "match_rms_adamw":
            ratio = 0.2 * max(rows, columns) ** 0.5
        else:
            ratio = max(1.0, rows / columns) ** 0.5
        p.mul_(1 - lr * weight_decay).add_(o.to(p.dtype), alpha=-lr * ratio)


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


muon = Muon.functional
