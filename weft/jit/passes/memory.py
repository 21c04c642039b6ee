"""Which values of a graph lie in the same memory, and which memory is written to."""

from __future__ import annotations

from .rebuild import is_view, mutates, shares, writes, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph, Node, Value

__all__ = ["Places", "changing", "disturbs"]


class Places:
    """The memory of each value, followed node by node. A place is named by the first value in it.

    >>> g = weft.jit.trace(lambda x: x.exp().view(-1).add_(1), (weft.ones(2),)).graph
    >>> places = weft.jit.passes.memory.Places(g)
    >>> for node in g:
    ...     places.follow(node)
    >>> len({places.of(node.outputs[0]) for node in g})
    1
    """

    def __init__(self, graph: Graph) -> None:
        self.shared: dict[int, int] = {}  # by value: its place, if that is not its own
        self.members: dict[int, list[int]] = {}  # the ids of all values there, by such a place
        self.outside: set[int] = set()  # places that are not made by the graph
        by_memory: dict[int, int] = {}  # constants may share theirs
        for v in (*graph.inputs, *graph.constants):
            if v.constant is not None and v.constant.numel() and not v.constant.is_sparse:
                start = v.constant.untyped_storage().data_ptr()
                self._put(v, by_memory.setdefault(start, id(v)))
            self.outside.add(self.of(v))

    def _put(self, v: Value, place: int) -> None:
        if place != id(v):
            self.shared[id(v)] = place
            self.members.setdefault(place, [place]).append(id(v))

    def of(self, v: Value) -> int:
        """Return the name of the memory in which a value lies.

        >>> g = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> weft.jit.passes.memory.Places(g).of(g.inputs[0]) == id(g.inputs[0])
        True
        """
        return self.shared.get(id(v), id(v))

    def move(self, v: Value, to: Value) -> None:
        """Let a value lie where another one lies.

        >>> g = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> places = weft.jit.passes.memory.Places(g)
        >>> places.move(g.outputs, g.inputs[0])
        >>> places.of(g.outputs) == places.of(g.inputs[0])
        True
        """
        self._put(v, self.of(to))

    def follow(self, node: Node, fresh: bool = False) -> None:
        """Place what a node gives; ``fresh``: as if it wrote to memory of its own.

        >>> g = weft.jit.trace(lambda x: x.add_(1), (weft.ones(2),)).graph
        >>> places = weft.jit.passes.memory.Places(g)
        >>> places.follow(g.nodes[0], fresh=True)
        >>> places.of(g.nodes[0].outputs[0]) in places.outside
        False
        """
        if fresh or not shares(node):
            return
        for source in node.inputs()[:1]:
            for v in node.outputs if is_view(node) else node.outputs[:1]:
                self.move(v, source)


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
    made: dict[int, int] = {}  # when values were made that lie where others were before them
    last: dict[int, int] = {}  # by place: when it was last written to
    for now, node in enumerate(graph):
        if last and not writes(node):
            for v in node.inputs():
                if last.get(places.of(v), -1) > made.get(id(v), -1):
                    return True
        if shares(node):
            places.follow(node)
            last.update((places.of(v), now) for v in written(node))
            made.update((id(v), now) for v in node.outputs)
    return False


def changing(graph: Graph) -> set[int]:
    """Return the ids of values whose memory an op of the graph writes to.

    >>> g = weft.jit.trace(lambda x: x.exp().add_(1), (weft.ones(2),)).graph
    >>> changes = weft.jit.passes.memory.changing(g)
    >>> id(g.inputs[0]) in changes, id(g.nodes[0].outputs[0]) in changes
    (False, True)
    """
    if not mutates(graph):
        return set()
    places, changed = Places(graph), set()
    for node in filter(shares, graph):
        changed |= {places.of(v) for v in written(node)}
        places.follow(node)
    return changed.union(*(places.members.get(place, ()) for place in changed))
