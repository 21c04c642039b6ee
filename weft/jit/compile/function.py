"""A compiled function: calls are captured, and replayed without Python from then on."""

from __future__ import annotations

import functools
import sys
import threading
import time
import warnings
import weakref

import weft
from weft import _C
from weft.jit.cost_model import TOO_MANY
from weft.jit.modes import settings
from weft.jit.pytree import containers_in, flatten
from weft.jit.specialize import Cache, Call, Signature, tensors_in
from weft.utils.pytree import TreeSpec, find_tensors

from .backward import capture_derivative
from .capture import Capture, uncollected
from .dynamic import Dynamic, are_marked, fixed_sizes
from .python_state import State
from .result_views import find_bases
from .segment_runner import key_of
from .segments import Number
from .side_effects import is_profiled, noticing
from .slots import slots_of
from .specialization import NOT_TAKEN, CallSpecialization, unsuitable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft import Tensor

    from .slots import Slot

__all__ = ["CompiledFunction", "forget_all"]

_MOST_SPECIALIZATIONS = 64
_MOST_FAILURES = 8
_MOST_CHANGING = 2  # captures that change slots, until all calls are made for any size
_MOST_SLOWER = 3  # specialisations that are slower in segments, until all are taken to be
_WEFT = __file__.rpartition("jit")[0]
_living: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()


