"""Layers with int8 weights that quantise their activations in each call."""

from __future__ import annotations

from weft import _C, Tensor
from weft.nn import conv as float_conv
from weft.nn.linear import Linear as FloatLinear
from weft.quantization.kinds import qint8
from weft.quantization.nn.convolution import Int8Conv
from weft.quantization.nn.embedding import Embedding, EmbeddingBag
from weft.quantization.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from weft.quantization.nn.weights import Int8Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "Embedding",
    "EmbeddingBag",
    "GRUCell",
    "LSTMCell",
    "Linear",
    "RNNCell",
]

_linear = _C._op_function("quantized_linear")


def need_qint8(name: str, dtype: Any) -> None:
    """Raise for weights of another type."""
    if dtype is not qint8:
        raise NotImplementedError(f"{name}: dtype {dtype} is not supported, only qint8")


class Linear(Int8Layer):
    """y = x Wᵀ + b with W in int8 and x in bytes, whose scale is found for each call.

    Args:
        in_features: size of the last dimension of x.
        out_features: size of the last dimension of y.
        bias_: whether there is a b.
        dtype: ``qint8``.

    >>> layer = weft.quantization.nn.dynamic.Linear.from_float(weft.nn.Linear(4, 3))
    >>> layer
    DynamicQuantizedLinear(in_features=4, out_features=3, dtype=torch.qint8, qscheme=torch.per_channel_affine)
    >>> layer(weft.ones(2, 4)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = qint8
    ) -> None:
        super().__init__()
        need_qint8("Linear", dtype)
        self.in_features, self.out_features = in_features, out_features
        self._make_weight((out_features, in_features), bias_)

    @classmethod
    def from_float(cls, mod: FloatLinear, qconfig: Any = None) -> Linear:
        """Return the quantised form of a linear layer.

        Args:
            mod: the layer.
            qconfig: what observes its weight (default: its own ``qconfig``, or one per channel).

        >>> weft.quantization.nn.dynamic.Linear.from_float(weft.nn.Linear(2, 1)).weight_int8.dtype
        torch.int8
        """
        new = cls(mod.in_features, mod.out_features, mod.bias is not None)
        new._take_config(mod, qconfig)
        return new

    def forward(self, x: Tensor) -> Tensor:
        return _linear(x, self.weight_int8, self.weight_scale, self.bias_float, self.reduce_range)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={qint8}"
        return f"{text}, qscheme={self._scheme()}"


_C._set_layer(
    Linear, Linear.forward, _linear,
    ["weight_int8", "weight_scale", "bias_float", "reduce_range"], "",
)  # fmt: skip  # called without Python


class _Conv(Int8Conv):
    """A convolution whose input's grid is found for each call."""

    def forward(self, x: Tensor) -> Tensor:
        return self._convolve(x, self.reduce_range)

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"


class Conv1d(_Conv):
    """A convolution over sequences with int8 weights; arguments as ``nn.Conv1d``.

    >>> layer = weft.quantization.nn.dynamic.Conv1d.from_float(weft.nn.Conv1d(2, 3, 3))
    >>> layer(weft.ones(1, 2, 5)).shape
    torch.Size([1, 3, 3])
    """

    _n, _float = 1, float_conv.Conv1d


class Conv2d(_Conv):
    """A convolution over images with int8 weights; arguments as ``nn.Conv2d``.

    >>> weft.quantization.nn.dynamic.Conv2d.from_float(weft.nn.Conv2d(2, 3, 3))
    DynamicQuantizedConv2d(2, 3, kernel_size=(3, 3), stride=(1, 1), dtype=torch.qint8,
        qscheme=torch.per_channel_affine)
    """

    _n, _float = 2, float_conv.Conv2d


class Conv3d(_Conv):
    """A convolution over volumes with int8 weights; arguments as ``nn.Conv3d``.

    >>> layer = weft.quantization.nn.dynamic.Conv3d.from_float(weft.nn.Conv3d(1, 2, 2))
    >>> layer(weft.ones(1, 1, 3, 3, 3)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _n, _float = 3, float_conv.Conv3d
