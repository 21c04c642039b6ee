"""A batch norm behind a layer with frozen weights becomes part of these weights."""

from __future__ import annotations

import functools

import weft

from .alias_analysis import changing, readers
from .rebuild import Rebuild, replaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor
    from weft.jit.graph import Graph, Node, Value

    from .rebuild import Change

__all__ = ["fold_batch_norm"]


def fold_batch_norm(graph: Graph) -> Graph:
    """Let convolutions and linear layers do what the batch norm behind them does in evaluation.

    What is added and multiplied is computed in float64 and rounded once; results change by rounding.

    >>> net = weft.nn.Sequential(weft.nn.Conv1d(2, 3, 1), weft.nn.BatchNorm1d(3)).eval()
    >>> frozen = weft.jit.freeze(weft.jit.trace(net, weft.ones(1, 2, 4)))
    >>> [node.op for node in weft.jit.passes.fold_batch_norm(frozen.graph)]
    ['convolve']
    """
    if not graph.frozen:
        return graph
    changes, read = changing(graph), readers(graph)
    found: dict[Node, Change | None] = {}
    for node in graph:
        layer = _layer_before(node, read, changes)
        if layer is not None:
            found[layer] = functools.partial(_fold, norm=node)
            found[node] = None
    return replaced(graph, found)


def _fold(new: Rebuild, layer: Node, norm: Node) -> None:
    weight, bias = _folded(layer, norm)
    name = layer.args[1].name
    w = new.constant(f"{name}_folded", weight)
    b = new.constant(f"{name}_shift", bias)
    made = new.keep(layer, args=(new.mapped(layer.args[0]), w, b, *layer.args[3:]))
    new.replace(norm.outputs[0], made.outputs[0])


def _layer_before(
    norm: Node, read: dict[Value, list[Node | None]], changes: set[Value]
) -> Node | None:
    """Return the layer that can take in a batch norm, or None."""
    if norm.op != "norm_channels":
        return None
    x, weight, bias, mean, variance, own, _ = norm.args
    layer = x.producer
    if own or layer is None or layer.op not in ("convolve", "linear"):
        return None
    if layer.op == "linear" and len(x.shape) != 2:
        return None  # it normalises another dimension than the last
    if read[x] != [norm] or any(v in read for v in norm.outputs[1:]):
        return None
    needed = [layer.args[1], mean, variance]
    others = [v for v in (layer.args[2], weight, bias) if v is not None]
    fixed = all(_fixed(v, changes) for v in (*needed, *others))
    kinds = {v.dtype for v in (*needed, *others) if v is not None} | {x.dtype}
    wide = layer.args[2] is not None and layer.args[2].shape != mean.shape if fixed else True
    return layer if fixed and not wide and len(kinds) == 1 and x.dtype.is_floating_point else None


def _fixed(v: Value | None, changes: set[Value]) -> bool:
    return v is not None and v.constant is not None and v not in changes


def _folded(layer: Node, norm: Node) -> tuple[Tensor, Tensor]:
    """Return the weight and the bias of the layer that does both."""

    def exact(v: Value | None, otherwise: float) -> Any:
        return otherwise if v is None else v.constant.detach().to(weft.float64)  # type: ignore[union-attr]

    _, weight, bias, mean, variance, _, eps = norm.args
    w = layer.args[1].constant.detach()
    with weft.no_grad():
        scale = exact(weight, 1.0) * weft.rsqrt(exact(variance, 0.0) + eps)
        shift = (exact(layer.args[2], 0.0) - exact(mean, 0.0)) * scale + exact(bias, 0.0)
        sizes = [-1] + [1] * (w.dim() - 1)
        return w * scale.to(w.dtype).reshape(sizes), shift.to(w.dtype)