class CompiledFunction(_C.CompiledBase):
    """What ``weft.compile`` makes of a function.

    >>> f = weft.compile(lambda x: (x * 2).relu().sum())
    >>> [f(weft.arange(3.0)).item() for _ in range(3)]
    [6.0, 6.0, 6.0]
    >>> f.specializations[0].captures
    2
    """

    def __init__(
        self,
        func: Callable[..., Any],
        fullgraph: bool = False,
        exact: bool = True,
        dynamic: bool | None = None,
    ) -> None:
        """Wrap a function; nothing is captured before it is called."""
        functools.update_wrapper(self, func, updated=())
        if isinstance(func, _C.ModuleBase):
            self.__wrapped__ = func.forward  # which has a signature
        self.name = getattr(func, "__name__", type(func).__name__)
        self.func, self.fullgraph, self.exact, self.dynamic = func, fullgraph, exact, dynamic
        self._lock = threading.Lock()
        self._told: set[str] = set()
        self.forget()
        _living.add(self)

    def forget(self) -> None:
        """Drop all that was captured: the next call begins anew."""
        self._cache = Cache(_MOST_SPECIALIZATIONS)
        self._prefer(None)
        self._failures = 0  # captures that were good for nothing
        self._hopeless: dict[Signature, str] = {}  # what is never as it was
        self._problem = ""  # why nothing is captured any more
        self._refused: dict[str, None] = {}  # why calls were eager, whatever was captured
        self._cost_model = self._cache.cost_model  # whether another program would pay
        self._any_size: dict[Any, Dynamic] = {}  # by kind of inputs but for their sizes
        self._last: tuple[Any, Any] | None = None  # of these: structure, and what ran
        self._changing = 0  # captures in which slots got other values
        self._slots: list[Slot] = []  # these

    def _prefer(self, specialization: CallSpecialization | None) -> None:
        """Try this one first in the next call: it runs straight and takes no structures."""
        whole = specialization is not None and specialization.whole
        _C._try_first(self, specialization.replay if specialization is not None and whole else None)
        # Whose results have to be put into a structure; with its replay: that may be another then.
        later = None if whole else specialization
        self._fast: Any = (later, None if later is None else later.replay)

    if TYPE_CHECKING:  # CompiledBase has it

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the function as a method, compiled for each object it is a method of."""
        if instance is None:
            return self
        return functools.partial(self, instance)

    @property
    def any_size(self) -> list[Dynamic]:
        """What was captured for inputs of any sizes, one for each kind of inputs."""
        return list(self._any_size.values())

    @property
    def specializations(self) -> list[CallSpecialization]:
        """What was captured, one for each kind of inputs and state of Python."""
        return list(self._cache)

    @property
    def graphs(self) -> list[Any]:
        """The graphs of all programs that were made, for ``weft.jit.show``."""
        segments = [p for v in self.specializations if v.root is not None for p in v.root.walk()]
        derivatives = [p.derivative for p in segments if p.derivative is not None]
        segments += [backward.segment for d in derivatives for backward in d.graphs.values()]
        return [p.shown() for p in segments if p.shown is not None]

    @property
    def calls_until_graph(self) -> int:
        """How many calls like the last it takes until there is a program."""
        if not self.specializations:
            return 3 + self._cost_model.first_waits
        return 1 if self.specializations[-1].ready else 2

    @property
    def reasons(self) -> list[str]:
        """Why calls run eagerly, where they do."""
        found = [
            self._problem,
            *[v.problem or v.trouble for v in self.specializations if not v.ready],
        ]
        found += [f"no program for all sizes: {d.problem}" for d in self.any_size if d.problem]
        return [reason for reason in dict.fromkeys([*found, *self._refused]) if reason]

    # ---- one call ------------------------------------------------------------------------------

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call that is no replay of the whole result: that, ``CompiledBase`` has tried."""
        # Invariant: whichever way is taken, the result and what changes are those of self.func.
        if _C._compiled_runs_eagerly():
            return self.func(*args, **kwargs)
        fast, replay = self._fast
        if fast is not None and not kwargs and (made := replay.run_nested(args)) is not None:
            return fast.rebuilt(
                made, tensors_in(args if fast.nesting is None else flatten(args)[0])
            )
        if _C._recorder() is not None or _C._anomaly() or _C._has_saved_hooks():
            return self.func(*args, **kwargs)  # part of what another one captures, or watched
        if self._problem:
            return self._eagerly(self._problem, args, kwargs)
        if self._cost_model.rest:
            self._cost_model.rest -= 1
            return self._run_any_size(args, kwargs)
        call = Call(args, kwargs)
        if reason := _refusal(call.inputs):
            return self._eagerly(reason, args, kwargs)
        signature = call.signature
        if self.dynamic or self._changing >= _MOST_CHANGING or are_marked(call.inputs):
            made = self._for_any_size(call, signature, True)
            if made is not NOT_TAKEN:
                return made
            if self._changing >= _MOST_CHANGING:
                return self._eagerly(self._why_eager(), args, kwargs)
        return self._specialized(call, signature)

    def _specialized(self, call: Call, signature: Signature) -> Any:
        """Make a call by what is captured for its signature, as far as that has come: ``Stage``."""
        specialization, reason = self._find(signature, call.inputs)
        if specialization is not None and specialization.ready:
            made = self._replay(specialization, call)
            if made is not NOT_TAKEN:
                return made
            reason = specialization.problem
        if reason:
            return self._eagerly(reason, call.args, call.kwargs)
        if is_profiled():
            self._tell("a profiler watches its calls, and nothing else can meanwhile")
            return self.func(*call.args, **call.kwargs)
        cost = self._cache.cost_of(signature, 0)
        if self._cost_model.is_too_high(cost):
            result = self._cost_model.run_eagerly(cost, self._cheaply, (call, signature), {})
            if self._cost_model.rest and self._last is None:
                self._tell(TOO_MANY)
            return result
        return self._capture(specialization, call, signature)

    def _find(
        self, signature: Signature, inputs: list[Tensor]
    ) -> tuple[CallSpecialization | None, str]:
        """Return the specialisation whose guards hold, or None; and why calls run eagerly, if so."""
        group = self._cache.touch(signature)
        if group and group[0].begins and not group[0].holds(inputs):
            del group[:1]  # the first step of an optimiser, which does not come again
        specialization = next((v for v in group if v.holds(inputs)), None)
        if specialization is not None:
            return specialization, specialization.problem
        if any(v.meets(inputs) for v in group):
            return None, "it may take an argument for a tensor that it knows"
        return None, self._hopeless.get(signature, "") if group else ""

    def _replay(self, specialization: CallSpecialization, call: Call) -> Any:
        """Make a call without Python; NOT_TAKEN where that is not possible after all."""
        if specialization.autotuner.eager_is_next:
            return self._run_timed(specialization, call.args, call.kwargs)
        built = specialization.seconds["built"]
        result = specialization.run(tuple(call.flat), call.inputs)
        if result is not NOT_TAKEN:
            if specialization.is_cut and specialization.seconds["built"] == built:
                specialization.autotuner.note_segments(time.perf_counter() - call.began)
            self._cost_model.note_replay()
            direct = specialization.replay is not None and (
                call.is_plain or specialization.nesting is not None
            )
            self._prefer(specialization if direct else None)
        return result

    def _for_any_size(self, call: Call, signature: Signature, forever: bool) -> Any:
        """Make a call by a program for all sizes, or capture one; NOT_TAKEN where neither can be.

        ``forever``: whether calls like it are always made so.
        """
        if self.dynamic is False:
            return NOT_TAKEN
        flat = call.flat
        sizeless = signature.sizeless(), fixed_sizes(flat)
        found = self._any_size.get(sizeless)
        if found is None:
            found = self._any_size[sizeless] = Dynamic(self.func, bool(self.dynamic), self._slots)
            if len(self._any_size) > _MOST_SPECIALIZATIONS:
                del self._any_size[next(iter(self._any_size))]
            if not forever:
                return NOT_TAKEN
        made = found.run(tuple(flat))
        if made is NotImplemented:
            if not found.wants or is_profiled():
                return NOT_TAKEN
            return found.capture(call.args, call.kwargs)
        self._last = call.spec, found
        if forever:
            _C._try_sequence(self, found.fastest, sys.maxsize)
        return made

    def _cheaply(self, call: Call, signature: Signature) -> Any:
        """Make a call that is not worth a program of its own."""
        made = self._for_any_size(call, signature, False)
        return self.func(*call.args, **call.kwargs) if made is NOT_TAKEN else made

    def _run_any_size(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call of many that differ in their sizes."""
        if self._last is not None:
            spec, found = self._last
            call = Call(args, kwargs)
            if call.spec == spec and (made := found.run(tuple(call.flat))) is not NotImplemented:
                if found.fastest is not None:  # it is tried as often before anybody looks again
                    _C._try_sequence(self, found.fastest, self._cost_model.rest)
                    self._cost_model.rest = 0
                return made
        return self.func(*args, **kwargs)

    def _run_timed(
        self, specialization: CallSpecialization, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Make an eager call that is timed; where such are quicker, all are eager from then on."""
        result = specialization.autotuner.run_eagerly(self.func, args, kwargs)
        if specialization.autotuner.eager_is_faster:
            specialization.trouble = (
                f"it is split by {specialization.cut}, and calls in segments were measured to be slower "
                "than eager ones"
            )
            specialization.give_up(specialization.trouble)
            ended = [v.autotuner for v in self.specializations if v.autotuner.done]
            many = len(ended) >= _MOST_SLOWER or len(ended) == len(self.specializations)
            if many and all(autotuner.eager_is_faster for autotuner in ended):
                self._problem = specialization.problem
        return result

    def _eagerly(self, reason: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function as it is, and say so once for each reason."""
        if self.fullgraph:
            self._refused[reason] = None
            raise RuntimeError(_not_whole(self.name, reason))
        self._tell(reason)
        self._cost_model.note_refusal()
        return self.func(*args, **kwargs)

    def _tell(self, reason: str) -> None:
        self._refused[reason] = None
        if reason not in self._told:
            self._told.add(reason)
            text = f"compile: {self.name} runs eagerly: {reason}"
            warnings.warn(text, stacklevel=_frames_of_weft() + 1)

    def _capture(
        self, specialization: CallSpecialization | None, call: Call, signature: Signature
    ) -> Any:
        """Run the function, and keep what it does."""
        self._prefer(None)  # what was captured may become another thing
        inputs = call.inputs
        capture = Capture(getattr(self.func, "__code__", None), self.exact)
        capture.graph.inputs = [capture.name(t, "x") for t in inputs]
        capture.check_inputs(inputs)
        containers = list(containers_in((call.args, call.kwargs)))
        state = State(self.func, [*call.flat, *{type(c) for c in containers}])
        start = time.perf_counter()
        shapes, before = [_C._geometry(t) for t in inputs], settings()
        with uncollected(), noticing(capture):
            _C._start_recording(capture)
            try:
                result = self.func(*call.args, **call.kwargs)
                known = {*state.seen, *map(id, containers)}
                _keep_results(capture, result, known)
            finally:
                _C._stop_recording()
        if not call.is_unchanged():
            capture.fail("it changes a list, dict or object that it was given")
        if [_C._geometry(t) for t in inputs] != shapes:
            capture.fail("it changes the shape of a tensor that it was given")
        if settings() != before:
            capture.fail("it changes a mode or setting of weft, and leaves it changed")
        if self.fullgraph:
            self._check_whole(capture, state)
        if specialization is None:
            specialization = self._new_specialization(call, signature)
        took = time.perf_counter() - start
        specialization.seconds["captured"] += took
        self._cost_model.note_capture(took)
        specialization.add(capture, state)
        if (
            specialization.changes
            and not capture.problem
            and (slots := slots_of(state.broken(), state.stores))
        ):
            self._changing += 1
            self._slots = slots
            if self._changing >= _MOST_CHANGING:
                self._cache.groups.clear()
        elif capture.problem or specialization.changes:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                self._problem = specialization.trouble
        return result

    def _new_specialization(self, call: Call, signature: Signature) -> CallSpecialization:
        number = {t: i for i, t in enumerate(call.inputs)}
        given = [number[x] if isinstance(x, weft.Tensor) else (x,) for x in call.flat]
        run = functools.partial(_call_with, self.func, call.spec)
        specialization = CallSpecialization(given, run, call.nesting)
        with self._lock:
            group = self._cache.touch(signature)
            if not group:
                self._hopeless.pop(signature, None)
            if len(group) >= _MOST_FAILURES and not any(v.ready for v in group):
                self._hopeless[signature] = _never_again(group, call.inputs)
            self._cache.add(signature, specialization)
        return specialization

    def _why_eager(self) -> str:
        """Return why calls that leave other values in slots are not captured."""
        reasons = [d.problem for d in self._any_size.values() if d.problem]
        return reasons[-1] if reasons else "captures of its calls differ"

    def _check_whole(self, capture: Capture, state: State) -> None:
        """Raise if a call was not one program, and the next will be none either."""
        cuts = [f"{r.what} at {r.line}" for r in capture.reads if not r.returned]
        cuts += [f"{o.name} at {o.line}" for o in capture.outside]
        split = f"it is split by {cuts[0]}" if cuts else ""
        if problem := split or capture.problem or unsuitable(capture, state):
            self._refused[problem] = None
            raise RuntimeError(_not_whole(self.name, problem))

    # ---- as an object --------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledFunction:
        """Return one of a copy of the function, with nothing captured."""
        from copy import deepcopy

        return CompiledFunction(deepcopy(self.func, memo), *self._settings)

    def __reduce__(self) -> Any:
        """Pickle the function; what was captured is not kept."""
        return CompiledFunction, (self.func, *self._settings)

    @property
    def _settings(self) -> tuple[bool, bool, bool | None]:
        return self.fullgraph, self.exact, self.dynamic

    def __repr__(self) -> str:
        """Return its name and how much was captured."""
        return f"<compiled {self.name}: {len(self.specializations)} specialisations>"

    def report(self) -> Any:
        """Return what was captured, what is watched, and what is not compiled and why."""
        from .report import Report

        return Report(self)


def _frames_of_weft() -> int:
    """Return how many frames of weft stand above that of the user."""
    count, frame = 0, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_WEFT):
        count, frame = count + 1, frame.f_back  # type: ignore[assignment]
    return count


def _refusal(inputs: list[Tensor]) -> str:
    """Say why no call with such tensors is captured, if so."""
    for t in inputs:
        if not _is_plain(type(t)):
            return f"an argument is a {type(t).__name__}"
        if t.is_sparse:
            return "an argument is a sparse tensor"
    if any(map(_C._has_attributes, inputs)):
        return "an argument that has attributes of its own"
    return ""


def _is_plain(kind: type) -> bool:
    """Say whether it is the class of tensors that ops treat as such: ``Tensor`` or ``Parameter``."""
    named = kind.__name__ == "Parameter" and kind.__module__ == "weft.nn.parameter"
    return kind is weft.Tensor or named


def _never_again(group: list[CallSpecialization], inputs: list[Tensor]) -> str:
    """Say what is never as it was, of calls none of which was like another."""
    if changing := [v for v in group if v.changes]:  # what they find, an earlier one has left
        return changing[-1].trouble
    return f"{group[-1].differs(inputs) or 'a hook on gradients'} is another one in each call"


def _not_whole(name: str, reason: str) -> str:
    return f"compile(fullgraph=True): {name} is not one program: {reason}"


def _call_with(func: Callable[..., Any], spec: TreeSpec, flat: list[Any]) -> Any:
    """Call a function with the leaves of its arguments."""
    args, kwargs = spec.unflatten(flat)
    return func(*args, **kwargs)


def _keep_results(capture: Capture, result: Any, known: set[int]) -> None:
    """Note what a call returned, and how gradients of it are computed.

    Args:
        capture: the call.
        result: what it returned.
        known: ids of objects that others can see.
    """
    capture.check_history()
    for x in containers_in(result):
        if id(x) in known and not isinstance(x, tuple):
            capture.fail(f"it returns a {type(x).__name__} that others can see")
    leaves, spec = flatten(result)
    found: list[Tensor] = []
    numbered = _with_numbers(capture, leaves, spec)
    capture.graph.outputs = [_kept(capture, x, found) for x in numbered]
    capture.graph.spec = spec
    if not found or capture.problem:
        return
    if capture.changed_leaves():
        capture.fail("it changes a tensor that wants a gradient, and returns results that have one")
        return
    bases = find_bases(capture, found, list(find_tensors(leaves)))
    if bases is None:
        capture.fail("it returns two tensors in the same memory, of which one has a gradient")
    else:
        capture_derivative(capture, found, bases)


def _with_numbers(capture: Capture, leaves: list[Any], spec: TreeSpec) -> list[Any]:
    """Return the leaves of a result with what stands for the numbers that ``item()`` gave."""
    leaves = list(leaves)
    escaping = [(r, r.escape.places) for r in capture.reads if r.escape is not None]
    numbers = spec.unflatten(range(len(leaves))) if escaping else None
    for r, places in escaping:
        found = [functools.reduce(lambda x, key: x[key], place, numbers) for place in places]
        if all(type(i) is int and key_of(leaves[i]) == key_of(r.outcome) for i in found):
            for i in found:
                leaves[i] = Number(r.value)
        else:  # it was converted
            r.escape = None
    return leaves


def _kept(capture: Capture, x: Any, found: list[Tensor]) -> Any:
    """Return what stands for a leaf of a result; ``found``: tensors that have a gradient."""
    if not isinstance(x, weft.Tensor):
        plain = (int, float, str, bool, bytes, complex, type(None), weft.dtype, Number)
        if not isinstance(x, plain):
            capture.fail(f"it returns a {type(x).__name__}")
        return x
    value = capture.value(x)
    if (given := capture.given.get(x)) is not None:  # the caller gets its own tensor back
        if _C._wants_grad(x) and value is not given:
            capture.fail("it returns a tensor that it was given and changed, with its history")
        return given
    if x.retains_grad:
        capture.fail("it returns a tensor that keeps its gradient")
    if _C._is_untracked(x):
        capture.fail("it returns .data, of which changes are not counted")
    if not _C._wants_grad(x) and (root := _C._root_of(x)) is not x and root.requires_grad:
        capture.fail("it returns a view without a gradient of a tensor that has one")
    if _C._wants_grad(x) and value.producer is not None:
        if _C._is_spent(x, list(capture.given)):
            capture.spent.append(value)
        elif all(x is not t for t in found):
            found.append(x)
    return value


def forget_all() -> None:
    """Drop what was captured of every compiled function there is.

    >>> weft.jit.compile.function.forget_all()
    """
    for function in list(_living):
        function.forget()
