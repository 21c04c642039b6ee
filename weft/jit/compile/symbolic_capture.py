"""A capture of a call for any sizes: what crosses from Python to weft, while sizes are symbols.

The capture is the observer of the thread (``csrc/bind/observer.h``): it receives each call from Python to
weft, makes it, and records it as an instruction; it hands out symbolic numbers (``weft/jit/symbols.py``) for
sizes and notes what Python does with them. It is the thread's recorder as well, so that what passes the
dispatcher without such a call does not go unseen.
"""

from __future__ import annotations

import contextlib
import functools
import threading

import weft
from weft import _C
from weft.jit.graph import Live
from weft.jit.guards import native
from weft.jit.modes import modes
from weft.jit.pytree import containers_in, flatten, is_nested, nesting
from weft.jit.symbols import SymbolicFloat, SymbolicInt, SymbolicNumber, elsewhere, plain, put_plain
from weft.utils.pytree import find_tensors

from .call_sequence import (
    PLAIN,
    Instruction,
    are_equal,
    is_in_place,
    key_of,
    name_of,
    nested_pattern,
    option_of,
    ordered,
    values_in,
)
from .capture import live
from .rollback import elements_as_they_are, grad_as_it_is, optimizer_as_it_is, quiet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from weft import Tensor
    from weft.utils.pytree import TreeSpec

    from .python_state import State
    from .slots import Slot

__all__ = ["SymbolicCapture", "observing"]

# The parameters of native steps, in order.
_STEPS = {
    _C._sgd: ("params", "grads", "buffers", "lr", "weight_decay", "momentum", "dampening", "nesterov",
              "maximize", "first"),
    _C._adam: ("params", "grads", "means", "squares", "tops", "steps", "lr", "beta1", "beta2", "eps",
               "weight_decay", "decoupled", "maximize"),
}  # fmt: skip
_MOST_KEPT = 1 << 14  # elements of a tensor that a replay copies before it changes them
_SPLITTING = ("split", "chunk", "unbind", "tensor_split", "split_with_sizes")
_size, _numel, _stride = weft.Tensor.size, weft.Tensor.numel, weft.Tensor.stride


