"""Which values of a graph lie in the same memory, and which memory is written to."""

from __future__ import annotations

from weft.jit.op_schema import is_view, shares, writes, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph, Node, Value

__all__ = ["AliasAnalysis", "changing", "disturbs", "escaping", "mutates", "readers"]


class AliasAnalysis:
    """The memory of each value, followed node by node. A place is named by the first value in it.

    >>> g = weft.jit.trace(lambda x: x.exp().view(-1).add_(1), (weft.ones(2),)).graph
    >>> aliases = weft.jit.passes.alias_analysis.AliasAnalysis(g)
    >>> for node in g:
    ...     aliases.follow(node)
    >>> len({aliases.of(node.outputs[0]) for node in g})
    1
    """

    def __init__(self, graph: Graph) -> None:
        self.shared: dict[Value, Value] = {}  # by value: its place, if that is not its own
        self.members: dict[Value, list[Value]] = {}  # all values there, by such a place
        self.outside: set[Value] = set()  # memory that is not made by the graph
        by_memory: dict[int, Value] = {}  # constants may share theirs
        for v in (*graph.inputs, *graph.constants):
            if v.constant is not None and v.constant.numel() and not v.constant.is_sparse:
                start = v.constant.untyped_storage().data_ptr()
                self._put(v, by_memory.setdefault(start, v))
            self.outside.add(self.of(v))

    def _put(self, v: Value, place: Value) -> None:
        if place != v:
            self.shared[v] = place
            self.members.setdefault(place, [place]).append(v)

    def of(self, v: Value) -> Value:
        """Return the name of the memory in which a value lies.

        >>> g = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> weft.jit.passes.alias_analysis.AliasAnalysis(g).of(g.inputs[0]) == g.inputs[0]
        True
        """
        return self.shared.get(v, v)

    def move(self, v: Value, to: Value) -> None:
        """Let a value lie where another one lies.

        >>> g = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> aliases = weft.jit.passes.alias_analysis.AliasAnalysis(g)
        >>> aliases.move(g.outputs[0], g.inputs[0])
        >>> aliases.of(g.outputs[0]) == aliases.of(g.inputs[0])
        True
        """
        self._put(v, self.of(to))

    def follow(self, node: Node, fresh: bool = False) -> None:
        """Place what a node gives; ``fresh``: as if it wrote to memory of its own.

        >>> g = weft.jit.trace(lambda x: x.add_(1), (weft.ones(2),)).graph
        >>> aliases = weft.jit.passes.alias_analysis.AliasAnalysis(g)
        >>> aliases.follow(g.nodes[0], fresh=True)
        >>> aliases.of(g.nodes[0].outputs[0]) in aliases.outside
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
    ...     print(weft.jit.passes.alias_analysis.disturbs(g))
    True
    False
    """
    aliases = AliasAnalysis(graph)
    made: dict[Value, int] = {}  # when values were made that lie where others were before them
    last: dict[Value, int] = {}  # by place: when it was last written to
    for now, node in enumerate(graph):
        if last and not writes(node):
            for v in node.inputs():
                if last.get(aliases.of(v), -1) > made.get(v, -1):
                    return True
        if shares(node):
            aliases.follow(node)
            last.update((aliases.of(v), now) for v in written(node))
            made.update((v, now) for v in node.outputs)
    return False


def changing(graph: Graph) -> set[Value]:
    """Return the values whose memory an op of the graph writes to.

    >>> g = weft.jit.trace(lambda x: x.exp().add_(1), (weft.ones(2),)).graph
    >>> changes = weft.jit.passes.alias_analysis.changing(g)
    >>> g.inputs[0] in changes, g.nodes[0].outputs[0] in changes
    (False, True)
    """
    if not mutates(graph):
        return set()
    aliases, changed = AliasAnalysis(graph), set()
    for node in filter(shares, graph):
        changed |= {aliases.of(v) for v in written(node)}
        aliases.follow(node)
    return changed.union(*(aliases.members.get(place, ()) for place in changed))


def mutates(graph: Graph) -> bool:
    """Say whether an op of a graph writes into memory that it did not make.

    >>> f = weft.jit.trace(lambda x: (x * 2).add_(1), (weft.ones(2),))
    >>> weft.jit.passes.alias_analysis.mutates(f.graph)
    True
    """
    return any(map(writes, graph))


def readers(graph: Graph) -> dict[Value, list[Node | None]]:
    """Return who reads each value; None stands for the caller, who gets it.

    >>> g = weft.jit.trace(lambda x: x.exp() + x, (weft.ones(2),)).graph
    >>> [len(weft.jit.passes.alias_analysis.readers(g)[v]) for v in (*g.inputs, *g.results())]
    [2, 1]
    """
    found: dict[Value, list[Node | None]] = {}
    for node in graph:
        for v in node.inputs():
            found.setdefault(v, []).append(node)
    for v in graph.results():
        found.setdefault(v, []).append(None)
    return found


def escaping(graph: Graph) -> set[Value]:
    """Return the values whose memory the caller gets to see, directly or through views.

    >>> g = weft.jit.trace(lambda x: x.exp().neg().view(-1), (weft.ones(2),)).graph
    >>> seen = weft.jit.passes.alias_analysis.escaping(g)
    >>> [node.op for node in g if node.outputs[0] in seen]
    ['neg', 'view']
    """
    seen = set(graph.results())
    for node in reversed(graph.nodes):
        if is_view(node) and not seen.isdisjoint(node.outputs):
            seen.update(node.inputs())
    return seen
