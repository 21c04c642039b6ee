"""How a pass makes its graph."""

from __future__ import annotations

import os

from weft import _C
from weft.jit.graph import Graph, Node, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from weft import Tensor

    Change = Callable[["Rebuild", Node], object]

__all__ = ["Rebuild", "copied", "replaced", "without"]


class Rebuild:
    """A new graph that begins with the inputs and constants of an old one.

    Values that stand for the same have the same id in both; those that are new get further ones.

    >>> old = weft.jit.trace(lambda x: (x + 1).exp(), (weft.ones(2),)).graph
    >>> new = weft.jit.passes.rebuild.Rebuild(old)
    >>> for node in old:
    ...     _ = new.keep(node)
    >>> repr(new.finish()) == repr(old)
    True
    """

    verifies = os.environ.get("WEFT_VERIFY") == "1"  # each new graph; it takes time, and tests do

    def __init__(self, old: Graph) -> None:
        self.old, self.new = old, Graph()
        self.new.frozen, self.new.training, self.new.count = old.frozen, old.training, old.count
        self.values: dict[Value, Value] = {}  # of the new graph, by those of the old one
        self.new.inputs = [self._copy(v) for v in old.inputs]
        self.new.constants = [self._copy(v) for v in old.constants]

    def _copy(self, old: Value) -> Value:
        new = self.values[old] = old.twin()
        return new

    def mapped(self, x: Any) -> Any:
        """Return an argument or a list of outputs with the values of the new graph.

        >>> old = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> weft.jit.passes.rebuild.Rebuild(old).mapped([old.inputs[0], 2])
        [%x0: float32[2], 2]
        """
        if type(x) is Value:
            return self.values[x]
        return [self.mapped(v) for v in x] if type(x) is list else x

    def add(self, node: Node, outputs: list[Value]) -> Node:
        """Add a node that gives these values of the new graph."""
        self.new.nodes.append(node.give(outputs))
        return node

    def keep(self, old: Node, **changed: Any) -> Node:
        """Add the twin of an old node, with another ``op``, ``args``, ``inplace`` or ``outputs``.

        Arguments are values of the new graph, outputs are values of the old one.

        >>> old = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> new = weft.jit.passes.rebuild.Rebuild(old)
        >>> new.keep(old.nodes[0], op="mul").op
        'mul'
        """
        parts = [] if changed else [self.as_part(part) for part in old.parts or ()]
        args = changed["args"] if "args" in changed else self._arguments(old)
        op, inplace = changed.get("op", old.op), changed.get("inplace", old.inplace)
        node = Node(op, args, inplace, old.line, old.grad)
        node.graphs, node.parts = old.graphs, parts or None
        outputs = changed.get("outputs", old.outputs)
        return self.add(node, [self.values[v] if parts else self._copy(v) for v in outputs])

    def as_part(self, old: Node) -> Node:
        """Return the twin of an old node, for a node that stands for it."""
        made = self.keep(old)
        self.new.nodes.pop()
        return made

    def join(self, op: str, args: tuple[Any, ...], olds: list[Node]) -> Node:
        """Add an op that stands for several old nodes, in their order, and gives what the last gives.

        >>> old = weft.jit.trace(lambda x: (x * 1).exp(), (weft.ones(2),)).graph
        >>> new = weft.jit.passes.rebuild.Rebuild(old)
        >>> node = new.join("exp", (new.mapped(old.inputs[0]),), old.nodes)
        >>> node.op, [part.op for part in node.parts]
        ('exp', ['mul', 'exp'])
        """
        parts = [
            part for old in olds for made in [self.as_part(old)] for part in made.parts or [made]
        ]
        node = Node(op, args, False, olds[0].line, any(part.grad for part in parts))
        node.parts = parts
        return self.add(node, [self.values[v] for v in olds[-1].outputs])

    def _arguments(self, old: Node) -> tuple[Any, ...]:
        """Return the arguments of an old node with the values of the new graph."""
        values = self.values
        return tuple([
            values[a] if type(a) is Value else self.mapped(a) if type(a) is list else a
            for a in old.args
        ])  # fmt: skip

    def constant(self, name: str, t: Tensor) -> Value:
        """Add a constant under a name that no other value has.

        >>> new = weft.jit.passes.rebuild.Rebuild(weft.jit.Graph())
        >>> new.constant("w", weft.ones(2))
        %w: float32[2]
        """
        taken = {v.name for v in self.new.constants}
        name = name if name not in taken else f"{name}_{len(taken)}"
        made = self.new.fresh(name, *_C._geometry(t))
        made.constant = t
        self.new.constants.append(made)
        return made

    def replace(self, old: Value, by: Value) -> None:
        """Let a value of the new graph stand for one of the old graph.

        >>> old = weft.jit.trace(lambda x: x * 1, (weft.ones(2),)).graph
        >>> new = weft.jit.passes.rebuild.Rebuild(old)
        >>> new.replace(old.nodes[0].outputs[0], new.mapped(old.inputs[0]))
        >>> new.finish().outputs
        [%x0: float32[2]]
        """
        self.values[old] = by

    def finish(self) -> Graph:
        """Return the new graph, without constants that nothing reads; checked if ``verifies`` is set.

        >>> old = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> new = weft.jit.passes.rebuild.Rebuild(old)
        >>> node = new.keep(old.nodes[0])
        >>> len(new.finish().nodes)
        1
        """
        new = self.new
        new.outputs, new.spec = self.mapped(self.old.outputs), self.old.spec
        unread = set(new.constants)
        unread.difference_update(new.results())
        for node in reversed(new.nodes):
            if not unread:
                break
            unread.difference_update(node.inputs())
        new.constants = [v for v in new.constants if v not in unread]
        if self.verifies:
            new.verify()
        return new


def replaced(graph: Graph, changes: Mapping[Node, Change | None]) -> Graph:
    """Return a graph where functions add something else in the place of some nodes; None: nothing.

    >>> g = weft.jit.trace(lambda x: (x * 1).exp(), (weft.ones(2),)).graph
    >>> change = {g.nodes[0]: lambda new, node: new.keep(node, op="div")}
    >>> [node.op for node in weft.jit.passes.rebuild.replaced(g, change)]
    ['div', 'exp']
    """
    return _replaced(graph, changes) if changes else graph


def _replaced(graph: Graph, changes: Mapping[Node, Change | None]) -> Graph:
    new = Rebuild(graph)
    for node in graph:
        change = changes.get(node, Rebuild.keep)
        if change is not None:
            change(new, node)
    return new.finish()


def without(graph: Graph, same: Mapping[Value, Value]) -> Graph:
    """Return a graph in which other values stand for some, and the ops that made those are left out.

    Args:
        graph: it stays as it is, and is returned itself where nothing is to be left out.
        same: by a result of an op, the earlier value that is equal to it.

    >>> g = weft.jit.trace(lambda x: (x * 1).exp(), (weft.ones(2),)).graph
    >>> product = g.nodes[0].outputs[0]
    >>> [node.op for node in weft.jit.passes.rebuild.without(g, {product: g.inputs[0]})]
    ['exp']
    """

    def leave_out(new: Rebuild, node: Node) -> None:
        for v in node.outputs:
            new.replace(v, new.mapped(same[v]))

    return replaced(graph, {v.producer: leave_out for v in same if v.producer is not None})


def copied(graph: Graph) -> Graph:
    """Return a graph of the same nodes on the same constants.

    >>> g = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
    >>> repr(weft.jit.passes.rebuild.copied(g)) == repr(g)
    True
    """
    return _replaced(graph, {})
