"""Ops whose results nobody reads are left out."""

from __future__ import annotations

from weft.jit.op_schema import is_random, writes

from .alias_analysis import disturbs
from .rebuild import replaced

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
    read = set(graph.results())
    dead = set()
    for node in reversed(graph.nodes):
        if not (is_random(node) or writes(node)) and read.isdisjoint(node.outputs):
            dead.add(node)
            continue
        for part in (node, *(node.parts or ())):  # which may name a view of what the node reads
            read.update(part.inputs())
    return graph if dead and disturbs(graph) else replaced(graph, dict.fromkeys(dead))
