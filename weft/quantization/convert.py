"""From models of floats to models with int8 weights."""

from __future__ import annotations

import copy

import weft
from weft import nn
from weft.nn.module import Module
from weft.quantization.kinds import qint8, quint8
from weft.quantization.qconfig import default_dynamic_qconfig, float_qparams_weight_only_qconfig
from weft.quantization.swap import DYNAMIC, replace_layers, static_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

__all__ = ["convert", "quantize_dynamic"]

_TABLES = (nn.Embedding, nn.EmbeddingBag)
_USUAL = (nn.Linear, nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.RNNCell, nn.GRUCell)


def quantize_dynamic(
    model: Module,
    qconfig_spec: Mapping[Any, Any] | Iterable[Any] | None = None,
    dtype: Any = qint8,
    mapping: Mapping[Any, Any] | None = None,
    inplace: bool = False,
) -> Any:
    """Return a model whose layers have int8 weights, and find the scale of their inputs at run time.

    Args:
        model: the model.
        qconfig_spec: which layers: classes and names, or a dictionary from these to qconfigs
            (default: linear and recurrent layers; for ``quint8``, embeddings).
        dtype: ``qint8``, or ``quint8`` for embeddings.
        mapping: classes of layers, and of those that stand for them.
        inplace: change the model itself.

    >>> model = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.ReLU(), weft.nn.Linear(8, 2))
    >>> q = weft.quantization.quantize_dynamic(model, {weft.nn.Linear}, dtype=weft.qint8)
    >>> q[0].weight_int8.dtype, q(weft.ones(3, 4)).shape
    (torch.int8, torch.Size([3, 2]))
    """
    if dtype not in (qint8, quint8):
        raise NotImplementedError(f"quantize_dynamic: dtype {dtype} is not supported")
    default = default_dynamic_qconfig if dtype is qint8 else float_qparams_weight_only_qconfig
    if qconfig_spec is None:
        qconfig_spec = _USUAL if dtype is qint8 else _TABLES
    spec = (
        dict(qconfig_spec)
        if isinstance(qconfig_spec, dict)
        else dict.fromkeys(qconfig_spec, default)
    )
    known = DYNAMIC if mapping is None else mapping
    for key in spec:
        if not isinstance(key, str) and key not in known:
            name = getattr(key, "__name__", repr(key))
            raise NotImplementedError(f"quantize_dynamic: layers of class {name} are not supported")
    model = model if inplace else copy.deepcopy(model)
    chosen = _chosen(model, spec, known)

    def class_of(layer: Module) -> Any:
        if id(layer) not in chosen:
            return None
        layer.qconfig = chosen[id(layer)]
        return known[type(layer)]

    return replace_layers(model, class_of)


def _chosen(model: Module, spec: Any, known: Any) -> dict[int, Any]:
    """The qconfigs of the layers to replace: of their name, else of their class, else of a parent."""
    found: dict[int, Any] = {}

    def walk(module: Module, path: str, inherited: Any) -> None:
        config = spec.get(path, spec.get(type(module), inherited))
        if type(module) in known:
            if config is not None:
                found.setdefault(id(module), config)
            return
        for name, child in module.named_children():
            # A name stands for all that is below it, a class only for its own layers.
            walk(child, f"{path}.{name}" if path else name, spec.get(path, inherited))

    walk(model, "", None)
    return found


def convert(
    module: Module,
    mapping: Mapping[Any, Any] | None = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: Any = None,
) -> Any:
    """Return a prepared model with quantised layers in the place of the observed ones.

    Args:
        module: what ``prepare`` or ``prepare_qat`` returned.
        mapping: classes of prepared layers, and of those that stand for them.
        inplace: change the model itself.
        remove_qconfig: remove the ``qconfig`` of all modules.
        is_reference: not supported.
        convert_custom_config_dict: not supported.

    >>> n, q = weft.nn, weft.quantization
    >>> model = n.Sequential(q.QuantStub(), n.Linear(2, 2), q.DeQuantStub()).eval()
    >>> model.qconfig = q.default_qconfig
    >>> prepared = q.prepare(model)
    >>> y = prepared(weft.tensor([[0.0, 12.7]]))
    >>> q.convert(prepared)[0]
    Quantize(scale=0.1000..., zero_point=0, dtype=torch.quint8)
    """
    if is_reference:
        raise NotImplementedError("convert: is_reference is not supported")
    if convert_custom_config_dict is not None:
        raise NotImplementedError("convert: convert_custom_config_dict is not supported")
    module = module if inplace else copy.deepcopy(module)

    def class_of(layer: Any) -> Any:
        if type(layer) is weft.quantization.DeQuantStub:
            return static_class(layer)
        if not isinstance(getattr(layer, "activation_post_process", None), Module):
            return None
        if isinstance(layer.activation_post_process, nn.Identity):  # never prepared
            return None
        return static_class(layer) if mapping is None else mapping.get(type(layer))

    with weft.no_grad():
        new = replace_layers(module, class_of)
    if remove_qconfig:
        for each in new.modules():
            vars(each).pop("qconfig", None)
    return new
