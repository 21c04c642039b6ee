"""The backward pass of some results of a call, made of the backward pass of all of them.

A backward pass from fewer results visits some of the nodes, in the same order. What they get from others is
missing: a sum of gradients has fewer parts, and a node of several results takes zeros, or nothing, for
those that got none. So each op of the whole backward graph is left out, kept, or kept with zeros; a sum that has
lost a part is the other one.
"""

from __future__ import annotations

import functools

from weft import _C
from weft.jit.graph import Graph, Node, Value
from weft.jit.op_schema import written
from weft.jit.passes.alias_analysis import AliasAnalysis

from .segments import Segment, renamed
from .segments import leaves as values_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .backward import BackwardGraph

__all__ = ["Underivable", "are_alike", "partial_backward"]


class Underivable(Exception):
    """An op writes to memory that some of the results lead to, and others do not."""


class _Choice:
    """What is there if some of the gradients are."""

    def __init__(self, backward: BackwardGraph, chosen: tuple[int, ...]) -> None:
        self.chosen = sum(1 << i for i in chosen)
        self.aliases = AliasAnalysis(Graph())
        self.origins = {
            g: 1 << i for i, g in enumerate(backward.arriving)
        }  # of a place, bit by bit
        self.same: dict[Value, Value] = {}  # sums that are one of their parts, and zeros
        self.nodes: list[Node] = []
        for node in backward.segment.nodes:
            self._take(node)

    def _origin(self, v: Value) -> int:
        return self.origins.get(self.aliases.of(v), 0)

    def is_absent(self, v: Value) -> bool:
        """Say whether a value depends on gradients only that are not there."""
        return self._origin(v) != 0 and not self._origin(v) & self.chosen

    def _take(self, node: Node) -> None:
        given = [v for v in node.inputs() if self._origin(v)]
        absent = [v for v in given if self.is_absent(v)]
        mixed = 0 < len(absent) < len(given)
        self.aliases.follow(node)
        changed = written(node)
        if changed and (mixed or any(v in self.same for v in changed)):
            raise Underivable
        if mixed and _is_sum(node):
            (left,) = (v for v in given if not self.is_absent(v))
            self.same[node.outputs[0]] = renamed(left, self.same)
        elif not given or len(absent) < len(given):
            self._keep(node, absent)
        origin = 0
        for v in given:
            origin |= self._origin(v)
        for v in [*node.outputs, *changed]:
            self.origins[self.aliases.of(v)] = self._origin(v) | origin

    def _keep(self, node: Node, absent: list[Value]) -> None:
        gone = set(absent)
        args = list(node.args)
        for i, may_miss in zip(range(len(args)), _optional(node.op)):
            if may_miss and args[i] in gone:
                args[i] = None
        left = dict.fromkeys(v for v in values_in(args) if v in gone)
        same = {**self.same, **{v: self._zeros(v, node) for v in left}}
        kept = Node(node.op, renamed(tuple(args), same), node.inplace, node.line, node.grad)
        kept.outputs = node.outputs
        self.nodes.append(kept)

    def _zeros(self, like: Value, reader: Node) -> Value:
        node = Node("zeros", (like.shape, like.dtype), False, reader.line, reader.grad)
        made = Value(like.id, f"{like.name}_zeros", like.shape, like.dtype, like.stride)
        self.nodes.append(node)
        node.outputs = [made]
        return made


def _is_sum(node: Node) -> bool:
    """Say whether it is one of two gradients, as the walk makes it."""
    parts = {(v.shape, v.dtype) for v in [*node.inputs(), *node.outputs]}
    return node.op == "add" and len(node.args) == len(node.inputs()) == 2 and len(parts) == 1


@functools.cache
def _optional(op: str) -> list[bool]:
    """Say which parameters of an op are tensors that may be missing."""
    signature = next((row["signature"] for row in _C._ops() if row["name"] == op), "()")
    parts = signature.partition("(")[2].partition(")")[0].split(", ")
    return [part.startswith("Tensor? ") for part in parts if part != "*"]


def partial_backward(backward: BackwardGraph, chosen: tuple[int, ...]) -> BackwardGraph:
    """Return the backward graph of some results, given that of all; ``chosen``: their positions."""
    choice = _Choice(backward, chosen)

    def is_there(given: Any) -> bool:
        return not any(choice.is_absent(v) for v in values_in(given))

    rows = [[g for g in row if is_there(g)] for row in backward.gradients]
    rows = renamed(rows, choice.same)
    arriving = [backward.arriving[i] for i in chosen]
    return type(backward)(
        arriving, Segment(_without_dead(choice.nodes, rows), backward.segment.exact), rows
    )


def _without_dead(nodes: list[Node], results: Any) -> list[Node]:
    """Return the ops on which the results depend."""
    aliases = AliasAnalysis(Graph())
    for node in nodes:
        aliases.follow(node)
    needed = {aliases.of(v) for v in values_in(results)}
    kept = []
    for node in reversed(nodes):
        if any(aliases.of(v) in needed for v in [*node.outputs, *written(node)]):
            needed |= {aliases.of(v) for v in node.inputs()}
            kept.append(node)
    return kept[::-1]


def are_alike(a: BackwardGraph, b: BackwardGraph) -> bool:
    """Say whether two backward graphs do the same, whichever values stand for it; zeros may be made at any time."""
    same = dict(zip(a.arriving, b.arriving))
    zeros: dict[Value, Any] = {}
    ours, theirs = _but_zeros(a, zeros), _but_zeros(b, zeros)
    for m, n in zip(ours, theirs):
        if (m.op, m.inplace, len(m.args)) != (n.op, n.inplace, len(n.args)):
            return False
        if not all(_match(x, y, same, zeros) for x, y in zip(m.args, n.args)):
            return False
        same.update(zip(m.outputs, n.outputs))
    return len(ours) == len(theirs) and _match(a.gradients, b.gradients, same, zeros)


def _but_zeros(backward: BackwardGraph, zeros: dict[Value, Any]) -> list[Node]:
    """Return the ops that do not make zeros; those are noted, unless they are written to."""
    nodes = _without_dead(backward.segment.nodes, backward.gradients)
    changed = {v for node in nodes for v in written(node)}
    others = []
    for node in nodes:
        v = node.outputs[0]
        if node.op in ("zeros", "zeros_like") and v not in changed:
            zeros[v] = v.shape, v.dtype
        else:
            others.append(node)
    return others


def _match(a: Any, b: Any, same: dict[Value, Value], zeros: dict[Value, Any]) -> bool:
    if isinstance(a, Value) and isinstance(b, Value):
        if a in zeros or b in zeros:
            return bool(zeros.get(a) == zeros.get(b))
        equal = a.literal != "" and a.literal == b.literal
        return same.get(a, a) is b or equal
    if isinstance(a, (list, tuple)):
        if type(a) is not type(b) or len(a) != len(b):
            return False
        return all(_match(x, y, same, zeros) for x, y in zip(a, b))
    return type(a) is type(b) and (a is b or a == b)
