"""How a pass makes its graph, and what it must know of ops."""

from __future__ import annotations

import functools

from weft import _C
from weft.jit.graph import Graph, Node, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from weft import Tensor

__all__ = [
    "Rebuild", "copied", "escaping", "is_pointwise", "is_python", "is_random", "is_view", "mutates",
    "readers", "shares", "without", "writes", "written",
]  # fmt: skip


class Rebuild:
    """A new graph that begins with the inputs and constants of an old one.

    >>> old = weft.jit.trace(lambda x: (x + 1).exp(), (weft.ones(2),)).graph
    >>> new = weft.jit.passes.rebuild.Rebuild(old)
    >>> for node in old:
    ...     _ = new.keep(node)
    >>> repr(new.finish()) == repr(old)
    True
    """

    verifies = False  # whether each new graph is verified, which takes time: tests set it

    def __init__(self, old: Graph) -> None:
        self.old, self.new = old, Graph()
        self.new.frozen, self.new.training = old.frozen, old.training
        self.values: dict[int, Value] = {}  # by the id of the old value
        self.new.inputs = [self._copy(v) for v in old.inputs]
        self.new.constants = [self._copy(v) for v in old.constants]

    def _copy(self, old: Value) -> Value:
        new = self.values[id(old)] = old.twin()
        return new

    def fresh(self, like: Value, name: str, shape: tuple[int, ...]) -> Value:
        """Return a value that no op has made yet, of the dtype of another.

        >>> old = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> weft.jit.passes.rebuild.Rebuild(old).fresh(old.inputs[0], "y", ())
        %y: float32[]
        """
        new = like.twin()
        new.name, new.shape, new.literal = name, shape, ""
        new.producer = new.constant = new.member = new.stride = None
        return new

    def mapped(self, x: Any) -> Any:
        """Return an argument or a result with the values of the new graph.

        >>> old = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> weft.jit.passes.rebuild.Rebuild(old).mapped([old.inputs[0], 2])
        [%x0: float32[2], 2]
        """
        kind = type(x)
        if kind is Value:
            return self.values[id(x)]
        if isinstance(x, dict):
            return {k: self.mapped(v) for k, v in x.items()}
        if not isinstance(x, (tuple, list)):
            return x
        parts = [self.mapped(v) for v in x]
        return kind(*parts) if hasattr(x, "_fields") else kind(parts)

    def keep(self, old: Node, **changed: Any) -> Node:
        """Add the twin of an old node, with another ``op``, ``args``, ``inplace`` or ``outputs``.

        Arguments are values of the new graph, outputs are values of the old one.

        >>> old = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> new = weft.jit.passes.rebuild.Rebuild(old)
        >>> new.keep(old.nodes[0], op="mul").op
        'mul'
        """
        parts = []
        for part in () if changed else old.parts or ():
            parts.append(self.keep(part))
            self.new.nodes.pop()
        if not changed and not parts:
            return self._add_twin(old)
        args = changed["args"] if "args" in changed else self._arguments(old)
        op, inplace = changed.get("op", old.op), changed.get("inplace", old.inplace)
        node = Node(op, args, inplace, old.line, old.grad)
        outputs = changed.get("outputs", old.outputs)
        node.outputs = [self.mapped(v) if parts else self._copy(v) for v in outputs]
        node.parts = parts or None
        for v in node.outputs:
            v.producer = node
        self.new.nodes.append(node)
        return node

    def _add_twin(self, old: Node) -> Node:
        """Add a node that is as it was."""
        node = Node(old.op, self._arguments(old), old.inplace, old.line, old.grad)
        for v in old.outputs:
            self.values[id(v)] = new = v.twin()
            new.producer = node
            node.outputs.append(new)
        self.new.nodes.append(node)
        return node

    def _arguments(self, old: Node) -> tuple[Any, ...]:
        """Return the arguments of an old node with the values of the new graph."""
        values = self.values
        return tuple([
            values[id(a)] if type(a) is Value else self.mapped(a) if type(a) is list else a
            for a in old.args
        ])  # fmt: skip

    def constant(self, name: str, t: Tensor) -> Value:
        """Add a constant under a name that no other value has.

        >>> new = weft.jit.passes.rebuild.Rebuild(weft.jit.Graph())
        >>> new.constant("w", weft.ones(2))
        %w: float32[2]
        """
        taken = {v.name for v in self.new.constants}
        made = Value(name if name not in taken else f"{name}_{len(taken)}", t)
        made.constant = t
        self.new.constants.append(made)
        return made

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
        """Return the new graph, without constants that nothing reads; checked if ``verifies`` is set.

        >>> old = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
        >>> new = weft.jit.passes.rebuild.Rebuild(old)
        >>> node = new.keep(old.nodes[0])
        >>> len(new.finish().nodes)
        1
        """
        new = self.new
        new.outputs = self.mapped(self.old.outputs)
        unread = {id(v) for v in new.constants}
        unread.difference_update([id(v) for v in new.results()])
        for node in reversed(new.nodes):
            if not unread:
                break
            unread.difference_update([id(v) for v in node.inputs()])
        new.constants = [v for v in new.constants if id(v) not in unread]
        if self.verifies:
            new.verify()
        return new


