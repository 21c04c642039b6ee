"""``prepare`` and ``prepare_qat``: models with observers, which calibrate scales."""

from __future__ import annotations

import copy

import weft
from weft.nn.module import Module
from weft.quantization.nn import qat
from weft.quantization.nn.functional import FloatFunctional
from weft.quantization.qconfig import check_qconfig
from weft.quantization.stubs import QuantStub
from weft.quantization.swap import LEARNING, STATIC, swap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["prepare", "prepare_qat", "propagate_qconfig_", "quantize", "quantize_qat"]

_OBSERVED = (*STATIC, qat.Linear, qat.Conv1d, qat.Conv2d, qat.Conv3d, qat.ConvBn)


def propagate_qconfig_(module: Module, qconfig_dict: Mapping[Any, Any] | None = None) -> None:
    """Give each module a ``qconfig``: its own, that of its name or class, or that of its parent.

    Args:
        module: the model.
        qconfig_dict: qconfigs by name or class of modules; "" is that of the model.

    >>> model = weft.nn.Sequential(weft.nn.Linear(2, 2))
    >>> weft.quantization.propagate_qconfig_(model, {"": weft.quantization.default_qconfig})
    >>> model[0].qconfig is weft.quantization.default_qconfig
    True
    """
    given = dict(qconfig_dict or {})

    def walk(at: Module, path: str, inherited: Any) -> None:
        own = vars(at).get("qconfig", given.get(path, given.get(type(at), inherited)))
        check_qconfig(own)
        at.qconfig = own
        for name, child in at.named_children():
            walk(child, f"{path}.{name}" if path else name, own)

    walk(module, "", None)


def prepare(
    model: Module,
    inplace: bool = False,
    allow_list: Any = None,
    observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Module:
    """Return a copy of a model that watches what goes into and comes out of its layers.

    Set ``model.qconfig`` first, run a few batches through the copy, then call ``convert``.

    Args:
        model: a model in evaluation mode.
        inplace: change the model itself.
        allow_list: not supported.
        observer_non_leaf_module_list: not supported.
        prepare_custom_config_dict: not supported.

    >>> model = weft.nn.Sequential(weft.nn.Linear(2, 2)).eval()
    >>> model.qconfig = weft.quantization.get_default_qconfig()
    >>> prepared = weft.quantization.prepare(model)
    >>> y = prepared(weft.ones(1, 2))
    >>> weft.quantization.convert(prepared)[0]
    QuantizedLinear(in_features=2, out_features=2, scale=..., zero_point=..., qscheme=...)
    """
    given = {
        "allow_list": allow_list,
        "observer_non_leaf_module_list": observer_non_leaf_module_list,
        "prepare_custom_config_dict": prepare_custom_config_dict,
    }
    for name, value in given.items():
        if value is not None:
            raise NotImplementedError(f"prepare: {name} is not supported")
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    _need_some(model, "prepare")
    _watch(model)
    return model


def _need_some(model: Module, name: str) -> None:
    if not any(getattr(m, "qconfig", None) is not None for m in model.modules()):
        raise ValueError(f"{name}: no module has a qconfig: set model.qconfig first")


def _watch(module: Module) -> None:
    qconfig = getattr(module, "qconfig", None)
    if type(module) in _OBSERVED:
        if qconfig is not None:
            _observe(module, qconfig)
        return
    for child in module.children():
        _watch(child)


def _observe(module: Any, qconfig: Any) -> None:
    if hasattr(module, "activation_pre_process"):  # the same module in two places
        return
    if isinstance(module, FloatFunctional):
        module.activation_post_process = qconfig.activation()
        return
    module.activation_post_process = qconfig.activation()
    module.register_forward_hook(watch_output)
    if not isinstance(module, QuantStub):
        module.activation_pre_process = qconfig.activation()
        module.register_forward_pre_hook(watch_input)


def watch_input(module: Any, args: Any) -> Any:
    """Show what goes into a layer to its observer, which may round it."""
    return (module.activation_pre_process(args[0]), *args[1:])


def watch_output(module: Any, args: Any, output: Any) -> Any:
    """Show what comes out of a layer to its observer, which may round it."""
    return module.activation_post_process(output)


def prepare_qat(
    model: Module, mapping: Mapping[Any, Any] | None = None, inplace: bool = False
) -> Module:
    """Return a copy of a model that rounds weights and activations as it will once quantised.

    It learns like any other model: gradients pass as if nothing were rounded. ``convert`` it then.

    Args:
        model: a model in training mode, with a ``qconfig`` whose members are ``FakeQuantize``.
        mapping: classes of layers, and of those that stand for them.
        inplace: change the model itself.

    >>> model = weft.nn.Sequential(weft.nn.Linear(2, 1))
    >>> model.qconfig = weft.quantization.get_default_qat_qconfig()
    >>> prepared = weft.quantization.prepare_qat(model)
    >>> prepared(weft.ones(3, 2)).sum().backward()
    >>> prepared[0].weight.grad.shape
    torch.Size([1, 2])
    """
    if not model.training:
        raise ValueError("prepare_qat: the model must be in training mode: call train()")
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    _need_some(model, "prepare_qat")
    model = swap(model, LEARNING if mapping is None else mapping, need_qconfig=True)
    _watch(model)
    return model


def quantize(
    model: Module,
    run_fn: Callable[..., Any],
    run_args: Any,
    mapping: Mapping[Any, Any] | None = None,
    inplace: bool = False,
) -> Module:
    """Prepare a model, let ``run_fn(model, *run_args)`` show it data, convert it.

    Args:
        model: the model, with a ``qconfig``.
        run_fn: calls the model on a few batches.
        run_args: its further arguments.
        mapping: as for ``convert``.
        inplace: change the model itself.

    >>> model = weft.nn.Sequential(weft.nn.Linear(2, 1)).eval()
    >>> model.qconfig = weft.quantization.default_qconfig
    >>> q = weft.quantization.quantize(model, lambda m, x: m(x), [weft.ones(1, 2)])
    >>> type(q[0]) is weft.quantization.nn.quantized.Linear
    True
    """
    from weft.quantization.convert import convert

    prepared = prepare(model.eval() if inplace else copy.deepcopy(model).eval(), inplace=True)
    with weft.no_grad():
        run_fn(prepared, *run_args)
    return convert(prepared, mapping, inplace=True)


def quantize_qat(
    model: Module, run_fn: Callable[..., Any], run_args: Any, inplace: bool = False
) -> Module:
    """Prepare a model for learning, let ``run_fn(model, *run_args)`` train it, convert it.

    Args:
        model: the model, with a ``qconfig``.
        run_fn: trains the model.
        run_args: its further arguments.
        inplace: change the model itself.

    >>> model = weft.nn.Sequential(weft.nn.Linear(2, 1))
    >>> model.qconfig = weft.quantization.default_qat_qconfig
    >>> q = weft.quantization.quantize_qat(model, lambda m, x: m(x), [weft.ones(1, 2)])
    >>> type(q[0]) is weft.quantization.nn.quantized.Linear
    True
    """
    from weft.quantization.convert import convert

    prepared = prepare_qat((model if inplace else copy.deepcopy(model)).train(), inplace=True)
    run_fn(prepared, *run_args)
    return convert(prepared.eval(), inplace=True)
