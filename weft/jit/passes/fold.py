"""What does not depend on the inputs is computed once."""

from __future__ import annotations

import math

import weft
from weft import _C

from .memory import unchanging
from .rebuild import Rebuild, escaping, is_python, is_random, writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph, Node, Value

__all__ = ["fold"]


def fold(graph: Graph) -> Graph:
    """Compute ops of constants now: of all of them if the graph is frozen, else of literals only.

    Ops that draw random numbers, that write in place or on what is written in place, and results
    that leave the graph (a caller may change them) stay.

    >>> scale = weft.tensor([2.0])
    >>> g = weft.jit.trace(lambda x: x * (scale + 1).sqrt(), (weft.ones(2),)).graph
    >>> [node.op for node in weft.jit.passes.fold(g)]
    ['add', 'sqrt', 'mul']
    >>> g.frozen = True
    >>> [node.op for node in weft.jit.passes.fold(g)]
    ['mul']
    """
    still, seen_outside = unchanging(graph), escaping(graph)
    new = Rebuild(graph)
    for node in graph:
        given = [new.mapped(v) for v in node.inputs()]
        fixed = (
            (node.op in _LIKE or all(_is_fixed(v, graph) for v in given))
            and (graph.frozen or all(_is_small(v) for v in node.outputs))
            and all(id(v) in still for v in (*node.inputs(), *node.outputs))
            and not any(id(v) in seen_outside for v in node.outputs)
            and not (is_random(node) or is_python(node) or writes(node))
        )
        if not fixed:
            new.keep(node)
            continue
        for v, t in zip(node.outputs, _computed(node, new)):
            made = new.constant(v.name, t)
            made.literal = "folded"
            new.replace(v, made)
    return new.finish()


_LIKE = {"ones_like": weft.ones, "zeros_like": weft.zeros}  # of whose input only the shape counts
_SMALL = 4096  # elements: more of them are quicker made than read


def _is_fixed(v: Value, graph: Graph) -> bool:
    return v.constant is not None and (graph.frozen or bool(v.literal))


def _is_small(v: Value) -> bool:
    return math.prod(v.shape) <= _SMALL


def _computed(node: Node, new: Rebuild) -> tuple[object, ...]:
    if node.op in _LIKE:
        (out,) = node.outputs
        return (_LIKE[node.op](out.shape, dtype=out.dtype),)

    def given(a: object) -> object:
        if isinstance(a, list):
            return [given(x) for x in a]
        return getattr(a, "constant", a)

    grad = _C._grad_enabled()
    _C._set_grad_enabled(False)
    try:
        return _C._call_op(node.op, tuple(given(new.mapped(a)) for a in node.args), False)
    finally:
        _C._set_grad_enabled(grad)
