"""Which quantised layer replaces which layer, and the walk that replaces them."""

from __future__ import annotations

from weft import nn
from weft.nn.module import Module
from weft.quantization.nn import dynamic, intrinsic, qat, quantized
from weft.quantization.stubs import DeQuantStub, QuantStub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["DYNAMIC", "LEARNING", "STATIC", "swap"]

DYNAMIC: dict[Any, Any] = {
    nn.Linear: dynamic.Linear,
    nn.Conv1d: dynamic.Conv1d,
    nn.Conv2d: dynamic.Conv2d,
    nn.Conv3d: dynamic.Conv3d,
    nn.RNN: dynamic.RNN,
    nn.LSTM: dynamic.LSTM,
    nn.GRU: dynamic.GRU,
    nn.RNNCell: dynamic.RNNCell,
    nn.LSTMCell: dynamic.LSTMCell,
    nn.GRUCell: dynamic.GRUCell,
    nn.Embedding: dynamic.Embedding,
    nn.EmbeddingBag: dynamic.EmbeddingBag,
}

STATIC: dict[Any, Any] = {
    nn.Linear: quantized.Linear,
    nn.Conv1d: quantized.Conv1d,
    nn.Conv2d: quantized.Conv2d,
    nn.Conv3d: quantized.Conv3d,
    intrinsic.LinearReLU: quantized.LinearReLU,
    intrinsic.ConvReLU1d: quantized.ConvReLU1d,
    intrinsic.ConvReLU2d: quantized.ConvReLU2d,
    intrinsic.ConvReLU3d: quantized.ConvReLU3d,
    quantized.FloatFunctional: quantized.QFunctional,
    QuantStub: quantized.Quantize,
    DeQuantStub: quantized.DeQuantize,
}

LEARNING: dict[Any, Any] = {
    nn.Linear: qat.Linear,
    nn.Conv1d: qat.Conv1d,
    nn.Conv2d: qat.Conv2d,
    nn.Conv3d: qat.Conv3d,
    intrinsic.LinearReLU: qat.Linear,
    intrinsic.ConvReLU1d: qat.Conv1d,
    intrinsic.ConvReLU2d: qat.Conv2d,
    intrinsic.ConvReLU3d: qat.Conv3d,
    **{
        getattr(intrinsic, f"ConvBn{relu}{n}d"): qat.ConvBn
        for relu in ("", "ReLU")
        for n in (1, 2, 3)
    },
}

_LEARNT = {  # with a ReLU or without
    qat.Linear: (quantized.Linear, quantized.LinearReLU),
    qat.Conv1d: (quantized.Conv1d, quantized.ConvReLU1d),
    qat.Conv2d: (quantized.Conv2d, quantized.ConvReLU2d),
    qat.Conv3d: (quantized.Conv3d, quantized.ConvReLU3d),
}
_OF_CONV = {nn.Conv1d: qat.Conv1d, nn.Conv2d: qat.Conv2d, nn.Conv3d: qat.Conv3d}


def static_class(module: Any) -> Any:
    """Return the class that stands for a prepared layer once it is converted, or None."""
    kind = type(module)
    if kind is qat.ConvBn:
        kind = _OF_CONV[type(module.conv)]
    return _LEARNT[kind][module.relu] if kind in _LEARNT else STATIC.get(kind)


def swap(model: Module, mapping: Mapping[Any, Any], need_qconfig: bool) -> Any:
    """Return a model whose layers of certain classes are replaced, its root too if it is one.

    A layer that stands in several places is replaced by one that does.

    >>> from weft.quantization.swap import DYNAMIC, swap
    >>> model = weft.nn.Sequential(weft.nn.Linear(2, 2), weft.nn.ReLU())
    >>> [type(layer).__module__ for layer in swap(model, DYNAMIC, need_qconfig=False)]
    ['weft.quantization.nn.dynamic', 'weft.nn.activation']
    """
    return replace_layers(
        model,
        lambda layer: (
            None
            if need_qconfig and getattr(layer, "qconfig", None) is None
            else mapping.get(type(layer))
        ),
    )


def replace_layers(model: Module, class_of: Any) -> Any:
    """Return a model in which each layer that ``class_of`` names a class for is replaced."""
    done: dict[int, Any] = {}

    def walk(module: Any, path: str) -> Any:
        if id(module) in done:
            return done[id(module)]
        done[id(module)] = module
        cls = class_of(module)
        if cls is not None:
            _refuse_hooks(module, path)
            done[id(module)] = cls.from_float(module)
            return done[id(module)]
        for name, child in list(module._modules.items()):
            if child is not None:
                new = walk(child, f"{path}.{name}" if path else name)
                if new is not child:
                    module._modules[name] = new
        return module

    return walk(model, "")


def _refuse_hooks(module: Any, path: str) -> None:
    """Raise for a layer with hooks of others: they would be lost, and with them what they do."""
    from weft.quantization.prepare import watch_input, watch_output

    hooks = [*module._forward_pre_hooks.values(), *module._forward_hooks.values()]
    for hook in hooks:
        if hook not in (watch_input, watch_output):
            raise NotImplementedError(
                f"the layer {path or type(module).__name__!r} has a hook, {hook!r}, which its "
                "quantised layer would not have: remove it first (for pruned layers: prune.remove)"
            )
