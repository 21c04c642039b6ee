"""A module as static graphs that are taken while it is called, one for each kind of call.

A kind of call is the shapes, dtypes and layouts of its tensors, its other arguments, and the mode of
gradients. A graph holds as long as the module is what it was: its parts, their plain attributes and
their tensors. What cannot be a graph runs as it is written, and so do calls that differ so often that
graphs would not pay (``price.py``).
"""

from __future__ import annotations

import time
from operator import attrgetter, itemgetter

import weft
from weft import _C

from .graph import Graph, Value
from .passes.rebuild import is_python, is_random, mutates
from .price import TOO_MANY, Price
from .recorder import Recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["Variants", "capture"]

_hooked = attrgetter("_hooked")
MOST = 16  # kinds of calls that are kept
_PLAIN = (int, float, bool, str, complex, type(None), weft.dtype)


class _Watcher(Recorder):
    """Records a call, and the first thing that makes a graph of it wrong for other inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.why = ""

    def branches(self) -> None:
        """``cond`` reads a value as ``if`` does."""

    def read(self, what: str, line: str, t: weft.Tensor) -> None:
        """Note that a tensor became Python values."""
        self.why = self.why or f"{what} at {line} turns a tensor into Python values"

    def lost(self, what: str, line: str) -> None:
        """Note that something has no op."""
        self.why = self.why or f"{what} at {line} cannot be recorded in a graph"


def capture(
    func: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, Graph, str]:
    """Call a function, and return its result, its graph, and why that is none ("" if it is one).

    >>> from weft.jit.variants import capture
    >>> result, graph, why = capture(lambda x: x + 1, (weft.ones(1),), {})
    >>> result, [node.op for node in graph], why
    (tensor([2.]), ['add'], '')
    >>> capture(lambda x: x + 1 if x > 0 else x, (weft.ones(1),), {})[2]
    'bool() at <doctest ...>:1, in <lambda> turns a tensor into Python values'
    """
    watcher = _Watcher()
    graph = watcher.graph
    for t in _given(args, named)[0]:
        graph.inputs.append(watcher.name(t, "x"))
    _C._start_recording(watcher)
    try:
        result = func(*args, **named)
    finally:
        _C._stop_recording()
    graph.outputs = watcher.structure(result)
    if not watcher.why and not _is_plain(graph.outputs):
        watcher.why = f"it returns a {type(result).__name__}, which holds more than tensors"
    if not watcher.why:
        graph.verify()
    return result, graph, watcher.why


def _tensors(x: Any) -> Iterator[Any]:
    if isinstance(x, weft.Tensor):
        yield x
    elif isinstance(x, (tuple, dict)):
        for part in x.values() if isinstance(x, dict) else x:
            yield from _tensors(part)


def _given(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[list[Any], tuple[int, ...]]:
    """Return the tensors of a call, each once, and which of them stands where."""
    if len(args) == 1 and not named and isinstance(args[0], weft.Tensor):
        return [args[0]], ()
    every = list(_tensors((args, named)))
    if len(every) < 2:
        return every, ()
    places = {id(t): i for i, t in enumerate({id(t): t for t in every}.values())}
    return list({id(t): t for t in every}.values()), tuple(places[id(t)] for t in every)


def _is_plain(x: Any) -> bool:
    """Say whether a result can be made anew: tensors and plain data in lists, tuples and dicts."""
    if isinstance(x, (tuple, list)):
        return all(map(_is_plain, x))
    if isinstance(x, dict):
        return type(x) is dict and all(map(_is_plain, x.values()))
    return isinstance(x, Value) or isinstance(x, _PLAIN)


def _kind(x: Any) -> Any:
    """Return what of an argument decides which graph it gets; raise TypeError if nothing can."""
    if isinstance(x, weft.Tensor):
        if x.is_sparse:
            raise TypeError("a sparse tensor")
        return x.dtype, tuple(x.shape), x.stride(), _C._wants_grad(x)
    if type(x) is tuple:
        return tuple(map(_kind, x))
    if isinstance(x, _PLAIN):
        return type(x), x
    raise TypeError(f"an argument of type {type(x).__name__}")


def _fact(x: Any) -> Any:
    """Return what makes a container the same as it was."""
    if isinstance(x, _PLAIN):
        return type(x), x
    if type(x) in (list, tuple):
        return tuple(map(_fact, x))
    if type(x) is dict:
        return tuple((_fact(k), _fact(v)) for k, v in x.items())
    return id(x)


class Guard:
    """What a module was like when it was called."""

    def __init__(self, module: Any, graph: Graph) -> None:
        named = list(module.named_modules())
        self.parts = parts = [part for _, part in named]
        tables = [part._modules for part in parts]
        self.children = [(table, list(table.values())) for table in tables if table]
        self.plain: list[tuple[dict[str, Any], Any, Any]] = []
        self.containers: list[tuple[dict[str, Any], str, Any]] = []
        self.forwards = [(part.__dict__, part.__dict__.get("forward")) for part in parts]
        self.members: list[tuple[dict[str, Any], str, Any, str]] = []  # all tensors of its own
        at: dict[int, tuple[Any, str]] = {}
        paths: dict[int, str] = {}
        for path, part in named:
            d = part.__dict__
            read = itemgetter(*(n for n, x in d.items() if isinstance(x, _PLAIN)))  # as its mode
            self.plain.append((d, read, read(d)))
            kinds = (list, tuple, dict)
            self.containers += [(d, n, _fact(x)) for n, x in d.items() if type(x) in kinds]
            tensors = {n: id(x) for n, x in d.items() if isinstance(x, weft.Tensor)}
            at.update((x, (d, n)) for n, x in tensors.items())
            paths.update((x, f"{path}.{n}" if path else n) for n, x in tensors.items())
            self.members += [(d, n, d[n], paths[x]) for n, x in tensors.items()]
        self.tensors = [(*at[id(v.constant)], v) for v in graph.constants if id(v.constant) in at]
        for v in graph.constants:
            v.member = paths.get(id(v.constant))

    def holds(self) -> bool:
        """Say whether the module is what it was."""
        try:
            for d, read, values in self.plain:
                if read(d) != values:
                    return False
            for d, n, v in self.tensors:
                if d[n] is not v.constant or d[n].dtype != v.dtype:
                    return False
            if any(_fact(d[n]) != fact for d, n, fact in self.containers):
                return False
        except KeyError:  # an attribute is gone
            return False
        for table, children in self.children:
            if list(table.values()) != children:
                return False
        for d, forward in self.forwards:
            if d.get("forward") is not forward:
                return False
        return not self.hooked

    def reassigned(self) -> str:
        """Return the path of a parameter or buffer that is another tensor now, or nothing."""
        return next((path for d, n, t, path in self.members if d.get(n) is not t), "")

    @property
    def hooked(self) -> bool:
        """Whether a part has hooks."""
        return any(map(_hooked, self.parts))


def _can_run_again(graph: Graph) -> bool:
    """Say whether a call leaves nothing behind but its result."""
    return not mutates(graph) and not any(is_random(n) or is_python(n) for n in graph)


def _modes() -> tuple[Any, ...]:
    """Return the modes that a call runs in, besides that of gradients."""
    return _C._inference_mode(), _C._autocast_key()


class Variants:
    """The graphs of a module.

    >>> from weft.jit.variants import Variants
    >>> net = weft.nn.Sequential(weft.nn.Linear(2, 3), weft.nn.ReLU())
    >>> variants = Variants(net, lambda graph: graph)
    >>> for _ in range(3):
    ...     y = variants((weft.ones(2, 2),), {})
    >>> [graph.inputs[0].shape for graph in variants.graphs()]
    [(2, 2)]
    """

    def __init__(self, module: Any, improve: Callable[[Graph], Graph]) -> None:
        """Take the module, and what to do with a graph of it."""
        self.module, self.improve = module, improve
        # The last used is the last. No guard: calls of this kind run as they are written.
        self.found: dict[Any, list[tuple[Guard | None, Graph | None]]] = {}
        self.reasons: dict[str, None] = {}  # why calls run as they are written
        self.private = False  # whether nobody else can change the module
        # Whether a graph may round otherwise: then all results have to be those of graphs.
        self.rounds = False
        self._price = Price()  # whether another graph would pay
        self._captures: dict[Any, int] = {}  # of each key in `found`
        self._last: Any = None  # what ran last: its guard, its graph, the modes
        self.tell: Callable[[str], None] = lambda why: None  # told of each new reason

    def __deepcopy__(self, memo: Any) -> Variants:
        """Copy the module; its graphs are taken anew."""
        import copy

        made = Variants(copy.deepcopy(self.module, memo), self.improve)
        made.tell, made.private, made.rounds = self.tell, self.private, self.rounds
        return made

    def graphs(self) -> list[Graph]:
        """Return the graphs that are kept, those that were used last at the end."""
        return [graph for kept in self.found.values() for _, graph in kept if graph is not None]

    def __call__(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call the module: by its graph, or as it is written, which may give a graph."""
        if _C._pause_recording():
            _C._resume_recording()
            return self.module(*args, **named)
        if self._last is not None and len(args) == 1 and not named:
            guard, graph, mode = self._last
            if graph._fast is not None and mode == _modes() and self._holds(guard):
                made = graph._fast.run(args)
                if made is not None:
                    return graph._finished(made, args)
        if self._price.rest:
            self._price.rest -= 1
            return self.module(*args, **named)
        given, order = _given(args, named)
        try:
            kinds = _kind(args), tuple((n, _kind(x)) for n, x in named.items())
        except TypeError as e:
            self._note(f"it is called with {e}")
            return self.module(*args, **named)
        key = kinds, order, self.module.training, _C._grad_enabled(), _modes()
        kept = self.found.pop(key, None)
        if kept is not None:
            self.found[key] = kept
            for guard, graph in kept:
                if self._holds(guard):
                    if graph is None:
                        return self.module(*args, **named)
                    self._last = guard, graph, key[-1]
                    self._price.note_replay()
                    return graph.run(*given)
        signature = hash((key, self._captures.get(key, 0)))  # of a changed module it is another
        if self._pays(signature):
            return self._first(key, args, named)
        result = self._price.run_eagerly(signature, self.module, args, named)
        if self._price.rest:
            self._note(TOO_MANY)
        return result

    def _pays(self, signature: int) -> bool:
        """Say whether to take a graph: the first at once, others when calls have taken long enough."""
        if self.rounds:
            return True
        is_first = self._price.first_waits
        return not self._price.is_too_high(signature) or is_first

    def _holds(self, guard: Guard | None) -> bool:
        """Say whether the module is what it was; a private one only changes itself."""
        return guard is None or (self.private and not self.reasons) or guard.holds()

    def _first(self, key: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call the module as it is written, and keep what it does."""
        before = Guard(self.module, Graph())
        if before.hooked:
            self._note("it has hooks")
            return self.module(*args, **named)
        start = time.perf_counter()
        result, graph, why = capture(self.module, args, named)
        guard: Guard | None = Guard(self.module, graph)
        if not why and (not before.holds() or before.reassigned()):
            why = "the call changes attributes of the module"
            tried = any(graph is None for _, graph in self.found.get(key, ()))
            guard = None if tried else guard  # not at the first time: layers may settle sizes
        if why:
            self._note(why)
        made = None if why else self.improve(graph)
        self._price.note_capture(time.perf_counter() - start)
        self._keep(key, guard, made)
        if self.rounds and made is not None and _can_run_again(made):
            return made.run(*_given(args, named)[0])
        return result

    def _keep(self, key: Any, guard: Guard | None, graph: Graph | None) -> None:
        if key not in self.found and len(self.found) >= MOST:
            oldest = next(iter(self.found))
            self.found.pop(oldest, None)
            for count in range(self._captures.pop(oldest, 0)):  # a graph has to be earned anew
                self._price.forget(hash((oldest, count)))
        self._captures[key] = self._captures.get(key, 0) + 1
        self.found[key] = [*self.found.get(key, [])[-3:], (guard, graph)]

    def _note(self, why: str) -> None:
        if why not in self.reasons and len(self.reasons) < MOST:
            self.reasons[why] = None
            self.tell(why)
