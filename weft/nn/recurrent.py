"""Recurrent layers, and their single steps."""

from __future__ import annotations

import math

import weft
from weft import Tensor
from weft.nn import init
from weft.nn.functional.recurrent import cell, plain_recurrent
from weft.nn.module import Module
from weft.nn.parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _need_type(name: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")


class RNNBase(Module):
    """What recurrent layers share: the weights of all layers and directions, and the call.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: layers above each other.
        bias: whether there are biases.
        batch_first: whether tensors are (batch, time, features) instead of (time, batch, features).
        dropout: probability to drop elements between layers.
        bidirectional: whether a second network runs backwards.
        proj_size: features of the projected state of an LSTM.
        device: the CPU.
        dtype: the type of the parameters.

    >>> len(weft.nn.RNNBase("GRU", 2, 3, num_layers=2).all_weights)
    2
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        self._check_arguments(dropout)
        ways = 2 if bidirectional else 1
        state = proj_size or hidden_size
        gates = _GATES[mode] * hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for way in range(ways):
                end = f"l{layer}" + ("_reverse" if way else "")
                features = input_size if layer == 0 else state * ways
                shapes: dict[str, tuple[int, ...]] = {
                    f"weight_ih_{end}": (gates, features),
                    f"weight_hh_{end}": (gates, state),
                }
                if bias:
                    shapes |= {f"bias_ih_{end}": (gates,), f"bias_hh_{end}": (gates,)}
                if proj_size:
                    shapes[f"weight_hr_{end}"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    value = weft.empty(shape, device=device, dtype=dtype)
                    self.register_parameter(name, Parameter(value))
                self._all_weights.append(list(shapes))
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        number = isinstance(dropout, (int, float)) and not isinstance(dropout, bool)
        if not number or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            import warnings

            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name in ("input_size", "hidden_size", "num_layers", "proj_size"):
            _need_type(name, getattr(self, name), int)
        for name in ("bias", "batch_first", "bidirectional"):
            _need_type(name, getattr(self, name), bool)
        if self.input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        if self.hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    def reset_parameters(self) -> None:
        """Draw all weights anew, evenly between ±1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Do nothing: weft needs no order of weights in memory."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """Return the weights by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise if the input does not fit."""
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )

    def _state_shapes(self, batch: int) -> list[tuple[int, ...]]:
        count = self.num_layers * (2 if self.bidirectional else 1)
        shapes: list[tuple[int, ...]] = [(count, batch, self.proj_size or self.hidden_size)]
        if self.mode == "LSTM":
            shapes.append((count, batch, self.hidden_size))
        return shapes

    def _states(self, hx: Any, input: Tensor, batch: int, order: Tensor | None) -> list[Tensor]:
        """Return the first states, zeros if none were given; check their shapes."""
        shapes = self._state_shapes(batch)
        if hx is None:
            return [weft.zeros(shape, dtype=input.dtype) for shape in shapes]
        given = list(hx) if self.mode == "LSTM" else [hx]
        for name, state, shape in zip(("hidden[0]", "hidden[1]"), given, shapes):
            if tuple(state.shape) != shape:
                which = name if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {which} size {shape}, got {list(state.shape)}")
        return given if order is None else [state.index_select(1, order) for state in given]

    def forward(self, input: Any, hx: Any = None) -> Any:
        if not isinstance(input, Tensor):
            return self._packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D tensor "
                "instead"
            )
        batched = input.dim() == 3
        if hx is not None:
            for state in hx if self.mode == "LSTM" else [hx]:
                if state.dim() != input.dim():
                    kind = "batched 3-D" if batched else "unbatched 2-D"
                    raise RuntimeError(
                        f"For {kind} input, hx should also be {input.dim()}-D but got "
                        f"{state.dim()}-D tensor"
                    )
        if not batched:
            input = input.unsqueeze(1)
            if hx is not None:
                hx = [s.unsqueeze(1) for s in hx] if self.mode == "LSTM" else hx.unsqueeze(1)
        elif self.batch_first:
            input = input.transpose(0, 1)
        self.check_input(input, None)
        time, batch = input.shape[:2]
        if time == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        states = self._states(hx, input, batch, None)
        y, final = self._run(input.flatten(0, 1), [batch] * time, states)
        y = y.unflatten(0, (time, batch))
        if not batched:
            y, final = y.squeeze(1), tuple(s.squeeze(1) for s in final)
        elif self.batch_first:
            y = y.transpose(0, 1)
        return y, (final if self.mode == "LSTM" else final[0])

    def _run(self, data: Tensor, sizes: list[int], states: Any) -> tuple[Tensor, Any]:
        return plain_recurrent(
            self.mode, data, sizes, states, self._flat_weights, self.bias, self.num_layers,
            self.dropout, self.training, self.bidirectional,
        )  # fmt: skip

    def _packed(self, input: Any, hx: Any) -> Any:
        """Run over a packed sequence; states are in the order of the unpacked one."""
        from weft.nn.utils.rnn import PackedSequence

        data, batch_sizes, order, back = input
        self.check_input(data, batch_sizes)
        sizes = [int(s) for s in batch_sizes.tolist()]
        y, final = self._run(data, sizes, self._states(hx, data, sizes[0], order))
        if back is not None:
            final = tuple(s.index_select(1, back) for s in final)
        state = final if self.mode == "LSTM" else final[0]
        return PackedSequence(y, batch_sizes, order, back), state

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        usual = (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
            ("dropout", 0), ("bidirectional", False),
        )  # fmt: skip
        for name, default in usual:
            value = getattr(self, name)
            text += f", {name}={value}" if value != default else ""
        return text


class RNN(RNNBase):
    """h = tanh(W x + b + V h + c), step by step over sequences.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: layers above each other.
        nonlinearity: "tanh" or "relu".
        bias: whether there are biases.
        batch_first: whether tensors are (batch, time, features) instead of (time, batch, features).
        dropout: probability to drop elements between layers.
        bidirectional: whether a second network runs backwards.
        device: the CPU.
        dtype: the type of the parameters.

    >>> y, h = weft.nn.RNN(10, 20, 2)(weft.randn(5, 3, 10))
    >>> y.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        self.nonlinearity = nonlinearity
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first,
            dropout, bidirectional, 0, device, dtype,
        )  # fmt: skip


