"""Convolutions one behind the other become one op, which works on a few lines of the image at a time."""

from __future__ import annotations

import functools

import weft

from .alias_analysis import mutates, readers
from .epilogue import ENDING
from .rebuild import Rebuild, replaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft.jit.graph import Graph, Node, Value

    from .rebuild import Change

    Readers = dict[Value, list[Node | None]]

__all__ = ["chain_convolutions"]

_BEGINS = {"convolve": "", "convolve_relu": "bounds 0 inf"}


def chain_convolutions(graph: Graph) -> Graph:
    """Join a convolution with a kernel for each channel and those of 1x1 before and behind it.

    What is between them is then never written as a whole: it stays in the cache. Results are the same
    where an image has more than eight pixels.

    >>> net = weft.nn.Sequential(weft.nn.Conv2d(2, 8, 1), weft.nn.ReLU(), weft.nn.Conv2d(8, 8, 3, groups=8))
    >>> frozen = weft.jit.freeze(weft.jit.trace(net.eval(), weft.ones(1, 2, 9, 9)))
    >>> [node.op for node in weft.jit.passes.chain_convolutions(weft.jit.passes.join_endings(frozen.graph))]
    ['convolve_chain']
    """
    if not graph.frozen or mutates(graph):
        return graph
    read = readers(graph)
    changes: dict[Node, Change | None] = {}
    for node in graph:
        if not _is_deep(node):
            continue
        links = [node]
        before = node.args[0].producer
        if (
            before is not None
            and _is_point(before)
            and _plus(before) is None
            and before not in changes
        ):
            if read[before.outputs[0]] == [node]:
                links.insert(0, before)
        follows = read.get(node.outputs[0], [])
        behind = follows[0] if len(follows) == 1 and _plus(node) is None else None
        if behind is not None and _is_point(behind) and behind.args[0] is node.outputs[0]:
            links.append(behind)
        if len(links) > 1:
            changes.update(dict.fromkeys(links))
            changes[links[-1]] = functools.partial(_chain, links=links)
    return replaced(graph, changes)


def _chain(new: Rebuild, last: Node, links: list[Node]) -> None:
    new.join("convolve_chain", _arguments(new, links), links)


def _arguments(new: Rebuild, links: list[Node]) -> tuple[Any, ...]:
    middle = next(i for i, node in enumerate(links) if _is_deep(node))
    weights = [new.mapped(node.args[1]) for node in links]
    biases = [new.mapped(node.args[2]) for node in links]
    endings = ";".join(_text(node) for node in links)
    plus = _plus(links[-1])
    return (
        new.mapped(links[0].args[0]), weights, biases, *links[middle].args[3:7], middle, endings,
        new.mapped(plus),
    )  # fmt: skip


def _text(node: Node) -> str:
    return node.args[7] if node.op == ENDING else _BEGINS[node.op]


def _plus(node: Node) -> Any:
    return node.args[8] if node.op == ENDING and len(node.args) > 8 else None


def _is_layer(node: Node) -> bool:
    """Say whether a node is a convolution of images of two dimensions."""
    if node.op != ENDING and node.op not in _BEGINS:
        return False
    out = node.outputs[0]
    return len(out.shape) == 4 and out.dtype == weft.float32 and len(node.args[4]) == 2


def _is_deep(node: Node) -> bool:
    """Say whether each channel has a kernel of its own."""
    return _is_layer(node) and node.args[6] == node.args[1].shape[0] == node.args[0].shape[1] > 1


def _is_point(node: Node) -> bool:
    """Say whether each pixel becomes one."""
    if not _is_layer(node) or node.args[6] != 1 or tuple(node.args[1].shape[2:]) != (1, 1):
        return False
    return tuple(node.args[3]) == (1, 1) and tuple(node.args[4]) == (0, 0)
