"""What layers with int8 weights share: the weights, their scales, the state that is saved."""

from __future__ import annotations

import weft
from weft import Tensor
from weft.nn.module import Module
from weft.quantization.kinds import qint8
from weft.quantization.qconfig import default_dynamic_qconfig
from weft.quantization.tensor import QuantizedTensor, quantize_per_channel, quantize_per_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["Int8Layer", "quantized_weight"]

Numbers = tuple[str, ...]


def quantized_weight(weight: Tensor, observer: Any) -> QuantizedTensor:
    """Return a weight as int8, on the grid that an observer finds for it.

    >>> from weft.quantization import default_per_channel_weight_observer as make
    >>> from weft.quantization.nn.weights import quantized_weight
    >>> quantized_weight(weft.tensor([[1.0, -0.5]]), make()).int_repr()
    tensor([[127, -64]], dtype=torch.int8)
    """
    if observer.dtype is not qint8:
        raise NotImplementedError(
            f"weights of dtype {observer.dtype} are not supported, only qint8"
        )
    with weft.no_grad():
        observer(weight)
        scale, zero_point = observer.calculate_qparams()
    if bool((zero_point != 0).any()):
        raise NotImplementedError(
            f"weights with qscheme {observer.qscheme} are not supported, only symmetric ones: their "
            "zero point must be 0"
        )
    w = weight.detach().to(weft.float32)
    if not observer.qscheme.per_channel:
        return quantize_per_tensor(w, scale.item(), 0, qint8)
    return quantize_per_channel(w, scale, zero_point, observer.ch_axis, qint8)


def is_reduced(observer: Any) -> bool:
    """Say whether an observer of activations wants bytes up to 127 only.

    >>> from weft.quantization.nn.weights import is_reduced
    >>> is_reduced(weft.quantization.MinMaxObserver(reduce_range=True))
    True
    """
    return bool(getattr(observer, "quant_max", 255) <= 127)


class StoredNumbers(Module):
    """A module whose state has plain numbers besides tensors. They are saved as tensors.

    >>> from weft.quantization.nn.weights import StoredNumbers
    >>> list(StoredNumbers().state_dict())
    []
    """

    _numbers: Numbers = ()
    _added: Numbers = ()  # those that files of earlier versions do not have; they were False

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in self._numbers:
            destination[prefix + name] = weft.tensor(getattr(self, name))

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        ours = {prefix + name: name for name in self._numbers}
        rest = {key: value for key, value in state_dict.items() if key not in ours}
        for key, name in ours.items():
            if key in state_dict:
                setattr(self, name, state_dict[key].item())
            elif name in self._added:
                setattr(self, name, False)
            elif strict:
                missing_keys.append(key)
        super()._load_from_state_dict(
            rest, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class Int8Layer(StoredNumbers):
    """A layer whose weight is int8, with one scale per output or one for all.

    >>> from weft.quantization.nn.dynamic import Linear
    >>> sorted(Linear(2, 3).state_dict())
    ['bias_float', 'reduce_range', 'weight_int8', 'weight_scale']
    """

    weight_int8: Tensor
    weight_scale: Tensor
    bias_float: Tensor | None
    _numbers: Numbers = ("reduce_range",)
    _added: Numbers = ("reduce_range",)
    reduce_range = True  # inputs become bytes up to 127, as ``default_dynamic_qconfig`` says

    def _make_weight(self, shape: Sequence[int], bias: bool) -> None:
        self.register_buffer("weight_int8", weft.zeros(*shape, dtype=weft.int8))
        self.register_buffer("weight_scale", weft.ones(shape[0]))
        self.register_buffer("bias_float", weft.zeros(shape[0]) if bias else None)

    def weight(self) -> QuantizedTensor:
        """Return the weight with its scales."""
        zeros = weft.zeros(self.weight_scale.shape, dtype=weft.int64)
        axis = None if self.weight_scale.dim() == 0 else 0
        return QuantizedTensor(self.weight_int8, self.weight_scale, zeros, qint8, axis)

    def bias(self) -> Tensor | None:
        """Return the bias, in float32."""
        return self.bias_float

    def set_weight_bias(self, w: QuantizedTensor, b: Tensor | None) -> None:
        """Take a quantised weight, with a scale per output or one for all, and a bias."""
        name = type(self).__name__
        if not isinstance(w, QuantizedTensor) or w.dtype is not qint8:
            raise TypeError(f"{name}: the weight must be a quantised tensor of qint8")
        if w.shape != self.weight_int8.shape or w._axis not in (None, 0):
            raise ValueError(
                f"{name}: the weight must have shape {list(self.weight_int8.shape)} and scales along "
                f"dimension 0, got shape {list(w.shape)} and dimension {w._axis}"
            )
        self.weight_int8 = w.int_repr().contiguous()
        self.weight_scale = w._scale.detach().to(weft.float32).clone()
        self.bias_float = None if b is None else b.detach().to(weft.float32).clone()

    def _take_float(self, weight: Tensor, bias: Tensor | None, observer: Any) -> None:
        self.set_weight_bias(quantized_weight(weight, observer), bias)

    def _take_config(self, mod: Any, qconfig: Any, name: str = "weight") -> None:
        """Take a layer's weight and bias as a qconfig says: that given, the layer's, the default."""
        config = qconfig if qconfig is not None else getattr(mod, "qconfig", None)
        config = default_dynamic_qconfig if config is None else config
        bias = mod.bias if name == "weight" else None
        self._take_float(getattr(mod, name), bias, config.weight())
        self.reduce_range = is_reduced(config.activation())

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        scale = state_dict.get(prefix + "weight_scale")
        if isinstance(scale, Tensor) and scale.shape != self.weight_scale.shape:
            if scale.shape in ((), (self.weight_int8.shape[0],)):  # per tensor or per channel
                self.weight_scale = weft.ones(scale.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _scheme(self) -> Any:
        return self.weight().qscheme()
