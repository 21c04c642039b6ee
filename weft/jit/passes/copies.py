"""Copies that nobody could tell from what they copy are left out."""

from __future__ import annotations

from math import prod

from weft.jit.op_schema import written

from .alias_analysis import AliasAnalysis, disturbs
from .rebuild import without

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph, Node, Value

__all__ = ["drop_copies"]


def drop_copies(graph: Graph) -> Graph:
    """Let a copy be what it copies, where neither is written to after and at most one leaves.

    >>> g = weft.jit.trace(lambda x: (x * 2).clone() + 1, (weft.ones(2),)).graph
    >>> [node.op for node in weft.jit.passes.drop_copies(g)]
    ['mul', 'add']
    """
    if not any(map(_copies, graph)) or disturbs(graph):
        return graph
    aliases = AliasAnalysis(graph)
    same: dict[Value, Value] = {}  # what copies are copies of
    first: dict[Value, Value] = {}
    last: dict[Value, int] = {}  # by place: when it is written to
    for now, node in enumerate(graph):
        aliases.follow(node)
        for v in written(node):
            last[aliases.of(v)] = now
        for v in node.outputs:
            first.setdefault(aliases.of(v), v)
    leaving = {aliases.of(v) for v in graph.results()}
    for now, node in enumerate(graph):
        if not _copies(node):
            continue
        source, copy = node.inputs()[0], node.outputs[0]
        place, leaves = aliases.of(source), aliases.of(copy) in leaving
        alike = (source.shape, source.dtype, source.stride) == (copy.shape, copy.dtype, copy.stride)
        ours = (
            source.stride is not None
            and place not in aliases.outside
            and not (leaves and (place in leaving or not _fills(source, first, aliases)))
        )
        settled = last.get(place, -1) < now and aliases.of(copy) not in last
        if alike and ours and settled:
            same[copy] = source
            leaving |= {place} if leaves else set()
    return without(graph, same)


def _copies(node: Node) -> bool:
    return node.op in ("clone", "contiguous_copy") and not node.inplace


def _fills(v: Value, first: dict[Value, Value], aliases: AliasAnalysis) -> bool:
    """Say whether a value is as large as the memory in which it lies."""
    return prod(v.shape) == prod(first[aliases.of(v)].shape)
