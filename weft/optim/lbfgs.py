"""L-BFGS: Newton's method with a Hessian guessed from the last steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import weft

from .declared import options
from .optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft import Tensor

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Limited-memory BFGS (Liu and Nocedal, 1989), after minFunc.

    The closure is called several times in a step; there can be one group of parameters only.

    Args:
        params: tensors.
        lr: the length of a step, or of the first guess of a line search.
        max_iter: most iterations in a step.
        max_eval: most calls of the closure in a step (default: ``max_iter * 1.25``).
        tolerance_grad: ends the step when no element of the gradient is larger.
        tolerance_change: ends the step when neither loss nor parameters change by more.
        history_size: number of past updates that the Hessian is guessed from.
        line_search_fn: ``"strong_wolfe"``, or None for steps of length ``lr``.

    >>> x = weft.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = weft.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> x
    tensor([1.0000, 1.0000], requires_grad=True)
    """

    @options()
    def __init__(
        self, params: Any, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        """Derive how often the closure may be called."""
        self._params = self.param_groups[0]["params"]
        if max_eval is None:
            self.defaults["max_eval"] = self.param_groups[0]["max_eval"] = max_iter * 5 // 4

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refuse a second group: all parameters take the same step."""
        if self.param_groups:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        super().add_param_group(param_group)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Call the closure and move, until one of the limits is met.

        Args:
            closure: sets the gradients to zero, computes the loss and them, and returns the loss.

        Returns:
            The loss before the step.
        """
        if closure is None:
            raise TypeError("LBFGS.step() needs a closure that computes the loss anew")
        with weft.no_grad():
            return self._run(weft.enable_grad()(closure))

    def _run(self, closure: Callable[[], Any]) -> Any:
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        loss, g = float(first), self._gradient()
        evals = 1
        state["func_evals"] += 1
        if _largest(g) <= group["tolerance_grad"]:
            return first
        d, t = state.get("d"), state.get("t")
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = self._direction(state, g, d, t, group["history_size"])
            state["prev_flat_grad"], last_loss = g.clone(), loss
            t = float(group["lr"])
            if state["n_iter"] == 1:
                t *= min(1.0, 1.0 / float(g.abs().sum()))
            slope = float(g.dot(d))
            if slope > -group["tolerance_change"]:
                break
            more = 0
            if group["line_search_fn"] is not None:
                loss, g, t, more = self._search(closure, group, loss, g, d, t, slope)
            else:
                self._move(t, d)
                if n != group["max_iter"]:  # the last gradient would not be used
                    loss, g, more = float(closure()), self._gradient(), 1
            evals += more
            state["func_evals"] += more
            if (
                evals >= group["max_eval"]
                or _largest(g) <= group["tolerance_grad"]
                or _largest(d) * abs(t) <= group["tolerance_change"]
                or abs(loss - last_loss) < group["tolerance_change"]
            ):
                break
        state.update(d=d, t=t, prev_loss=last_loss)
        return first

    def _direction(
        self, state: dict[str, Any], g: Tensor, d: Any, t: Any, history_size: int
    ) -> Tensor:
        """Return minus the gradient times the inverse Hessian, as far as it is known."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return g.neg()
        ys, ss, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = g.sub(state["prev_flat_grad"]), d.mul(float(t))
        curvature = float(y.dot(s))
        if curvature > 1e-10:
            if len(ys) == history_size:
                del ys[0], ss[0], ro[0]
            ys.append(y)
            ss.append(s)
            ro.append(1.0 / curvature)
            state["H_diag"] = curvature / float(y.dot(y))
        q, al = g.neg(), [0.0] * len(ys)
        for i in reversed(range(len(ys))):
            al[i] = float(ss[i].dot(q)) * float(ro[i])
            q.add_(ys[i], alpha=-al[i])
        q.mul_(float(state["H_diag"]))
        for i, y in enumerate(ys):
            q.add_(ss[i], alpha=al[i] - float(y.dot(q)) * float(ro[i]))
        return q

    def _search(
        self,
        closure: Callable[[], Any],
        group: dict[str, Any],
        loss: float,
        g: Tensor,
        d: Tensor,
        t: float,
        slope: float,
    ) -> tuple[float, Tensor, float, int]:
        """Move to where the line search ends; return loss, gradient, length and evaluations."""
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [p.clone() for p in self._params]

        def back() -> None:
            for p, old in zip(self._params, start):
                p.copy_(old)

        def at(t: float) -> _Point:
            self._move(t, d)
            value = float(closure())
            gradient = self._gradient()
            back()
            return _Point(t, value, gradient, float(gradient.dot(d)))

        end, evals = _strong_wolfe(at, _Point(0.0, loss, g.clone(), slope), t, _largest(d))
        self._move(end.t, d)
        return end.f, end.g, end.t, evals

    def _gradient(self) -> Tensor:
        """Return all gradients as one vector; complex numbers as pairs."""
        parts = []
        for p in self._params:
            x = weft.zeros_like(p) if p.grad is None else p.grad.to_dense()
            x = weft.view_as_real(x) if x.is_complex() else x
            parts.append(x.reshape(-1))
        return weft.cat(parts)

    def _move(self, t: float, d: Tensor) -> None:
        """Add ``t d`` to the parameters."""
        at = 0
        for p in self._params:
            x = weft.view_as_real(p) if p.is_complex() else p
            x.add_(d[at : at + x.numel()].view_as(x), alpha=t)
            at += x.numel()


def _largest(x: Tensor) -> float:
    return float(x.abs().max())


class _Point(NamedTuple):
    """Loss, gradient and slope at a place on the line."""

    t: float
    f: float
    g: Tensor
    slope: float


def _cubic_minimum(a: _Point, b: _Point, low: float, high: float) -> float:
    """Return where the cubic through two points and slopes is least, between the bounds."""
    a, b = (a, b) if a.t <= b.t else (b, a)
    c = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = c * c - a.slope * b.slope
    if square < 0:
        return (low + high) / 2
    root = square**0.5
    t = b.t - (b.t - a.t) * ((b.slope + root - c) / (b.slope - a.slope + 2 * root))
    return min(max(t, low), high)


def _strong_wolfe(
    at: Callable[[float], _Point],
    start: _Point,
    t: float,
    d_norm: float,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[_Point, int]:
    """Return a point that fulfils the strong Wolfe conditions, and the number of evaluations.

    Nocedal and Wright, algorithms 3.5 and 3.6: widen until a good point is between two, then narrow.
    """
    before, now, evals = start, at(t), 1
    tries = 0
    bracket: list[_Point] = []
    while tries < max_ls:
        if now.f > start.f + c1 * now.t * start.slope or (tries > 1 and now.f >= before.f):
            bracket = [before, now]
        elif abs(now.slope) <= -c2 * start.slope:
            return now, evals
        elif now.slope >= 0:
            bracket = [before, now]
        if bracket:
            break
        low, high = now.t + 0.01 * (now.t - before.t), now.t * 10
        before, now = now, at(_cubic_minimum(before, now, low, high))
        evals += 1
        tries += 1
    bracket = bracket or [start, now]
    stuck = False
    low_at = 0 if bracket[0].f <= bracket[1].f else 1
    while tries < max_ls:
        left, right = sorted(x.t for x in bracket)
        if (right - left) * d_norm < tolerance_change:
            break
        t = _cubic_minimum(bracket[0], bracket[1], left, right)
        edge = 0.1 * (right - left)
        if min(right - t, t - left) < edge:  # too near an end: once is allowed
            if stuck or t >= right or t <= left:
                t = right - edge if abs(t - right) < abs(t - left) else left + edge
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        now = at(t)
        evals += 1
        tries += 1
        if now.f > start.f + c1 * t * start.slope or now.f >= bracket[low_at].f:
            bracket[1 - low_at] = now
            low_at = 0 if bracket[0].f <= bracket[1].f else 1
            continue
        if abs(now.slope) <= -c2 * start.slope:
            return now, evals
        if now.slope * (bracket[1 - low_at].t - bracket[low_at].t) >= 0:
            bracket[1 - low_at] = bracket[low_at]
        bracket[low_at] = now
    return bracket[low_at], evals
