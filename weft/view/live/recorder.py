"""``StepRecorder``: the ops of one step as they run, with times, bytes, values, lines and modules.

The dispatcher tells it of each call after the call, also in the backward pass. It keeps numbers and
names, never a tensor: what a step frees stays free. An op's time is that of its call in the core, as
it was without being watched; Python between two ops is no op's.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import weft
from weft import _C
from weft.view.names import split_origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft import Tensor

__all__ = ["Op", "Shown", "StepRecorder"]

FORWARD, BACKWARD, UPDATE = 0, 1, 2
SAMPLES, BINS = 1024, 20
MOST = 25_000  # ops of a step; more are only counted, so that the view stays small
LONGEST = 60  # of an argument's text
_PLAIN = (int, float, bool, str, tuple, type(None), weft.dtype)


class Op:
    """One call of an op in a step.

    Attributes:
        op: its name, with "_" if it changed its first argument.
        phase: 0 forward, 1 backward, 2 update.
        origin: line of the program and path of the module, as errors give them.
        reads: (what made it, bytes, name) of each tensor that it read: the number of an op, -1 for
            a parameter, -2, -3 … for tensors from elsewhere.
        outs: (shape, dtype) of each result.
        bytes: what it wrote into new memory.
        of: for a backward op, the number of the forward op it belongs to, else -1.
        attributes: its arguments that are no tensors.
    """

    __slots__ = ("attributes", "bytes", "line", "module", "of", "op", "outs", "phase", "reads")

    def __init__(self, op: str, phase: int, line: str, module: str, of: int) -> None:
        self.op, self.phase, self.line, self.module, self.of = op, phase, line, module, of
        self.reads: list[tuple[int, int, str]] = []
        self.outs: list[tuple[tuple[int, ...], str]] = []
        self.bytes = 0
        self.attributes: tuple[str, ...] = ()


class Shown(NamedTuple):
    """What was recorded of a step: for each op its facts, time, values, and live bytes after it."""

    step: int
    ops: list[Op]
    nanoseconds: list[int]
    summaries: list[Any]
    live: list[int]
    total: int  # nanoseconds
    left_out: int  # ops beyond those that are kept


class StepRecorder:
    """Is told of the ops of one step; ``begin`` and ``end`` are called on the thread that trains."""

    traces = False  # the step runs as it would: with fused ops, and its backward pass is told too
    watches = True  # nobody else is to notice

    def __init__(
        self, names: dict[int, str], look: Callable[[StepRecorder, Any, Any], None] | None = None
    ) -> None:
        """``names``: of parameters by ``id``; ``look``: is called after each op, with its tensors."""
        self.names, self.look = names, look
        self.ops: list[Op] = []
        self.nanoseconds: list[int] = []
        self.summaries: list[Any] = []
        self.live: list[int] = []
        self.loss: float | None = None
        self.own = 0  # nanoseconds that watching took, with those in which the program stood still
        self.stood = 0  # these
        self.left_out = 0
        self.nanoseconds_of_step = 0
        self.failed: BaseException | None = None
        self.updating = False  # an optimiser's step runs
        self._made: dict[Any, int] = {}
        self._outside: dict[Any, int] = {}  # tensors that came from elsewhere
        self._scalar: float | None = None
        self._cursor = [-1]  # the forward op whose backward runs
        self._handles: list[Any] = []
        self._walk_line: str | None = None
        self._origins: dict[str, tuple[str, str]] = {}

    def begin(self) -> None:
        """Look at the ops of this thread from now on."""
        _C._start_recording(self, True)
        self._eagerly = _C._let_compiled_run_eagerly(True)
        self.started = self._clock = time.perf_counter_ns()

    def end(self) -> None:
        """Look no more, and leave nothing behind on the graph."""
        self.nanoseconds_of_step = time.perf_counter_ns() - self.started - self.own
        _C._let_compiled_run_eagerly(self._eagerly)
        _C._stop_recording()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._made.clear()
        self.look = None

    def shown(self, step: int) -> Shown:
        """Return what there is so far, to be read by other threads."""
        total = time.perf_counter_ns() - self.started - self.own
        if self.nanoseconds_of_step:
            total = self.nanoseconds_of_step
        return Shown(
            step, list(self.ops), list(self.nanoseconds), list(self.summaries), list(self.live),
            total, self.left_out,
        )  # fmt: skip

    # ---- what the dispatcher calls --------------------------------------------------------------

    def record(
        self, op: str, args: Any, outs: Any, inplace: bool, origin: str, given: bool, grad: bool
    ) -> None:
        """Take one call."""
        now = time.perf_counter_ns()
        try:
            if len(self.ops) >= MOST:
                self.left_out += 1
            elif self.failed is None:
                took = _C._call_time()
                self._take(
                    took if took >= 0 else now - self._clock, op, args, outs, inplace, origin, grad
                )
                if self.look is not None:
                    self.look(self, args, outs)
        except Exception as e:  # told at the end of the step: the program is not to suffer from it
            self.failed = e
        finally:
            self._clock = time.perf_counter_ns()
            self.own += self._clock - now

    def _take(
        self, took: int, name: str, args: Any, outs: Any, inplace: bool, origin: str, grad: bool
    ) -> None:
        if origin not in self._origins:
            self._origins[origin] = split_origin(origin)
        line, module = self._origins[origin]
        of = self._cursor[0]
        phase = self._phase(line, grad)
        if phase != BACKWARD or line != self._walk_line:
            of = -1  # a derivative that the program wrote has lines of its own
        elif of >= 0:
            line, module = self.ops[of].line, self.ops[of].module
        if name == "pointwise_gradient":  # of a row of the table of pointwise ops, which it names
            name, args = f"{args[0]}_backward", args[1:]
        op = Op(name + "_" * (inplace and name[-1] != "_"), phase, line, module, of)
        number = len(self.ops)
        kept: list[str] = []
        held = set()
        for a in args:
            for t in a if type(a) is list else (a,):
                if isinstance(t, weft.Tensor):
                    held.add(self._read(op, t))
                elif t is not None:
                    kept.append(_short(t))
        op.attributes = tuple(kept)
        summary = None
        for i, t in enumerate(outs):
            key, shape, dtype = _key(t)
            self._made[key] = number
            op.outs.append((shape, dtype))
            if key[0] not in held:
                op.bytes += t.numel() * t.element_size()
            if i == 0:
                summary = _C._summary(t, SAMPLES, BINS)
                if grad and t.numel() == 1 and summary is not None and t.grad_fn is not None:
                    self._scalar = summary[5] if not summary[1] else float("nan")
            if grad and phase == FORWARD and t.grad_fn is not None:
                self._follow(t.grad_fn, number)
        self.ops.append(op)
        self.nanoseconds.append(took)
        self.summaries.append(summary)
        self.live.append(_C._memory_stats()["live"])

    def _phase(self, line: str, grad: bool) -> int:
        if self.updating:
            return UPDATE
        if self._walk_line is None:
            return FORWARD
        if line == self._walk_line or ", in backward" in line:
            return BACKWARD
        return FORWARD if grad else UPDATE

    def _read(self, op: Op, t: Tensor) -> Any:
        key, _, _ = _key(t)
        name = self.names.get(id(t), "")
        made = -1 if name else self._made.get(key)
        if made is None:
            made = -2 - self._outside.setdefault(key, len(self._outside))
        op.reads.append((made, t.numel() * t.element_size(), name))
        return key[0]

    def _follow(self, step: Any, number: int) -> None:
        """Notice when the backward of an op runs."""
        cursor = self._cursor

        def enter(grads: Any) -> None:
            cursor[0] = number

        self._handles.append(step.register_prehook(enter))

    def walks(self) -> None:
        """A backward pass begins: what it starts from was the last scalar."""
        self._walk_line = split_origin(_C._here())[0]
        self._cursor[0] = -1
        self.loss = self._scalar
        for op in reversed(self.ops):  # the gradient that it starts with was made for it
            if op.phase != FORWARD or op.line != self._walk_line or op.op != "ones_like":
                break
            op.phase = BACKWARD

    def became(self, t: Tensor, view: Tensor) -> None:
        """``t`` has taken the geometry of ``view``."""
        made = self._made.get(_key(view)[0])
        if made is not None:
            self._made[_key(t)[0]] = made

    def custom_function(self, name: str, line: str, pure: bool) -> None:
        """Its ops are told one by one."""

    def read(self, what: str, line: str, t: Tensor) -> None:
        """The program looked at elements, as it may."""

    def lost(self, what: str, line: str) -> None:
        """Something was done that no op stands for."""

    def hooked(self, line: str) -> None:
        """A hook is about to see gradients."""

    def grad_read(self, t: Tensor) -> None:
        """``t.grad`` is looked at."""

    def grad_set(self, t: Tensor, grad: Tensor | None) -> None:
        """``t.grad`` is another one now: what reads it reads what made it."""


def _key(t: Tensor) -> tuple[Any, tuple[int, ...], str]:
    """Return what tells a tensor from others while it lives, its shape and its dtype's name."""
    shape, dtype, stride = _C._geometry(t)
    name = str(dtype)[6:]  # without "torch." or "weft."
    if stride is None:
        return ((id(t), -1), shape), tuple(shape), name
    place = _C._place(t)
    return (place[0], place[1], shape, stride), tuple(shape), name


def _short(value: Any) -> str:
    if not isinstance(value, _PLAIN):
        return type(value).__name__
    text = str(value) if not isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