class LSTM(RNNBase):
    """Long short-term memory: c = f c + i g, h = o tanh(c), with gates i, f, g, o of x and h.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: layers above each other.
        bias: whether there are biases.
        batch_first: whether tensors are (batch, time, features) instead of (time, batch, features).
        dropout: probability to drop elements between layers.
        bidirectional: whether a second network runs backwards.
        proj_size: features of the projected state; 0 for none.
        device: the CPU.
        dtype: the type of the parameters.

    >>> y, (h, c) = weft.nn.LSTM(10, 20, 2)(weft.randn(5, 3, 10))
    >>> y.shape, c.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip


class GRU(RNNBase):
    """Gated recurrent unit: h = (1 - z) n + z h, with update z and candidate n of x and h.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: layers above each other.
        bias: whether there are biases.
        batch_first: whether tensors are (batch, time, features) instead of (time, batch, features).
        dropout: probability to drop elements between layers.
        bidirectional: whether a second network runs backwards.
        device: the CPU.
        dtype: the type of the parameters.

    >>> y, h = weft.nn.GRU(10, 20, 2)(weft.randn(5, 3, 10))
    >>> y.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if kwargs:
            raise TypeError(f"GRU: unexpected arguments {sorted(kwargs)}")
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            0, device, dtype,
        )  # fmt: skip


# ---- single steps --------------------------------------------------------------------------------


class RNNCellBase(Module):
    """What the cells share: two weights and two biases.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        num_chunks: how many gates there are.
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.RNNCellBase(2, 3, True, 4).weight_ih.shape
    torch.Size([12, 2])
    """

    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any
    _mode = ""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        for name, shape in {**shapes, "bias_ih": (rows,), "bias_hh": (rows,)}.items():
            wanted = bias or name in shapes
            value = Parameter(weft.empty(shape, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew, evenly between ±1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, input: Tensor, states: tuple[Tensor, ...] | None, count: int) -> Any:
        """Check shapes, add a batch dimension if there is none, run one step."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for state in states or ():
            if state.dim() not in (1, 2):
                raise ValueError(
                    f"{name}: Expected hidden to be 1D or 2D, got {state.dim()}D instead"
                )
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if states is None:
            states = (weft.zeros(x.shape[0], self.hidden_size, dtype=x.dtype),) * count
        elif not batched:
            states = tuple(s.unsqueeze(0) for s in states)
        for state in states:
            if tuple(state.shape) != (x.shape[0], self.hidden_size):
                raise RuntimeError(
                    f"{name}: hidden must have shape {(x.shape[0], self.hidden_size)}, got "
                    f"{list(state.shape)}"
                )
        new = cell(
            self._mode, x, states, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
        return new if batched else tuple(s.squeeze(0) for s in new)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        kind = getattr(self, "nonlinearity", "tanh")
        return text + (f", nonlinearity={kind}" if kind != "tanh" else "")


class RNNCell(RNNCellBase):
    """One step of ``RNN``.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        nonlinearity: "tanh" or "relu".
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.RNNCell(10, 20)(weft.randn(3, 10), weft.randn(3, 20)).shape
    torch.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        self._mode = f"RNN_{self.nonlinearity.upper()}"
        return self._step(input, None if hx is None else (hx,), 1)[0]


class GRUCell(RNNCellBase):
    """One step of ``GRU``.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.GRUCell(10, 20)(weft.randn(3, 10)).shape
    torch.Size([3, 20])
    """

    _mode = "GRU"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, None if hx is None else (hx,), 1)[0]


class LSTMCell(RNNCellBase):
    """One step of ``LSTM``.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        device: the CPU.
        dtype: the type of the parameters.

    >>> h, c = weft.nn.LSTMCell(10, 20)(weft.randn(3, 10))
    >>> h.shape, c.shape
    (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    _mode = "LSTM"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        return self._step(input, None if hx is None else tuple(hx), 2)