def without(graph: Graph, same: dict[int, Value]) -> Graph:
    """Return a graph in which other values stand for some, and the ops that made those are left out.

    Args:
        graph: it stays as it is, and is returned itself where nothing is to be left out.
        same: by the id of a result of an op, the earlier value that is equal to it.

    >>> g = weft.jit.trace(lambda x: (x * 1).exp(), (weft.ones(2),)).graph
    >>> product = g.nodes[0].outputs[0]
    >>> [node.op for node in weft.jit.passes.rebuild.without(g, {id(product): g.inputs[0]})]
    ['exp']
    """
    if not same:
        return graph
    new = Rebuild(graph)
    for node in graph:
        if node.outputs and id(node.outputs[0]) in same:
            for v in node.outputs:
                new.replace(v, new.mapped(same[id(v)]))
        else:
            new.keep(node)
    return new.finish()


def copied(graph: Graph) -> Graph:
    """Return a graph of the same nodes on the same constants.

    >>> g = weft.jit.trace(lambda x: x + 1, (weft.ones(2),)).graph
    >>> repr(weft.jit.passes.rebuild.copied(g)) == repr(g)
    True
    """
    new = Rebuild(graph)
    for node in graph:
        new.keep(node)
    return new.finish()


@functools.cache
def _ops_that(fact: Callable[[dict[str, Any]], bool]) -> frozenset[str]:
    return frozenset(row["name"] for row in _C._ops() if fact(row))


def _holds(fact: Callable[[dict[str, Any]], bool], op: str) -> bool:
    """Say whether a fact holds of an op; those that Python declares come later than others."""
    if op not in _ops_that(_is_there):
        _ops_that.cache_clear()
    return op in _ops_that(fact)


def _is_there(row: dict[str, Any]) -> bool:
    return bool(row["name"])


def _has_fixed_shapes(row: dict[str, Any]) -> bool:
    return bool(row["static"])


def _draws(row: dict[str, Any]) -> bool:
    return "Generator" in row["signature"] or row["name"].startswith("dropout")


def _may_alias(row: dict[str, Any]) -> bool:
    return row["view"] or row["composed"] or row["python"]


def _is_pointwise(row: dict[str, Any]) -> bool:
    return row["pointwise"]


def _is_python(row: dict[str, Any]) -> bool:
    return row["python"]


def is_random(node: Node) -> bool:
    """Say whether a node draws random numbers: it can be neither left out nor shared.

    >>> g = weft.jit.trace(lambda x: weft.rand_like(x) + x, (weft.ones(2),)).graph
    >>> [weft.jit.passes.rebuild.is_random(node) for node in g]
    [True, False]
    """
    return _holds(_draws, node.op)


def is_static(node: Node) -> bool:
    """Say whether a static program can hold a node: its shapes follow from those it is given.

    >>> g = weft.jit.trace(lambda x: x.nonzero() + 1, (weft.ones(2),)).graph
    >>> [weft.jit.passes.rebuild.is_static(node) for node in g]
    [False, True]
    """
    return _holds(_has_fixed_shapes, node.op)


