"""Ops in place on memory that nobody else looks into become ordinary ops, and back."""

from __future__ import annotations

import functools

import weft
from weft import _C
from weft.jit.graph import Value
from weft.jit.op_schema import is_pointwise, is_view, writes

from .alias_analysis import AliasAnalysis, readers
from .rebuild import Rebuild, replaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft.jit.graph import Graph, Node

    from .rebuild import Change

__all__ = ["in_place", "out_of_place"]


def out_of_place(graph: Graph) -> Graph:
    """Let pointwise ops and copies in place give new values, where no one could tell.

    Other passes leave graphs alone in which memory changes; most networks change only what the
    layer before has made. What changes inputs, parameters or buffers, or what is seen through
    another view later, stays in place.

    >>> g = weft.jit.trace(lambda x: (x * 2).add_(1).relu_(), (weft.ones(2),)).graph
    >>> [node.inplace for node in weft.jit.passes.out_of_place(g)]
    [False, False, False]
    """
    if not any(map(_may_give_new, graph)):
        return graph
    last, aliases = _last_readings(graph), AliasAnalysis(graph)
    changes: dict[Node, Change] = {}
    for now, node in enumerate(graph):
        unseen = _unseen(node, aliases, last, now)
        if unseen and _moves(node, aliases, last, now):
            changes[node] = _leave_out
            aliases.move(node.outputs[0], node.args[1])
            continue
        if unseen and node.inplace and _same_kind(node):
            changes[node] = functools.partial(Rebuild.keep, inplace=False)
        aliases.follow(node, node in changes)
    return replaced(graph, changes)


def _leave_out(new: Rebuild, copy: Node) -> None:
    new.replace(copy.outputs[0], new.mapped(copy.args[1]))


def in_place(graph: Graph) -> Graph:
    """Let pointwise ops write over what nobody reads after them: for runs without gradients.

    >>> g = weft.jit.trace(lambda x: (x * 2).add(1).relu(), (weft.ones(2),)).graph
    >>> [node.inplace for node in weft.jit.passes.in_place(g)]
    [False, True, True]
    """
    last = _last_readings(graph)
    aliases, new = AliasAnalysis(graph), Rebuild(graph)
    for now, node in enumerate(graph):
        over = _overwrites(node, aliases, last, now)
        aliases.follow(node)
        if over:
            aliases.move(node.outputs[0], node.args[0])
        new.keep(node, inplace=node.inplace or over)
    return new.finish()


def _overwrites(node: Node, aliases: AliasAnalysis, last: dict[Value, float], now: int) -> bool:
    """Say whether a node may write over its first argument, which it reads once."""
    target = node.args[0] if node.args else None
    if not isinstance(target, Value) or writes(node) or not _ends(target, aliases, last, now):
        return False
    return sum(v is target for v in node.inputs()) == 1 and _same_kind(node)


def _last_readings(graph: Graph) -> dict[Value, float]:
    """Return when each value is read for the last time."""
    at = {node: i for i, node in enumerate(graph)}
    return {
        v: max(float("inf") if node is None else at[node] for node in found)
        for v, found in readers(graph).items()
    }


def _may_give_new(node: Node) -> bool:
    """Say whether a node is a pointwise op or a copy that changes what another node has made."""
    if not writes(node) or not (node.op == "copy_" or is_pointwise(node)):
        return False
    return node.inputs()[0].producer is not None


def _unseen(node: Node, aliases: AliasAnalysis, last: dict[Value, float], now: int) -> bool:
    """Say whether such a node changes the whole of memory that is read only through what it gives."""
    return _may_give_new(node) and _ends(node.inputs()[0], aliases, last, now)


def _ends(v: Value, aliases: AliasAnalysis, last: dict[Value, float], now: int) -> bool:
    """Say whether a node of the graph made the memory of a value, all of it, for nodes until now."""
    place = aliases.of(v)
    if v.producer is None or is_view(v.producer) or place in aliases.outside:
        return False
    return all(last.get(member, 0) <= now for member in aliases.members.get(place, [place]))


def _moves(node: Node, aliases: AliasAnalysis, last: dict[Value, float], now: int) -> bool:
    """Say whether a node copies what nobody needs any more: then what it gives can be that."""
    if node.op != "copy_" or not isinstance(node.args[1], Value):
        return False
    source, out = node.args[1], node.outputs[0]
    same = (source.shape, source.dtype) == (out.shape, out.dtype)
    return same and _ends(source, aliases, last, now)


def _same_kind(node: Node) -> bool:
    """Say whether an op would give the shape and dtype that it gives in place."""
    target, out = node.inputs()[0], node.outputs[0]
    if not is_pointwise(node) or len(node.outputs) != 1:
        return False
    if (target.shape, target.dtype) != (out.shape, out.dtype):
        return False

    def tiny(a: Any) -> Any:
        if not isinstance(a, Value):
            return a
        return weft.ones((0,) if a.shape else (), dtype=a.dtype)  # numbers count less in promotion

    grad = _C._grad_enabled()
    _C._set_grad_enabled(False)
    try:
        (made,) = _C._call_op(node.op, tuple(map(tiny, node.args)), False)
    finally:
        _C._set_grad_enabled(grad)
    return made.dtype == out.dtype
