"""One call of a function, recorded while it runs: forward, backward, updates, decisions."""

from __future__ import annotations

import contextlib
import functools
import gc
import sys

import weft
from weft import _C
from weft.jit.graph import Live, Node, Value
from weft.jit.recorder import Recorder, _place

from .escape import escape_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from weft import Tensor

    from .escape import Escape

__all__ = ["Capture", "Outside", "Read", "live", "paused", "uncollected"]


class Read:
    """The program looked at a value: what follows depends on it."""

    def __init__(self, at: int, value: Value, outcome: Any, what: str, line: str) -> None:
        """Note the number of ops before it, the value, what was found, and where."""
        self.at, self.value, self.outcome, self.what, self.line = at, value, outcome, what, line
        self.escape: Escape | None = None  # to the caller: nothing else depends on it

    @property
    def returned(self) -> bool:
        """Whether it is only handed to the caller: nothing depends on it."""
        return self.escape is not None


class Outside:
    """Python that is called again in each call, between ops: a step of an optimiser or scheduler."""

    def __init__(
        self, at: int, call: Callable[[], Any], name: str, line: str, optimizer: Any = None
    ) -> None:
        """Note the number of ops before it, what is called, and the optimiser whose step it is."""
        self.at, self.call, self.name, self.line = at, call, name, line
        self.optimizer = optimizer
        self.grads: list[
            tuple[Any, Value | None]
        ] = []  # that it can see: as at the end of a segment