class SymbolicCapture:
    """Sees the calls from Python to weft (as observer), and what has no call (as recorder)."""

    traces = False
    keeps_control_flow = False

    def __init__(self, state: State, python_steps: set[int], slots: list[Slot]) -> None:
        """Begin.

        Args:
            state: what the function can see, and so the tensors that are constants.
            python_steps: ids of optimisers whose steps are run by Python.
            slots: places in Python's state that the call reads and changes.
        """
        self.state, self.python_steps, self.slots = state, python_steps, slots
        self.slots_before: list[TreeSpec] = []
        self.slots_after: list[Any] = []  # patterns
        self.bare = True  # the result is made of tuples, lists and dicts
        self.problem = ""
        self.instructions: list[Instruction] = []
        self.outputs: list[Any] = []
        self.spec: Any = None
        self.constants: dict[int, Tensor] = {}
        self.optimizers: list[Any] = []  # that made a step
        self.free_options: set[Any] = set()
        self.moves = False  # the geometry of a tensor changes
        self._count = 0  # of values
        self._numbers: dict[int, int] = {}  # of tensors, by id
        self._alive: list[Any] = []  # an id must not be used again
        self._symbols: list[SymbolicNumber] = []
        self._known: dict[Any, SymbolicNumber] = {}  # by function and arguments
        self._static: set[int] = set()  # values whose sizes are those of a constant
        self._outside: set[int] = set()  # memory that was there before
        self._undo: list[Callable[[], Any]] = []
        self._keeps = False  # the call that is made changes elements that a replay has to keep
        self._barrier = ""  # what was done that cannot be undone
        self._depth = 0  # inside of a call that is observed
        self._closed = False
        self._thread = threading.get_ident()
        self._stepping: Any = None  # the optimiser whose step runs
        self._modes = modes()[1:]  # but for that of gradients, which each call has

    # ---- what the call is given ----------------------------------------------------------------

    def take_fixed(self) -> None:
        """Take a number that must be the same: the function gets it as it is."""
        self._count += 1  # in a program, each number is a value

    def take(self, x: Any) -> Any:
        """Return an argument as the function gets it: numbers are symbolic."""
        if isinstance(x, weft.Tensor):
            self._name(x)
            self._outside.add(_C._place(x)[0])
            return x
        return self._symbol(x) if type(x) in (int, float) else x

    def take_slots(self) -> list[Any]:
        """Return what is in the slots, as leaves; numbers there are symbolic until the call is over."""
        taken = []
        for slot in self.slots:
            leaves, spec = flatten(slot.get())
            if not is_nested(spec) or not all(isinstance(x, (weft.Tensor, *PLAIN)) for x in leaves):
                self.fail(f"{slot.name} holds more than tensors and numbers, and is changed")
            self.slots_before.append(spec)
            given = [self.take(x) for x in leaves]
            if any(isinstance(x, SymbolicNumber) for x in given):
                slot.put(spec.unflatten(given))
            taken += leaves
        return taken

    def leave_slots(self, known: set[int]) -> None:
        """Note what the call has left in the slots, with plain numbers; ``known``: ids of containers."""
        for slot in self.slots:
            value = slot.get()
            for x in containers_in(value):
                if id(x) in known:
                    self.fail(f"it leaves a {type(x).__name__} in {slot.name} that others can see")
                known.add(id(x))
            leaves, spec = flatten(value)
            if not is_nested(spec):
                self.fail(f"it leaves other containers in {slot.name} than lists, tuples and dicts")
                self.slots_after.append(("constant", None))
            else:
                patterns = [self._result_leaf(x) for x in leaves]
                self.slots_after.append(nested_pattern(spec, iter(patterns)))
            if any(isinstance(x, SymbolicNumber) for x in leaves):
                slot.put(spec.unflatten([plain(x) for x in leaves]))

    def take_back_symbols(self) -> None:
        """Put plain numbers where the call has left symbols in Python's state."""
        self._known.clear()
        symbols, self._symbols = self._symbols, []
        if put_plain(symbols):
            self.fail("it keeps a number that it computed from sizes")

    def _result_leaf(self, x: Any) -> Any:
        """Return the pattern of a leaf that the call leaves behind."""
        if not isinstance(x, (weft.Tensor, SymbolicNumber, *PLAIN)):
            self.fail(f"it returns a {type(x).__name__}")
        return self._pattern(x)

    def _symbol(self, value: Any) -> Any:
        self._count += 1
        kind = SymbolicInt if type(value) is int else SymbolicFloat
        self._symbols.append(kind(self, self._count - 1, value))
        return self._symbols[-1]

    def _name(self, t: Tensor) -> int:
        self._alive.append(t)
        self._numbers[id(t)] = self._count
        self._count += 1
        return self._count - 1

    # ---- numbers -------------------------------------------------------------------------------

    def compute(self, f: Callable[..., Any], *args: Any) -> Any:
        """Return a number computed from others; ``f`` is a function of ``operator``."""
        value = f(*[plain(a) for a in args])
        if self.is_deaf() or type(value) not in (int, float):
            return elsewhere(self, "compute", value, f, args)
        return self._computed(f, [self._pattern(a) for a in args], value)

    def _computed(self, f: Any, args: list[Any], value: Any) -> Any:
        key = (f, *map(key_of, args))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._symbol(value)
            self._add(f, args, None, ("number", known.number, type(value))).numbers = True
        return known

    def check(self, f: Callable[..., Any], *args: Any) -> Any:
        """Return a decision; the program holds only where it is the same."""
        outcome = f(*[plain(a) for a in args])
        if self.is_deaf():
            return elsewhere(self, "check", outcome, f, args)
        patterns = [self._pattern(a) for a in args]
        key = (f, *map(key_of, patterns))
        if key not in self._known:
            self._known[key] = outcome
            self._check(f, patterns, outcome).numbers = True
        return outcome

    def is_deaf(self) -> bool:
        """Say whether what happens is not part of the capture: it is over, or another thread does it."""
        return self._closed or threading.get_ident() != self._thread

    def require_equal(self, x: SymbolicNumber) -> None:
        """Let the program hold only where a number is what it is now."""
        self.check(x.is_same, x, x.value)

    def _check(self, f: Any, args: list[Any], outcome: Any) -> Instruction:
        if self._barrier:
            self.fail(f"a decision by sizes at {_C._here()}, after {self._barrier}")
        return self._add(f, args, None, ("constant", outcome))

    # ---- as the observer -------------------------------------------------------------

    def shape(self, t: Tensor) -> Any:
        """Return the shape of a tensor."""
        sizes, _, _ = _C._geometry(t)
        number = self._number(t)
        if number is None or number in self._static:
            return _C._size_of(sizes)
        if self.optimizers:
            self.fail(f"it looks at sizes after a step of an optimiser, at {_C._here()}")
            return _C._size_of(sizes)
        of = ("value", number)
        return _C._size_of(
            tuple([self._computed(_size, [of, ("constant", d)], n) for d, n in enumerate(sizes)])
        )

    def length(self, t: Tensor) -> None:
        """Note that ``len()`` gave Python the first size."""
        first = self.shape(t)[0]
        if isinstance(first, SymbolicNumber):
            first.escape()

    def call(self, f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Make a call, and note it."""
        patterns = [self._pattern(a) for a in (*args, *named.values())]
        changed = self._prepare(f, args, named)
        self._depth += 1
        try:
            result = f(*[plain(a) for a in args], **{k: plain(v) for k, v in named.items()})
        except Exception:
            self.fail(f"{name_of(f)}() at {_C._here()} fails, which may depend on sizes")
            raise
        finally:
            self._depth -= 1
        if modes()[1:] != self._modes:
            self.fail(f"it changes a mode of weft for a call at {_C._here()}")
        if f is _numel or (f is _stride and type(result) is int):
            return self._computed(f, patterns, result)
        if f is _stride:
            of = patterns[0]
            return tuple(
                [self._computed(f, [of, ("constant", d)], n) for d, n in enumerate(result)]
            )
        if f in _STEPS and self._stepping is not None:
            if result is True:
                given = self._live_numbers(f, args, patterns)
                self._add(f, given, None, ("otherwise", self._stepping.step))
            return result
        made = self._add(f, patterns, tuple(named) or None, self._result(f, args, result, changed))
        made.keeps, self._keeps = self._keeps, False
        return result

    def _pattern(self, x: Any) -> Any:
        kind = type(x)
        if kind is SymbolicInt or kind is SymbolicFloat:
            return ("value", x.number) if x.capture is self else ("constant", x.value)
        if isinstance(x, weft.Tensor):
            number = self._number(x)
            return ("constant", x) if number is None else ("value", number)
        if kind is slice:
            return ("slice", [self._pattern(v) for v in (x.start, x.stop, x.step)])
        if kind is dict:
            return ("dict", [self._pattern(v) for v in x.values()], tuple(x))
        if kind is list or isinstance(x, tuple):
            parts = [self._pattern(v) for v in x]
            if kind is not list and all(p[0] == "constant" for p in parts):
                return ("constant", x)
            return ("list" if kind is list else "tuple", parts)
        return ("constant", x)

    def _number(self, t: Tensor) -> int | None:
        """Return the number of a tensor; None if it is a constant."""
        number = self._numbers.get(id(t))
        if number is None and id(t) not in self.constants:
            if id(t) not in self.state.tensors:
                self.fail(f"a tensor at {_C._here()} that neither an op nor a name leads to")
            self.constants[id(t)] = t
            self._outside.add(_C._place(t)[0])
        return number

    def _prepare(self, f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> bool:
        """Note how to undo what a call is about to change; say whether it changes its first argument."""
        name = getattr(f, "__name__", "")
        if f is _C._run_backward:
            if args[-1]:  # it adds to gradients
                for t in [*self._alive, *self.state.tensors.values()]:
                    if isinstance(t, weft.Tensor) and _C._wants_grad(t):
                        self._undo.append(grad_as_it_is(t))
                self._barrier = "backward()"
            return False
        if f is _C._set_grad:
            self._undo.append(grad_as_it_is(args[0]))
            return False
        for x in (*args, *named.values()):
            if isinstance(x, weft.Generator) and x is not weft.default_generator:
                self._undo.append(functools.partial(x.set_state, x.get_state()))
                self._barrier = f"a draw from a generator at {_C._here()}"
        changes = is_in_place(name)
        if changes and name not in ("requires_grad_", "detach_"):
            self._keeps = self._keep_elements(find_tensors(args[0]))
        if self._keep_elements(find_tensors(named.get("out"))):
            self._barrier = f"a call with out= at {_C._here()}"
        return changes

    def _keep_elements(self, tensors: Iterable[Tensor]) -> bool:
        """Note how to undo a change of tensors; say whether a replay has to be able to do so."""
        outside = [t for t in tensors if _C._place(t)[0] in self._outside]
        for t in outside:
            self._undo.append(elements_as_they_are(t))
            if t.numel() > _MOST_KEPT:
                self._barrier = f"a change in place at {_C._here()}"
        return bool(outside) and not self._barrier

    def _result(self, f: Any, args: tuple[Any, ...], x: Any, changed: bool) -> Any:
        if isinstance(x, weft.Tensor):
            number = self._numbers.get(id(x))
            if number is not None:  # itself, or what happens to be there already: a decision
                if not changed:
                    self._decides("what it returns")
                return ("same", number)
            if id(x) in self.constants:
                return ("constant", x)
            number = self._name(x)
            if f is _C._grad_of and id(args[0]) in self.constants:
                self._static.add(number)
                self._outside.add(_C._place(x)[0])
            if getattr(f, "__name__", "").startswith("squeeze"):
                self._decides("squeeze()")
            return ("tensor", number, x.dtype, x.dim())
        if isinstance(x, (tuple, list)):
            if getattr(f, "__name__", "") in _SPLITTING:
                self._decides(f"{f.__name__}()")
            return ("sequence", [self._result(f, args, part, changed) for part in x])
        if x is not None:
            if not isinstance(x, PLAIN):
                self.fail(f"a call at {_C._here()} gives a {type(x).__name__}")
            self._decides("what it returns")
        elif f is _C._grad_of:
            self._decides("whether there is a gradient")
        return ("constant", x)

    def _decides(self, what: str) -> None:
        if self._barrier:
            self.fail(f"{what} at {_C._here()} may depend on sizes, after {self._barrier}")

    def _add(self, f: Any, args: list[Any], names: Any, result: Any) -> Instruction:
        self.instructions.append(Instruction(f, args, names, result))
        self.instructions[-1].lasts = bool(self._barrier)
        return self.instructions[-1]

    # ---- as the recorder -------------------------------------------------------------

    def record(
        self, op: str, args: Any, outs: Any, inplace: bool, line: str, given: bool, grad: bool
    ) -> None:
        """Refuse ops that no observed call made, unless they work on what a literal is made of."""
        if not self._depth and any(
            id(t) in self._numbers or id(t) in self.constants for t in find_tensors(args)
        ):
            self.fail(f"{op} at {line} is called by other means than Python")

    def lost(self, what: str, line: str) -> None:
        """Note what no op stands for."""
        if not self._depth:
            self.fail(f"{what} at {line}")

    def read(self, what: str, line: str, t: Tensor) -> None:
        """Note that Python looked at elements; in a call they are read anew each time."""
        if not self._depth:
            self.fail(f"{what} at {line}: what follows may depend on it")

    def literal(self, t: Tensor, data: Any) -> None:
        """Note a tensor that is made of Python numbers: each call makes it anew."""
        with quiet():
            kept = t.detach().clone()
        self.constants[id(kept)] = kept
        self._alive.append(kept)
        made = ("tensor", self._name(t), t.dtype, t.dim())
        self._add(weft.clone, [("constant", kept)], None, made)

    def became(self, t: Tensor, view: Tensor) -> None:
        """Note that the geometry of a tensor has changed: sizes are asked for anew."""
        self.moves = True
        self._known.clear()
        if _C._place(t)[0] in self._outside:
            return self.fail(f"it changes the shape of a tensor that it was given, at {_C._here()}")
        args = [self._pattern(t), self._pattern(view)]
        self._add(_C._set_geometry_of, args, None, ("same", self._number(t)))

    def shown(self, line: str) -> None:
        """Note that Python has the elements as text."""
        self.fail(f"the text of a tensor at {line}")

    def hooked(self, line: str) -> None:
        """Note that Python looks at gradients."""
        self.fail(f"a hook on gradients, called at {line}")

    def custom_function(self, name: str, line: str, pure: bool) -> None:
        """Refuse a derivative that is written in Python."""
        self.fail(f"{name} at {line}, whose derivative is Python")

    def ignored(self, *facts: Any) -> None:
        """Ignore what happens in an observed call: a backward pass begins, a gradient is read or set."""

    walks = grad_read = grad_set = ignored

    def step_of(self, optimizer: Any, call: Callable[[], Any], native: bool) -> Any:
        """Run a step of an optimiser, which Python does in each call."""
        self.optimizers.append(optimizer)
        self._undo.append(optimizer_as_it_is(optimizer))
        if native and id(optimizer) not in self.python_steps:
            return self._run_native(optimizer, call)
        self.free_options |= self.state.changed_by(optimizer)
        return self._run_python(call, optimizer.step, f"{type(optimizer).__name__}.step()")

    def run_outside(self, call: Callable[[], Any], name: str, optimizer: Any = None) -> Any:
        """Refuse other Python that is called again in each call."""
        self.fail(name)
        return call()

    def _run_native(self, optimizer: Any, call: Callable[[], Any]) -> Any:
        """Run a step that is one op for each group, whose numbers are read anew each time."""
        self._barrier = f"{type(optimizer).__name__}.step()"
        self._stepping = optimizer
        for kept in optimizer.state.values():
            for t in kept.values():
                if isinstance(t, weft.Tensor):
                    self.constants[id(t)] = t
        before, known = len(self.instructions), len(optimizer.state)
        result = call()
        self._stepping = None
        if len(optimizer.state) != known:
            self.fail(f"the first {type(optimizer).__name__}.step()")
            return result
        for i in self.instructions[before:]:
            if not (i.numbers or i.function in (_C._grad_of, _C._adam, _C._sgd)):
                self.python_steps.add(id(optimizer))
                self.fail(f"{type(optimizer).__name__}.step() calls {name_of(i.function)}()")
        if result is not None:
            self.fail(f"{type(optimizer).__name__}.step() gives a result")
        return result

    def _live_numbers(self, f: Any, args: tuple[Any, ...], patterns: list[Any]) -> list[Any]:
        """Return the arguments of a step with the options of its group where the user changes them."""
        first = args[0][0] if args[0] else None
        groups = [g for g in self._stepping.param_groups if any(p is first for p in g["params"])]
        made = list(patterns)
        for n, (name, x) in enumerate(zip(_STEPS[f], args)):
            found = live(groups[0], name, x) if groups else x
            if type(found) is Live:
                self.free_options.add((id(found.group), found.key))
                place = [("constant", v) for v in (found.group, found.key, found.place)]
                made[n] = ("value", self._computed(option_of, place, found.now()).number)
        return made

    def _run_python(self, call: Callable[[], Any], again: Any, name: str) -> Any:
        self._barrier = name
        self._depth += 1
        try:
            with quiet():
                result = call()
        finally:
            self._depth -= 1
        if result is not None:
            self.fail(f"{name} gives a result")
        self._add(again, [], None, ("constant", None))
        return result

    # ---- the end -------------------------------------------------------------------------------

    def fail(self, problem: str) -> None:
        """Note why the call cannot be replayed; the first reason stays."""
        self.problem = self.problem or problem

    def returns(self, result: Any, known: set[int]) -> Any:
        """Note what the function returned, and return it with plain numbers."""
        for x in containers_in(result):
            if id(x) in known and not isinstance(x, tuple):
                self.fail(f"it returns a {type(x).__name__} that others can see")
        if any(_C._has_hooks(t) for t in self._alive if isinstance(t, weft.Tensor)):
            self.fail("a hook on gradients")
        leaves, self.spec = flatten(result)
        self.outputs = [self._result_leaf(x) for x in leaves]
        symbolic = any(isinstance(x, SymbolicNumber) for x in leaves)
        return self.spec.unflatten([plain(x) for x in leaves]) if symbolic else result

    def close(self) -> None:
        """Let numbers that outlive the capture be as plain as they can."""
        self._closed = True
        self._alive.clear()
        self._undo.clear()

    def undo(self) -> None:
        """Let all tensors be as they were."""
        with quiet(), weft.no_grad():
            for step in reversed(self._undo):
                step()

    def agrees(self, other: SymbolicCapture) -> str:
        """Say where another capture differs; "" if it does not."""
        for a, b in zip(self.instructions, other.instructions):
            if not a.agrees(b):
                return f"{name_of(b.function)}() at {b.line} is not called as it was before"
        if len(self.instructions) != len(other.instructions):
            return "it makes another number of calls than before"
        if self.spec != other.spec or not are_equal(self.outputs, other.outputs):
            return "it returns something else than before"
        for slot, mine, others in zip(self.slots, self.slots_after, other.slots_after):
            if not are_equal(mine, others):
                return f"it leaves something else in {slot.name} than before"
        return ""

    def program(self, flat: list[Any], spec: TreeSpec, free: list[Any]) -> Any:
        """Return what makes such calls.

        Args:
            flat: arguments like these, followed by what was in slots.
            spec: the structure of the arguments.
            free: which sizes of each tensor, and which numbers, may be others.
        """
        results = [*self.outputs, *self.slots_after]
        order = ordered(self.instructions, results, self.moves)
        used = {v for p in results for v in values_in(p)}
        last: list[list[int]] = []
        for i in reversed(order):
            mine = {*i.reads(), *i.makes()}
            last.append(sorted(mine - used))
            used |= mine
        sequence = _C.CallSequence(self._count)
        numbers: dict[int, int] = {}
        for x, may_vary in zip(flat, free):
            if id(x) in numbers:
                sequence.take_again(numbers[id(x)], x)
            elif isinstance(x, weft.Tensor):
                numbers[id(x)] = len(numbers)
                sizes = _C._geometry(x)[0]
                sequence.take_tensor(x, [-1 if v else n for n, v in zip(sizes, may_vary)])
            elif type(x) in (int, float):
                sequence.take_number(x, may_vary)
            else:
                sequence.take_constant(x)
        for i, dead in zip(order, reversed(last)):
            lasts = i.lasts and not i.numbers
            sequence.add(
                i.function, i.args, i.names, i.result, i.grad, i.keeps, lasts, dead, *i.origin
            )
        for slot, before, after in zip(self.slots, self.slots_before, self.slots_after):
            sequence.add_slot(slot.owner, slot.key, nesting(before), after)
        self.bare = is_nested(self.spec)
        sequence.set_output(
            nested_pattern(self.spec, iter(self.outputs)) if self.bare else ("list", self.outputs)
        )
        if is_nested(spec) and not spec.child(1).context:  # without keywords
            sequence.set_nesting(nesting(spec.child(0)))
        self._guard(sequence)
        return sequence

    def _guard(self, sequence: Any) -> None:
        """Let a sequence hold only while Python's state is what the capture saw."""
        sequence.set_modes(weft.is_grad_enabled(), weft.is_inference_mode_enabled())
        for t in self.constants.values():
            sequence.require_role(t)
        state = self.state
        free = self.free_options | state.unused_options({id(o) for o in self.optimizers})
        options = [g for g in state.options if g.place not in free]
        sequence.set_guards(native([*state.guards, *options, *state.tensor_guards]))
        if state.compares_identity:
            sequence.set_strangers(list(state.tensors.values()))


@contextlib.contextmanager
def observing(capture: SymbolicCapture) -> Iterator[None]:
    """Let a capture observe what this thread calls."""
    _C._start_recording(capture)
    _C._observe(capture)
    try:
        yield
    finally:
        _C._observe(None)
        _C._stop_recording()
