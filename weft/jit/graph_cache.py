"""A module as static graphs that are taken while it is called: what ``fuse`` and inference are made of.

One capture is believed, as of a trace: what the module does besides computing happens only then. A graph
holds as long as the module is what it was: its parts, their plain attributes and their tensors. What
cannot be a graph runs as it is written, and so do calls that differ so often that graphs would not pay.
"""

from __future__ import annotations

import functools
import time
from operator import attrgetter

import weft
from weft import _C

from .cost_model import TOO_MANY
from .graph import Graph, Value
from .guards import Answer, DictItem, Guard, Keys, item_or_absent, native
from .modes import modes
from .op_schema import is_python, is_random
from .passes.alias_analysis import mutates
from .recorder import Recorder
from .specialize import Cache, Call, Specialization, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["GraphCache", "capture", "members_of", "reassigned"]

MOST = 16  # graphs that are kept
_ALIKE = 4  # of one signature
_PLAIN = (int, float, bool, str, complex, type(None), weft.dtype)
_hooked = attrgetter("_hooked")


class _Watcher(Recorder):
    """Records a call, and the first thing that makes a graph of it wrong for other inputs."""

    keeps_control_flow = False  # it reads values as ``if`` does

    def __init__(self) -> None:
        super().__init__()
        self.why = ""

    def read(self, what: str, line: str, t: weft.Tensor) -> None:
        """Note that a tensor became Python values."""
        self.why = self.why or f"{what} at {line} turns a tensor into Python values"

    def lost(self, what: str, line: str) -> None:
        """Note that something has no op."""
        self.why = self.why or f"{what} at {line} cannot be recorded in a graph"


def capture(func: Callable[..., Any], call: Call) -> tuple[Any, Graph, str]:
    """Call a function, and return its result, its graph, and why that is none ("" if it is one).

    >>> from weft.jit.graph_cache import Call, capture
    >>> result, graph, why = capture(lambda x: x + 1, Call((weft.ones(1),), {}))
    >>> result, [node.op for node in graph], why
    (tensor([2.]), ['add'], '')
    >>> capture(lambda x: x + 1 if x > 0 else x, Call((weft.ones(1),), {}))[2]
    'bool() at <doctest ...>:1, in <lambda> turns a tensor into Python values'
    """
    watcher = _Watcher()
    graph = watcher.graph
    graph.inputs = [watcher.name(t, "x") for t in call.inputs]
    _C._start_recording(watcher)
    try:
        result = func(*call.args, **call.kwargs)
    finally:
        _C._stop_recording()
    watcher.returns(result)
    if not call.is_unchanged():
        watcher.why = watcher.why or "it changes a list, dict or object that it was given"
    if not watcher.why and not all(isinstance(x, (Value, *_PLAIN)) for x in graph.outputs):
        watcher.why = f"it returns a {type(result).__name__}, which holds more than tensors"
    if not watcher.why:
        graph.verify()
    return result, graph, watcher.why


# ---- what a module is like -----------------------------------------------------------------------


def members_of(module: Any) -> Iterator[tuple[str, dict[str, Any], str, Any]]:
    """Iterate over the tensors of a module: path, the dict and the name where it stands, itself."""
    for path, part in module.named_modules():
        for name, x in part.__dict__.items():
            if isinstance(x, weft.Tensor):
                yield f"{path}.{name}" if path else name, part.__dict__, name, x


def reassigned(members: list[tuple[str, dict[str, Any], str, Any]]) -> str:
    """Return the path of a parameter or buffer that is another tensor now, or nothing."""
    return next((path for path, d, name, t in members if d.get(name) is not t), "")


def _guards_of(module: Any, graph: Graph) -> list[Guard]:
    """Return that a module is what it is: its parts, their attributes, the tensors that a graph reads."""
    constants = {v.constant for v in graph.constants if v.constant is not None}
    found: list[Guard] = []
    for path, part in module.named_modules():
        d, where = part.__dict__, path or type(part).__name__
        for name, x in d.items():
            what = f"{where}.{name}"
            if isinstance(x, _PLAIN) or (isinstance(x, weft.Tensor) and x in constants):
                found.append(DictItem(d, name, x, what))
            elif type(x) in (list, tuple, dict):
                at = functools.partial(_content_of, d, name)
                found.append(Answer(at, at(), what))
        found.append(item_or_absent(d, "forward", f"{where}.forward"))
        children = part._modules
        found.append(Keys(children, tuple(children), f"the parts of {where}"))
        found += [DictItem(children, n, child, f"{where}.{n}") for n, child in children.items()]
    found += [
        Answer(
            functools.partial(getattr, t, "dtype"), t.dtype, "the dtype of a parameter or buffer"
        )
        for t in constants
    ]
    return found


def _content_of(d: dict[str, Any], name: str) -> Any:
    return _fact(d.get(name))


def _fact(x: Any) -> Any:
    """Return what makes a container the same as it was."""
    if isinstance(x, _PLAIN):
        return type(x), x
    if type(x) in (list, tuple):
        return tuple(map(_fact, x))
    if type(x) is dict:
        return tuple((_fact(k), _fact(v)) for k, v in x.items())
    return id(x)


class _Kept(Specialization):
    """A graph of a module, or none: then such calls run as they are written."""

    def __init__(self, module: Any, graph: Graph | None) -> None:
        super().__init__()
        self.graph, self.always = graph, False
        self.parts = list(module.modules())
        self._guards = native(_guards_of(module, graph or Graph()))

    def holds(self) -> bool:
        """Say whether the module is what it was."""
        return self.always or (self._guards.failing() < 0 and not any(map(_hooked, self.parts)))


