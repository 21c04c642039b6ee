"""A linear layer, or a convolution, and the activation behind it become one op."""

from __future__ import annotations

import weft

from .rebuild import Rebuild, readers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.jit.graph import Graph, Node

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
# The same where no derivative follows, with the numbers of the activation behind the layer's.
_FORWARD_ONLY = {("convolve", "hardtanh"): "convolve_hardtanh"}
_ACTIVATIONS = {activation for _, activation in (*_JOINED, *_FORWARD_ONLY)}


def join_activations(graph: Graph) -> Graph:
    """Let a layer apply the activation that is all that reads it. Results are the same.

    >>> layer = weft.nn.Linear(2, 3)
    >>> g = weft.jit.trace(lambda x: weft.tanh(layer(x)), (weft.ones(1, 2),)).graph
    >>> [node.op for node in weft.jit.passes.join_activations(g)]
    ['linear_tanh']
    """
    read = readers(graph)
    after: dict[int, Node] = {}  # activations, by the id of their layer
    for node in graph:
        layer = _layer_before(node, read, graph.frozen)
        if layer is not None:
            after[id(layer)] = node
    if not after:
        return graph
    new, gone = Rebuild(graph), {id(node) for node in after.values()}
    for node in graph:
        if id(node) in after:
            _join(new, node, after[id(node)])
        elif id(node) not in gone:
            new.keep(node)
    return new.finish()


def _layer_before(node: Node, read: dict[int, list[Node | None]], frozen: bool) -> Node | None:
    """Return the layer to which an activation belongs, or None."""
    if node.op not in _ACTIVATIONS:
        return None
    x = node.args[0]
    layer = x.producer
    if layer is None or layer.grad != node.grad or read[id(x)] != [node]:
        return None
    if (layer.op, node.op) in _JOINED:
        return layer if x.dtype.is_floating_point else None
    numbers = all(isinstance(v, (int, float)) for v in node.args[1:])
    forward = (layer.op, node.op) in _FORWARD_ONLY and (frozen or not layer.grad)
    return layer if forward and numbers and x.dtype in (weft.float32, weft.float64) else None


def _join(new: Rebuild, layer: Node, activation: Node) -> None:
    if (layer.op, activation.op) in _FORWARD_ONLY:
        op = _FORWARD_ONLY[layer.op, activation.op]
        args = tuple(new.mapped(v) for v in (*layer.args, *map(float, activation.args[1:])))
        new.keep(layer, op=op, args=args, outputs=list(activation.outputs))
        return
    op, pair = _JOINED[layer.op, activation.op]
    outputs = list(activation.outputs)
    if pair:
        outputs += layer.outputs
    made = new.keep(layer, op=op, outputs=outputs)
    if pair and (new.old.frozen or not layer.grad):  # no derivative follows
        made.outputs[1].shape = (0,)
