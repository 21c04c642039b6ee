"""Which ops must stay in their order because of what they do to memory, or because they draw."""

from __future__ import annotations

from weft.jit.op_schema import is_random, written

from .alias_analysis import AliasAnalysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph, Value

__all__ = ["Dependence"]


class Dependence:
    """For each node of a graph, the earlier ones that must run before it though it reads none of them.

    All memory that comes from outside is taken for one: inputs may be the same tensor.

    >>> g = weft.jit.trace(lambda x: (x * 2).add_(1), (weft.ones(2),)).graph
    >>> weft.jit.passes.dependence.Dependence(g).before
    [set(), {0}]
    """

    def __init__(self, graph: Graph) -> None:
        """Look at a graph."""
        self._places = AliasAnalysis(graph)
        for node in graph:
            self._places.follow(node)
        self._written = {self._memory(v) for node in graph for v in written(node)}
        self.before: list[set[int]] = [set() for _ in graph.nodes]
        readers: dict[Value | None, set[int]] = {}
        writer: dict[Value | None, int] = {}
        drew = -1
        for i, node in enumerate(graph):
            if is_random(node):
                self.before[i] |= {drew} if drew >= 0 else set()
                drew = i
            if not self._written:
                continue
            touched = {self._memory(v) for v in [*node.inputs(), *node.outputs]} & self._written
            targets = {self._memory(v) for v in written(node)} if touched else touched
            for m in touched:
                if m in writer:
                    self.before[i].add(writer[m])
                if m in targets:
                    self.before[i] |= readers.pop(m, set())
                    writer[m] = i
                else:
                    readers.setdefault(m, set()).add(i)
            self.before[i].discard(i)

    def _memory(self, v: Value) -> Value | None:
        """Return the first value in the memory that a value looks into; None: it is from outside."""
        place = self._places.of(v)
        return None if place in self._places.outside else place

    def is_written(self, v: Value) -> bool:
        """Say whether the memory of a value is changed anywhere in the graph."""
        return self._memory(v) in self._written