class Capture(Recorder):
    """Records a call while it runs eagerly. What cannot be replayed is noted as a problem."""

    traces = False  # a derivative is captured too, as it runs
    keeps_control_flow = False  # it reads values as ``if`` does

    def __init__(self, code: Any, exact: bool = True) -> None:
        """Start, in the frame that will call the function.

        Args:
            code: that of the function, if it is one written in Python.
            exact: results keep every bit.
        """
        super().__init__()
        self.code, self.exact = code, exact
        self._caller = id(sys._getframe(1))  # of the function; not kept: it holds this
        self.problem = ""
        self.reads: list[Read] = []
        self.outside: list[Outside] = []
        self.grads_before: dict[Tensor, Tensor | None] = {}
        self.grads_after: dict[Tensor, Value | None] = {}
        self.optimizers: list[Any] = []
        self._fixed: set[int] = set()  # the ids of those whose options are guards
        self.derivative: Any = None  # of its results, where they have one
        self.spent: list[Value] = []  # results whose graph a backward pass in the call has freed
        self.given: dict[Tensor, Value] = {}  # tensors that did exist before
        self._made: set[int] = (
            set()
        )  # ids of tensors that did not: of keys of `values`, which hold them
        self.grads_at: dict[Tensor, list[tuple[int, Value | None]]] = {}  # when grads were set
        self.custom = ""  # a Function with a derivative of its own that took part
        self._joined = False  # an input has a history, along which gradients go on
        # Of tensors that did exist before: when they were seen first.
        self._roles: dict[Tensor, tuple[int, int]] = {}

    # ---- what the dispatcher reports ------------------------------------------------------------

    def record(
        self, op: str, args: Any, outs: Any, inplace: bool, line: str, given: bool, grad: bool
    ) -> None:
        """Take one op; the numbers of an optimiser's step stay live."""
        if given:
            taken = {id(t) for t in _tensors(args)}
            self._made.update(id(t) for t in outs if id(t) not in taken)
        super().record(op, args, outs, inplace, line, given, grad)
        if op in _STEPS:
            self._keep_live(self.graph.nodes[-1], args)

    def name(self, t: Tensor, prefix: str) -> Value:
        """Give ``t`` a fresh name."""
        if prefix == "v" and t not in self.values:
            self._made.add(id(t))
        v = super().name(t, prefix)
        if prefix in "xc":
            self.given.setdefault(t, v)
            self._roles.setdefault(t, (_C._role(t), _C._history(t)))
        return v

    def constant(self, t: Tensor) -> Value:
        """Return what stands for a tensor; a number that an op made a tensor of is a literal."""
        v = super().constant(t)
        if _C._is_number(t):
            _name_literal(v, t)
        return v

    def lost(self, what: str, line: str) -> None:
        """Note what no op stands for; the call goes on."""
        self.fail(f"{what} at {line}")

    def custom_function(self, name: str, line: str, pure: bool) -> None:
        """Let it be: its forward and backward are recorded as the ops that they are."""
        if not pure:
            self.custom = self.custom or f"{name} at {line}"

    def walks(self) -> None:
        """Note that a backward pass begins."""
        if self._joined:
            self.fail(f"a backward pass goes on along the history of an input, at {_C._here()}")

    def read(self, what: str, line: str, t: Tensor) -> None:
        """Note that Python looked at elements."""
        if what not in _NUMBERS:
            return self.fail(f"{what} at {line}")
        number = t.detach().item()
        outcome = bool(number) if what == "bool()" else number
        read = Read(len(self.graph.nodes), self.value(t), outcome, what, line)
        read.escape = self._escape() if what == "item()" else None
        if read.escape is not None and not read.escape.at_once:  # what comes may write to it
            with paused():
                kept = t.detach().clone()
            self.record("clone", (t, None), (kept,), False, line, False, False)
            read.value = self.value(kept)
        self.reads.append(read)

    def shown(self, line: str) -> None:
        """Note that Python has the elements as text."""
        self.fail(f"the text of a tensor at {line}")

    def literal(self, t: Tensor, data: Any) -> None:
        """Note a tensor that the call makes of Python numbers: it is made anew each time."""
        if _is_plain(data):
            with paused():
                kept = t.detach().clone()
            _name_literal(self.value(kept), kept)
            self.record("clone", (kept, None), (t,), False, _C._here(), False, False)

    def hooked(self, line: str) -> None:
        """Note that Python looks at gradients in each call."""
        self.fail(f"a hook on gradients, called at {line}")

    def grad_read(self, t: Tensor) -> None:
        """Note what ``t.grad`` was before the call, unless the call has set it."""
        if not (id(t) in self._made or t in self.grads_after or t in self.grads_before):
            self.grads_before[t] = _quiet_grad(t)

    def grad_set(self, t: Tensor, grad: Tensor | None) -> None:
        """Note what ``t.grad`` is from now on."""
        if id(t) in self._made:
            return
        value = self.grads_after[t] = None if grad is None else self.value(grad)
        self.grads_at.setdefault(t, []).append((len(self.graph.nodes), value))

    # ---- what weft's own Python tells ----------------------------------------------------------

    def step_of(self, optimizer: Any, call: Callable[[], Any], native: bool) -> Any:
        """Run a step of an optimiser: as an op if it is one, else as Python in each call."""
        if native:
            self.optimizers.append(optimizer)
            before = len(self.graph.nodes)
            result = call()
            if any(_holds_numbers(node) for node in self.graph.nodes[before:]):
                self._fixed.add(
                    id(optimizer)
                )  # some of it was done by other ops, which read nothing anew
                self.fix_options()
            return result
        return self.run_outside(call, f"{type(optimizer).__name__}.step()", optimizer)

    def run_outside(self, call: Callable[[], Any], name: str, optimizer: Any = None) -> Any:
        """Run Python that is not recorded, but called again in each call."""
        made = Outside(len(self.graph.nodes), call, name, _C._here(), optimizer)
        made.grads = self.grads_now()
        self.outside.append(made)
        with paused():
            result = call()
        if result is not None:
            self.fail(f"{name} gives a result")
        return result

    def is_made(self, t: Tensor) -> bool:
        """Say whether an op of the call gave this tensor; ``.data`` of one is another object."""
        return id(t) in self._made

    def seen(self) -> dict[Tensor, Any]:
        """Return all tensors that took part, also those of which only the gradient did."""
        return {**self.values, **self.grads_before, **self.grads_after}

    def _numbered(self, found: dict[Tensor, Any]) -> Iterator[tuple[Any, Any]]:
        """Iterate over what there is for tensors; the number of an input stands for it."""
        number: dict[Any, int] = {v: i for i, v in enumerate(self.graph.inputs)}
        return ((number.get(self.given.get(t), t), x) for t, x in found.items())

    def grads_needed(self) -> dict[Tensor, tuple[Any, Tensor | None]]:
        """Return gradients as they were before, of tensors or of inputs by their number."""
        return dict(zip(self.grads_before, self._numbered(self.grads_before)))

    def grads_now(self) -> list[tuple[Any, Value | None]]:
        """Return the tensors (inputs by their number) whose gradients were set, and to what."""
        return list(self._numbered(self.grads_after))

    def grad_times(self) -> dict[Any, tuple[int, int]]:
        """Return how many ops ran before a gradient was first set, and as it is at the end.

        By the number of an input, or by the tensor.
        """
        return {
            t: (events[0][0], next(at for at, v in events if v is events[-1][1]))
            for t, events in self._numbered(self.grads_at)
        }

    # ---- what would be another thing with other inputs -------------------------------------------

    def check_inputs(self, inputs: list[Tensor]) -> None:
        """Look at the inputs before the call."""
        places = [_place(t) for t in inputs if t.numel()]
        if len(set(places)) < len(places):
            self.fail("two of its inputs are the same memory")
        self._joined = any(_C._role(t) == 2 for t in inputs)

    def outside_tensors(self) -> list[Tensor]:
        """Return the tensors that it read or whose gradients it set, and that are no inputs."""
        found = [v.constant for v in self.graph.constants if v.constant is not None]
        inputs = {*self.graph.inputs}
        every = dict.fromkeys([*found, *self.grads_before, *self.grads_after])
        return [t for t in every if self.given.get(t) not in inputs]

    def reached_twice(self, state: Any) -> str:
        """Say which input is at the same place as a tensor that the function can see, if one is."""
        grads = [g for g in self.grads_before.values() if g is not None]
        places = {_place(t) for t in [*state.tensors.values(), *grads] if t.numel()}
        inputs = {*self.graph.inputs}
        for t, v in self.given.items():
            if v in inputs and t.numel() and _place(t) in places:
                return "an input is also a tensor that the function can see without it"
        return ""

    def check_history(self) -> None:
        """Look after the call at what did exist before."""
        for t, (role, history) in self._roles.items():
            if _C._role(t) != role:
                self.fail("it lets a tensor that it did not make want a gradient, or not any more")
            elif _C._history(t) != history:
                self.fail("it changes a tensor that it did not make and through which gradients go")

    def changed_leaves(self) -> bool:
        """Say whether it changes a tensor that did exist before and wants a gradient."""
        return any(self.values[t] is not v for t, v in self.given.items() if _C._wants_grad(t))

    # ---- inside --------------------------------------------------------------------------------

    def fail(self, problem: str) -> None:
        """Note why the call cannot be replayed; the first reason stays."""
        self.problem = self.problem or problem

    def _keep_live(self, node: Node, args: Any) -> None:
        """Let an optimiser's step read its options where the user changes them."""
        first = args[0][0]
        if not self.optimizers or id(self.optimizers[-1]) in self._fixed:
            return
        for group in self.optimizers[-1].param_groups:
            if any(p is first for p in group["params"]):
                named = zip(_parameters(node.op), node.args)
                node.args = tuple(live(group, name, a) for name, a in named)
                return

    def fix_options(self) -> None:
        """Let steps of optimisers have the numbers that they were called with."""
        for node in self.graph.nodes:
            if any(type(a) is Live for a in node.args):
                node.args = tuple(a.seen if type(a) is Live else a for a in node.args)

    def _escape(self) -> Escape | None:
        """Say where in the result is what ``item()`` gives, if it only leaves the function."""
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_filename.startswith(_HERE):
            frame = frame.f_back  # type: ignore[assignment]
        if frame is None or frame.f_code is not self.code:
            return None
        caller = frame.f_back
        if caller is None or id(caller) != self._caller:  # it was called by itself
            return None
        return escape_of(frame)


