"""A captured call cut into segments: ops in a row, up to a decision of Python or the end.

The segments of all calls with the same guards form a tree: at a decision it goes on with the segment
that the outcome selects.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from weft.jit.graph import Graph, Live, Node, Value, program_of, take_apart
from weft.jit.passes import RELAXED, STEPS, fuse, run_passes
from weft.utils.pytree import LEAF, TreeSpec, tree_flatten, tree_iter, tree_map

from .capture import Capture, Outside, Read, uncollected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["Number", "Segment", "segments_of"]


class CannotBuild(Exception):
    """A segment cannot be a static program."""


class Built(NamedTuple):
    """The program of a segment."""

    program: Any
    live: list[Any]  # the numbers that are read anew: (step, argument, where)
    order: list[int]  # by step: which op of the segment it stands for
    makers: list[int]  # by result: the step that makes it, or -1


class Number:
    """Stands in a result for the number that ``item()`` reads from a value."""

    def __init__(self, value: Value) -> None:
        """Name the value."""
        self.value = value


class Segment:
    """Ops in a row and what comes after them: a decision, Python that is called, or the end."""

    def __init__(self, nodes: list[Node], exact: bool) -> None:
        """Start with ops; ``exact``: their results keep every bit."""
        self.nodes, self.exact = nodes, exact
        self.read: Read | None = None
        self.outside: Outside | None = None
        self.children: dict[Any, Segment] = {}
        self.outputs: list[Any] = []  # at the end: the leaves of the result
        self.spec: TreeSpec = LEAF  # and its structure
        self.grads: list[
            tuple[Any, Value | None]
        ] = []  # at the end: tensors (or inputs) and their grad
        self.alone: list[tuple[str, str]] = []  # pointwise ops that were not fused, and why
        self.improved: list[str] = []  # the ops of its program
        self.shown: Any = None  # makes the graph again, with what each pass did
        self.seen = 1  # how often it was captured, the same each time
        self.derivative: Any = None  # at the end: how gradients of the results are computed
        self.spent: list[Value] = []  # at the end: results whose graph is used up

    @property
    def ends(self) -> bool:
        """Whether the call is over after it."""
        return self.read is None and self.outside is None

    def line_of(self, op: int) -> str:
        """Return the line of the user's program that called an op."""
        return self.nodes[op].line if 0 <= op < len(self.nodes) else ""

    @functools.cached_property
    def live(self) -> list[Live]:
        """The numbers that its ops read anew in each run."""
        return [a for node in self.nodes for a in node.args if type(a) is Live]

    def reads(self) -> Iterator[Value]:
        """Iterate over all values that it needs from somewhere, its own too."""
        for node in self.nodes:
            yield from node.inputs()
        if self.read is not None:
            yield self.read.value
        yield from leaves([self.outputs, self.grads])
        if self.outside is not None:
            yield from leaves(self.outside.grads)
        if self.derivative is not None:
            yield from self.derivative.reads()

    def walk(self) -> Iterator[Segment]:
        """Iterate over it and all that may follow."""
        waiting = [self]
        while waiting:
            segment = waiting.pop()
            yield segment
            waiting += segment.children.values()


def leaves(x: Any) -> Iterator[Value]:
    """Iterate over the values in nested lists."""
    for leaf in tree_iter(x):
        if type(leaf) is Value:
            yield leaf
        elif type(leaf) is Number:
            yield leaf.value


def segments_of(capture: Capture) -> list[Segment]:
    """Cut what was captured at its decisions and calls of Python."""
    cuts: list[Any] = [r for r in capture.reads if not r.returned] + capture.outside
    cuts.sort(key=lambda c: c.at)
    made, begin = [], 0
    for cut in cuts:
        segment = Segment(capture.graph.nodes[begin : cut.at], capture.exact)
        segment.read = cut if isinstance(cut, Read) else None
        segment.outside = cut if isinstance(cut, Outside) else None
        made.append(segment)
        begin = cut.at
    last = Segment(capture.graph.nodes[begin:], capture.exact)
    last.outputs, last.spec = capture.graph.outputs, capture.graph.spec
    last.grads = capture.grads_now()
    last.derivative, last.spent = capture.derivative, capture.spent
    return [*made, last]


def renamed(x: Any, same: dict[Value, Value]) -> Any:
    """Return nested lists with other values standing for the same things."""

    def other(leaf: Any) -> Any:
        if type(leaf) is Value:
            return same.get(leaf, leaf)
        if type(leaf) is Number:
            return Number(same.get(leaf.value, leaf.value))
        return leaf

    return tree_map(other, x)


