# Written by `python -m tools.stubs`. Do not edit.
from weft._C import Tensor
from typing import Any

from weft.quantization.observer import Maker
default_fake_quant: Maker
from weft.quantization.observer import Maker
default_histogram_observer: Maker
from weft.quantization.observer import Maker
default_per_channel_weight_fake_quant: Maker
from weft.quantization.observer import Maker
default_weight_fake_quant: Maker
from weft.quantization.observer import default_dynamic_quant_observer as default_dynamic_quant_observer
from weft.quantization.observer import default_float_qparams_observer as default_float_qparams_observer
from weft.quantization.observer import default_observer as default_observer
from weft.quantization.observer import default_per_channel_weight_observer as default_per_channel_weight_observer
from weft.quantization.observer import default_weight_observer as default_weight_observer
from weft.quantization.qconfig import default_dynamic_qconfig as default_dynamic_qconfig
from weft.quantization.qconfig import default_per_channel_qconfig as default_per_channel_qconfig
from weft.quantization.qconfig import default_qat_qconfig as default_qat_qconfig
from weft.quantization.qconfig import default_qconfig as default_qconfig
from weft.quantization.qconfig import float_qparams_weight_only_qconfig as float_qparams_weight_only_qconfig
from weft.quantization.qconfig import per_channel_dynamic_qconfig as per_channel_dynamic_qconfig
class DeQuantStub(Tensor): ...
class FakeQuantize(Tensor): ...
class FakeQuantizeBase(Tensor): ...
class HistogramObserver(Tensor): ...
class MinMaxObserver(Tensor): ...
class MovingAverageMinMaxObserver(Tensor): ...
class MovingAveragePerChannelMinMaxObserver(Tensor): ...
class NoopObserver(Tensor): ...
class ObserverBase(Tensor): ...
class PerChannelMinMaxObserver(Tensor): ...
class PlaceholderObserver(Tensor): ...
class QConfig(Tensor): ...
class QuantStub(Tensor): ...
class QuantWrapper(Tensor): ...
class UniformQuantizationObserverBase(Tensor): ...
class default_placeholder_observer(Tensor): ...
def add_quant_dequant(module: Module) -> Module:
    """Return a module with a ``QuantWrapper`` around all leaves that have a ``qconfig``.

    >>> layer = weft.nn.Linear(2, 3)
    >>> layer.qconfig = weft.quantization.default_qconfig
    >>> type(weft.quantization.add_quant_dequant(layer)).__name__
    'QuantWrapper'
    """
def convert(
    module: Module,
    mapping: Mapping[Any, Any] | None = None,
    inplace: _bool = False,
    remove_qconfig: _bool = True,
    is_reference: _bool = False,
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
def disable_fake_quant(mod: Module) -> None:
    """Let a module pass numbers as they are; for ``model.apply``.

    >>> f = weft.quantization.FakeQuantize().apply(weft.quantization.disable_fake_quant)
    >>> f.fake_quant_enabled.item()
    0
    """
def disable_observer(mod: Module) -> None:
    """Let a module keep its grid; for ``model.apply``.

    >>> f = weft.quantization.FakeQuantize().apply(weft.quantization.disable_observer)
    >>> f.observer_enabled.item()
    0
    """
def enable_fake_quant(mod: Module) -> None:
    """Let a module round; for ``model.apply``.

    >>> f = weft.quantization.FakeQuantize()
    >>> weft.quantization.disable_fake_quant(f), weft.quantization.enable_fake_quant(f)
    (None, None)
    >>> f.fake_quant_enabled.item()
    1
    """
def enable_observer(mod: Module) -> None:
    """Let a module watch; for ``model.apply``.

    >>> f = weft.quantization.FakeQuantize().apply(weft.quantization.enable_observer)
    >>> f.observer_enabled.item()
    1
    """
def fuse_modules(
    model: Module,
    modules_to_fuse: Sequence[Any],
    inplace: _bool = False,
) -> Module:
    """Return a model in evaluation mode with some layers joined: the first of them is all of them.

    Joined are a convolution or linear layer with the batch norm behind it, with the ReLU behind it,
    or with both. The others become ``Identity``.

    Args:
        model: the model.
        modules_to_fuse: names of layers that follow each other, or a list of such lists.
        inplace: change the model itself instead of a copy.

    >>> n = weft.nn
    >>> model = n.Sequential(n.Conv2d(1, 2, 3), n.BatchNorm2d(2), n.ReLU()).eval()
    >>> fused = weft.quantization.fuse_modules(model, ["0", "1", "2"])
    >>> [type(m).__name__ for m in fused]
    ['ConvReLU2d', 'Identity', 'Identity']
    """
def fuse_modules_qat(
    model: Module,
    modules_to_fuse: Sequence[Any],
    inplace: _bool = False,
) -> Module:
    """Return a model in training mode with some layers joined, for ``prepare_qat``.

    Args:
        model: the model.
        modules_to_fuse: names of layers that follow each other, or a list of such lists.
        inplace: change the model itself instead of a copy.

    >>> n = weft.nn
    >>> model = n.Sequential(n.Conv2d(1, 2, 3), n.BatchNorm2d(2))
    >>> type(weft.quantization.fuse_modules_qat(model, ["0", "1"])[0]).__name__
    'ConvBn2d'
    """
def get_default_qat_qconfig(backend: _str = 'x86', version: _int = 1) -> QConfig:
    """Return what rounds while a network learns.

    Args:
        backend: "x86", "fbgemm", "onednn" or "qnnpack" ("qnnpack": one scale for all weights).
        version: 0 or 1.

    >>> weft.quantization.get_default_qat_qconfig().activation().quant_max
    255
    """
def get_default_qconfig(backend: _str = 'x86', version: _int = 0) -> QConfig:
    """Return what watches with histograms, and one scale per channel of weights.

    For "x86" and "fbgemm" activations use 128 integers, as in PyTorch: CPUs without VNNI multiply these
    about a third faster. For "onednn" and "qnnpack" they use all 256. Products are exact either way.

    Args:
        backend: "x86", "fbgemm", "onednn" or "qnnpack" ("qnnpack": one scale for all weights).
        version: 0 or 1.

    >>> weft.quantization.get_default_qconfig("x86").weight().qscheme
    torch.per_channel_symmetric
    """
def prepare(
    model: Module,
    inplace: _bool = False,
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
def prepare_qat(
    model: Module,
    mapping: Mapping[Any, Any] | None = None,
    inplace: _bool = False,
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
def quantize(
    model: Module,
    run_fn: Callable[..., Any],
    run_args: Any,
    mapping: Mapping[Any, Any] | None = None,
    inplace: _bool = False,
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
def quantize_dynamic(
    model: Module,
    qconfig_spec: Mapping[Any, Any] | Iterable[Any] | None = None,
    dtype: _DType | None = ...,
    mapping: Mapping[Any, Any] | None = None,
    inplace: _bool = False,
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
def quantize_qat(
    model: Module,
    run_fn: Callable[..., Any],
    run_args: Any,
    inplace: _bool = False,
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