def is_pointwise(node: Node) -> bool:
    """Say whether each element of what a node gives follows from one of each of its arguments.

    >>> g = weft.jit.trace(lambda x: x.exp().sum(), (weft.ones(2),)).graph
    >>> [weft.jit.passes.rebuild.is_pointwise(node) for node in g]
    [True, False]
    """
    return _holds(_is_pointwise, node.op)


def is_python(node: Node) -> bool:
    """Say whether a node calls an op that was declared in Python.

    >>> g = weft.jit.trace(lambda x: x.exp(), (weft.ones(2),)).graph
    >>> [weft.jit.passes.rebuild.is_python(node) for node in g]
    [False]
    """
    return _holds(_is_python, node.op)


def is_view(node: Node) -> bool:
    """Say whether what a node gives may lie in the memory of what it takes.

    >>> g = weft.jit.trace(lambda x: x.view(-1).exp(), (weft.ones(2),)).graph
    >>> [weft.jit.passes.rebuild.is_view(node) for node in g]
    [True, False]
    """
    return _holds(_may_alias, node.op)


def writes(node: Node) -> bool:
    """Say whether a node writes into the memory of its first argument.

    >>> g = weft.jit.trace(lambda x: (x * 2).add_(1), (weft.ones(2),)).graph
    >>> [weft.jit.passes.rebuild.writes(node) for node in g]
    [False, True]
    """
    return node.inplace or _is_inplace_name(node.op)


@functools.cache
def _is_inplace_name(op: str) -> bool:
    return op.partition(".")[0].endswith("_")


def shares(node: Node) -> bool:
    """Say whether what a node gives may lie in memory that was there: it is a view, or writes.

    >>> g = weft.jit.trace(lambda x: x.exp().add_(1).view(-1), (weft.ones(2),)).graph
    >>> [weft.jit.passes.rebuild.shares(node) for node in g]
    [False, True, True]
    """
    return node.inplace or _is_sharing_name(node.op)


@functools.cache
def _is_sharing_name(op: str) -> bool:
    return _is_inplace_name(op) or _holds(_may_alias, op)


_STEPS = {"sgd_step_": (0, 2), "adam_step_": (0, 2, 3, 4, 5)}  # lists that they write to


def written(node: Node) -> list[Value]:
    """Return the values into whose memory a node writes.

    >>> g = weft.jit.trace(lambda x: (x * 2).add_(1), (weft.ones(2),)).graph
    >>> [weft.jit.passes.rebuild.written(node) for node in g]
    [[], [%v1: float32[2]]]
    """
    if node.op in _STEPS:
        return [v for i in _STEPS[node.op] for v in node.args[i]]
    return node.inputs()[:1] if writes(node) else []


def mutates(graph: Graph) -> bool:
    """Say whether an op of a graph writes into memory that it did not make.

    >>> f = weft.jit.trace(lambda x: (x * 2).add_(1), (weft.ones(2),))
    >>> weft.jit.passes.rebuild.mutates(f.graph)
    True
    """
    return any(map(writes, graph))


def readers(graph: Graph) -> dict[int, list[Node | None]]:
    """Return who reads each value, by its id; None stands for the caller, who gets it.

    >>> g = weft.jit.trace(lambda x: x.exp() + x, (weft.ones(2),)).graph
    >>> [len(weft.jit.passes.rebuild.readers(g)[id(v)]) for v in (*g.inputs, *g.results())]
    [2, 1]
    """
    found: dict[int, list[Node | None]] = {}
    for node in graph:
        for v in node.inputs():
            found.setdefault(id(v), []).append(node)
    for v in graph.results():
        found.setdefault(id(v), []).append(None)
    return found


def escaping(graph: Graph) -> set[int]:
    """Return the ids of values whose memory the caller gets to see, directly or through views.

    >>> g = weft.jit.trace(lambda x: x.exp().neg().view(-1), (weft.ones(2),)).graph
    >>> seen = weft.jit.passes.rebuild.escaping(g)
    >>> [node.op for node in g if id(node.outputs[0]) in seen]
    ['neg', 'view']
    """
    seen = {id(v) for v in graph.results()}
    for node in reversed(graph.nodes):
        if is_view(node) and _any_in(node.outputs, seen):
            seen.update([id(v) for v in node.inputs()])
    return seen


def _any_in(values: Iterable[Value], ids: set[int]) -> bool:
    return any(id(v) in ids for v in values)
