"""Breakpoints of the live view: on an op, on a module, or on a condition."""

from __future__ import annotations

import math
import threading

from weft import _C

from .conditions import Condition, Scope, matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .recorder import Op, StepRecorder

__all__ = ["Breakpoint", "Breakpoints", "op_key"]

KINDS = ("op", "module", "condition")
MOST = 50


def op_key(ops: list[Op], number: int) -> str:
    """Return what an op is called in every step: phase, module, name, and which of these it is.

    >>> from weft.view.live.recorder import Op
    >>> from weft.view.live.breakpoints import op_key
    >>> op_key([Op("exp", 0, "", "Net", -1), Op("exp", 0, "", "Net", -1)], 1)
    '0|Net|exp|1'
    """
    op = ops[number]
    nth = sum(o.op == op.op and o.module == op.module and o.phase == op.phase for o in ops[:number])
    return f"{op.phase}|{op.module}|{op.op}|{nth}"


class Breakpoint:
    """One breakpoint.

    Attributes:
        kind: ``op``, ``module`` or ``condition``.
        text: the key of an op, the path of a module, or a condition.
        enabled: whether it stops the program.
        hits: how often it did.
    """

    def __init__(self, number: int, kind: str, text: str) -> None:
        """ConditionError where the text is no condition."""
        self.number, self.kind, self.text = number, kind, text
        self.enabled, self.hits = True, 0
        self.condition = Condition(text) if kind == "condition" else None
        self.was = False  # it held before: it stops again when it has not held in between
        self.seen = False  # it has stopped in this step, in which once is enough

    @property
    def facts(self) -> dict[str, Any]:
        """What the page shows of it."""
        return {
            "number": self.number, "kind": self.kind, "text": self.text, "enabled": self.enabled,
            "hits": self.hits,
        }  # fmt: skip


class Breakpoints:
    """The breakpoints there are; the page changes them, the program asks them.

    >>> from weft.view.live.breakpoints import Breakpoints
    >>> points = Breakpoints()
    >>> points.add("condition", "loss > 5").text
    'loss > 5'
    """

    def __init__(self) -> None:
        """There are none."""
        self._lock = threading.Lock()
        self._count = 0
        self.all: tuple[Breakpoint, ...] = ()

    def add(self, kind: str, text: str) -> Breakpoint:
        """Add one; ValueError where it makes no sense."""
        if kind not in KINDS:
            raise ValueError(f"a breakpoint is one of {', '.join(KINDS)}, got {kind!r}")
        if not isinstance(text, str) or not text.strip():
            raise ValueError("a breakpoint needs a text")
        with self._lock:
            if len(self.all) >= MOST:
                raise ValueError(f"there are at most {MOST} breakpoints")
            made = Breakpoint(self._count, kind, text.strip())
            self._count += 1
            self.all = (*self.all, made)
        return made

    def remove(self, number: int) -> None:
        """Remove one."""
        with self._lock:
            self.all = tuple(b for b in self.all if b.number != number)

    def enable(self, number: int, enabled: bool) -> None:
        """Let one stop the program, or not."""
        for b in self.all:
            if b.number == number:
                b.enabled, b.was = bool(enabled), False

    @property
    def need_ops(self) -> bool:
        """Whether every step has to be recorded for them."""
        return any(b.enabled and (b.condition is None or _of_step(b.condition)) for b in self.all)

    @property
    def need_gradients(self) -> bool:
        """Whether gradient norms have to be known after every step."""
        return any(b.enabled and b.condition and b.condition.of_gradients for b in self.all)

    def begin_step(self) -> None:
        """A step begins: nothing has stopped in it yet."""
        for b in self.all:
            b.seen = False

    def at_op(self, recorder: StepRecorder, outs: Any, scope: Scope) -> Breakpoint | None:
        """Return the breakpoint that stops the program after the op that just ran."""
        number = len(recorder.ops) - 1
        op = recorder.ops[number]
        scope.module, scope.backward = op.module, op.phase == 1
        scope.statistic = _statistics(outs)
        for b in self.all:
            if b.enabled and not b.seen and _holds(b, recorder.ops, number, scope):
                b.seen = True
                b.hits += 1
                return b
        return None

    def at_step(self, scope: Scope) -> Breakpoint | None:
        """Return the breakpoint that stops the program after a step."""
        scope.module = None
        for b in self.all:
            if not b.enabled or b.condition is None or b.condition.of_ops:
                continue
            holds = b.condition.holds(scope)
            fresh, b.was = holds and not b.was, holds
            if fresh:
                b.hits += 1
                return b
        return None


def _holds(b: Breakpoint, ops: list[Op], number: int, scope: Scope) -> bool:
    op = ops[number]
    if b.kind == "op":
        parts = b.text.split("|")
        same = len(parts) == 4 and parts[1] == op.module and parts[2] == op.op
        return same and op_key(ops, number) == b.text
    if b.kind == "module":
        return op.phase == 0 and matches(b.text, op.module)
    return b.condition is not None and b.condition.of_ops and b.condition.holds(scope)


def _of_step(condition: Condition) -> bool:
    return condition.of_ops or condition.of_updates or "loss" in condition.text.lower()


def _statistics(outs: Any) -> Any:
    """Return a function that gives numbers about all elements of some tensors, on demand."""
    known: dict[str, float] = {}

    def look() -> None:
        low, high, total, squares, finite = math.inf, -math.inf, 0.0, 0.0, 0
        counts = {"elements": 0, "nan": 0, "inf": 0, "zero": 0}
        for found in filter(None, map(_C._statistics, outs)):
            for name, count in zip(counts, found):
                counts[name] += count
            low, high = min(low, found[4]), max(high, found[5])
            total, squares = total + found[6], squares + found[7]
        finite = counts["elements"] - counts["nan"] - counts["inf"]
        known.update(counts, finite=finite)
        if finite:
            mean = total / finite
            spread = math.sqrt(max(squares / finite - mean * mean, 0.0))
            known.update(min=low, max=high, absmax=max(abs(low), abs(high)), mean=mean, std=spread)

    def statistic(name: str) -> float:
        if not known:
            look()
        return known.get(name, math.nan)

    return statistic
