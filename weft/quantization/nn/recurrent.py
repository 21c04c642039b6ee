"""Recurrent layers with int8 weights. Inputs and states become bytes at every step; gates are float."""

from __future__ import annotations

import weft
from weft import _C, Tensor
from weft.nn import recurrent as floats
from weft.nn.utils.init import no_init
from weft.quantization.kinds import qint8
from weft.quantization.nn.weights import Int8Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]

_linear = _C._op_function("quantized_linear")
_recur = _C._op_function("quantized_recur")


class Matrix(Int8Layer):
    """An int8 weight that stands in the place of a float one.

    >>> from weft.quantization.nn.recurrent import Matrix
    >>> Matrix((3, 2))(weft.ones(1, 2))
    tensor([[0., 0., 0.]])
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self._make_weight(shape, False)

    @property
    def shape(self) -> weft.Size:
        """Return the shape of the weight."""
        return self.weight_int8.shape

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        return _linear(x, self.weight_int8, self.weight_scale, bias, self.reduce_range)

    def recur(
        self,
        parts: Tensor,
        state: tuple[Tensor, ...],
        bias: Tensor | None,
        cell: int,
        reverse: bool,
    ) -> tuple[Tensor, ...]:
        """Return the states, and an LSTM's cells, at all steps; parts are the input's share of gates."""
        h, c = state if len(state) == 2 else (state[0], None)
        weight = self.weight_int8, self.weight_scale, bias, self.reduce_range
        states = _recur(parts, h, c, *weight, cell, reverse)
        return tuple(states[: len(state)])


class _Int8:
    """What these layers share: each weight becomes a ``Matrix``, each bias a buffer."""

    def __init__(self, *args: Any, dtype: Any = qint8, **kwargs: Any) -> None:
        if dtype is not qint8:
            name = type(self).__name__
            raise NotImplementedError(f"{name}: dtype {dtype} is not supported, only qint8")
        with no_init():
            super().__init__(*args, **kwargs)
        self._replace_parameters()

    def _replace_parameters(self: Any) -> None:
        for name, value in list(self._parameters.items()):
            if value is None:
                continue
            delattr(self, name)
            if value.dim() == 1:
                self.register_buffer(name, weft.zeros(value.shape))
            else:
                setattr(self, name, Matrix(tuple(value.shape)))

    @classmethod
    def from_float(cls: Any, mod: Any, qconfig: Any = None) -> Any:
        """Return the quantised form of a recurrent layer.

        Args:
            mod: the layer.
            qconfig: what observes its weights (default: its own ``qconfig``, or one per channel).

        >>> q = weft.quantization.nn.dynamic.LSTM.from_float(weft.nn.LSTM(2, 3))
        >>> q, q.weight_ih_l0.weight_int8.shape
        (DynamicQuantizedLSTM(2, 3), torch.Size([12, 2]))
        """
        new = cls(**cls._arguments(mod))
        new.train(mod.training)
        for name, matrix in new._modules.items():
            matrix._take_config(mod, qconfig, name)
        for name in new._buffers:
            setattr(new, name, getattr(mod, name).detach().clone())
        return new

    @staticmethod
    def _arguments(mod: Any) -> dict[str, Any]:
        names = ["input_size", "hidden_size", "bias"]
        if isinstance(mod, floats.RNNBase):
            names += ["num_layers", "batch_first", "dropout", "bidirectional"]
            names += ["proj_size"] if isinstance(mod, floats.LSTM) else []
        names += ["nonlinearity"] if hasattr(mod, "nonlinearity") else []
        return {name: getattr(mod, name) for name in names}

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def __repr__(self: Any) -> str:
        """Return the settings, without the weights."""
        return f"{self._get_name()}({self.extra_repr()})"


class RNN(_Int8, floats.RNN):
    """``nn.RNN`` with int8 weights.

    >>> q = weft.quantization.nn.dynamic.RNN.from_float(weft.nn.RNN(2, 3))
    >>> q(weft.ones(4, 1, 2))[0].shape
    torch.Size([4, 1, 3])
    """


class LSTM(_Int8, floats.LSTM):
    """``nn.LSTM`` with int8 weights.

    >>> q = weft.quantization.nn.dynamic.LSTM.from_float(weft.nn.LSTM(2, 3, 2, batch_first=True))
    >>> q(weft.ones(4, 1, 2))[0].shape
    torch.Size([4, 1, 3])
    """


class GRU(_Int8, floats.GRU):
    """``nn.GRU`` with int8 weights.

    >>> q = weft.quantization.nn.dynamic.GRU.from_float(weft.nn.GRU(2, 3, bidirectional=True))
    >>> q(weft.ones(4, 1, 2))[0].shape
    torch.Size([4, 1, 6])
    """


class RNNCell(_Int8, floats.RNNCell):
    """``nn.RNNCell`` with int8 weights.

    >>> q = weft.quantization.nn.dynamic.RNNCell.from_float(weft.nn.RNNCell(2, 3))
    >>> q(weft.ones(1, 2)).shape
    torch.Size([1, 3])
    """


class LSTMCell(_Int8, floats.LSTMCell):
    """``nn.LSTMCell`` with int8 weights.

    >>> q = weft.quantization.nn.dynamic.LSTMCell.from_float(weft.nn.LSTMCell(2, 3))
    >>> q(weft.ones(1, 2))[0].shape
    torch.Size([1, 3])
    """


class GRUCell(_Int8, floats.GRUCell):
    """``nn.GRUCell`` with int8 weights.

    >>> q = weft.quantization.nn.dynamic.GRUCell.from_float(weft.nn.GRUCell(2, 3))
    >>> q(weft.ones(1, 2)).shape
    torch.Size([1, 3])
    """
