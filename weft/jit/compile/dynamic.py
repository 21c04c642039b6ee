"""Calls whose sizes vary: captured as calls from Python to weft, and replayed for any sizes.

A program for one size (``specialization.py``) knows every shape: its loops are fused and its memory is planned.
It takes milliseconds to make, which pays for sizes that come often. What is captured here holds for all
sizes: the calls that cross from Python to weft, in order, with the numbers that Python computed from sizes
as instructions between them, and checks where Python decided by them (``weft/jit/symbols.py``). In a
replay each call does what it does in an eager program, so all that weft itself decides by sizes is
decided anew, and derivatives are recorded. A replay saves the time that Python takes.

Two captures must agree, as everywhere in this package. Sizes and numbers that were the same in all
captures must be the same in a replay: only what was seen to vary may vary, unless the user says
``dynamic=True``.
"""

from __future__ import annotations

import operator
import threading
import weakref

import weft
from weft import _C
from weft.jit.guards import failing
from weft.jit.modes import settings
from weft.jit.pytree import containers_in, flatten, node_def

from .call_sequence import PLAIN, decisions_in, names_in
from .capture import uncollected
from .python_state import State
from .rollback import contents_as_they_are
from .side_effects import noticing
from .slots import restore, slots_of
from .symbolic_capture import SymbolicCapture, observing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from weft.utils.pytree import TreeSpec

    from .slots import Slot

__all__ = ["Dynamic", "are_marked", "fixed_sizes", "mark"]

_MOST_PROGRAMS = 8  # for calls that decide otherwise by their sizes
_MOST_WAITING = 4  # captures for one that agrees
_MOST_CAPTURES = 16  # without a call by a program between them
_MOST_FAILURES = 4  # captures that were good for nothing


# By the ids of tensors that live: a reference that tells of their end, and by dimension whether it varies.
_marks: dict[int, tuple[Any, dict[int, bool]]] = {}


def mark(t: weft.Tensor, dims: list[int], varies: bool) -> None:
    """Note that sizes of a tensor will vary from call to call, or never do."""
    key = id(t)
    if key not in _marks:
        _marks[key] = weakref.ref(t, lambda _: _marks.pop(key, None)), {}
    _marks[key][1].update(dict.fromkeys(dims, varies))


def _marks_of(x: Any) -> dict[int, bool]:
    return _marks[id(x)][1] if id(x) in _marks else {}


def are_marked(inputs: list[weft.Tensor]) -> bool:
    """Say whether one of these tensors has a size that is said to vary.

    >>> x = weft.ones(2, 3)
    >>> weft.compiler.mark_dynamic(x, 0)
    >>> weft.jit.compile.dynamic.are_marked([x])
    True
    """
    return bool(_marks) and any(any(_marks_of(t).values()) for t in inputs)


def fixed_sizes(flat: list[Any]) -> tuple[Any, ...]:
    """Return the sizes that are said never to vary: a program holds for one value of them.

    >>> x = weft.ones(2, 3)
    >>> weft.compiler.mark_static(x, 1)
    >>> weft.jit.compile.dynamic.fixed_sizes([x])
    ((0, 1, 3),)
    """
    if not _marks:
        return ()
    marked = [(n, t, _marks_of(t)) for n, t in enumerate(flat)]
    return tuple([(n, d, t.size(d)) for n, t, marks in marked for d, v in marks.items() if not v])


class Captured:
    """A capture that waits for one that agrees, or had one: a program for the sizes that varied."""

    def __init__(
        self, capture: SymbolicCapture, flat: list[Any], fixed: list[bool], any_size: bool
    ) -> None:
        """Keep a capture and the sizes and numbers it was given; ``fixed``: of each, if it cannot vary."""
        self.capture = capture
        fixed = [*fixed, *[False] * (len(flat) - len(fixed))]  # what is in slots can
        self.free: list[Any] = [not f and _free(x, any_size) for x, f in zip(flat, fixed)]
        self.given: list[Any] = [None if f else _sizes(x) for x, f in zip(flat, fixed)]
        self.program: Any = None
        self.spec: TreeSpec | None = None  # of the result, where C++ does not make its structure

    def widen_from(self, other: Captured) -> None:
        """Let vary what differs from another capture that agrees, and what may vary there."""
        for n, (mine, given) in enumerate(zip(self.given, other.given)):
            if isinstance(self.free[n], list):
                free = zip(self.free[n], other.free[n], mine, given)
                self.free[n] = [a or b or x != y for a, b, x, y in free]
            else:
                self.free[n] = self.free[n] or other.free[n] or mine != given

    def build(self, flat: list[Any], spec: TreeSpec) -> None:
        """Make its program, given arguments like those that it will take."""
        self.program = self.capture.program(flat, spec, self.free)
        self.spec = None if self.capture.bare else self.capture.spec

    def run(self, flat: tuple[Any, ...]) -> Any:
        """Make a call; NotImplemented where the program does not hold."""
        made = self.program.run(flat)
        return made if made is NotImplemented or self.spec is None else self.spec.unflatten(made)


