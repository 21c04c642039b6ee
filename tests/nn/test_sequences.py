"""Recurrent layers, attention and the Transformer: steps, packing, masks, directions, states."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import nn
from weft.nn.utils.rnn import pack_sequence, pad_packed_sequence

D = weft.float64
KINDS = [nn.RNN, nn.GRU, nn.LSTM]


def close(a: Any, b: Any) -> bool:
    """Equal up to rounding, also in tuples."""
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    return a.shape == b.shape and weft.allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_its_cell_repeated(kind: Any) -> None:
    """One layer gives what its cell gives step by step."""
    layer = kind(3, 4, dtype=D)
    cell = {nn.RNN: nn.RNNCell, nn.GRU: nn.GRUCell, nn.LSTM: nn.LSTMCell}[kind](3, 4, dtype=D)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(cell, name).data.copy_(getattr(layer, name + "_l0").data)
    x = weft.randn(5, 2, 3, dtype=D)
    y, last = layer(x)
    state: Any = None
    for t in range(5):
        state = cell(x[t], state)
        assert close(state[0] if kind is nn.LSTM else state, y[t])
    assert close(last[0][0] if kind is nn.LSTM else last[0], y[-1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences_end_where_they_end(kind: Any, bidirectional: bool) -> None:
    """A packed batch gives each sequence what it gives alone, in the order it was given."""
    layer = kind(3, 4, 2, bidirectional=bidirectional, dtype=D)
    xs = [weft.randn(n, 3, dtype=D) for n in (2, 5, 1, 3)]
    packed, last = layer(pack_sequence(xs, enforce_sorted=False))
    y, lengths = pad_packed_sequence(packed)
    assert lengths.tolist() == [2, 5, 1, 3]
    for i, x in enumerate(xs):
        alone, end = layer(x)
        assert close(y[: len(x), i], alone)
        ends = zip(last, end) if kind is nn.LSTM else [(last, end)]
        assert all(close(a[:, i], b) for a, b in ends)


@pytest.mark.parametrize("kind", KINDS)
def test_batch_first_and_unbatched(kind: Any) -> None:
    """The layout of the batch changes nothing but the layout."""
    a, b = kind(3, 4, dtype=D), kind(3, 4, batch_first=True, dtype=D)
    b.load_state_dict(a.state_dict())
    x = weft.randn(5, 2, 3, dtype=D)
    y = a(x)[0]
    assert close(b(x.transpose(0, 1))[0].transpose(0, 1), y)
    assert close(a(x[:, 0])[0], y[:, 0])


def test_backwards_is_forwards_of_the_reversed() -> None:
    """The second direction is a layer that reads the sequence from its end."""
    two, one = nn.GRU(3, 4, bidirectional=True, dtype=D), nn.GRU(3, 4, dtype=D)
    for name, p in one.named_parameters():
        p.data.copy_(getattr(two, name + "_reverse").data)
    x = weft.randn(5, 2, 3, dtype=D)
    y, last = two(x)
    back, end = one(x.flip(0))
    assert close(y[..., 4:], back.flip(0)) and close(last[1], end[0])


def test_lstm_projection_and_dropout() -> None:
    """A projected state is smaller; dropout acts between layers, in training only."""
    layer = nn.LSTM(3, 5, 2, proj_size=2, dropout=0.5, dtype=D)
    x = weft.randn(4, 2, 3, dtype=D)
    y, (h, c) = layer(x)
    assert y.shape == (4, 2, 2) and h.shape == (2, 2, 2) and c.shape == (2, 2, 5)
    assert not close(layer(x)[0], layer(x)[0])
    layer.eval()
    assert close(layer(x)[0], layer(x)[0])


def test_recurrent_errors() -> None:
    """Wrong sizes are named."""
    layer = nn.GRU(3, 4)
    with pytest.raises(RuntimeError, match=r"input.size\(-1\) must be equal to input_size"):
        layer(weft.ones(2, 1, 5))
    with pytest.raises(RuntimeError, match="Expected hidden size"):
        layer(weft.ones(2, 1, 3), weft.ones(1, 2, 4))
    with pytest.raises(ValueError, match="2D or 3D"):
        layer(weft.ones(3))
    with pytest.raises(ValueError, match="proj_size"):
        nn.GRU(3, 4, proj_size=2)
    with pytest.raises(ValueError, match="proj_size has to be smaller"):
        nn.LSTM(3, 4, proj_size=4)


def test_second_derivative_of_an_lstm() -> None:
    """Derivatives of any order come from the parts."""
    layer = nn.LSTM(2, 2, dtype=D)
    x = weft.randn(3, 1, 2, dtype=D, requires_grad=True)
    assert weft.autograd.gradgradcheck(lambda v: layer(v)[0], (x,))


# ---- attention -----------------------------------------------------------------------------------


def test_padding_hides_keys() -> None:
    """Keys behind the end get no weight, and their values do not matter."""
    attention = nn.MultiheadAttention(4, 2, batch_first=True, dtype=D)
    q, k = weft.randn(1, 2, 4, dtype=D), weft.randn(1, 3, 4, dtype=D)
    hidden = weft.tensor([[False, False, True]])
    y, weights = attention(q, k, k, key_padding_mask=hidden)
    assert (weights[..., 2] == 0).all() and close(weights.sum(-1), weft.ones(1, 2, dtype=D))
    assert close(attention(q, k[:, :2], k[:, :2])[0], y)


def test_weights_or_not() -> None:
    """The result is the same with and without the weights; by head they average to the mean."""
    attention = nn.MultiheadAttention(4, 2, dtype=D)
    x, mask = (
        weft.randn(3, 2, 4, dtype=D),
        nn.Transformer.generate_square_subsequent_mask(3, dtype=D),
    )
    y, mean = attention(x, x, x, attn_mask=mask)
    plain, none = attention(x, x, x, attn_mask=mask, need_weights=False, is_causal=True)
    assert none is None and close(plain, y)
    by_head = attention(x, x, x, attn_mask=mask, average_attn_weights=False)[1]
    assert by_head.shape == (2, 2, 3, 3) and close(by_head.mean(1), mean)


def test_attention_to_nothing_is_zero() -> None:
    """Where a mask of bool leaves no key, the result is zero and its gradient finite."""
    q = weft.randn(2, 3, requires_grad=True)
    may = weft.tensor([[True, False], [False, False]])
    y = nn.functional.scaled_dot_product_attention(q, q, q, may)
    assert (y[1] == 0).all()
    y.sum().backward()
    assert q.grad.isfinite().all()


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_causal_encoder_does_not_see_later(norm_first: bool) -> None:
    """Changing the end of a sequence leaves what comes before it."""
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0, norm_first=norm_first, dtype=D)
    net = nn.TransformerEncoder(layer, 2)
    x = weft.randn(4, 1, 4, dtype=D)
    other = x.clone()
    other[-1] = 7.0
    mask = nn.Transformer.generate_square_subsequent_mask(4, dtype=D)
    assert close(net(x, mask)[:-1], net(other, mask)[:-1])
    assert not close(net(x)[:-1], net(other)[:-1])


def test_transformer_layers_are_copies() -> None:
    """Each layer has weights of its own, and all are in the state."""
    net = nn.Transformer(4, 2, 2, 2, 8, dropout=0.0)
    assert net.encoder.layers[0].linear1.weight is not net.encoder.layers[1].linear1.weight
    assert "decoder.layers.1.multihead_attn.in_proj_weight" in net.state_dict()
    y = net(weft.rand(3, 1, 4), weft.rand(2, 1, 4))
    y.sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    with pytest.raises(RuntimeError, match="d_model"):
        net(weft.rand(3, 1, 5), weft.rand(2, 1, 4))