_NUMBERS = ("bool()", "item()", "a tensor as a number", "a tensor as an index")  # one element
_HERE = __file__.rpartition("jit")[0]


def _tensors(x: Any) -> Iterator[Any]:
    for a in x:
        if isinstance(a, weft.Tensor):
            yield a
        elif isinstance(a, list):
            yield from _tensors(a)


def _name_literal(v: Value, t: Tensor) -> None:
    """Let a constant be known by its elements, not as the object that it is."""
    with paused():
        v.literal = f"{t.dtype} {tuple(t.shape)} {t.tolist()}"


def _is_plain(data: Any, most: int = 1000) -> bool:
    """Say whether data are Python numbers, or short lists of them."""
    if isinstance(data, (list, tuple)):
        return len(data) <= most and all(_is_plain(x, most // (len(data) or 1)) for x in data)
    return type(data) in (int, float, bool, complex)


def _quiet_grad(t: Tensor) -> Tensor | None:
    with paused():
        return _C._grad_of(t)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Let Python look for garbage afterwards: meanwhile much is made, and hardly any of it is that."""
    before = gc.get_threshold()
    meanwhile = (0, *before[1:])  # and not gc.disable(), which the user's code may call itself
    gc.set_threshold(*meanwhile)
    try:
        yield
    finally:
        if gc.get_threshold() == meanwhile:
            gc.set_threshold(*before)


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Record nothing meanwhile."""
    was = _C._pause_recording()
    try:
        yield
    finally:
        if was:
            _C._resume_recording()


_STEPS = ("sgd_step_", "adam_step_")


@functools.cache
def _parameters(op: str) -> list[str]:
    """Return the names of the parameters of an op."""
    signature = next(row["signature"] for row in _C._ops() if row["name"] == op)
    return [part.split()[1] for part in signature.partition("(")[2].partition(")")[0].split(", ")]


def _holds_numbers(node: Node) -> bool:
    return node.op not in _STEPS and any(isinstance(a, float) for a in node.args)


def live(group: dict[str, Any], name: str, value: Any) -> Any:
    """Return where a number of a step is read, or the value itself."""
    if not isinstance(value, float) or (name == "momentum" and not value):
        return value  # without momentum there are no buffers: that is another program
    if name in ("beta1", "beta2"):
        return Live(group, "betas", int(name[-1]) - 1)
    return Live(group, name, -1) if type(group.get(name)) in (int, float) else value
