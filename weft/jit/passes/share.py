"""What is computed twice is computed once."""

from __future__ import annotations

from weft.jit.graph import Value
from weft.jit.op_schema import is_random, writes

from .alias_analysis import changing, disturbs, escaping
from .rebuild import without

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft.jit.graph import Graph, Node

__all__ = ["share"]


def share(graph: Graph) -> Graph:
    """Let equal ops on equal arguments share one result.

    Results that both leave the graph stay apart: a caller may change one of them. So do images that
    may lie channels last: what puts one of them in order leaves the other, and later sums follow.

    >>> g = weft.jit.trace(lambda x: (x * 2).exp() + (x * 2), (weft.ones(2),)).graph
    >>> [node.op for node in weft.jit.passes.share(g)]
    ['mul', 'exp', 'add']
    """
    if disturbs(graph):
        return graph
    seen_outside, apart = escaping(graph), changing(graph) | _images(graph)
    same: dict[Value, Value] = {}  # the first of equal results, by the others
    first: dict[Any, Node] = {}
    for node in graph:
        if node.graphs or is_random(node) or writes(node):
            continue
        if any(v in apart for v in node.outputs):
            continue
        twin = first.setdefault(_key(node, same), node)
        if twin is node or any(
            a in seen_outside and b in seen_outside for a, b in zip(node.outputs, twin.outputs)
        ):
            continue
        for mine, other in zip(node.outputs, twin.outputs):
            same[mine] = other
            if mine in seen_outside:
                seen_outside.add(other)
    return without(graph, same)


def _images(graph: Graph) -> set[Value]:
    """Return what convolutions make, and of what is made of that element by element."""
    found: set[Value] = set()
    for node in graph:
        if node.op.startswith("convolve") or any(v in found for v in node.inputs()):
            found |= {v for v in node.outputs if len(v.shape) > 2}
    return found


def _key(node: Node, same: dict[Value, Value]) -> Any:
    return node.op, node.grad, *[_fact(a, same) for a in node.args]


def _fact(a: Any, same: dict[Value, Value]) -> Any:
    """Return what makes an argument the same as another one."""
    kind = type(a)
    if kind is Value:
        return same.get(a, a)
    if kind is list or kind is tuple:
        return kind, *[_fact(x, same) for x in a]
    return kind, repr(a)
