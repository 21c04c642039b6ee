"""How a pass makes its graph, and what it must know of ops."""

from __future__ import annotations

import functools

from weft import _C
from weft.jit.graph import Graph, Node, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["Rebuild", "escaping", "is_random", "may_alias", "mutates"]


class Rebuild:
    """A new graph that begins with the inputs and constants of an old one.

    >>> old = weft.jit.trace(lambda x: (x + 1).exp(), (weft.ones(2),)).graph
    >>> new = weft.jit.passes.rebuild.Rebuild(old)
    >>> for node in old:
    ...     new.keep(node)
    >>> repr(new.finish()) == repr(old)
    True
    """

    def __init__(self, old: Graph) -> None:
        self.old, self.new = old, Graph()
        self.values: dict[int, Value] = {}  # by the id of the old value
        self.new.inputs = [self._copy(v) for v in old.inputs]
        self.new.constants = [self._copy(v) for v in old.constants]

    def _copy(self, old: Value) -> Value:
        new = Value.__new__(Value)
        for name in Value.__slots__:
            setattr(new, name, getattr(old, name))
        self.values[id(old)] = new
        return new

    def fresh(self, like: Value, name: str, shape: tuple[int, ...]) -> Value:
        """Return a value that no op has made yet, of the dtype of another.

        >>> old = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> weft.jit.passes.rebuild.Rebuild(old).fresh(old.inputs[0], "y", ())
        %y: float32[]
        """
        new = Value.__new__(Value)
        for slot in Value.__slots__:
            setattr(new, slot, getattr(like, slot))
        new.name, new.shape, new.producer = name, shape, None
        new.constant = new.member = None
        return new

    def mapped(self, x: Any) -> Any:
        """Return an argument or a result with the values of the new graph.

        >>> old = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> weft.jit.passes.rebuild.Rebuild(old).mapped([old.inputs[0], 2])
        [%x0: float32[2], 2]
        """
        if isinstance(x, Value):
            return self.values[id(x)]
        if isinstance(x, dict):
            return {k: self.mapped(v) for k, v in x.items()}
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*map(self.mapped, x))
        return type(x)(map(self.mapped, x)) if isinstance(x, (tuple, list)) else x

    def keep(self, old: Node) -> None:
        """Add the twin of an old node.

        >>> old = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> new = weft.jit.passes.rebuild.Rebuild(old)
        >>> new.keep(old.nodes[0])
        >>> new.new.nodes[0].op
        'add'
        """
        parts = []
        for part in old.parts or ():
            self.keep(part)
            parts.append(self.new.nodes.pop())
        args = tuple(self.mapped(a) for a in old.args)
        node = Node(old.op, args, old.inplace, old.line, old.grad)
        node.outputs = [self.mapped(v) if parts else self._copy(v) for v in old.outputs]
        node.parts = parts or None
        for v in node.outputs:
            v.producer = node
        self.new.nodes.append(node)

    def replace(self, old: Value, by: Value) -> None:
        """Let a value of the new graph stand for one of the old graph.

        >>> old = weft.jit.trace(lambda x: x * 1, (weft.ones(2),)).graph
        >>> new = weft.jit.passes.rebuild.Rebuild(old)
        >>> new.replace(old.nodes[0].outputs[0], new.mapped(old.inputs[0]))
        >>> new.finish().outputs
        %x0: float32[2]
        """
        self.values[id(old)] = by

    def finish(self) -> Graph:
        """Return the new graph, checked, without constants that nothing reads.

        >>> old = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> new = weft.jit.passes.rebuild.Rebuild(old)
        >>> new.keep(old.nodes[0])
        >>> len(new.finish().nodes)
        1
        """
        new = self.new
        new.outputs = self.mapped(self.old.outputs)
        read = {id(v) for node in new for v in node.inputs()}
        read |= {id(v) for v in new.results()}
        new.constants = [v for v in new.constants if id(v) in read]
        new.verify()
        return new


@functools.cache
def _ops_that(fact: Callable[[dict[str, Any]], bool]) -> frozenset[str]:
    return frozenset(row["name"] for row in _C._ops() if fact(row))


def _draws(row: dict[str, Any]) -> bool:
    return "Generator" in row["signature"] or row["name"].startswith("dropout")


def _is_alias(row: dict[str, Any]) -> bool:
    return row["view"] or row["composed"] or row["python"]


def may_alias(node: Node) -> bool:
    """Say whether results of a node may look into the memory of what it reads.

    >>> g = weft.jit.trace(lambda x: x.exp().view(-1), (weft.ones(2),)).graph
    >>> [weft.jit.passes.rebuild.may_alias(node) for node in g]
    [False, True]
    """
    return node.op in _ops_that(_is_alias)


def is_random(node: Node) -> bool:
    """Say whether a node draws random numbers: it can be neither left out nor shared.

    >>> g = weft.jit.trace(lambda x: weft.rand_like(x) + x, (weft.ones(2),)).graph
    >>> [weft.jit.passes.rebuild.is_random(node) for node in g]
    [True, False]
    """
    return node.op in _ops_that(_draws)


def mutates(graph: Graph) -> bool:
    """Say whether an op of a graph writes into memory that it did not make.

    >>> f = weft.jit.trace(lambda x: (x * 2).add_(1), (weft.ones(2),))
    >>> weft.jit.passes.rebuild.mutates(f.graph)
    True
    """
    return any(node.inplace or node.op.partition(".")[0].endswith("_") for node in graph)


def escaping(graph: Graph) -> set[int]:
    """Return the ids of values whose memory the caller gets to see, directly or through views.

    >>> g = weft.jit.trace(lambda x: x.exp().neg().view(-1), (weft.ones(2),)).graph
    >>> seen = weft.jit.passes.rebuild.escaping(g)
    >>> [node.op for node in g if id(node.outputs[0]) in seen]
    ['neg', 'view']
    """
    seen = {id(v) for v in graph.results()}
    for node in reversed(graph.nodes):
        if may_alias(node) and _any_in(node.outputs, seen):
            seen |= {id(v) for v in node.inputs()}
    return seen


def _any_in(values: Iterable[Value], ids: set[int]) -> bool:
    return any(id(v) in ids for v in values)
