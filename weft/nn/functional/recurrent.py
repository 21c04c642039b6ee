"""Recurrent networks, one step of time after another.

A batch is either a tensor (time, batch, features), or packed: the rows of all steps below each
other, and how many sequences are still running at each step.
"""

from __future__ import annotations

from functools import partial

import weft
from weft import _C
from weft._C import Tensor
from weft._environment import is_tracing
from weft.nn.functional.common import in_autocast, like
from weft.nn.functional.dropout import dropout as drop
from weft.nn.functional.linear import linear
from weft.nn.functional.sequence import CELLS
from weft.nn.functional.sequence import Sequence as Whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    State = tuple[Tensor, ...]


def project(x: Tensor, weight: Any, bias: Tensor | None = None) -> Tensor:
    """A linear map; the weight may be a layer of its own (``weft.quantization.nn.recurrent``)."""
    return linear(x, weight, bias) if isinstance(weight, Tensor) else weight(x, bias)


def rnn_tanh_step(x: Tensor, state: State, hidden: Tensor, more: Any = None) -> State:
    """One step of a network with tanh: x and hidden are the projections of input and state."""
    return (weft.tanh(x + hidden),)


def rnn_relu_step(x: Tensor, state: State, hidden: Tensor, more: Any = None) -> State:
    """One step of a network with relu."""
    return (weft.relu(x + hidden),)


def gru_step(x: Tensor, state: State, hidden: Tensor, more: Any = None) -> State:
    """One step of a gated recurrent unit: reset, update, and the new candidate."""
    n = state[0].shape[-1]
    x_gates, x_new = x.split([2 * n, n], -1)
    h_gates, h_new = hidden.split([2 * n, n], -1)
    reset, update = weft.sigmoid(x_gates + h_gates).chunk(2, -1)
    new = weft.tanh(x_new + reset * h_new)
    return (new + update * (state[0] - new),)


def lstm_step(x: Tensor, state: State, hidden: Tensor, more: Any = None) -> State:
    """One step of a long short-term memory: input, forget, cell and output gates."""
    i, f, g, o = (x + hidden).chunk(4, -1)
    c = weft.sigmoid(f) * state[1] + weft.sigmoid(i) * weft.tanh(g)
    h = weft.sigmoid(o) * weft.tanh(c)
    return (h if more is None else project(h, more)), c


STEPS: dict[str, Callable[..., State]] = {
    "RNN_TANH": rnn_tanh_step,
    "RNN_RELU": rnn_relu_step,
    "GRU": gru_step,
    "LSTM": lstm_step,
}


def _one_way(
    mode: str, x: Tensor, sizes: Sequence[int], state: State, weights: Sequence[Any], reverse: bool
) -> tuple[Tensor, State]:
    """Run one layer in one direction over rows of all steps; return all outputs, the last state."""
    if _C._autocast_enabled() and mode != "GRU" and weights[-1] is None:
        x, state, weights = _in_block_dtype(x, state, weights)
    steps = is_tracing() and weft.is_grad_enabled()  # a graph has no derivative of the whole
    whole = weights[-1] is None and isinstance(weights[0], Tensor)
    if whole and x.is_floating_point() and not steps:
        return _whole(mode, x, sizes, state, weights, reverse)
    if weights[-1] is None and not isinstance(weights[0], Tensor) and sizes[-1] == sizes[0]:
        return _int8(mode, x, sizes, state, weights, reverse)
    return plain_one_way(mode, x, sizes, state, weights, reverse)


def _in_block_dtype(
    x: Tensor, state: State, weights: Sequence[Any]
) -> tuple[Tensor, State, list[Any]]:
    """Return all of them in the dtype of autocast, where a layer is one op in it.

    A GRU, and an LSTM that projects, are not: their states stay in float32, as in PyTorch.
    """
    dtype = weft.get_autocast_dtype("cpu")
    cast = [None if t is None else in_autocast(t, dtype) for t in (x, *state, *weights)]
    return cast[0], tuple(cast[1 : 1 + len(state)]), cast[1 + len(state) :]


def _whole(
    mode: str, x: Tensor, sizes: Sequence[int], state: State, weights: Sequence[Any], reverse: bool
) -> tuple[Tensor, State]:
    """All steps in one op."""
    w_ih, w_hh, b_ih, b_hh, _ = weights
    if mode != "GRU" and b_hh is not None:  # only a GRU uses the state's share by itself
        b_ih, b_hh = b_ih + b_hh, None
    time, batch = len(sizes), sizes[0]
    parts, packed = linear(x, w_ih, b_ih), None
    if sizes[-1] == batch:
        parts = parts.unflatten(0, (time, batch))
    else:
        packed = weft.tensor(sizes)
    h, c = state if mode == "LSTM" else (state[0], None)
    parts = like(parts, h)  # autocast makes projections small
    again = partial(_by_steps, mode, sizes, reverse)
    result = Whole.apply(parts, h, c, w_hh, b_hh, packed, mode, reverse, again)
    states = tuple(like(s, h) for s in (result if mode == "LSTM" else (result,)))
    if packed is None:
        last = 0 if reverse else -1
        return states[0].flatten(0, 1), tuple(s[last] for s in states)
    ends = range(batch) if reverse else _last_rows(sizes)
    return states[0], tuple(s[weft.tensor(ends)] for s in states)


