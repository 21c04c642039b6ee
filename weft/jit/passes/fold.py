"""What does not depend on the inputs is computed once."""

from __future__ import annotations

from weft import _C

from .memory import unchanging
from .rebuild import Rebuild, escaping, is_python, is_random, writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph, Node

__all__ = ["fold"]


def fold(graph: Graph) -> Graph:
    """Compute ops of constants now. Only of graphs whose constants are frozen.

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
    if not graph.frozen:
        return graph
    still, seen_outside = unchanging(graph), escaping(graph)
    new = Rebuild(graph)
    for node in graph:
        given = [new.mapped(v) for v in node.inputs()]
        fixed = (
            all(v.constant is not None for v in given)
            and all(id(v) in still for v in (*node.inputs(), *node.outputs))
            and not any(id(v) in seen_outside for v in node.outputs)
            and not (is_random(node) or is_python(node) or writes(node))
        )
        if not fixed:
            new.keep(node)
            continue
        for v, t in zip(node.outputs, _computed(node, new)):
            new.replace(v, new.constant(v.name, t))
    return new.finish()


def _computed(node: Node, new: Rebuild) -> tuple[object, ...]:
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
