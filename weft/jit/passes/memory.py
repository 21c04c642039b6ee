"""Which values of a graph lie in the same memory, and which memory is written to."""

from __future__ import annotations

from .rebuild import is_view, writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph, Node, Value

__all__ = ["Places", "unchanging"]


class Places:
    """The memory of each value, followed node by node.

    >>> g = weft.jit.trace(lambda x: x.exp().view(-1).add_(1), (weft.ones(2),)).graph
    >>> places = weft.jit.passes.memory.Places(g)
    >>> for node in g:
    ...     places.follow(node)
    >>> len({places.of(node.outputs[0]) for node in g})
    1
    """

    def __init__(self, graph: Graph) -> None:
        self.values: dict[int, int] = {}  # the place of a value, both by number
        self.members: dict[int, list[int]] = {}  # ids of the values in a place
        self.outside: set[int] = set()  # places that are not made by the graph
        by_memory: dict[int, int] = {}  # constants may share theirs
        for v in (*graph.inputs, *graph.constants):
            place = self._put(v, None)
            if v.constant is not None and v.constant.numel() and not v.constant.is_sparse:
                start = v.constant.untyped_storage().data_ptr()
                self._put(v, by_memory.setdefault(start, place))
            self.outside.add(self.of(v))

    def _put(self, v: Value, place: int | None) -> int:
        place = len(self.members) if place is None else place
        self.values[id(v)] = place
        self.members.setdefault(place, []).append(id(v))
        return place

    def of(self, v: Value) -> int:
        """Return the number of the memory in which a value lies.

        >>> g = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> weft.jit.passes.memory.Places(g).of(g.inputs[0])
        0
        """
        return self.values[id(v)]

    def move(self, v: Value, to: Value) -> None:
        """Let a value lie where another one lies.

        >>> g = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> places = weft.jit.passes.memory.Places(g)
        >>> places.move(g.outputs, g.inputs[0])
        >>> places.of(g.outputs)
        0
        """
        self._put(v, self.of(to))

    def follow(self, node: Node, fresh: bool = False) -> None:
        """Place what a node gives; ``fresh``: as if it wrote to memory of its own.

        >>> g = weft.jit.trace(lambda x: x.add_(1), (weft.ones(2),)).graph
        >>> places = weft.jit.passes.memory.Places(g)
        >>> places.follow(g.nodes[0], fresh=True)
        >>> places.of(g.nodes[0].outputs[0])
        1
        """
        taken = [self.of(v) for v in node.inputs()]
        shared = taken[0] if taken and not fresh and (is_view(node) or writes(node)) else None
        for i, v in enumerate(node.outputs):
            self._put(v, shared if i == 0 or is_view(node) else None)


def unchanging(graph: Graph) -> set[int]:
    """Return the ids of values whose memory no op of the graph writes to.

    >>> g = weft.jit.trace(lambda x: x.exp().add_(1), (weft.ones(2),)).graph
    >>> still = weft.jit.passes.memory.unchanging(g)
    >>> id(g.inputs[0]) in still, id(g.nodes[0].outputs[0]) in still
    (True, False)
    """
    places, written = Places(graph), set()
    for node in graph:
        if writes(node):
            written.add(places.of(next(node.inputs())))
        places.follow(node)
    return {v for v, place in places.values.items() if place not in written}
