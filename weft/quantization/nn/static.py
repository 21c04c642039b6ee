"""Layers with int8 weights and activations whose scales were calibrated beforehand.

Between layers numbers stay float32: a layer turns its input into bytes on the grid of its input, and
its result lies on the grid of its output. So everything else, from ReLU to views, goes on working.
"""

from __future__ import annotations

import weft
from weft import _C, Tensor
from weft.nn import conv as float_conv
from weft.nn.module import Module
from weft.quantization.kinds import qint8, quint8
from weft.quantization.nn.convolution import Int8Conv
from weft.quantization.nn.dynamic import need_qint8
from weft.quantization.nn.embedding import Embedding, EmbeddingBag
from weft.quantization.nn.functional import FloatFunctional, QFunctional, rounded
from weft.quantization.nn.weights import Int8Layer, StoredNumbers, is_reduced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "DeQuantize",
    "Embedding",
    "EmbeddingBag",
    "FloatFunctional",
    "Linear",
    "LinearReLU",
    "QFunctional",
    "Quantize",
]

_linear = _C._op_function("quantized_linear")


def grid_of(observer: Any) -> tuple[float, int]:
    """Return scale and zero point of activations, as an observer found them.

    >>> o = weft.quantization.MinMaxObserver()
    >>> x = o(weft.tensor([0.0, 25.5]))
    >>> weft.quantization.nn.static.grid_of(o)
    (0.1000..., 0)
    """
    if observer.dtype is not quint8 or observer.qscheme.per_channel:
        raise NotImplementedError(
            "activations need an observer of dtype quint8 with one scale for all, got dtype "
            f"{observer.dtype} and qscheme {observer.qscheme}"
        )
    scale, zero_point = observer.calculate_qparams()
    return scale.item(), int(zero_point.item())


class _Static(Int8Layer):
    """What these layers share: the grids of input and output."""

    _numbers = ("scale", "zero_point", "input_scale", "input_zero_point", "reduce_range")
    _added = ("reduce_range",)
    reduce_range = False
    _relu = False

    def _make_grids(self) -> None:
        self.scale, self.zero_point = 1.0, 0
        self.input_scale, self.input_zero_point = 1.0, 0
        self.reduce_range = False

    def _grids(self) -> tuple[Any, ...]:
        into = self.input_scale, self.input_zero_point
        return (self.reduce_range, *into, self.scale, self.zero_point, self._relu)

    def _take_observed(self, mod: Any, weight: Tensor, bias: Tensor | None) -> None:
        """Take the weight, and the grids that the observers of a prepared layer found."""
        fake = getattr(mod, "weight_fake_quant", None)
        self._take_float(weight, bias, mod.qconfig.weight() if fake is None else fake)
        self.scale, self.zero_point = grid_of(mod.activation_post_process)
        self.input_scale, self.input_zero_point = grid_of(mod.activation_pre_process)
        self.reduce_range = is_reduced(mod.activation_pre_process)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def _grid_text(self) -> str:
        return f", scale={self.scale}, zero_point={self.zero_point}"


def _observed(mod: Any) -> tuple[Any, Tensor, Tensor | None]:
    """Return the layer inside a prepared one, its weight and its bias; batch norm is taken in."""
    if hasattr(mod, "folded"):
        return mod, *mod.folded()
    layer = mod[0] if isinstance(mod, weft.nn.Sequential) else mod
    return layer, layer.weight, layer.bias


class Linear(_Static):
    """y = x Wᵀ + b with W in int8, x in bytes and y on a grid.

    Args:
        in_features: size of the last dimension of x.
        out_features: size of the last dimension of y.
        bias_: whether there is a b.
        dtype: ``qint8``.

    >>> weft.quantization.nn.quantized.Linear(4, 3)
    QuantizedLinear(in_features=4, out_features=3, scale=1.0, zero_point=0, qscheme=torch.per_channel_affine)
    """

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = qint8
    ) -> None:
        super().__init__()
        need_qint8("Linear", dtype)
        self.in_features, self.out_features = in_features, out_features
        self._make_weight((out_features, in_features), bias_)
        self._make_grids()

    @classmethod
    def from_float(cls, mod: Any) -> Any:
        """Return the quantised form of a layer that ``prepare`` gave observers."""
        layer, weight, bias = _observed(mod)
        new = cls(layer.in_features, layer.out_features, bias is not None)
        new._take_observed(mod, weight, bias)
        return new

    def forward(self, x: Tensor) -> Tensor:
        return _linear(x, self.weight_int8, self.weight_scale, self.bias_float, *self._grids())

    def extra_repr(self) -> str:
        text = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{text}{self._grid_text()}, qscheme={self._scheme()}"


