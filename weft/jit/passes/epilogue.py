"""What follows a convolution and needs no derivative becomes its ending, done while results are near."""

from __future__ import annotations

import functools

import weft
from weft.jit.graph import Value

from .alias_analysis import mutates, readers
from .rebuild import Rebuild, replaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from weft.jit.graph import Graph, Node

    from .rebuild import Change

    Readers = dict[Value, list[Node | None]]

__all__ = ["ENDING", "fold_padding", "join_endings"]

ENDING = "convolve_ending"
_ACTIVATIONS = frozenset({
    "silu", "sigmoid", "tanh", "gelu_erf", "gelu_tanh", "mish", "hardswish", "hardsigmoid",
})  # fmt: skip
_RELU = "bounds 0 inf"
_BEGINS = {"convolve": "", "convolve_relu": _RELU}  # layers, and what they end with
_TYPES = (weft.float32, weft.float64)


def join_endings(graph: Graph) -> Graph:
    """Let convolutions apply activations, add what is added to them, and apply bounds to the sum.

    Results are the same, bit for bit. Nodes that record a history stay as they are.

    >>> net = weft.nn.Sequential(weft.nn.Conv1d(2, 2, 1), weft.nn.SiLU()).eval()
    >>> frozen = weft.jit.freeze(weft.jit.trace(net, weft.ones(1, 2, 3)))
    >>> [(node.op, node.args[7]) for node in weft.jit.passes.join_endings(frozen.graph)]
    [('convolve_ending', 'silu')]
    """
    if mutates(graph):
        return graph
    read = readers(graph)
    changes: dict[Node, Change | None] = {}
    for layer in reversed(
        graph.nodes
    ):  # of two layers that are added, the later one takes the sum in
        if layer.op not in _BEGINS or (layer.grad and not graph.frozen):
            continue
        if layer.outputs[0].dtype not in _TYPES:
            continue
        nodes, text, plus = _ending(layer, read, changes)
        if nodes:
            changes.update(dict.fromkeys([layer, *nodes]))
            changes[nodes[-1]] = functools.partial(
                _join, nodes=[layer, *nodes], text=text, plus=plus
            )
    return replaced(graph, changes)


def _join(new: Rebuild, last: Node, nodes: list[Node], text: str, plus: Value | None) -> None:
    new.join(ENDING, (*map(new.mapped, nodes[0].args), text, new.mapped(plus)), nodes)


def _ending(
    layer: Node, read: Readers, taken: Container[Node]
) -> tuple[list[Node], str, Value | None]:
    """Return the nodes behind a layer that it can take in, what they do, and what is added."""
    nodes: list[Node] = []
    words = [_BEGINS[layer.op]] if _BEGINS[layer.op] else []
    plus: Value | None = None
    at = layer
    while True:
        out = at.outputs[0]
        follows = read.get(out, [])
        node = follows[0] if len(follows) == 1 else None
        if node is None or node in taken or len(node.outputs) != 1:
            break
        if node.inplace or node.outputs[0].shape != out.shape or node.outputs[0].dtype != out.dtype:
            break
        if plus is None and _is_sum(node, out):
            plus = node.args[1] if node.args[0] is out else node.args[0]
            words.append("add")
        else:
            word = _word(node, out)
            if (
                not word
                or (words and words[-1] != "add")
                or (plus is not None and word in _ACTIVATIONS)
            ):
                break
            words.append(word)
        nodes.append(node)
        at = node
    return nodes, " ".join(words), plus


def _is_sum(node: Node, out: Value) -> bool:
    """Say whether a node adds another tensor of the same kind."""
    if node.op != "add" or (len(node.args) > 2 and node.args[2] != 1):
        return False
    a, b = node.args[:2]
    if not isinstance(a, Value) or not isinstance(b, Value) or a is b:
        return False
    return all(v.shape == out.shape and v.dtype == out.dtype for v in (a, b))


def _word(node: Node, out: Value) -> str:
    """Return how an ending calls an activation, or nothing."""
    if node.args[0] is not out:
        return ""
    if node.op == "relu":
        return _RELU
    if node.op == "hardtanh" and all(type(v) in (int, float) for v in node.args[1:]):
        low, high = map(float, node.args[1:])
        return f"bounds {low!r} {high!r}" if low <= high else ""
    return node.op if node.op in _ACTIVATIONS else ""


def fold_padding(graph: Graph) -> Graph:
    """Let convolutions pad their input with zeros where an op before them does so.

    What the zeros are multiplied by need not be computed: results differ where weights are not finite.

    >>> net = weft.nn.Sequential(weft.nn.ZeroPad1d((1, 0)), weft.nn.Conv1d(2, 3, 2)).eval()
    >>> frozen = weft.jit.freeze(weft.jit.trace(net, weft.ones(1, 2, 4)))
    >>> node = weft.jit.passes.fold_padding(frozen.graph).nodes[-1]
    >>> node.op, node.args[4]
    ('convolve_ending', [1, 0])
    """
    if not graph.frozen or mutates(graph):
        return graph
    new, found = Rebuild(graph), False
    for node in graph:
        sides = _sides(node)
        if sides is None:
            new.keep(node)
            continue
        found = True
        pad = node.args[0].producer
        rest = [new.mapped(a) for a in node.args[1:]]
        rest[3] = sides
        end = rest[6:] if node.op == ENDING else [_BEGINS[node.op], None]
        padded = new.mapped(node.args[0])  # others may read it
        new.join(ENDING, (new.mapped(pad.args[0]), *rest[:6], *end), [pad, node])
        new.replace(node.args[0], padded)
    return new.finish() if found else graph


def _sides(node: Node) -> list[int] | None:
    """Return the padding before and behind the image of a layer whose input was padded, or None."""
    if node.op not in (*_BEGINS, ENDING) or node.outputs[0].dtype not in _TYPES:
        return None
    x, dims = node.args[0], len(node.args[3])
    padded = x.producer
    if padded is None or padded.op != "constant_pad_nd" or len(node.args[4]) != dims:
        return None
    pads, value = list(padded.args[1]), padded.args[2] if len(padded.args) > 2 else 0
    if type(value) not in (int, float) or value != 0 or len(pads) > 2 * dims or min(pads) < 0:
        return None
    pads += [0] * (2 * dims - len(pads))
    own: Any = node.args[4]
    before = [own[i] + pads[2 * (dims - 1 - i)] for i in range(dims)]
    behind = [own[i] + pads[2 * (dims - 1 - i) + 1] for i in range(dims)]
    return [*before, *behind]
