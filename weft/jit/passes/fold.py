"""What does not depend on the inputs is computed once."""

from __future__ import annotations

import math

import weft
from weft import _C
from weft.jit.op_schema import is_python, is_random, writes

from .alias_analysis import changing, escaping
from .rebuild import Rebuild

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
    if not any(_is_fixed(node, node.inputs(), graph) for node in graph):
        return graph
    changes, seen_outside = changing(graph), escaping(graph)
    new = Rebuild(graph)
    for node in graph:
        fixed = (
            _is_fixed(node, [new.mapped(v) for v in node.inputs()], graph)
            and not any(v in changes for v in (*node.inputs(), *node.outputs))
            and not any(v in seen_outside for v in node.outputs)
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


def _is_fixed(node: Node, given: list[Value], graph: Graph) -> bool:
    """Say whether a node gives the same in each run, as far as that follows from what it is given."""
    for v in given if node.op not in _LIKE else ():
        if v.constant is None or not (graph.frozen or v.literal):
            return False
    if is_random(node) or is_python(node) or writes(node):
        return False
    if node.op.startswith("zeros") and len(node.outputs[0].shape) > 3:
        return graph.frozen  # a gradient is added to it: it lies like that, maybe channels last
    return graph.frozen or all(map(_is_small, node.outputs))


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
