"""Gradients through a compiled call: the backward pass is captured too, and runs as a program."""

from __future__ import annotations

import itertools

import weft
from weft import _C

from .capture import Capture, paused
from .pieces import Piece, build, needed, rename, renamed
from .pieces import leaves as values_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from weft import Tensor
    from weft.jit.graph import Value

__all__ = ["Derivative", "Way", "capture_derivative"]


_MOST_OUTPUTS = 3  # for which each choice of those that get a gradient is captured


_NOTHING = (-1, -1, -1)  # along an edge


class Way:
    """The ops that compute gradients of leaves, where those of some results are given."""

    def __init__(self, arriving: list[Value], piece: Piece, gradients: list[list[Any]]) -> None:
        """Name what arrives, the ops, and all that they give for each leaf, in order.

        That is a gradient, or a share of one that the walk joins with those of other calls, as it
        does in eager ones: (kind, left, right).
        """
        self.arriving, self.piece, self.gradients = arriving, piece, gradients

    def reads(self) -> Iterator[Value]:
        """Iterate over the values that it needs from somewhere."""
        yield from self.piece.reads()
        yield from values_in(self.gradients)

    def rename(self, same: dict[int, Value]) -> None:
        """Let the values of an earlier capture stand for the same things."""
        rename(self.piece, same)
        self.gradients = renamed(self.gradients, same)

    def places(self, counts: list[int]) -> list[tuple[int, int, int]]:
        """Return which results of the program go along each edge: (kind of share, left, right).

        ``counts``: the number of edges that lead to each leaf.
        """
        at = {id(v): i for i, v in enumerate(self._results())}
        found = []
        for row, count in zip(self.gradients, counts):
            found += [
                (g[0], at[id(g[1])], at[id(g[2])]) if isinstance(g, tuple) else (-1, at[id(g)], -1)
                for g in row
            ]
            found += [_NOTHING] * (count - len(row))
        return found

    def _results(self) -> list[Value]:
        return list({id(v): v for v in values_in(self.gradients)}.values())

    def build(self, kept: list[Value], saved: Sequence[Tensor], tensors: dict[int, Tensor]) -> Any:
        """Return the program: of the gradients that arrive, contiguous, and what was saved."""
        values = [*self.arriving, *kept]
        arrived = [weft.empty(v.shape, dtype=v.dtype) for v in self.arriving]
        like = {id(v): t for v, t in zip(values, [*arrived, *saved])}
        return build(self.piece, values, like, tensors, self._results()).program


class Derivative:
    """How the gradients of leaves follow from those of the results."""

    def __init__(
        self, outputs: list[Value], leaves: list[Value], ways: dict[tuple[int, ...], Way],
        outside: set[int],
    ) -> None:  # fmt: skip
        """Name what it is made of; ``outside``: values that are tensors from outside of the call."""
        self.outputs = outputs  # the results that have gradients
        self.leaves = leaves  # inputs and tensors from outside that get a gradient
        self.ways = ways  # by the results whose gradients are given
        arrive = {id(v) for way in ways.values() for v in way.arriving}
        read = {id(v): v for way in ways.values() for v in needed(way.piece, {})}
        own = {id(v) for w in ways.values() for n in w.piece.nodes for v in n.outputs}
        given = [v for w in ways.values() for v in values_in(w.gradients)]
        read.update((id(v), v) for v in given if id(v) not in own)
        self.saved = [v for k, v in read.items() if k not in arrive | outside]
        self.watched = [v for k, v in read.items() if k in outside]

    def reads(self) -> Iterator[Value]:
        """Iterate over the values that it needs from somewhere."""
        for way in self.ways.values():
            yield from way.reads()
        yield from self.outputs
        yield from self.leaves

    def rename(self, same: dict[int, Value]) -> None:
        """Let the values of an earlier capture stand for the same things."""
        for way in self.ways.values():
            way.rename(same)
        for name in ("outputs", "leaves", "saved", "watched"):
            setattr(self, name, renamed(getattr(self, name), same))

    @property
    def edges(self) -> list[Value]:
        """The leaves, each as often as gradients may arrive at it."""
        return [v for v, count in zip(self.leaves, self._counts()) for _ in range(count)]

    def _counts(self) -> list[int]:
        return [max(map(len, rows)) for rows in zip(*[w.gradients for w in self.ways.values()])]

    def places(self) -> list[list[tuple[int, int, int]]]:
        """Return what goes along each edge, for each choice of results that have gradients."""
        counts = self._counts()
        return [self.way(which).places(counts) for which in range(1, 1 << len(self.outputs))]

    def way(self, which: int) -> Way:
        """Return the one where gradients of some results are given: of those whose bits are set."""
        return self.ways[tuple(i for i in range(len(self.outputs)) if which >> i & 1)]

    def build(self, which: int, saved: Sequence[Tensor], tensors: dict[int, Tensor]) -> Any:
        """Return the program of such a way."""
        return self.way(which).build(self.saved, saved, tensors)


def capture_derivative(capture: Capture, outputs: list[Tensor]) -> None:
    """Record the backward pass of a call that is over, as the derivative of its results."""
    graph = capture.graph
    of = {id(v): t for t in capture.alive if (v := capture.given.get(id(t))) is not None}
    given = [(v, of[id(v)]) for v in [*graph.inputs, *graph.constants]]
    leaves = [(v, t) for v, t in given if t.requires_grad]
    if any(_C._has_hooks(t) for t in capture.alive):
        return capture.fail("a tensor whose gradient has hooks takes part")
    if any(t.retains_grad for t in capture.alive):  # the walk below would add to it
        return capture.fail("a tensor that keeps its gradient takes part")
    if capture.custom:  # its backward would be called once more than in eager
        return capture.fail(f"the gradients of its results go through {capture.custom}")
    if len(outputs) > _MOST_OUTPUTS:
        return capture.fail(f"more than {_MOST_OUTPUTS} of its results have gradients")
    if not leaves:
        return capture.fail("its results have gradients that lead nowhere")
    known = {id(v) for v in graph.constants}
    reads, ways = len(capture.reads), {}
    for size in range(len(outputs), 0, -1):
        for chosen in itertools.combinations(range(len(outputs)), size):
            way = _capture_way(capture, [outputs[i] for i in chosen], [t for _, t in leaves])
            if way is None:
                return
            ways[chosen] = way
    if len(capture.reads) > reads:
        del capture.reads[reads:]
        return capture.fail("the gradients of its results depend on decisions")
    outside = known | {id(v) for v in graph.constants}
    values = [capture.value(t) for t in outputs]
    capture.derivative = Derivative(values, [v for v, _ in leaves], ways, outside)


def _capture_way(capture: Capture, outputs: list[Tensor], leaves: list[Tensor]) -> Way | None:
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
    piece = Piece(nodes[begin:])
    del nodes[begin:]
    return Way(values, piece, [[_part(capture, g) for g in row] for row in gradients])


def _part(capture: Capture, given: Any) -> Any:
    """Return what stands for a gradient, or for a share of one."""
    if isinstance(given, weft.Tensor):
        return capture.value(given)
    kind, left, right = given
    return kind, capture.value(left), capture.value(right)