def rename(segment: Segment, same: dict[Value, Value]) -> None:
    """Let the values of an earlier capture stand for the same things in a segment."""
    for node in segment.nodes:
        node.args = renamed(node.args, same)
    if segment.read is not None:
        segment.read.value = renamed(segment.read.value, same)
    if segment.outside is not None:
        segment.outside.grads = renamed(segment.outside.grads, same)
    segment.outputs, segment.grads = renamed(segment.outputs, same), renamed(segment.grads, same)
    segment.spent = renamed(segment.spent, same)
    if segment.derivative is not None:
        segment.derivative.rename(same)


# ---- when two captures are the same ------------------------------------------------------------


_OTHER_RESULTS = "what it returns, or whose gradients it sets, differs from call to call"


def difference(old: Segment, new: Segment, same: dict[Value, Value]) -> str:
    """Say where two captures of a segment part; nothing where the same ops run on the same things.

    From whichever line: a module is called from several.

    Args:
        old: the segment as it was captured before.
        new: the segment as it was captured now.
        same: by a value of now, the one that stood for the same thing before. What the ops
            of the segment make is added, and counts only where they are the same.
    """
    for m, n in zip(old.nodes, new.nodes):
        if not _do_the_same(m, n, same):
            return _parting(m, n, same)
        same.update(zip(n.outputs, m.outputs))
    if len(old.nodes) != len(new.nodes):
        return "one call had more ops than the other"
    if not _end_the_same(old, new, same):
        return _OTHER_RESULTS
    return _difference_of_gradients(old, new, same)


def _do_the_same(m: Node, n: Node, same: dict[Value, Value]) -> bool:
    if m.op != n.op or m.inplace != n.inplace:
        return False
    if len(m.args) != len(n.args) or len(m.outputs) != len(n.outputs):
        return False
    for v, w in zip(m.outputs, n.outputs):
        if v.shape != w.shape or v.dtype != w.dtype:
            return False
    for a, b in zip(m.args, n.args):
        if a is not b and not _are_same(a, b, same):
            return False
    return True


def _end_the_same(old: Segment, new: Segment, same: dict[Value, Value]) -> bool:
    if old.read is not None and new.read is not None:
        a, b = old.read, new.read
        return (a.what, a.line) == (b.what, b.line) and _are_same(a.value, b.value, same)
    if old.outside is not None and new.outside is not None:
        return (old.outside.name, old.outside.line) == (new.outside.name, new.outside.line)
    if not (old.ends and new.ends) or len(old.grads) != len(new.grads):
        return False
    for (t, v), (u, w) in zip(old.grads, new.grads):
        if t is not u and not (isinstance(t, int) and isinstance(u, int) and t == u):
            return False
        if not _are_same(v, w, same):
            return False
    return old.spec == new.spec and _are_same(old.outputs, new.outputs, same)


def _difference_of_gradients(old: Segment, new: Segment, same: dict[Value, Value]) -> str:
    """Say where the gradients of the results go elsewhere, if they do."""
    a, b = old.derivative, new.derivative
    if a is None or b is None:
        return "" if a is b else _OTHER_RESULTS
    if a.graphs.keys() != b.graphs.keys():
        return _OTHER_RESULTS
    for x, y in zip(a.graphs.values(), b.graphs.values()):
        same.update(zip(y.arriving, x.arriving))
        if apart := difference(x.segment, y.segment, same):
            return apart
        if not _are_same(x.gradients, y.gradients, same):
            return _OTHER_RESULTS
    alike = _are_same([a.outputs, a.leaves, a.bases], [b.outputs, b.leaves, b.bases], same)
    return "" if alike and a.parts == b.parts else _OTHER_RESULTS


def _are_same(a: Any, b: Any, same: dict[Value, Value]) -> bool:
    """Say whether arguments or results of two captures are the same."""
    if type(a) in (Value, float, int):  # most arguments
        return _is_same(a, b, same)
    ours, spec = tree_flatten(a)
    theirs, other = tree_flatten(b)
    return spec == other and all(_is_same(x, y, same) for x, y in zip(ours, theirs))