class Dynamic:
    """Calls of one structure, of which only sizes and numbers differ.

    States: nothing captured; captures that wait for one that agrees; programs, one for each way to
    decide by sizes; given up (``problem``).
    """

    def __init__(
        self, func: Callable[..., Any], any_size: bool = False, slots: Iterable[Slot] = ()
    ) -> None:
        """Begin with no capture.

        Args:
            func: the function.
            any_size: sizes may vary that were not seen to.
            slots: places in Python's state that calls are known to change.
        """
        self.func, self.any_size = func, any_size
        self.problem = ""
        self.captures = self.failures = self._dropped = 0
        self.trouble = ""  # why the last capture was good for nothing
        self.slots = list(slots)
        self._programs: list[Captured] = []
        self._waiting: list[Captured] = []
        self._seen: tuple[State, list[Any]] | None = None  # by the last capture, of such arguments
        self._lock = threading.Lock()
        self._python_steps: set[int] = set()  # optimisers whose steps are more than one op

    def run(self, flat: tuple[Any, ...]) -> Any:
        """Make a call, given the leaves of its arguments; NotImplemented where no program holds."""
        for n, found in enumerate(self._programs):
            made = found.run(flat)
            if made is not NotImplemented:
                if n:
                    self._programs.insert(0, self._programs.pop(n))
                return made
        return NotImplemented

    @property
    def wants(self) -> bool:
        """Whether another capture may be of use: they must stay few beside the replays."""
        if self.captures >= _MOST_CAPTURES + self.replays // _MOST_CAPTURES and not self._programs:
            self.problem = self.problem or self.trouble
        return not self.problem and self.captures < _MOST_CAPTURES + self.replays // _MOST_CAPTURES

    @property
    def replays(self) -> int:
        """How many calls were made by its programs."""
        return self._dropped + sum(found.program.calls for found in self._programs)

    def changed(self) -> str:
        """Return the name of something that is not as the last capture found it, or ""."""
        return "" if self._seen is None else self._seen[0].changed()

    def facts(self) -> dict[str, Any]:
        """Return what ``report()`` says of it."""
        first = self._programs[0].capture.instructions if self._programs else []
        return {
            "captures": self.captures,
            "replays": self.replays,
            "programs": len(self._programs),
            "calls": names_in(first),
            "decisions": decisions_in(first),
            "slots": [slot.name for slot in self.slots],
            "pending": self.problem or self.trouble,
        }

    @property
    def fastest(self) -> Any:
        """The program that ran last, if it needs no help with structures; else None."""
        found = self._programs[0] if self._programs else None
        return found.program if found is not None and found.spec is None else None

    def capture(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function, and keep what it does, unless another thread is about that."""
        if not self._lock.acquire(blocking=False):
            return self.func(*args, **kwargs)
        try:
            return self._capture(args, kwargs)
        finally:
            self._lock.release()

    def _capture(self, plain_args: tuple[Any, ...], plain_kwargs: dict[str, Any]) -> Any:
        self.captures += 1
        flat, spec = flatten((plain_args, plain_kwargs))
        containers = list(containers_in((plain_args, plain_kwargs)))
        state = self._look([*flat, *{type(c) for c in containers}])
        if state.asks_type:
            self.problem = "it asks for type(...), which tells a size from an int"
            return self.func(*plain_args, **plain_kwargs)
        capture = SymbolicCapture(state, self._python_steps, self.slots)
        random, modes_before = weft.get_rng_state(), settings()
        fixed: list[bool] = []
        args = _take(capture, plain_args, fixed)
        kwargs = {key: _take(capture, x, fixed) for key, x in plain_kwargs.items()}
        contents = [contents_as_they_are(x) for x in containers]
        before = [slot.get() for slot in self.slots]
        inputs = [*flat, *capture.take_slots()]
        known = {*state.seen, *map(id, containers_in((args, kwargs)))}
        known.update(id(x) for value in before for x in containers_in(value))
        try:
            with uncollected(), noticing(capture):  # type: ignore[arg-type]
                with observing(capture):
                    result = self.func(*args, **kwargs)
                result = capture.returns(result, known)
        except BaseException as e:
            capture.undo()
            for slot, value in zip(self.slots, before):
                slot.put(value)
            capture.close()
            del args, kwargs
            mine = [guard for guard in state.broken() if state.stores.may_set(guard)]
            if not restore(mine) or not isinstance(e, Exception):
                capture.take_back_symbols()
                raise
            weft.set_rng_state(random)
            for put in contents:
                put()
            # If the error is the function's own, it is raised here again.
            result = self.func(*plain_args, **plain_kwargs)
            self._give_up(f"symbols in the place of sizes raise {type(e).__name__}: {e}")
            return result
        capture.leave_slots({*known, *map(id, containers_in(result))})
        after, spec_after = flatten((plain_args, plain_kwargs))
        if spec_after != spec or not all(a is b for a, b in zip(flat, after)):
            capture.fail("it changes a list, dict or object that it was given")
        del args, kwargs, after
        changed = slots_of(state.broken(), state.stores) if state.changed() else None
        capture.take_back_symbols()
        if settings() != modes_before:
            capture.fail("it changes a mode or setting of weft, and leaves it changed")
        capture.close()
        self._take(Captured(capture, inputs, fixed, self.any_size), inputs, spec, changed)
        return result

    def _look(self, args: list[Any]) -> State:
        """Return what the function can see; what the last capture found, if all of it is as it was.

        Args:
            args: the leaves of its arguments, and the classes of their containers.
        """
        given = [x for x in args if not isinstance(x, (weft.Tensor, *PLAIN))]
        if self._seen is not None:
            state, before = self._seen
            same = len(given) == len(before) and all(map(operator.is_, given, before))
            if same and not state.changed() and failing(state.options) is None:
                return state
        state = State(self.func, args, [slot.place for slot in self.slots])
        self._seen = state, given
        return state

    def _take(
        self, new: Captured, flat: list[Any], spec: TreeSpec, slots: list[Slot] | None
    ) -> None:
        """Make a program, if a capture agrees with another one; ``slots``: that it has changed."""
        # Invariant: a program comes of two captures that agree in every call and every plain number.
        state = new.capture.state
        problem = state.unseen or (new.capture.problem if not slots else "")
        if not problem and (changed := state.changed()):
            if slots:  # the next captures take what is in them as arguments
                self.slots += slots
                self._seen = None
                self._waiting.clear()
                self._drop(self._programs)
                self._programs = []
                return
            problem = f"the call changes {changed}, which only Python can do"
        if problem:
            return self._give_up(problem)
        if self._widened(new, flat, spec):
            return
        for n, other in enumerate(self._waiting):
            self.trouble = other.capture.agrees(new.capture)
            if not self.trouble:
                del self._waiting[n]
                new.widen_from(other)
                new.build(flat, spec)
                self._programs.insert(0, new)
                self._drop(self._programs[_MOST_PROGRAMS:])
                del self._programs[_MOST_PROGRAMS:]
                return
        self._waiting.append(new)
        del self._waiting[:-_MOST_WAITING]

    def _widened(self, new: Captured, flat: list[Any], spec: TreeSpec) -> bool:
        """Let a program hold for more sizes, if a capture says that it would have been right."""
        for n, found in enumerate(self._programs):
            if not found.capture.agrees(new.capture):
                new.widen_from(found)
                new.build(flat, spec)
                self._drop([found])
                self._programs[n] = new
                return True
        return False

    def _drop(self, programs: list[Captured]) -> None:
        self._dropped += sum(found.program.calls for found in programs)

    def _give_up(self, reason: str) -> None:
        self.failures += 1
        self.trouble = reason
        self._waiting.clear()
        if self.failures >= _MOST_FAILURES:
            self.problem = reason


def _take(capture: SymbolicCapture, x: Any, fixed: list[bool]) -> Any:
    """Return arguments as the function gets them: numbers are symbolic.

    Lists, dicts and objects it gets themselves, and may change them: numbers in these stay plain, and are
    noted as ``fixed``.
    """
    definition = node_def(type(x))
    if definition is None:
        fixed.append(False)
        return capture.take(x)
    if not isinstance(x, tuple):
        for leaf in flatten(x)[0]:
            fixed.append(type(leaf) in (int, float))
            capture.take_fixed() if fixed[-1] else capture.take(leaf)
        return x
    parts = [_take(capture, part, fixed) for part in definition.flatten_fn(x)[0]]
    return x if all(map(operator.is_, parts, x)) else tuple.__new__(type(x), parts)


def _sizes(x: Any) -> Any:
    """Return what may vary of an argument: the sizes of a tensor, a number; else None."""
    if isinstance(x, weft.Tensor):
        return _C._geometry(x)[0]
    return x if type(x) in (int, float) else None


def _free(x: Any, any_size: bool) -> Any:
    """Return which sizes of a tensor may vary, or whether a number may."""
    if not isinstance(x, weft.Tensor):
        return any_size
    marks = _marks_of(x)
    return [marks.get(d, any_size) for d in range(x.dim())]
