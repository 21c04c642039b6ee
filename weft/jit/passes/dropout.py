"""Dropout does nothing in the mode of evaluation."""

from __future__ import annotations

from .alias_analysis import changing, readers
from .rebuild import Rebuild

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph

__all__ = ["drop_dropout"]


def drop_dropout(graph: Graph) -> Graph:
    """Leave out dropout, of frozen graphs of modules that were traced in the mode of training.

    In a graph that was traced in the mode of evaluation, dropout is there because it is wanted.

    >>> import warnings
    >>> net = weft.nn.Sequential(weft.nn.Dropout(0.5), weft.nn.ReLU())
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     traced = weft.jit.trace(net, weft.ones(2))
    >>> frozen = weft.jit.freeze(traced.eval())
    >>> [node.op for node in weft.jit.passes.drop_dropout(frozen.graph)]
    ['relu']
    """
    if not (graph.frozen and graph.training):
        return graph
    changes, read = changing(graph), readers(graph)
    new = Rebuild(graph)
    for node in graph:
        if node.op != "dropout" or any(v in read for v in node.outputs[1:]):
            new.keep(node)
        elif node.outputs[0] not in changes:
            new.replace(node.outputs[0], new.mapped(node.args[0]))
        else:  # what changes it must not change what came in
            new.keep(node, op="clone", args=(new.mapped(node.args[0]), None),
                     outputs=node.outputs[:1])  # fmt: skip
    return new.finish()
