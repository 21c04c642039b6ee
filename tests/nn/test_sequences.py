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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", [(), (0,), (1,), (0, 1)])
def test_gradients_of_first_states(kind: Any, asked: tuple[int, ...]) -> None:
    """They come where they are asked for, and change no other gradient."""
    layer = kind(2, 3, dtype=D)
    x = weft.randn(4, 2, 2, dtype=D, requires_grad=True)
    states = [weft.randn(1, 2, 3, dtype=D, requires_grad=i in asked) for i in range(2)]

    def output(x: Any, *states: Any) -> Any:
        return layer(x, states if kind is nn.LSTM else states[0])[0]

    assert weft.autograd.gradcheck(output, (x, *states))
    output(x, *states).sum().backward()
    used = asked if kind is nn.LSTM else [i for i in asked if i == 0]
    assert [i for i in range(2) if states[i].grad is not None] == list(used)


def test_second_derivative_of_an_lstm() -> None:
    """Derivatives of any order come from the parts."""
    layer = nn.LSTM(2, 2, dtype=D)
    x = weft.randn(3, 1, 2, dtype=D, requires_grad=True)
    assert weft.autograd.gradgradcheck(lambda v: layer(v)[0], (x,))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [1, 2, 7, 17])
def test_threads_change_nothing(kind: Any, bias: bool, batch: int) -> None:
    """However threads share out units or sequences, the bits are the same, and those of the cell but for rounding."""
    layer = kind(5, 200, bias=bias)
    x = weft.randn(20, batch, 5)
    found = []
    before = weft.get_num_threads()
    try:
        for threads in (1, 2, 3):
            weft.set_num_threads(threads)
            layer.zero_grad()
            y, _ = layer(x)
            y.square().sum().backward()
            found.append([y, *(p.grad.clone() for p in layer.parameters())])
    finally:
        weft.set_num_threads(before)
    assert all(a.equal(b) for other in found[1:] for a, b in zip(found[0], other))
    alone = kind(5, 200, bias=bias, dtype=D)
    alone.load_state_dict(layer.state_dict())
    for i in range(batch):
        exact, _ = alone(x[:, i].to(D))
        assert weft.allclose(found[0][0][:, i].to(D), exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [(9, 9, 4), (30, 1), (3,)])
def test_threads_change_nothing_in_packed_sequences(kind: Any, lengths: tuple[int, ...]) -> None:
    """The same for sequences of different lengths, read from both ends."""
    layer = kind(3, 130, bidirectional=True)
    xs = pack_sequence([weft.randn(n, 3) for n in lengths])
    found = []
    before = weft.get_num_threads()
    try:
        for threads in (1, 2, 3):
            weft.set_num_threads(threads)
            found.append(layer(xs)[0].data)
    finally:
        weft.set_num_threads(before)
    assert all(found[0].equal(other) for other in found[1:])
    y, _ = pad_packed_sequence(layer(xs)[0])
    for i, n in enumerate(lengths):
        x = pad_packed_sequence(xs)[0][:n, i]
        assert weft.allclose(y[:n, i], layer(x)[0], rtol=1e-4, atol=1e-5)


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


