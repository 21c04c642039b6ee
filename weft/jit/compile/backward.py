"""Gradients through a compiled call: the backward pass is captured too, and runs as a program."""

from __future__ import annotations

import itertools

import weft
from weft import _C
from weft.jit.graph import Graph
from weft.jit.op_schema import written
from weft.jit.passes.alias_analysis import AliasAnalysis

from .capture import Capture, paused
from .partial_backward import Underivable, are_alike, partial_backward
from .segments import Segment, build, needed, rename, renamed
from .segments import leaves as values_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from weft import Tensor
    from weft.jit.graph import Value

    from .result_views import Base

__all__ = ["BackwardGraph", "Derivative", "capture_derivative"]


_MOST_OUTPUTS = 16  # that have gradients
_FEW = 3  # for which each choice of those that get a gradient is captured


_NOTHING = (-1, -1, -1)  # along an edge


class BackwardGraph:
    """The ops that compute gradients of leaves, where those of some results are given."""

    def __init__(self, arriving: list[Value], segment: Segment, gradients: list[list[Any]]) -> None:
        """Name what arrives, the ops, and all that they give for each leaf, in order.

        That is a gradient, or a share of one that the walk joins with those of other calls, as it
        does in eager ones: (kind, left, right).
        """
        self.arriving, self.segment, self.gradients = arriving, segment, gradients

    def reads(self) -> Iterator[Value]:
        """Iterate over the values that it needs from somewhere."""
        yield from self.segment.reads()
        yield from values_in(self.gradients)

    def rename(self, same: dict[Value, Value]) -> None:
        """Let the values of an earlier capture stand for the same things."""
        rename(self.segment, same)
        self.gradients = renamed(self.gradients, same)

    def edges_of(self, counts: list[int]) -> list[tuple[int, int, int]]:
        """Return which results of the program go along each edge: (kind of share, left, right).

        ``counts``: the number of edges that lead to each leaf.
        """
        at = {v: i for i, v in enumerate(self._results())}
        found = []
        for row, count in zip(self.gradients, counts):
            found += [
                (g[0], at[g[1]], at[g[2]]) if isinstance(g, tuple) else (-1, at[g], -1) for g in row
            ]
            found += [_NOTHING] * (count - len(row))
        return found

    def needs(self, kept: list[Value]) -> list[int]:
        """Return for each of these values the leaves (bit by bit) whose gradients depend on it.

        That is decided by memory, not by value: an op may have written there through a view.
        """
        graph = Graph()
        graph.inputs = kept
        aliases = AliasAnalysis(graph)
        for node in self.segment.nodes:
            aliases.follow(node)
        found: dict[Value, int] = {}  # by place
        for i, row in enumerate(self.gradients):
            for v in values_in(row):
                found[aliases.of(v)] = found.get(aliases.of(v), 0) | 1 << i
        for node in reversed(self.segment.nodes):
            leads_to = 0
            for v in [*node.outputs, *written(node)]:
                leads_to |= found.get(aliases.of(v), 0)
            if leads_to:
                for v in node.inputs():
                    found[aliases.of(v)] = found.get(aliases.of(v), 0) | leads_to
        return [found.get(aliases.of(v), 0) for v in kept]

    def _results(self) -> list[Value]:
        return list(dict.fromkeys(values_in(self.gradients)))

    def build(
        self, taken: list[Value], like: dict[Value, Tensor], tensors: dict[Value, Tensor]
    ) -> Any:
        """Return the program: of the gradients that arrive, contiguous, and what is taken."""
        arrived = {v: weft.empty(v.shape, dtype=v.dtype) for v in self.arriving}
        values = [*self.arriving, *taken]
        return build(self.segment, values, {**like, **arrived}, tensors, self._results()).program


class Derivative:
    """How the gradients of leaves follow from those of the results."""

    def __init__(
        self, outputs: list[Value], leaves: list[Value], graphs: dict[tuple[int, ...], BackwardGraph],
        graph: tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]], bases: list[Base | None],
        outside: set[Value],
    ) -> None:  # fmt: skip
        """Name what it is made of; ``outside``: values that are tensors from outside of the call."""
        self.outputs = outputs  # the results that have gradients
        self.leaves = leaves  # inputs and tensors from outside that get a gradient
        self.graphs = graphs  # by the results whose gradients are given
        self.bases = bases  # of the results, for those that are views
        # Of the eager graph, bit by bit: the parts, from which results to which leaves; and for each
        # result the others whose gradients go through it, and the leaves that it leads to.
        self.parts, self.results = graph
        arrive = {v for backward in graphs.values() for v in backward.arriving}
        read = dict.fromkeys(
            v for backward in graphs.values() for v in needed(backward.segment, {})
        )
        own = {v for b in graphs.values() for n in b.segment.nodes for v in n.outputs}
        given = [v for b in graphs.values() for v in values_in(b.gradients)]
        read.update(dict.fromkeys(v for v in given if v not in own))
        self.saved = [v for v in read if v not in arrive | outside]
        # A number that an op made a tensor of is another value in each graph, and nobody can change it.
        self.watched = [v for v in read if v in outside and not v.literal]

    def reads(self) -> Iterator[Value]:
        """Iterate over the values that it needs from somewhere."""
        for backward in self.graphs.values():
            yield from backward.reads()
        yield from self.outputs
        yield from self.leaves
        yield from values_in(self.bases)

    def rename(self, same: dict[Value, Value]) -> None:
        """Let the values of an earlier capture stand for the same things."""
        for backward in self.graphs.values():
            backward.rename(same)
        for name in ("outputs", "leaves", "saved", "watched", "bases"):
            setattr(self, name, renamed(getattr(self, name), same))

    @property
    def edges(self) -> list[Value]:
        """The leaves, each as often as gradients may arrive at it."""
        return [v for v, count in zip(self.leaves, self._counts()) for _ in range(count)]

    def _counts(self) -> list[int]:
        return [max(map(len, rows)) for rows in zip(*[b.gradients for b in self.graphs.values()])]

    @property
    def leaf_of(self) -> list[int]:
        """Where each edge leads: the number of the leaf."""
        return [i for i, count in enumerate(self._counts()) for _ in range(count)]

    def uses(self) -> list[list[bytes]]:
        """Return for each result and all that is kept: between it and which leaves it is read."""
        return [self._needs(self.graph_of(1 << i)) for i in range(len(self.outputs))]

    def _needs(self, backward: BackwardGraph) -> list[bytes]:
        size = (len(self.leaves) + 63) // 64 * 8
        return [
            bits.to_bytes(size, "little") for bits in backward.needs([*self.saved, *self.watched])
        ]

    def graph_of(self, which: int) -> BackwardGraph:
        """Return the one where gradients of some results are given: of those whose bits are set."""
        every = tuple(range(len(self.outputs)))
        chosen = tuple(i for i in every if which >> i & 1)
        known = self.graphs.get(chosen)
        return partial_backward(self.graphs[every], chosen) if known is None else known

    def build(self, which: int, saved: Sequence[Tensor], tensors: dict[Value, Tensor]) -> Any:
        """Return the program of such a graph, as C++ takes it.

        Its program, what goes along each edge, which of the saved tensors the program takes, and for
        all that is kept the leaves whose gradients depend on it.
        """
        backward = self.graph_of(which)
        read = set(backward.reads())
        takes = [i for i, v in enumerate(self.saved) if v in read]
        like = dict(zip(self.saved, saved))
        program = backward.build([self.saved[i] for i in takes], like, tensors)
        return program, backward.edges_of(self._counts()), takes, self._needs(backward)


