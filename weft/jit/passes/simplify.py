"""Ops that give back what they were given are left out."""

from __future__ import annotations

from weft.jit.graph import Value

from .rebuild import Rebuild, escaping, mutates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft.jit.graph import Graph, Node

__all__ = ["simplify"]

# The second operand that changes nothing, in any bit. (x + 0 is not here: it turns -0.0 into 0.0.)
_NEUTRAL = {"mul": 1, "div": 1, "pow": 1, "sub": 0}


def simplify(graph: Graph) -> Graph:
    """Leave out ``x * 1``, ``x / 1``, ``x - 0``, ``x ** 1`` and ``-(-x)``.

    A result that leaves the graph is not touched: it must stay another tensor than the input.

    >>> g = weft.jit.trace(lambda x: (-(-x * 1) / 1).exp(), (weft.ones(2),)).graph
    >>> [node.op for node in weft.jit.passes.simplify(g)]
    ['neg', 'exp']
    """
    if mutates(graph):
        return graph
    seen_outside = escaping(graph)
    new = Rebuild(graph)
    for node in graph:
        same = _unchanged(node, new)
        if same is None or not node.grad or id(node.outputs[0]) in seen_outside:
            new.keep(node)
        else:
            new.replace(node.outputs[0], same)
    return new.finish()


def _unchanged(node: Node, new: Rebuild) -> Value | None:
    """Return the value of the new graph that the output of an old node is equal to."""
    op = node.op.partition(".")[0]
    operands = [new.mapped(a) for a in node.args]
    if op == "mul" and len(operands) == 2 and isinstance(operands[1], Value):
        operands.reverse()
    same: Any = None
    if op == "neg":
        before = operands[0].producer
        if before is not None and before.op == "neg" and before.grad:
            same = before.args[0]
    elif len(operands) == 2 and type(operands[1]) in (int, float):
        same = operands[0] if operands[1] == _NEUTRAL.get(op) else None
    if not isinstance(same, Value) or len(node.outputs) != 1:
        return None
    out = node.outputs[0]
    return same if (same.shape, same.dtype) == (out.shape, out.dtype) else None