class GraphCache:
    """The graphs of a module, one for each signature of a call.

    >>> from weft.jit.graph_cache import GraphCache
    >>> net = weft.nn.Sequential(weft.nn.Linear(2, 3), weft.nn.ReLU())
    >>> graphs = GraphCache(net, lambda graph: graph)
    >>> for _ in range(3):
    ...     y = graphs((weft.ones(2, 2),), {})
    >>> [graph.inputs[0].shape for graph in graphs.graphs()]
    [(2, 2)]
    """

    def __init__(
        self,
        module: Any,
        improve: Callable[[Graph], Graph],
        private: bool = False,
        rounds: bool = False,
    ) -> None:
        """Begin without a graph.

        Args:
            module: whose calls are graphs.
            improve: what to do with a graph of it.
            private: nobody else can change the module.
            rounds: a graph may round otherwise: then all results have to be those of graphs.
        """
        self.module, self.improve, self.private, self.rounds = module, improve, private, rounds
        self.cache = Cache(MOST, _ALIKE)
        self.reasons: dict[str, None] = {}  # why calls run as they are written
        self._last: tuple[Any, Any] = (None, None)  # what ran last, and the modes
        self._alone: dict[Any, Any] = {}  # calls with one tensor, by modes and kind
        self.tell: Callable[[str], None] = lambda why: None  # told of each new reason

    def graphs(self) -> list[Graph]:
        """Return the graphs that are kept, those that were used last at the end."""
        return [kept.graph for kept in self.cache if kept.graph is not None]

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the module: by its graph, or as it is written, which may give a graph."""
        if _C._pause_recording():
            _C._resume_recording()
            return self.module(*args, **kwargs)
        if len(args) == 1 and not kwargs and (made := self._at_once(args)) is not NotImplemented:
            return made
        cost_model = self.cache.cost_model
        if cost_model.rest:
            cost_model.rest -= 1
            return self.module(*args, **kwargs)
        call = Call(args, kwargs)
        if why := _refusal(call):
            self._note(why)
            return self.module(*args, **kwargs)
        signature = call.signature
        kept = self.cache.find(signature, self._holds)
        if kept is not None and kept.ready:
            if len(call.flat) == len(call.inputs) == 1:
                self._alone[signature.modes, signature.kinds[0]] = signature, kept
            cost_model.note_replay()
            return kept.graph.run(*call.inputs)
        if kept is not None:
            return self.module(*args, **kwargs)
        cost, is_first = self.cache.cost_of(signature), cost_model.first_waits
        if self.rounds or not cost_model.is_too_high(cost) or is_first:
            return self._first(call, signature)
        result = cost_model.run_eagerly(cost, self.module, args, kwargs)
        if cost_model.rest:
            self._note(TOO_MANY)
        return result

    def _at_once(self, args: tuple[Any, ...]) -> Any:
        """Make a call with one tensor like one before, without taking its arguments apart."""
        seen = modes()
        kept, then = self._last
        if kept is not None and then == seen and kept.graph._fast is not None:
            made = kept.graph._fast.run(args) if self._holds(kept) else None
            if made is not None:
                return kept.graph._finished(made, args)
        signature, kept = self._alone.get((seen, kind_of(args[0])), (None, None))
        if kept is None or not self._holds(kept):
            return NotImplemented
        self._last = kept, seen
        self.cache.touch(signature)
        self.cache.cost_model.note_replay()
        return kept.graph.run(*args)

    def _holds(self, kept: _Kept) -> bool:
        """Say whether the module is what it was; a private one only changes itself."""
        return (self.private and not self.reasons) or kept.holds()

    def _first(self, call: Call, signature: Any) -> Any:
        """Call the module as it is written, and keep what it does."""
        before, members = _Kept(self.module, None), list(members_of(self.module))
        if any(map(_hooked, before.parts)):
            self._note("it has hooks")
            return self.module(*call.args, **call.kwargs)
        start = time.perf_counter()
        result, graph, why = capture(self.module, call)
        changes = not before.holds() or bool(reassigned(members))
        why = why or ("the call changes attributes of the module" if changes else "")
        if why:
            self._note(why)
        paths = {t: path for path, _, _, t in members}
        for v in graph.constants:
            v.member = paths.get(v.constant)
        made = None if why else self.improve(graph)
        self.cache.cost_model.note_capture(time.perf_counter() - start)
        kept = _Kept(self.module, made)
        group = self.cache.groups.get(signature, ())
        kept.always = changes and any(
            k.graph is None for k in group
        )  # once, layers may settle sizes
        kept.advance("captured")
        if made is None:
            kept.give_up(why)
        else:
            kept.advance("agreed")
        self._alone.clear()
        self.cache.add(signature, kept)
        if self.rounds and made is not None and _can_run_again(made):
            return made.run(*call.inputs)
        return result

    def _note(self, why: str) -> None:
        if why not in self.reasons and len(self.reasons) < MOST:
            self.reasons[why] = None
            self.tell(why)


def _refusal(call: Call) -> str:
    if any(t.is_sparse for t in call.inputs):
        return "it is called with a sparse tensor"
    for x in call.flat if len(call.flat) > len(call.inputs) else ():
        if not isinstance(x, (weft.Tensor, *_PLAIN)):
            return f"it is called with an argument of type {type(x).__name__}"
    return ""


def _can_run_again(graph: Graph) -> bool:
    """Say whether a call leaves nothing behind but its result."""
    return not mutates(graph) and not any(is_random(n) or is_python(n) for n in graph)