def capture_derivative(capture: Capture, outputs: list[Tensor], bases: list[Base | None]) -> None:
    """Record the backward pass of a call that is over, as the derivative of its results.

    Args:
        capture: the call.
        outputs: the results that have gradients.
        bases: what those of them are views of that are views.
    """
    graph = capture.graph
    of = {v: t for t, v in capture.given.items()}
    given = [(v, of[v]) for v in [*graph.inputs, *graph.constants]]
    leaves = [(v, t) for v, t in given if _C._wants_grad(t)]
    if any(map(_C._has_hooks, capture.seen())):
        return capture.fail("a tensor whose gradient has hooks takes part")
    if any(t.retains_grad for t in capture.seen()):  # the walk below would add to it
        return capture.fail("a tensor that keeps its gradient takes part")
    if capture.custom:  # its backward would be called once more than in eager
        return capture.fail(f"the gradients of its results go through {capture.custom}")
    if any(t.is_leaf for t in outputs):
        return capture.fail("it returns a tensor that it made and that is a leaf")
    if len(outputs) > _MOST_OUTPUTS:
        return capture.fail(f"more than {_MOST_OUTPUTS} of its results have gradients")
    if not leaves:
        return capture.fail("its results have gradients that lead nowhere")
    reads, graphs = len(capture.reads), {}
    for chosen in _choices(len(outputs)):
        backward = _capture_backward(capture, [outputs[i] for i in chosen], [t for _, t in leaves])
        if backward is None:
            return
        graphs[chosen] = backward
    if len(outputs) > _FEW and not _are_derivable(graphs):
        return capture.fail(f"more than {_FEW} of its results have gradients, which are entangled")
    if len(capture.reads) > reads:
        del capture.reads[reads:]
        return capture.fail("the gradients of its results depend on decisions")
    outside = set(graph.constants)
    values = [capture.value(t) for t in outputs]
    eager = _C._graph_of_call(outputs, [t for _, t in leaves])
    ends = [v for v, _ in leaves]
    capture.derivative = Derivative(values, ends, graphs, eager, bases, outside)


def _choices(count: int) -> Iterator[tuple[int, ...]]:
    """Iterate over the choices of results whose graphs are captured: all together first."""
    for size in range(count, 0, -1):
        if count <= _FEW or size in (count, 1):
            yield from itertools.combinations(range(count), size)


def _are_derivable(graphs: dict[tuple[int, ...], BackwardGraph]) -> bool:
    """Say whether the backward passes of single results follow from that of all: then others do too."""
    (_, backward), *single = graphs.items()
    try:
        return all(are_alike(partial_backward(backward, chosen), known) for chosen, known in single)
    except Underivable:
        return False


def _capture_backward(
    capture: Capture, outputs: list[Tensor], leaves: list[Tensor]
) -> BackwardGraph | None:
    """Record a backward pass from the results to the leaves, and no further.

    None, with a problem noted, where there is none.
    """
    nodes = capture.graph.nodes
    begin = len(nodes)
    with paused():
        arriving = [weft.zeros_like(t, memory_format=weft.contiguous_format) for t in outputs]
    values = [capture.name(g, "g") for g in arriving]
    try:
        gradients = _C._arrivals_at(outputs, arriving, leaves)
    except RuntimeError as e:
        del nodes[begin:]
        capture.fail(f"the gradients of its results: {str(e).splitlines()[0]}")
        return None
    segment = Segment(nodes[begin:], capture.exact)
    del nodes[begin:]
    return BackwardGraph(values, segment, [[_part(capture, g) for g in row] for row in gradients])


def _part(capture: Capture, given: Any) -> Any:
    """Return what stands for a gradient, or for a share of one."""
    if isinstance(given, weft.Tensor):
        return capture.value(given)
    kind, left, right = given
    return kind, capture.value(left), capture.value(right)
