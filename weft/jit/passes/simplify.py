"""Ops that give back what they were given are left out."""

from __future__ import annotations

import math

from weft.jit.graph import Value
from weft.jit.op_schema import writes

from .alias_analysis import changing, disturbs, escaping
from .rebuild import without

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
    same: dict[Value, Value] = {}  # what results are equal to
    seen_outside: set[Value] | None = None
    changes: set[Value] = set()  # values whose memory is written to
    for node in graph:
        value = _unchanged(node, same) if node.grad else None
        if value is None:
            continue
        if seen_outside is None:
            if disturbs(graph):
                return graph
            changes = changing(graph)
            seen_outside = escaping(graph) | changes
        if node.outputs[0] not in seen_outside and value not in changes:
            same[node.outputs[0]] = value
    return without(graph, same)


def _unchanged(node: Node, same: dict[Value, Value]) -> Value | None:
    """Return the value that the output of a node is equal to."""
    op = node.op.partition(".")[0]
    if op == "pointwise_gradient":
        return None if writes(node) else _same_gradient(node, same)
    if (op not in _NEUTRAL and op != "neg") or writes(node) or len(node.outputs) != 1:
        return None
    operands = [same.get(a, a) for a in node.args]
    if op in ("mul", "add") and len(operands) == 2 and isinstance(operands[1], Value):
        operands.reverse()
    value: Any = None
    if op == "neg":
        before = operands[0].producer
        if before is not None and before.op == "neg" and before.grad:
            value = same.get(before.args[0], before.args[0])
    elif len(operands) == 2 and type(operands[1]) in (int, float):
        value = operands[0] if _neutral(op, *operands) else None
    out = node.outputs[0]
    alike = isinstance(value, Value) and (value.shape, value.dtype) == (out.shape, out.dtype)
    return value if alike else None


def _same_gradient(node: Node, same: dict[Value, Value]) -> Value | None:
    """Return the gradient that a sum passes on as it is."""
    name, operand, g = node.args[:3]
    passed = name == "add" or (name == "sub" and operand == 0)
    out = node.outputs[0]
    return same.get(g, g) if passed and (g.shape, g.dtype) == (out.shape, out.dtype) else None


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