class LinearReLU(Linear):
    """A linear layer and the ReLU behind it.

    >>> weft.quantization.nn.quantized.LinearReLU(2, 3)(weft.ones(1, 2))
    tensor([[0., 0., 0.]])
    """

    _relu = True


class _Conv(_Static, Int8Conv):
    """A convolution between two grids."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._make_grids()

    @classmethod
    def from_float(cls, mod: Any, qconfig: Any = None) -> Any:
        """Return the quantised form of a layer that ``prepare`` gave observers."""
        if qconfig is not None:
            raise NotImplementedError("from_float: a prepared layer has its own qconfig")
        layer, weight, bias = _observed(mod)
        new = cls._like(layer)
        new._take_observed(mod, weight, bias)
        return new

    def forward(self, x: Tensor) -> Tensor:
        return self._convolve(x, *self._grids())


class Conv1d(_Conv):
    """A convolution over sequences; arguments as ``nn.Conv1d``.

    >>> weft.quantization.nn.quantized.Conv1d(1, 2, 3)(weft.ones(1, 1, 4)).shape
    torch.Size([1, 2, 2])
    """

    _n, _float = 1, float_conv.Conv1d


class Conv2d(_Conv):
    """A convolution over images; arguments as ``nn.Conv2d``.

    >>> weft.quantization.nn.quantized.Conv2d(1, 2, 3)
    QuantizedConv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), scale=1.0, zero_point=0)
    """

    _n, _float = 2, float_conv.Conv2d


class Conv3d(_Conv):
    """A convolution over volumes; arguments as ``nn.Conv3d``.

    >>> weft.quantization.nn.quantized.Conv3d(1, 2, 1)(weft.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _n, _float = 3, float_conv.Conv3d


class ConvReLU1d(Conv1d):
    """A convolution over sequences and the ReLU behind it.

    >>> weft.quantization.nn.quantized.ConvReLU1d(1, 2, 3)(weft.ones(1, 1, 4)).shape
    torch.Size([1, 2, 2])
    """

    _relu = True


class ConvReLU2d(Conv2d):
    """A convolution over images and the ReLU behind it.

    >>> weft.quantization.nn.quantized.ConvReLU2d(1, 2, 3)
    QuantizedConvReLU2d(1, 2, kernel_size=(3, 3), stride=(1, 1), scale=1.0, zero_point=0)
    """

    _relu = True


class ConvReLU3d(Conv3d):
    """A convolution over volumes and the ReLU behind it.

    >>> weft.quantization.nn.quantized.ConvReLU3d(1, 2, 1)(weft.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _relu = True


class Quantize(StoredNumbers):
    """Rounds its input to a grid of bytes.

    Args:
        scale: distance of two neighbours on the grid.
        zero_point: the byte that stands for zero.
        dtype: ``quint8``.

    >>> weft.quantization.nn.quantized.Quantize(0.5, 0)(weft.tensor([0.3, 1.6]))
    tensor([0.5000, 1.5000])
    """

    _numbers = ("scale", "zero_point")

    def __init__(self, scale: float, zero_point: int, dtype: Any = quint8) -> None:
        super().__init__()
        if dtype is not quint8:
            raise NotImplementedError(f"Quantize: dtype {dtype} is not supported, only quint8")
        self.scale, self.zero_point, self.dtype = float(scale), int(zero_point), dtype

    @classmethod
    def from_float(cls, mod: Any) -> Quantize:
        """Take the grid that the observer of a prepared ``QuantStub`` found."""
        return cls(*grid_of(mod.activation_post_process))

    def forward(self, X: Tensor) -> Tensor:
        return rounded(X, self.scale, self.zero_point)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(Module):
    """Passes its input on: numbers are float32 everywhere.

    >>> weft.quantization.nn.quantized.DeQuantize()(weft.ones(1))
    tensor([1.])
    """

    @classmethod
    def from_float(cls, mod: Any) -> DeQuantize:
        """Return one."""
        return cls()

    def forward(self, Xq: Tensor) -> Tensor:
        return Xq
