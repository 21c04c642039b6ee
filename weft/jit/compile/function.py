"""A compiled function: calls are captured, and from then on made again without Python."""

from __future__ import annotations

import functools
import threading
import time
import warnings
import weakref

import weft
from weft import _C
from weft.jit.graph import _like
from weft.jit.price import TOO_MANY, Price

from .capture import Capture, uncollected
from .gradient import capture_derivative
from .objects import taken_apart
from .pieces import Number
from .state import State
from .variant import NOT_TAKEN, Variant, unsuitable
from .views import find_bases
from .walk import key_of
from .watch import is_profiled, watching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from weft import Tensor

__all__ = ["CompiledFunction", "forget_all"]

_MOST_VARIANTS = 64
_MOST_FAILURES = 8
_MOST_LOST = 3  # variants that are slower by pieces, until all are taken to be
_living: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()


class CompiledFunction(_C.CompiledBase):
    """What ``weft.compile`` makes of a function.

    >>> f = weft.compile(lambda x: (x * 2).relu().sum())
    >>> [f(weft.arange(3.0)).item() for _ in range(3)]
    [6.0, 6.0, 6.0]
    >>> f.variants[0].captures
    2
    """

    def __init__(
        self, func: Callable[..., Any], fullgraph: bool = False, exact: bool = True
    ) -> None:
        """Wrap a function; nothing is captured before it is called."""
        functools.update_wrapper(self, func, updated=())
        if isinstance(func, _C.ModuleBase):
            self.__wrapped__ = func.forward  # which has a signature
        self.name = getattr(func, "__name__", type(func).__name__)
        self.func, self.fullgraph, self.exact = func, fullgraph, exact
        self._lock = threading.Lock()
        self._told: set[str] = set()
        self.forget()
        _living.add(self)

    def forget(self) -> None:
        """Drop all that was captured: the next call begins anew."""
        self._groups: dict[Any, list[Variant]] = {}
        self._prefer(None)
        self._failures = 0  # captures that were good for nothing
        self._hopeless: dict[Any, str] = {}  # by kind of inputs: what is never as it was
        self._problem = ""  # why nothing is captured any more
        self._refused: dict[str, None] = {}  # why calls were eager, whatever was captured
        self._price = Price()  # whether another program would pay

    def _prefer(self, variant: Variant | None) -> None:
        """Try this one first in the next call: it runs straight and takes no structures."""
        alone = variant is not None and variant.alone
        _C._try_first(self, variant.replay if variant is not None and alone else None)
        # Whose results have to be put into a structure; with its replay: that may be another then.
        self._fast: Any = (None, None) if variant is None or alone else (variant, variant.replay)

    if TYPE_CHECKING:  # CompiledBase has it

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the function as a method, compiled for each object it is a method of."""
        if instance is None:
            return self
        return functools.partial(self, instance)

    @property
    def variants(self) -> list[Variant]:
        """What was captured, one for each kind of inputs and state of Python."""
        return [v for group in self._groups.values() for v in group]

    @property
    def graphs(self) -> list[Any]:
        """The graphs of all programs that were made, for ``weft.jit.show``."""
        pieces = [p for v in self.variants if v.root is not None for p in v.root.walk()]
        derivatives = [p.derivative for p in pieces if p.derivative is not None]
        pieces += [way.piece for d in derivatives for way in d.ways.values()]
        return [p.shown() for p in pieces if p.shown is not None]

    @property
    def calls_until_graph(self) -> int:
        """How many calls like the last it takes until there is a program."""
        if not self.variants:
            return 3 + self._price.first_waits
        return 1 if self.variants[-1].ready else 2

    @property
    def reasons(self) -> list[str]:
        """Why calls run eagerly, where they do."""
        found = [self._problem, *[v.problem or v.trouble for v in self.variants if not v.ready]]
        return [reason for reason in dict.fromkeys([*found, *self._refused]) if reason]

    # ---- one call ------------------------------------------------------------------------------

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call that is no replay of a single tensor: that, ``CompiledBase`` has tried."""
        if _C._compiled_runs_eagerly():
            return self.func(*args, **kwargs)
        fast, replay = self._fast
        if fast is not None and not kwargs and (made := replay.run(args)) is not None:
            return fast.rebuilt(made, _tensors(args))
        if _C._recorder() is not None or _C._anomaly() or _C._has_saved_hooks():
            return self.func(*args, **kwargs)  # part of what another one captures, or watched
        if self._problem:
            return self._eagerly(self._problem, args, kwargs)
        if self._price.rest:
            self._price.rest -= 1
            return self.func(*args, **kwargs)
        start = time.perf_counter()
        flat: list[Any] = []
        structure = _flatten((args, kwargs), flat)
        inputs = _tensors(flat)
        for t in inputs:
            if not _is_plain(type(t)):
                return self._eagerly(f"an argument is a {type(t).__name__}", args, kwargs)
            if t.is_sparse:
                return self._eagerly("an argument is a sparse tensor", args, kwargs)
        if any(map(_C._has_attributes, inputs)):
            return self._eagerly("an argument that has attributes of its own", args, kwargs)
        key = (structure, _modes(), tuple([_kind(x) for x in flat]), _repeats(flat, inputs))
        group = self._groups.get(key)
        if group and group[0].begins and not group[0].holds(inputs):
            del group[:1]  # the first step of an optimiser, which does not come again
        variant = None if group is None else next((v for v in group if v.holds(inputs)), None)
        if variant is None and group and any(v.meets(inputs) for v in group):
            return self._eagerly("it may take an argument for a tensor that it knows", args, kwargs)
        problem = variant.problem if variant is not None else self._hopeless.get(key)
        if problem:
            return self._eagerly(problem, args, kwargs)
        if variant is not None and variant.ready:
            if variant.race.is_eagers_turn:
                return self._run_race(variant, args, kwargs)
            built = variant.seconds["built"]
            result = variant.run(tuple(flat), inputs)
            if result is not NOT_TAKEN:
                if variant.is_cut and variant.seconds["built"] == built:
                    variant.race.note_pieces(time.perf_counter() - start)
                self._price.note_replay()
                plain = not kwargs and variant.replay is not None and _are(flat, args)
                self._prefer(variant if plain else None)
                return result
            if variant.problem:
                return self._eagerly(variant.problem, args, kwargs)
        if is_profiled():
            self._tell("a profiler watches its calls, and nothing else can meanwhile")
            return self.func(*args, **kwargs)
        if self._price.is_too_high(hash(key)):
            result = self._price.run_eagerly(hash(key), self.func, args, kwargs)
            if self._price.rest:
                self._tell(TOO_MANY)
            return result
        return self._capture(variant, key, flat, inputs, args, kwargs)

    def _run_race(self, variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make an eager call that is timed; where such are quicker, all are eager from then on."""
        result = variant.race.run_eagerly(self.func, args, kwargs)
        if variant.race.lost:
            variant.problem = variant.trouble = (
                f"it is split by {variant.cut}, and calls by pieces were measured to be slower "
                "than eager ones"
            )
            ended = [v.race for v in self.variants if v.race.over]
            many = len(ended) >= _MOST_LOST or len(ended) == len(self.variants)
            if many and all(race.lost for race in ended):
                self._problem = variant.problem
        return result

    def _eagerly(self, reason: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function as it is, and say so once for each reason."""
        if self.fullgraph:
            self._refused[reason] = None
            raise RuntimeError(_not_whole(self.name, reason))
        self._tell(reason)
        return self.func(*args, **kwargs)

    def _tell(self, reason: str) -> None:
        self._refused[reason] = None
        if reason not in self._told:
            self._told.add(reason)
            warnings.warn(f"compile: {self.name} runs eagerly: {reason}", stacklevel=4)

    def _capture(
        self, variant: Variant | None, key: Any, flat: list[Any], inputs: list[Tensor],
        args: tuple[Any, ...], kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        """Run the function, and keep what it does."""
        self._prefer(None)  # what was captured may become another thing
        capture = Capture(getattr(self.func, "__code__", None), self.exact)
        for t in inputs:
            capture.graph.inputs.append(capture.name(t, "x"))
        capture.check_inputs(inputs)
        containers: list[Any] = []
        _flatten((args, kwargs), [], containers)
        state = State(self.func, [*flat, *{type(c) for c in containers}])
        start = time.perf_counter()
        shapes, settings = [_C._geometry(t) for t in inputs], _settings()
        with uncollected(), watching(capture):
            _C._start_recording(capture)
            try:
                result = self.func(*args, **kwargs)
                known = {*state.seen, *map(id, containers)}
                _keep_results(capture, result, known)
            finally:
                _C._stop_recording()
        after: list[Any] = []
        if _flatten((args, kwargs), after) != key[0] or not _are(flat, after):
            capture.fail("it changes a list, dict or object that it was given")
        if [_C._geometry(t) for t in inputs] != shapes:
            capture.fail("it changes the shape of a tensor that it was given")
        if _settings() != settings:
            capture.fail("it changes a mode or setting of weft, and leaves it changed")
        if self.fullgraph:
            self._check_whole(capture, state)
        if variant is None:
            number = {id(t): i for i, t in enumerate(inputs)}
            given = [number[id(x)] if isinstance(x, weft.Tensor) else (x,) for x in flat]
            variant = Variant(given, functools.partial(_call_with, self.func, key[0]))
            with self._lock:
                group = self._groups.setdefault(key, [])
                if len(group) >= _MOST_FAILURES and not any(v.ready for v in group):
                    self._hopeless[key] = _never_again(group, inputs)
                group.append(variant)
                self._forget_oldest()
        took = time.perf_counter() - start
        variant.seconds["captured"] += took
        self._price.note_capture(took)
        variant.add(capture, state)
        if capture.problem or variant.changes:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                self._problem = variant.trouble
        return result

    def _check_whole(self, capture: Capture, state: State) -> None:
        """Raise if a call was not one program, and the next will be none either."""
        cuts = [f"{r.what} at {r.line}" for r in capture.reads if not r.returned]
        cuts += [f"{o.name} at {o.line}" for o in capture.outside]
        split = f"it is split by {cuts[0]}" if cuts else ""
        if problem := split or capture.problem or unsuitable(capture, state):
            self._refused[problem] = None
            raise RuntimeError(_not_whole(self.name, problem))

    def _forget_oldest(self) -> None:
        while len(self.variants) > _MOST_VARIANTS:
            oldest = next(iter(self._groups))
            group = self._groups[oldest]
            del group[:1]
            if not group:
                self._price.forget(hash(oldest))
                del self._groups[oldest]
                self._hopeless.pop(oldest, None)

    # ---- as an object --------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledFunction:
        """Return one of a copy of the function, with nothing captured."""
        from copy import deepcopy

        return CompiledFunction(deepcopy(self.func, memo), self.fullgraph, self.exact)

    def __reduce__(self) -> Any:
        """Pickle the function; what was captured is not kept."""
        return CompiledFunction, (self.func, self.fullgraph, self.exact)

    def __repr__(self) -> str:
        """Return its name and how much was captured."""
        return f"<compiled {self.name}: {len(self.variants)} variants>"

    def report(self) -> Any:
        """Return what was captured, what is watched, and what is not compiled and why."""
        from .report import Report

        return Report(self)


def _is_plain(kind: type) -> bool:
    """Say whether it is the class of tensors that ops treat as such: ``Tensor`` or ``Parameter``."""
    named = kind.__name__ == "Parameter" and kind.__module__ == "weft.nn.parameter"
    return kind is weft.Tensor or named


def _never_again(group: list[Variant], inputs: list[Tensor]) -> str:
    """Say what is never as it was, of calls none of which was like another."""
    if changing := [v for v in group if v.changes]:  # what they find, an earlier one has left
        return changing[-1].trouble
    return f"{group[-1].differs(inputs) or 'a hook on gradients'} is another one in each call"


def _not_whole(name: str, reason: str) -> str:
    return f"compile(fullgraph=True): {name} is not one program: {reason}"


def _modes() -> Any:
    return (
        weft.is_grad_enabled(), weft.is_inference_mode_enabled(), weft.get_default_dtype(),
        _C._autocast_key(),
    )  # fmt: skip


def _settings() -> Any:
    """Return the modes, and other settings that a function may change for all that comes after it."""
    return (
        *_modes(), weft.get_num_threads(), _C._anomaly(), _C._winograd(),
        weft.are_deterministic_algorithms_enabled(), weft.get_float32_matmul_precision(),
    )  # fmt: skip


def _kind(x: Any) -> Any:
    """Return what must be the same of an argument."""
    if isinstance(x, weft.Tensor):
        facts = (_C._role(x), _C._has_hooks(x), _C._is_writable(x))
        return (type(x), x.dtype, tuple(x.shape), x.stride(), *facts)
    if isinstance(x, (float, complex)):
        return (type(x), x.real.hex(), x.imag.hex())
    if isinstance(x, (int, str, bool, bytes, type(None))):
        return (type(x), x)
    return ("object", id(x))


def _tensors(flat: Any) -> list[Tensor]:
    """Return the tensors among arguments, each once."""
    return list({id(x): x for x in flat if isinstance(x, weft.Tensor)}.values())


def _repeats(flat: list[Any], inputs: list[Tensor]) -> tuple[int, ...]:
    """Return which argument is which tensor, if one is given more than once."""
    given = [id(x) for x in flat if isinstance(x, weft.Tensor)]
    if len(given) == len(inputs):
        return ()
    number = {id(t): i for i, t in enumerate(inputs)}
    return tuple([number[k] for k in given])


def _flatten(x: Any, flat: list[Any], containers: list[Any] | None = None) -> Any:
    """Append the leaves of tuples, lists, dicts and dataclasses, and these; return their structure."""
    kind = type(x)
    if kind is weft.Tensor:
        flat.append(x)
        return None
    members: Any = None
    if kind in (tuple, list) or hasattr(kind, "_fields"):
        members = enumerate(x)
    elif kind is dict:
        members = x.items()
    elif hasattr(kind, "__dataclass_fields__") and "__dict__" in dir(kind):
        members = x.__dict__.items()
    if members is None:
        flat.append(x)
        return None
    if containers is not None:
        containers.append(x)
    parts = tuple([(k, _flatten(v, flat, containers)) for k, v in members])
    if kind is not dict:
        return (kind, parts)
    return (kind, parts, *[_exactly(k) for k, _ in parts if type(k) is not str])


def _exactly(key: Any) -> Any:
    """Return what tells a key of a dict from others that it equals: 1, 1.0 and True."""
    return type(key), repr(key) if isinstance(key, (float, complex)) else None


def _structured(structure: Any, flat: Iterator[Any]) -> Any:
    """Return what ``_flatten`` has taken apart, with these leaves."""
    if structure is None:
        return next(flat)
    kind, members = structure[:2]
    parts = {k: _structured(v, flat) for k, v in members}
    if kind is dict:
        return parts
    if kind in (tuple, list):
        return kind(parts.values())
    if hasattr(kind, "_fields"):
        return kind(*parts.values())
    made = object.__new__(kind)  # a dataclass
    made.__dict__.update(parts)
    return made


def _call_with(func: Callable[..., Any], structure: Any, flat: list[Any]) -> Any:
    """Call a function with the leaves of its arguments."""
    args, kwargs = _structured(structure, iter(flat))
    return func(*args, **kwargs)


def _are(a: Any, b: Any) -> bool:
    """Say whether these are the same objects."""
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


def _keep_results(capture: Capture, result: Any, known: set[int]) -> None:
    """Note what a call returned, and how gradients of it are computed.

    Args:
        capture: the call.
        result: what it returned.
        known: ids of objects that others can see.
    """
    capture.check_history()
    found: list[Tensor] = []
    numbered = _with_numbers(capture, result)
    capture.graph.outputs = _structure(capture, numbered, found, known)
    if not found or capture.problem:
        return
    if capture.changed_leaves():
        capture.fail("it changes a tensor that wants a gradient, and returns results that have one")
        return
    bases = find_bases(capture, found, list(_tensors_in(result)))
    if bases is None:
        capture.fail("it returns two tensors in the same memory, of which one has a gradient")
    else:
        capture_derivative(capture, found, bases)


def _tensors_in(x: Any) -> Iterator[Tensor]:
    """Iterate over the tensors of a result."""
    if isinstance(x, weft.Tensor):
        yield x
        return
    parts: Any = x.values() if type(x) is dict else taken_apart(x)
    if parts is None and isinstance(x, (tuple, list)):
        parts = x
    for part in parts or ():
        yield from _tensors_in(part)


def _with_numbers(capture: Capture, result: Any) -> Any:
    """Return a result with what stands for the numbers in it that ``item()`` gave."""
    for r in capture.reads:
        places = r.way.places if r.way is not None else ()
        if all(key_of(_part(result, place)) == key_of(r.outcome) for place in places):
            for place in places:
                result = _replaced(result, place, Number(r.value))
        else:  # it was converted
            r.way = None
    return result


def _part(x: Any, place: tuple[Any, ...]) -> Any:
    """Return what is at a place in a structure."""
    return functools.reduce(lambda x, key: x[key], place, x)


def _replaced(x: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return a structure with another thing at a place."""
    if not place:
        return new
    parts = dict(x) if isinstance(x, dict) else dict(enumerate(x))
    parts[place[0]] = _replaced(parts[place[0]], place[1:], new)
    return parts if isinstance(x, dict) else type(x)(parts.values())


def _structure(capture: Capture, x: Any, found: list[Tensor], known: set[int]) -> Any:
    """Return a result with values for tensors; ``found``: those that have a gradient."""
    made = taken_apart(x)
    if id(x) in known and (made is not None or isinstance(x, (list, dict))):
        capture.fail(f"it returns a {type(x).__name__} that others can see")
    if isinstance(x, weft.Tensor):
        value = capture.value(x)
        if (given := capture.given.get(id(x))) is not None:  # the caller gets its own tensor back
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
            if _C._is_spent(x, capture.taken()):
                capture.spent.append(value)
            elif all(x is not t for t in found):
                found.append(x)
        return value
    if type(x) is dict:
        return {k: _structure(capture, v, found, known) for k, v in x.items()}
    if made is not None:
        x = made
    if isinstance(x, (tuple, list)):
        return _like(x, [_structure(capture, v, found, known) for v in x])
    plain = (int, float, str, bool, bytes, complex, type(None), weft.dtype, Number)
    if not isinstance(x, plain):
        capture.fail(f"it returns a {type(x).__name__}")
    return x


def forget_all() -> None:
    """Drop what was captured of every compiled function there is.

    >>> weft.jit.compile.function.forget_all()
    """
    for function in list(_living):
        function.forget()
