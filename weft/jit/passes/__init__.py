"""Passes: each takes a graph and returns a better one that computes the same.

A pass reads a graph and builds a new one, or returns the graph itself where it finds nothing to do;
the old one stays as it was. In tests, every new one is verified (``Rebuild.verifies``). ``PASSES``,
``LAYERS`` and ``STEPS`` keep every bit of the results; of ``INFERENCE``, the folding of batch norms
rounds anew and that of padding leaves out products with zeros, and of ``RELAXED``, ``relax``. Most
passes return graphs with in-place ops as they are: there, what may be left out or shared depends on
who else sees the memory. ``out_of_place`` goes before them.
"""

from __future__ import annotations

from weft.jit.graph import Step, take_apart

from .activation import join_activations
from .chain import chain_convolutions
from .copies import drop_copies
from .dead import remove_dead
from .dropout import drop_dropout
from .epilogue import fold_padding, join_endings
from .fold import fold
from .fuse import fuse
from .inplace import in_place, out_of_place
from .norm import fold_batch_norm
from .rebuild import copied
from .relax import relax
from .share import share
from .simplify import simplify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.jit.graph import Graph

    Pass = Callable[[Graph], Graph]

__all__ = [
    "ENDINGS", "INFERENCE", "LAYERS", "PASSES", "RELAXED", "STEPS", "chain_convolutions", "drop_copies",
    "drop_dropout", "fold", "fold_batch_norm", "fold_padding", "fuse", "in_place", "join_activations",
    "join_endings", "out_of_place", "relax", "remove_dead", "run_passes", "share", "simplify",
]  # fmt: skip

#: What ``jit.optimize`` runs: for any graph.
PASSES: tuple[Pass, ...] = (simplify, share, remove_dead)
#: What ``jit.fuse`` runs: for networks, also those that learn.
LAYERS: tuple[Pass, ...] = (out_of_place, simplify, share, join_activations, remove_dead)
#: Ops that are joined where nothing learns and weights are frozen.
ENDINGS: tuple[Pass, ...] = (join_endings, fold_padding, chain_convolutions, remove_dead)
#: What ``jit.optimize_for_inference`` runs: for networks whose weights are frozen.
INFERENCE: tuple[Pass, ...] = (
    out_of_place, drop_dropout, simplify, share, fold, fold_batch_norm, join_activations, *ENDINGS,
)  # fmt: skip
#: What ``weft.compile`` runs: for any calls, also those that learn.
STEPS: tuple[Pass, ...] = (
    out_of_place, fold, simplify, share, join_activations, join_endings, drop_copies, fuse,
    remove_dead,
)  # fmt: skip

#: The same with ``exact=False``.
RELAXED: tuple[Pass, ...] = (out_of_place, fold, relax, remove_dead, *STEPS[2:])


def run_passes(graph: Graph, passes: tuple[Pass, ...] = PASSES, *, remember: bool = True) -> Graph:
    """Run passes, in order; ``history`` of the result says what each did, if it is to be remembered.

    >>> f = weft.jit.trace(lambda x: x.exp() + x.exp() * 1, (weft.ones(2),))
    >>> g = weft.jit.passes.run_passes(f.graph)
    >>> [node.op for node in g]
    ['exp', 'add']
    >>> [(step.name, len(step.after.nodes)) for step in g.history]
    [('simplify', 3), ('share', 2), ('remove_dead', 2)]
    """
    given, history = graph, list(graph.history)
    before = _without_tensors(graph) if remember else None
    for improve in passes:
        made = improve(graph)
        if before is not None:
            after = before if made is graph else _without_tensors(made)
            history.append(Step(improve.__name__, before, after))
            before = after
        if made is not graph and graph is not given:
            take_apart(graph.nodes)
        graph = made
    graph = copied(graph) if graph is given else graph
    graph.history = history
    return graph


def _without_tensors(graph: Graph) -> Graph:
    """Return a graph to look at, which keeps no memory alive."""
    bare = copied(graph)
    for v in bare.constants:
        v.constant = None
    return bare
