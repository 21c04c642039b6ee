"""A captured call cut into pieces: ops in a row, up to a decision of Python or the end.

The pieces of all calls with the same guards form a tree: at a decision it goes on with the piece
that the outcome selects.
"""

from __future__ import annotations

import functools
import gc
from typing import NamedTuple

from weft.jit.graph import Graph, Live, Node, Value, _like, program_of, take_apart
from weft.jit.passes import STEPS, fuse, run_passes

from .capture import Capture, Outside, Read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["Number", "Piece", "pieces_of"]


class CannotBuild(Exception):
    """A piece cannot be a static program."""


class Built(NamedTuple):
    """The program of a piece."""

    program: Any
    live: list[Any]  # the numbers that are read anew: (step, argument, where)
    order: list[int]  # by step: which op of the piece it stands for
    makers: list[int]  # by result: the step that makes it, or -1


class Number:
    """Stands in a result for the number that ``item()`` reads from a value."""

    def __init__(self, value: Value) -> None:
        """Name the value."""
        self.value = value


class Piece:
    """Ops in a row and what comes after them: a decision, Python that is called, or the end."""

    def __init__(self, nodes: list[Node]) -> None:
        """Start with ops."""
        self.nodes = nodes
        self.read: Read | None = None
        self.outside: Outside | None = None
        self.children: dict[Any, Piece] = {}
        self.outputs: Any = None  # at the end: the structure that is returned
        self.grads: list[
            tuple[Any, Value | None]
        ] = []  # at the end: tensors (or inputs) and their grad
        self.signature: Any = None
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

    def walk(self) -> Iterator[Piece]:
        """Iterate over it and all that may follow."""
        waiting = [self]
        while waiting:
            piece = waiting.pop()
            yield piece
            waiting += piece.children.values()


def leaves(x: Any) -> Iterator[Value]:
    """Iterate over the values in a structure of results."""
    if isinstance(x, Value):
        yield x
    elif isinstance(x, Number):
        yield x.value
    elif isinstance(x, (tuple, list)):
        for v in x:
            yield from leaves(v)
    elif isinstance(x, dict):
        for v in x.values():
            yield from leaves(v)


def pieces_of(capture: Capture) -> list[Piece]:
    """Cut what was captured at its decisions and calls of Python."""
    cuts: list[Any] = [r for r in capture.reads if not r.returned] + capture.outside
    cuts.sort(key=lambda c: c.at)
    made, begin = [], 0
    for cut in cuts:
        piece = Piece(capture.graph.nodes[begin : cut.at])
        piece.read = cut if isinstance(cut, Read) else None
        piece.outside = cut if isinstance(cut, Outside) else None
        made.append(piece)
        begin = cut.at
    last = Piece(capture.graph.nodes[begin:])
    last.outputs = capture.graph.outputs
    last.grads = capture.grads_now()
    last.derivative, last.spent = capture.derivative, capture.spent
    _sign([*made, last], capture.graph)
    return [*made, last]


def renamed(x: Any, same: dict[int, Value]) -> Any:
    """Return a structure with other values standing for the same things."""
    if isinstance(x, Value):
        return same.get(id(x), x)
    if isinstance(x, Number):
        return Number(renamed(x.value, same))
    if isinstance(x, dict):
        return {k: renamed(v, same) for k, v in x.items()}
    if isinstance(x, (tuple, list)):
        return _like(x, [renamed(v, same) for v in x])
    return x


def rename(piece: Piece, same: dict[int, Value]) -> None:
    """Let the values of an earlier capture stand for the same things in a piece."""
    for node in piece.nodes:
        node.args = renamed(node.args, same)
    if piece.read is not None:
        piece.read.value = renamed(piece.read.value, same)
    if piece.outside is not None:
        piece.outside.grads = renamed(piece.outside.grads, same)
    piece.outputs, piece.grads = renamed(piece.outputs, same), renamed(piece.grads, same)
    piece.spent = renamed(piece.spent, same)
    if piece.derivative is not None:
        piece.derivative.rename(same)


