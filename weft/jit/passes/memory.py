"""Which values of a graph lie in the same memory, and which memory is written to."""

from __future__ import annotations

from .rebuild import is_view, writes, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph, Node, Value

__all__ = ["Places", "disturbs", "unchanging"]


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


def disturbs(graph: Graph) -> bool:
    """Say whether an op reads memory that was written to since its value was made.

    Where none does, ops may be left out or shared as if nothing was written.

    >>> def f(x):
    ...     y = x * 2
    ...     z = y.view(-1)
    ...     return y.add_(1) + z if late else y.add_(1)
    >>> for late in (True, False):
    ...     g = weft.jit.trace(f, (weft.ones(2),)).graph
    ...     print(weft.jit.passes.memory.disturbs(g))
    True
    False
    """
    places = Places(graph)
    made: dict[int, int] = {}
    last: dict[int, int] = {}  # by place: when it was last written to
    for now, node in enumerate(graph):
        if not writes(node):
            for v in node.inputs():
                if last.get(places.of(v), -1) > made.get(id(v), -1):
                    return True
        places.follow(node)
        for v in written(node):
            last[places.of(v)] = now
        made.update((id(v), now) for v in node.outputs)
    return False


def unchanging(graph: Graph) -> set[int]:
    """Return the ids of values whose memory no op of the graph writes to.

    >>> g = weft.jit.trace(lambda x: x.exp().add_(1), (weft.ones(2),)).graph
    >>> still = weft.jit.passes.memory.unchanging(g)
    >>> id(g.inputs[0]) in still, id(g.nodes[0].outputs[0]) in still
    (True, False)
    """
    places, changed = Places(graph), set()
    for node in graph:
        changed |= {places.of(v) for v in written(node)}
        places.follow(node)
    return {v for v, place in places.values.items() if place not in changed}