def _is_same(a: Any, b: Any, same: dict[Value, Value]) -> bool:
    """Say whether two leaves are the same: a value that stands for the same thing, equal data."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is Value:
        return same.get(b) is a or (a.literal != "" and a.literal == b.literal)
    if a is b:
        return True
    if kind is float:
        return bool(a.hex() == b.hex())
    if kind is Number:
        return _is_same(a.value, b.value, same)
    if kind is Live:
        return a.group is b.group and (a.key, a.place) == (b.key, b.place)
    return kind.__hash__ is not object.__hash__ and bool(a == b)


def _parting(m: Node, n: Node, same: dict[Value, Value]) -> str:
    """Say how two ops differ."""
    if m.op != n.op or m.line != n.line:
        return f"{m.op} at {m.line} was followed by {n.op} at {n.line} in the next call"
    values = [(a, b) for a, b in zip(m.args, n.args) if not _are_same(a, b, same)]
    if any(getattr(a, "constant", None) is not None for pair in values for a in pair):
        return f"{m.op} at {m.line} reads a tensor that is another one in each call"
    shown = ", ".join(f"{a} then {b}" for a, b in values)
    return f"{m.op} at {m.line} was given {shown or 'other shapes'} in the next call"


# ---- the program of a segment --------------------------------------------------------------------


def build(
    segment: Segment, given: list[Value], like: dict[Value, Tensor], tensors: dict[Value, Tensor],
    results: list[Value], lent: Sequence[int] = (),
) -> Built:  # fmt: skip
    """Make the program of a segment.

    Args:
        segment: whose ops it runs.
        given: the values that it is given, in this order.
        like: by value, tensors of their geometry.
        tensors: by value, the tensors that live outside of the call.
        results: the values that it gives, in this order.
        lent: which of them may lie in the program's own memory until the next run.
    """
    with uncollected():
        return _build(segment, given, like, tensors, results, lent)


def _build(
    segment: Segment, given: list[Value], like: dict[Value, Tensor], tensors: dict[Value, Tensor],
    results: list[Value], lent: Sequence[int],
) -> Built:  # fmt: skip
    segment.alone = []
    steps = STEPS if segment.exact else RELAXED
    passes = tuple(_noting(p, segment.alone) for p in steps)
    before = functools.partial(captured, segment, given, tensors, results)
    recorded = before()
    number = {v.id: i for i, node in enumerate(recorded) for v in node.outputs}
    graph = run_passes(recorded, passes, remember=False)
    take_apart(recorded.nodes)
    segment.improved = [node.op for node in graph]
    segment.shown = lambda: run_passes(before(named=True), steps)
    try:
        args = [like[v] for v in given]
        made, live = program_of(graph, args, graph.outputs, lent)
    except NotImplementedError as e:  # an op whose shapes follow from values
        raise CannotBuild(str(e).splitlines()[0]) from None
    made.set_learning(any(node.grad for node in segment.nodes))
    step = {node: i for i, node in enumerate(graph)}
    makers = [step.get(v.producer, -1) for v in graph.outputs]
    built = Built(made, live, _order(number, graph), makers)
    take_apart(graph.nodes)
    return built


def _order(number: dict[int, int], graph: Graph) -> list[int]:
    """Return which op of a segment each op of its graph stands for; ``number``: by the ids of results."""
    order: list[int] = []
    for node in graph:
        known = [number[v.id] for v in node.outputs if v.id in number]
        order.append(max(known) if known else order[-1] if order else 0)
    return order


def _name_members(held: dict[Value, Tensor]) -> None:
    from weft.view.names import Names

    names = Names()
    names.take_all_modules(held.values())
    for v, t in held.items():
        if found := names.of(t):
            v.member = found[0]


def captured(
    segment: Segment, given: list[Value], tensors: dict[Value, Tensor], results: list[Value],
    named: bool = False,
) -> Graph:  # fmt: skip
    """Return the ops of a segment as a graph of its own, before any pass.

    With ``named``, parameters and buffers have their paths in the modules that hold them: to look at.
    """
    graph = Graph()
    same = {v: graph.adopt(v) for v in given}
    graph.inputs = list(same.values())
    read = dict.fromkeys([*(v for node in segment.nodes for v in node.inputs()), *results])
    outside = {v: graph.adopt(v) for v in read if v in tensors and v not in same}
    graph.constants = list(outside.values())
    if named:
        _name_members({v: tensors[old] for old, v in outside.items()})
    same.update(outside)
    for node in segment.nodes:  # as if the tape had been on: a program runs without one
        args = [
            same.get(a, a) if type(a) is Value else renamed(a, same) if type(a) is list else a
            for a in node.args
        ]
        made = Node(node.op, tuple(args), node.inplace, node.line)
        graph.nodes.append(made.give([graph.adopt(v) for v in node.outputs]))
        same.update(zip(node.outputs, made.outputs))
    graph.returns(renamed(results, same))
    return graph


def _noting(improve: Any, alone: list[tuple[str, str]]) -> Any:
    """Return a pass; ``fuse`` notes which ops stay alone, and why."""
    if improve is not fuse:
        return improve

    @functools.wraps(fuse)
    def noted(graph: Graph) -> Graph:
        return fuse(graph, alone)

    return noted


def needed(segment: Segment, tensors: dict[Value, Tensor]) -> list[Value]:
    """Return what the ops of a segment read that they do not make, and that lives in the call."""
    own = {v for node in segment.nodes for v in node.outputs}
    found = dict.fromkeys(v for node in segment.nodes for v in node.inputs())
    return [v for v in found if v not in own and v not in tensors]
