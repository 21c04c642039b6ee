"""What is the same for real numbers, if not in every bit: for those who allow it."""

from __future__ import annotations

import math

from weft.jit.graph import Value
from weft.jit.op_schema import writes

from .alias_analysis import changing, disturbs, escaping
from .rebuild import Rebuild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft.jit.graph import Graph, Node

__all__ = ["relax"]

_INVERSE = {"exp": "log", "log": "exp"}
_NEUTRAL = {"add": 0.0, "mul": 1.0}
_TINY = 1e-30  # a factor below it may be lost where two factors are not


def relax(graph: Graph) -> Graph:
    """Join ``x * 2 / 4 * 3`` and ``x + 1 - 3`` to one op each; leave out ``x + 0`` and ``x.exp().log()``.

    Results may be rounded otherwise, and NaN, infinities and the signs of zeros need not survive.

    >>> g = weft.jit.trace(lambda x: ((x * 2 / 4 * 3).exp() + 0).log() - 1, (weft.ones(2),)).graph
    >>> from weft.jit.passes import relax, remove_dead, run_passes
    >>> [(node.op, node.args[1]) for node in run_passes(g, (relax, remove_dead))]
    [('mul', 1.5), ('add', -1.0)]
    """
    if disturbs(graph):
        return graph
    kept, changes = escaping(graph), changing(graph)
    found = _Found()
    new = Rebuild(graph)
    for node in graph:
        out = node.outputs[0] if len(node.outputs) == 1 else None
        if out is None or writes(node) or out in changes:
            new.keep(node)
            continue
        before, term = found.undone(node), found.term(node)
        if before is None and term is not None and term[2] == _NEUTRAL[term[0]]:
            before = term[1]
        if before is not None and before not in changes and out not in kept:
            if node.grad and (before.shape, before.dtype) == (out.shape, out.dtype):
                found.same[out] = before
                new.replace(out, new.mapped(before))
                continue
        if term is None or term[1] in changes:
            new.keep(node)
            continue
        op, operand, number = found.terms[out] = term
        new.keep(node, op=op, args=(new.mapped(operand), number))
    return new.finish()


class _Found:
    """What is known of values."""

    def __init__(self) -> None:
        self.same: dict[Value, Value] = {}  # the value that it is equal to
        self.terms: dict[
            Value, tuple[str, Value, float]
        ] = {}  # the op, operand and number it is made of

    def undone(self, node: Node) -> Value | None:
        """Return what an op was given whose inverse the node is."""
        x = self._known(node.args[0]) if node.op in _INVERSE else None
        made_by = x.producer if isinstance(x, Value) else None
        if made_by is None or made_by.op != _INVERSE[node.op] or not made_by.grad:
            return None
        before: Value = self._known(made_by.args[0])
        return before

    def term(self, node: Node) -> tuple[str, Value, float] | None:
        """Return a sum or a product with a number as such, joined with one of which it is made."""
        if node.op not in ("add", "sub", "mul", "div") or len(node.args) != 2:
            return None
        x, number = map(self._known, node.args)
        if node.op in ("add", "mul") and isinstance(number, Value):
            x, number = number, x
        out = node.outputs[0]
        if not isinstance(x, Value) or type(number) not in (int, float):
            return None
        if not out.dtype.is_floating_point or (x.dtype, x.shape) != (out.dtype, out.shape):
            return None
        if node.op == "div" and number == 0:
            return None
        op = "add" if node.op in ("add", "sub") else "mul"
        value = float(-number if node.op == "sub" else 1 / number if node.op == "div" else number)
        earlier, made_by = self.terms.get(x), x.producer
        if earlier and made_by and earlier[0] == op and made_by.grad == node.grad:
            joint = earlier[2] + value if op == "add" else earlier[2] * value
            if math.isfinite(joint) and (op == "add" or abs(joint) > _TINY):
                return op, earlier[1], joint
        return (op, x, value) if math.isfinite(value) else None

    def _known(self, x: Any) -> Any:
        return self.same.get(x, x)
