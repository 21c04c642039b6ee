"""Ops that give back what they were given are left out."""

from __future__ import annotations

import math

from weft.jit.graph import Value

from .memory import disturbs, unchanging
from .rebuild import Rebuild, escaping, writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft.jit.graph import Graph, Node

__all__ = ["simplify"]

# The second operand that changes nothing, in any bit. (0.0 is none of add: -0.0 + 0.0 is 0.0.)
_NEUTRAL = {"mul": 1.0, "div": 1.0, "pow": 1.0, "sub": 0.0, "add": -0.0}
_NEVER_MINUS_ZERO = ("abs", "exp", "sigmoid", "softmax")


def simplify(graph: Graph) -> Graph:
    """Leave out ``x * 1``, ``x / 1``, ``x - 0``, ``x ** 1`` and ``-(-x)``.

    Also ``x + 0``, where ``x`` cannot be a negative zero, which that would make a positive one.
    A result that leaves the graph is not touched: it must stay another tensor than the input.

    >>> g = weft.jit.trace(lambda x: (-(-x * 1) / 1).exp(), (weft.ones(2),)).graph
    >>> [node.op for node in weft.jit.passes.simplify(g)]
    ['neg', 'exp']
    """
    if disturbs(graph):
        return graph
    seen_outside, still = escaping(graph), unchanging(graph)
    new = Rebuild(graph)
    for node in graph:
        same = _unchanged(node, new)
        free = node.outputs and id(node.outputs[0]) in still - seen_outside
        if same is None or not node.grad or not free:
            new.keep(node)
        else:
            new.replace(node.outputs[0], same)
    return new.finish()


def _unchanged(node: Node, new: Rebuild) -> Value | None:
    """Return the value of the new graph that the output of an old node is equal to."""
    if writes(node):
        return None
    op = node.op.partition(".")[0]
    if op == "pointwise_gradient":
        return _same_gradient(node, new)
    operands = [new.mapped(a) for a in node.args]
    if op in ("mul", "add") and len(operands) == 2 and isinstance(operands[1], Value):
        operands.reverse()
    same: Any = None
    if op == "neg":
        before = operands[0].producer
        if before is not None and before.op == "neg" and before.grad:
            same = before.args[0]
    elif len(operands) == 2 and type(operands[1]) in (int, float):
        same = operands[0] if _neutral(op, *operands) else None
    if not isinstance(same, Value) or len(node.outputs) != 1:
        return None
    out = node.outputs[0]
    return same if (same.shape, same.dtype) == (out.shape, out.dtype) else None


def _same_gradient(node: Node, new: Rebuild) -> Value | None:
    """Return the gradient that a sum passes on as it is."""
    name, operand, g = node.args[:3]
    passed = name == "add" or (name == "sub" and operand == 0)
    out = node.outputs[0]
    return new.mapped(g) if passed and (g.shape, g.dtype) == (out.shape, out.dtype) else None


def _neutral(op: str, x: Any, number: float) -> bool:
    """Say whether ``x op number`` is ``x``, in every bit."""
    wanted = _NEUTRAL.get(op)
    if wanted is None or number != wanted or not isinstance(x, Value):
        return False
    if wanted or not x.dtype.is_floating_point:
        return not x.dtype.is_complex
    signed = math.copysign(1, number) == math.copysign(1, wanted)
    made_by = "" if x.producer is None else x.producer.op.partition(".")[0]
    return signed or (op == "add" and made_by in _NEVER_MINUS_ZERO)