# ---- when two captures are the same ------------------------------------------------------------


def _sign(pieces: list[Piece], graph: Graph) -> None:
    """Give each piece a signature: equal where the same ops run on the same things.

    From whichever line: a module is called from several.
    """
    names: dict[int, Any] = {id(v): ("input", i) for i, v in enumerate(graph.inputs)}
    names.update((id(v), ("tensor", v.literal or id(v.constant))) for v in graph.constants)
    count = 0
    derivative = pieces[-1].derivative
    ways = [] if derivative is None else list(derivative.ways.values())
    for way in ways:
        names.update((id(v), ("arriving", i)) for i, v in enumerate(way.arriving))
    for piece in [*pieces, *[way.piece for way in ways]]:
        rows = []
        for node in piece.nodes:
            for v in node.outputs:
                names[id(v)] = ("made", count)
                count += 1
            rows.append(
                (
                    node.op,
                    node.inplace,
                    tuple(_signed(a, names) for a in node.args),
                    tuple((v.shape, v.dtype) for v in node.outputs),
                )
            )
        end: Any = None
        if piece.read is not None:
            end = ("read", piece.read.what, names[id(piece.read.value)], piece.read.line)
        elif piece.outside is not None:
            end = ("call", piece.outside.name, piece.outside.line)
        else:
            grads = tuple(
                (t if isinstance(t, int) else ("tensor", id(t)), v and names[id(v)])
                for t, v in piece.grads
            )
            end = ("end", _signed(piece.outputs, names), grads)
        piece.signature = (tuple(rows), end)
    if derivative is not None:
        given = [derivative.outputs, derivative.leaves, *[way.gradients for way in ways]]
        pieces[-1].signature += (tuple(way.piece.signature for way in ways), _signed(given, names))


def _signed(x: Any, names: dict[int, Any]) -> Any:
    if isinstance(x, Value):
        return names[id(x)]
    if isinstance(x, Number):
        return ("number", names[id(x.value)])
    if isinstance(x, Live):
        return ("live", id(x.group), x.key, x.place)
    if isinstance(x, (tuple, list)):
        return (type(x), tuple(_signed(v, names) for v in x))
    if isinstance(x, dict):
        return (dict, tuple((k, _signed(v, names)) for k, v in x.items()))
    if isinstance(x, float):
        return ("float", x.hex())
    if isinstance(x, (int, str, bool, complex, type(None))):
        return (type(x), x)
    return (type(x), id(x) if type(x).__hash__ is object.__hash__ else x)


def difference(a: Piece, b: Piece) -> str:
    """Say where two captures of a piece part."""
    if a.derivative is not None and b.derivative is not None and a.signature[:2] == b.signature[:2]:
        for x, y in zip(a.derivative.ways.values(), b.derivative.ways.values()):
            if x.piece.signature != y.piece.signature:
                return difference(x.piece, y.piece)
    for m, n, x, y in zip(a.nodes, b.nodes, a.signature[0], b.signature[0]):
        if x != y:
            if m.op != n.op or m.line != n.line:
                return f"{m.op} at {m.line} was followed by {n.op} at {n.line} in the next call"
            values = [(u, v) for u, v in zip(x[2], y[2]) if u != v]
            kinds = {u[0] for pair in values for u in pair if isinstance(u, tuple)}
            if "tensor" in kinds:
                return f"{m.op} at {m.line} reads a tensor that is another one in each call"
            shown = ", ".join(f"{_plain(u)} then {_plain(v)}" for u, v in values)
            return f"{m.op} at {m.line} was given {shown or 'other shapes'} in the next call"
    if len(a.signature[0]) != len(b.signature[0]):
        return "one call had more ops than the other"
    return "what it returns, or whose gradients it sets, differs from call to call"


def _plain(signed: Any) -> str:
    if isinstance(signed, tuple) and len(signed) == 2:
        kind, value = signed
        return str(float.fromhex(value)) if kind == "float" else str(value)
    return str(signed)


# ---- the program of a piece --------------------------------------------------------------------


