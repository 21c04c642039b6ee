"""Ops whose results nobody reads are left out."""

from __future__ import annotations

from .memory import disturbs
from .rebuild import Rebuild, is_random, writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph

__all__ = ["remove_dead"]


def remove_dead(graph: Graph) -> Graph:
    """Leave out what does not lead to a result. Ops that draw random numbers or write stay.

    >>> def f(x):
    ...     x.exp().sum()
    ...     return x + 1
    >>> g = weft.jit.trace(f, (weft.ones(2),)).graph
    >>> [node.op for node in weft.jit.passes.remove_dead(g)]
    ['add']
    """
    read = {id(v) for v in graph.results()}
    needed = set()
    for node in reversed(graph.nodes):
        if is_random(node) or writes(node) or any(id(v) in read for v in node.outputs):
            needed.add(id(node))
            for part in (node, *(node.parts or ())):  # which may name a view of what the node reads
                read.update([id(v) for v in part.inputs()])
    if len(needed) == len(graph.nodes) or disturbs(graph):
        return graph
    new = Rebuild(graph)
    for node in graph:
        if id(node) in needed:
            new.keep(node)
    return new.finish()