def nodes(y: Any) -> set[str]:
    """Return the names of all nodes behind a tensor."""
    found, stack = set(), [y.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None:
            found.add(node.name())
            stack += [n for n, _ in node.next_functions]
    return found


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("options", [{}, {"kdim": 3, "vdim": 5}, {"bias": False}])
def test_attention_in_any_layout(options: Any, need_weights: bool) -> None:
    """The order of batch and length, also in memory, changes only the order of the result."""
    a = nn.MultiheadAttention(4, 2, dtype=D, **options)
    b = nn.MultiheadAttention(4, 2, batch_first=True, dtype=D, **options)
    b.load_state_dict(a.state_dict())
    q = weft.randn(5, 2, 4, dtype=D)
    k, v = weft.randn(3, 2, a.kdim, dtype=D), weft.randn(3, 2, a.vdim, dtype=D)
    trios = [(q, k, v)] if "kdim" in options else [(q, k, v), (q, k, k), (q, q, q)]
    for trio in trios:
        y, weights = a(*trio, need_weights=need_weights)
        gradients = weft.autograd.grad(y.square().sum(), list(a.parameters()))
        turned = {id(x): x.transpose(0, 1).contiguous() for x in trio}
        for xs in ([turned[id(x)] for x in trio], [x.transpose(0, 1) for x in trio]):
            other, others = b(*xs, need_weights=need_weights)
            assert close(other.transpose(0, 1), y)
            assert weights is None or close(others, weights)
            more = weft.autograd.grad(other.square().sum(), list(b.parameters()))
            assert close(more, gradients)
        y, weights = a(*(x[:, 1] for x in trio), need_weights=need_weights)
        assert close(y, other[1]) and (weights is None or close(weights, others[1]))


def test_attention_of_batches_first_copies_nothing() -> None:
    """Heads are views of one product, and lie side by side when they have attended."""
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    x = weft.randn(2, 3, 4, requires_grad=True)
    y = attention(x, x, x, need_weights=False)[0]
    assert y.is_contiguous()
    assert not {"ContiguousCopyBackward0", "CloneBackward0", "SplitBackward0"} & nodes(y)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_masks_of_attention(batch_first: bool, need_weights: bool) -> None:
    """Masks of bool and added ones, for all heads or each, and of padding, are one sum."""
    attention = nn.MultiheadAttention(4, 2, batch_first=batch_first, dtype=D)
    x = weft.randn(3, 3, 4, dtype=D)

    def attend(**masks: Any) -> Any:
        return attention(x, x, x, need_weights=need_weights, **masks)[0]

    hidden, padding = weft.ones(3, 3).triu(1).bool(), weft.zeros(3, 3).bool()
    padding[0, 1] = padding[2, 2] = True
    low, lower = (
        weft.zeros(3, 3, dtype=D).masked_fill(m, -float("inf")) for m in (hidden, padding)
    )
    both = (low + lower[:, None, None]).expand(3, 2, 3, 3).reshape(6, 3, 3)
    expected = attend(attn_mask=both)
    assert close(attend(attn_mask=hidden, key_padding_mask=padding), expected)
    assert close(attend(attn_mask=low, key_padding_mask=lower), expected)
    assert close(attend(attn_mask=hidden.expand(6, 3, 3), key_padding_mask=padding), expected)
    assert not close(attend(attn_mask=hidden), expected)


@pytest.mark.parametrize("need_weights", [False, True])
def test_keys_and_values_of_other_origin(need_weights: bool) -> None:
    """Learnt keys, keys of zeros and static ones are as good as projected ones."""
    e, heads = 4, 2
    q, k = weft.randn(3, 2, e, dtype=D), weft.randn(5, 2, e, dtype=D)
    w, eye = weft.randn(3 * e, e, dtype=D), weft.eye(e, dtype=D)
    mask = weft.randn(3, 5, dtype=D)

    def attend(key: Any, bk: Any = None, bv: Any = None, zero: bool = False, **more: Any) -> Any:
        args = (e, heads, w, None, bk, bv, zero, 0.0, eye, None)
        f = nn.functional.multi_head_attention_forward
        return f(q, key, key, *args, need_weights=need_weights, **more)[0]

    wk, wv = w[e : 2 * e], w[2 * e :]
    last, zeros = k[4:5, :1], weft.zeros(1, 2, e, dtype=D)
    same = weft.cat([k[:4], last.expand(1, 2, e)])
    learnt = attend(k[:4], last @ wk.t(), last @ wv.t(), attn_mask=mask[:, :4])
    free = mask.clone()
    free[:, 4] = 0
    assert close(learnt, attend(same, attn_mask=free))
    nothing = attend(weft.cat([k[:4], zeros]), attn_mask=free)
    assert close(attend(k[:4], zero=True, attn_mask=mask[:, :4]), nothing)

    def by_head(x: Any) -> Any:
        return x.view(5, 2 * heads, e // heads).transpose(0, 1)

    static = {"static_k": by_head(k @ wk.t()), "static_v": by_head(k @ wv.t())}
    assert close(attend(k, attn_mask=mask), attend(zeros.expand(5, 2, e), attn_mask=mask, **static))
    with pytest.raises(AssertionError, match="bias_k and bias_v must be given together"):
        attend(k, last)
    with pytest.raises(AssertionError, match="cannot be added to static"):
        attend(k, last, last, **static)


@pytest.mark.parametrize("need_weights", [False, True])
def test_attention_without_elements(need_weights: bool) -> None:
    """No batch, no queries or no keys give results without elements, or only the last bias."""
    attention = nn.MultiheadAttention(4, 2)
    for target, source, batch in ((3, 3, 0), (0, 3, 2), (3, 0, 2)):
        q, k = weft.randn(target, batch, 4), weft.randn(source, batch, 4)
        y, weights = attention(q, k, k, need_weights=need_weights)
        assert y.shape == q.shape and (y == attention.out_proj.bias).all()
        assert weights is None or weights.shape == (batch, target, source)


def test_attention_errors() -> None:
    """A key of another batch is not repeated; a mask must fit."""
    attention, x = nn.MultiheadAttention(4, 2), weft.ones(3, 2, 4)
    with pytest.raises(RuntimeError, match="key must have the batch of query, 2, but got 1"):
        attention(x, x[:, :1], x[:, :1])
    with pytest.raises(AssertionError, match=r"key_padding_mask shape of \(2, 3\)"):
        attention(x, x, x, key_padding_mask=weft.zeros(2, 4))
    with pytest.raises(
        RuntimeError, match=r"3D attn_mask is \(2, 3, 3\), but should be \(4, 3, 3\)"
    ):
        attention(x, x, x, attn_mask=weft.zeros(2, 3, 3))
    with pytest.raises(RuntimeError, match="Need attn_mask"):
        attention(x, x, x, is_causal=True)


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


@pytest.mark.parametrize("kind", KINDS)
def test_no_sequences_at_all(kind: Any) -> None:
    """A batch of nothing has states and gradients of nothing."""
    layer = kind(3, 4)
    y, _ = layer(weft.zeros(5, 0, 3))
    assert y.shape == (5, 0, 4)
    y.sum().backward()
    assert weft.equal(layer.weight_hh_l0.grad, weft.zeros_like(layer.weight_hh_l0))