def build(
    piece: Piece, given: list[Value], like: dict[int, Tensor], tensors: dict[int, Tensor],
    results: list[Value], lent: Sequence[int] = (),
) -> Built:  # fmt: skip
    """Make the program of a piece.

    Args:
        piece: whose ops it runs.
        given: the values that it is given, in this order.
        like: by value, tensors of their geometry.
        tensors: by value, the tensors that live outside of the call.
        results: the values that it gives, in this order.
        lent: which of them may lie in the program's own memory until the next run.
    """
    collects = gc.isenabled()
    gc.disable()  # nothing here is garbage before the end, and there is much of it
    try:
        return _build(piece, given, like, tensors, results, lent)
    finally:
        if collects:
            gc.enable()


def _build(
    piece: Piece, given: list[Value], like: dict[int, Tensor], tensors: dict[int, Tensor],
    results: list[Value], lent: Sequence[int],
) -> Built:  # fmt: skip
    piece.alone = []
    passes = tuple(_noting(p, piece.alone) for p in STEPS)
    before = functools.partial(captured, piece, given, tensors, results)
    recorded = before()
    graph = run_passes(recorded, passes, remember=False)
    take_apart(recorded.nodes)
    piece.improved = [node.op for node in graph]
    piece.shown = lambda: run_passes(before(), STEPS)
    try:
        args = [like[id(v)] for v in given]
        made, live = program_of(graph, args, [id(v) for v in graph.outputs], lent)
    except NotImplementedError as e:  # an op whose shapes follow from values
        raise CannotBuild(str(e).splitlines()[0]) from None
    made.set_learning(any(node.grad for node in piece.nodes))
    step = {id(node): i for i, node in enumerate(graph)}
    makers = [step.get(id(v.producer), -1) for v in graph.outputs]
    built = Built(made, live, _order(piece, graph), makers)
    take_apart(graph.nodes)
    return built


def _order(piece: Piece, graph: Graph) -> list[int]:
    """Return which op of a piece each op of its graph stands for."""
    number = {v.name: i for i, n in enumerate(piece.nodes) for v in n.outputs}
    order: list[int] = []
    for node in graph:
        known = [number[v.name] for v in node.outputs if v.name in number]
        order.append(max(known) if known else order[-1] if order else 0)
    return order


def captured(
    piece: Piece, given: list[Value], tensors: dict[int, Tensor], results: list[Value]
) -> Graph:
    """Return the ops of a piece as a graph of its own, before any pass."""
    graph = Graph()
    same = {id(v): _given(v) for v in given}
    graph.inputs = list(same.values())
    graph.nodes = [_recorded(node, same) for node in piece.nodes]
    graph.outputs = renamed(results, same)
    read = {id(v): v for node in piece.nodes for v in node.inputs()}
    graph.constants = [
        v for k, v in {**read, **{id(v): v for v in results}}.items() if k in tensors
    ]
    return graph


def _noting(improve: Any, alone: list[tuple[str, str]]) -> Any:
    """Return a pass; ``fuse`` notes which ops stay alone, and why."""
    if improve is not fuse:
        return improve

    @functools.wraps(fuse)
    def noted(graph: Graph) -> Graph:
        return fuse(graph, alone)

    return noted


def _given(v: Value) -> Value:
    """Return a value of an earlier piece, or of the call, as an input."""
    made = v.twin()
    made.producer = None
    return made


def _recorded(node: Node, same: dict[int, Value]) -> Node:
    """Return a node as if the tape had been on: a program runs without one."""
    made = Node(node.op, renamed(node.args, same), node.inplace, node.line)
    for v in node.outputs:
        same[id(v)] = new = v.twin()
        new.producer = made
        made.outputs.append(new)
    return made


def needed(piece: Piece, tensors: dict[int, Tensor]) -> list[Value]:
    """Return what the ops of a piece read that they do not make, and that lives in the call."""
    own = {id(v) for node in piece.nodes for v in node.outputs}
    found = {id(v): v for node in piece.nodes for v in node.inputs()}
    return [v for k, v in found.items() if k not in own and k not in tensors]
