"""Adafactor: Adam's second moment, kept as one row and one column."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor

from .declared import DeclaredOptimizer, State, learning_rate, options, rule

__all__ = ["Adafactor", "adafactor"]


def _is_matrix(p: Tensor) -> bool:
    return p.dim() > 1


class Adafactor(DeclaredOptimizer):
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
        maximize, foreach: see :class:`DeclaredOptimizer`.

    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = weft.optim.Adafactor([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8419, 1.8419], requires_grad=True)
    """

    states = (
        State("row_var", lambda p, group: p.new_zeros((*p.shape[:-1], 1)), _is_matrix),
        State("col_var", lambda p, group: p.new_zeros((*p.shape[:-2], 1, p.shape[-1])), _is_matrix),
        State("variance", lambda p, group: weft.zeros_like(p), lambda p: not _is_matrix(p)),
        "step",
    )
    takes_complex = False

    @options(
        lr=lambda x: learning_rate(x, "Learning rate should be >= 0 but is: {}"),
        beta2_decay=rule(lambda x: x <= 0, "beta2_decay should be <= 0 but is: {}"),
        eps=rule(
            lambda x: (x[0] is None or x[0] >= 0) and x[1] >= 0,
            "epsilon1 and epsilon2 should be >= 0 but are: {}",
        ),
        d=rule(lambda x: x >= 1, "Clipping threshold d should be >= 1 but is: {}"),
        weight_decay=rule(lambda x: x >= 0, "weight_decay should be >= 0 but is: {}"),
    )
    def __init__(
        self, params: Any, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0,
        *, foreach: bool | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        """Check the options and make the groups."""

    @staticmethod
    def update(
        p: Any, g: Any, r: Any, c: Any, v: Any, t: float,
        *, d: float, lr: float, beta2_decay: float, weight_decay: float, eps1: float | None,
        eps2: float,
    ) -> None:  # fmt: skip
        """Move ``p`` by ``u``, whose root mean square is at most ``d``."""
        tiny = weft.finfo(p.dtype).eps if eps1 is None else eps1
        new = t**beta2_decay
        size = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * min(lr, 1 / t**0.5)
        if weight_decay != 0:
            p.mul_(1 - lr * weight_decay)
        if r is not None and c is not None:
            square = g.square()
            r.lerp_(square.mean(-1, keepdim=True), new)
            c.lerp_(square.mean(-2, keepdim=True), new)
            v = (r @ c).div_(r.mean(-2, keepdim=True).clamp_(min=tiny))
        elif v is not None:
            v = v.lerp_(g.square(), new).clone()
        else:
            raise RuntimeError("Adafactor: a state without row_var and variance")
        u = v.clamp_(min=tiny * tiny).rsqrt_().mul_(g)
        p.add_(u, alpha=-size / max(1.0, u.norm(2).item() / (u.numel() ** 0.5 * d)))


adafactor = Adafactor.functional
