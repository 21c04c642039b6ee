"""Passes: each takes a graph and returns a better one that computes the same, bit for bit.

A pass reads a graph and builds a new one; the old one stays as it was. Graphs with in-place ops
are returned as they are: there, what may be left out or shared depends on who else sees the memory.
"""

from __future__ import annotations

from .dead import remove_dead
from .fuse import fuse
from .share import share
from .simplify import simplify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.jit.graph import Graph

__all__ = ["PASSES", "fuse", "remove_dead", "run_passes", "share", "simplify"]

PASSES: tuple[Callable[[Graph], Graph], ...] = (simplify, share, remove_dead)


def run_passes(graph: Graph) -> Graph:
    """Run all passes, in order.

    >>> f = weft.jit.trace(lambda x: x.exp() + x.exp() * 1, (weft.ones(2),))
    >>> [node.op for node in weft.jit.passes.run_passes(f.graph)]
    ['exp', 'add']
    """
    for improve in PASSES:
        graph = improve(graph)
    return graph
