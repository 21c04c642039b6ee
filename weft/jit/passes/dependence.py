"""Which ops must stay in their order because of what they do to memory, or because they draw."""

from __future__ import annotations

from .rebuild import is_random, is_view, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph, Node, Value

__all__ = ["Dependence"]

_OUTSIDE = 0  # all memory that comes from outside is taken for one: inputs may be the same tensor


class Dependence:
    """For each node of a graph, the earlier ones that must run before it though it reads none of them.

    >>> g = weft.jit.trace(lambda x: (x * 2).add_(1), (weft.ones(2),)).graph
    >>> weft.jit.passes.dependence.Dependence(g).before
    [set(), {0}]
    """

    def __init__(self, graph: Graph) -> None:
        """Look at a graph."""
        self._memory: dict[int, int] = {id(v): _OUTSIDE for v in [*graph.inputs, *graph.constants]}
        self._joined: list[int] = [_OUTSIDE]
        for node in graph:
            self._place(node)
        self._memory = {v: self._root(m) for v, m in self._memory.items()}
        self.before: list[set[int]] = [set() for _ in graph.nodes]
        self._written = {self.memory(v) for node in graph for v in written(node)}
        readers: dict[int, set[int]] = {}
        writer: dict[int, int] = {}
        drew = -1
        for i, node in enumerate(graph):
            if is_random(node):
                self.before[i] |= {drew} if drew >= 0 else set()
                drew = i
            touched = {self.memory(v) for v in [*node.inputs(), *node.outputs]} & self._written
            targets = {self.memory(v) for v in written(node)} if touched else touched
            for m in touched:
                if m in writer:
                    self.before[i].add(writer[m])
                if m in targets:
                    self.before[i] |= readers.pop(m, set())
                    writer[m] = i
                else:
                    readers.setdefault(m, set()).add(i)
            self.before[i].discard(i)

    def _place(self, node: Node) -> None:
        """Say in which memory the results of a node are."""
        for v in node.outputs:
            self._memory[id(v)] = len(self._joined)
            self._joined.append(len(self._joined))
        for v in node.inputs() if is_view(node) else written(node):
            for out in node.outputs:
                self._join(self._root(self.memory(v)), self._root(self.memory(out)))

    def _join(self, a: int, b: int) -> None:
        self._joined[max(a, b)] = min(a, b)

    def _root(self, m: int) -> int:
        """Return the first of the numbers that stand for the same memory."""
        while self._joined[m] != m:
            self._joined[m] = self._joined[self._joined[m]]
            m = self._joined[m]
        return m

    def memory(self, v: Value) -> int:
        """Return the number of the memory that a value may look into."""
        return self._memory[id(v)]

    def is_written(self, v: Value) -> bool:
        """Say whether the memory of a value is changed anywhere in the graph."""
        return self.memory(v) in self._written
