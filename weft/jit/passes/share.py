"""What is computed twice is computed once."""

from __future__ import annotations

from weft.jit.graph import Value

from .memory import disturbs, unchanging
from .rebuild import Rebuild, escaping, is_random, writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft.jit.graph import Graph, Node

__all__ = ["share"]


def share(graph: Graph) -> Graph:
    """Let equal ops on equal arguments share one result.

    Results that both leave the graph stay apart: a caller may change one of them.

    >>> g = weft.jit.trace(lambda x: (x * 2).exp() + (x * 2), (weft.ones(2),)).graph
    >>> [node.op for node in weft.jit.passes.share(g)]
    ['mul', 'exp', 'add']
    """
    if disturbs(graph):
        return graph
    seen_outside, still = escaping(graph), unchanging(graph)
    new = Rebuild(graph)
    first: dict[Any, Node] = {}
    for node in graph:
        key = _key(node, new)
        alone = is_random(node) or writes(node) or any(id(v) not in still for v in node.outputs)
        twin = None if alone else first.setdefault(key, node)
        apart = twin is not None and any(
            {id(a), id(b)} <= seen_outside for a, b in zip(node.outputs, twin.outputs)
        )
        if twin is None or twin is node or apart:
            new.keep(node)
        else:
            for mine, other in zip(node.outputs, twin.outputs):
                new.replace(mine, new.mapped(other))
                if id(mine) in seen_outside:
                    seen_outside.add(id(other))
    return new.finish()


def _key(node: Node, new: Rebuild) -> Any:
    return node.op, node.grad, tuple(_fact(new.mapped(a)) for a in node.args)


def _fact(a: Any) -> Any:
    """Return what makes an argument the same as another one."""
    if isinstance(a, Value):
        return id(a)
    if isinstance(a, (list, tuple)):
        return type(a).__name__, tuple(map(_fact, a))
    return type(a).__name__, repr(a)
