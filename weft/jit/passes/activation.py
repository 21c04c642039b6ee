"""A linear layer, or a convolution, and the activation behind it become one op."""

from __future__ import annotations

import functools

from .alias_analysis import readers
from .rebuild import Rebuild, replaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph, Node, Value

    from .rebuild import Change

__all__ = ["join_activations"]

# The ops of the layer and of the activation, the op of both, and whether that gives what its derivative reads too.
_JOINED = {
    ("linear", "relu"): ("linear_relu", False),
    ("linear", "tanh"): ("linear_tanh", False),
    ("linear", "sigmoid"): ("linear_sigmoid", False),
    ("linear", "gelu_erf"): ("linear_gelu", True),
    ("linear", "gelu_tanh"): ("linear_gelu_tanh", True),
    ("linear", "silu"): ("linear_silu", True),
    ("linear", "mish"): ("linear_mish", True),
    ("linear", "hardswish"): ("linear_hardswish", True),
    ("convolve", "relu"): ("convolve_relu", False),
}
_ACTIVATIONS = {activation for _, activation in _JOINED}


def join_activations(graph: Graph) -> Graph:
    """Let a layer apply the activation that is all that reads it. Results are the same.

    >>> layer = weft.nn.Linear(2, 3)
    >>> g = weft.jit.trace(lambda x: weft.tanh(layer(x)), (weft.ones(1, 2),)).graph
    >>> [node.op for node in weft.jit.passes.join_activations(g)]
    ['linear_tanh']
    """
    read = readers(graph)
    changes: dict[Node, Change | None] = {}
    for node in graph:
        layer = _layer_before(node, read)
        if layer is not None:
            changes[layer] = functools.partial(_join, activation=node)
            changes[node] = None
    return replaced(graph, changes)


def _layer_before(node: Node, read: dict[Value, list[Node | None]]) -> Node | None:
    """Return the layer to which an activation belongs, or None."""
    if node.op not in _ACTIVATIONS:
        return None
    x = node.args[0]
    layer = x.producer
    if layer is None or layer.grad != node.grad or read[x] != [node]:
        return None
    return layer if (layer.op, node.op) in _JOINED and x.dtype.is_floating_point else None


def _join(new: Rebuild, layer: Node, activation: Node) -> None:
    op, pair = _JOINED[layer.op, activation.op]
    outputs = list(activation.outputs)
    if pair:
        outputs += layer.outputs
    made = new.keep(layer, op=op, outputs=outputs)
    if pair and (new.old.frozen or not layer.grad):  # no derivative follows
        made.outputs[1].shape = (0,)