def _int8(
    mode: str, x: Tensor, sizes: Sequence[int], state: State, weights: Sequence[Any], reverse: bool
) -> tuple[Tensor, State]:
    """All steps in one op, with weights that are layers of their own."""
    w_ih, w_hh, b_ih, b_hh, _ = weights
    parts = project(x, w_ih, b_ih).unflatten(0, (len(sizes), sizes[0]))
    states = w_hh.recur(parts, state, b_hh, CELLS[mode], reverse)
    return states[0].flatten(0, 1), tuple(s[0 if reverse else -1] for s in states)


def _last_rows(sizes: Sequence[int]) -> list[int]:
    """Where, among the rows of all steps, each sequence has its last one.

    >>> _last_rows([3, 3, 1])
    [6, 4, 5]
    """
    ends, begin = [0] * sizes[0], 0
    for size in sizes:
        ends[:size] = range(begin, begin + size)
        begin += size
    return ends


def _by_steps(
    mode: str,
    sizes: Sequence[int],
    reverse: bool,
    parts: Tensor,
    h: Tensor,
    c: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
) -> list[Tensor]:
    """The states, and the cells of an LSTM, after every step, in the shape that parts have."""
    start: State = (h,) if c is None else (h, c)
    outputs, _ = _walk(mode, parts.flatten(0, -2), sizes, start, weight, bias, None, reverse)
    shape = (*parts.shape[:-1], h.shape[-1])
    return [weft.cat(list(steps)).reshape(shape) for steps in zip(*outputs)]


def plain_one_way(
    mode: str, x: Tensor, sizes: Sequence[int], state: State, weights: Sequence[Any], reverse: bool
) -> tuple[Tensor, State]:
    """The same step by step, and with projections."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    states, final = _walk(mode, project(x, w_ih, b_ih), sizes, state, w_hh, b_hh, w_hr, reverse)
    return weft.cat([s[0] for s in states]), final


def _walk(
    mode: str,
    x: Tensor,
    sizes: Sequence[int],
    start: State,
    weight: Any,
    bias: Tensor | None,
    projection: Any,
    reverse: bool,
) -> tuple[list[State], State]:
    """Take one step after the other; x holds the input's share of all. Return all states, the last."""
    parts = x.split(list(sizes))
    states: list[State] = []
    ended: list[State] = []
    running = sizes[-1] if reverse else sizes[0]
    state = tuple(s[:running] for s in start) if running != start[0].shape[0] else start
    for t in reversed(range(len(parts))) if reverse else range(len(parts)):
        size = sizes[t]
        if size > running:  # backwards, longer sequences join
            state = tuple(weft.cat([s, z[running:size]]) for s, z in zip(state, start))
        elif size < running:  # forwards, shorter sequences end
            ended.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
        running = size
        state = STEPS[mode](parts[t], state, project(state[0], weight, bias), projection)
        states.append(state)
    if ended:
        state = tuple(weft.cat([s, *rest]) for s, *rest in zip(state, *reversed(ended)))
    if reverse:
        states.reverse()
    return states, state


def plain_recurrent(
    mode: str,
    data: Tensor,
    sizes: Sequence[int],
    hx: Sequence[Tensor],
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, State]:
    """Run all layers over the rows of all steps; sizes are the sequences running at each step."""
    ways = 2 if bidirectional else 1
    projected = mode == "LSTM" and hx[0].shape[2] != hx[1].shape[2]
    count = 2 + 2 * has_biases + projected
    finals: list[State] = []
    x = data
    for layer in range(num_layers):
        outputs = []
        for way in range(ways):
            k = layer * ways + way
            given = list(params[k * count : (k + 1) * count])
            w_hr = given.pop() if projected else None
            weights = [*given, *([] if has_biases else [None, None]), w_hr]
            y, final = _one_way(mode, x, sizes, tuple(h[k] for h in hx), weights, way == 1)
            outputs.append(y)
            finals.append(final)
        x = outputs[0] if ways == 1 else weft.cat(outputs, -1)
        if dropout > 0 and train and layer < num_layers - 1:
            x = drop(x, dropout)
    return x, tuple(weft.stack(list(part)) for part in zip(*finals))


def recurrent(mode: str, *args: Any) -> tuple[Tensor, ...]:
    """Run a network as PyTorch's ``lstm``, ``gru``, ``rnn_tanh`` and ``rnn_relu`` are called.

    Either (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    or, packed, (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
    bidirectional).
    """
    packed = isinstance(args[3], (list, tuple))
    if packed:
        data, batch_sizes, hx, *rest = args
        sizes = [int(s) for s in batch_sizes.tolist()]
        batch_first = False
    else:
        x, hx, *rest, batch_first = args
        x = x.transpose(0, 1) if batch_first else x
        time, batch = x.shape[:2]
        if time == 0:
            raise RuntimeError(f"{mode.lower()}: Expected sequence length to be larger than 0")
        data, sizes = x.reshape(time * batch, x.shape[2]), [batch] * time
    state = (hx,) if isinstance(hx, Tensor) else tuple(hx)
    y, final = plain_recurrent(mode, data, sizes, state, *rest)
    if not packed:
        y = y.reshape(time, batch, y.shape[-1])
        y = y.transpose(0, 1) if batch_first else y
    return (y, *final)


def cell(mode: str, input: Tensor, hx: State, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> State:
    """Run one step of a network."""
    if input.shape[-1] != w_ih.shape[1]:
        raise RuntimeError(
            f"{mode.lower()}_cell: input has {input.shape[-1]} features, the weights expect "
            f"{w_ih.shape[1]}"
        )
    return STEPS[mode](project(input, w_ih, b_ih), hx, project(hx[0], w_hh, b_hh))
