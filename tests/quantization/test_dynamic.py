"""``quantize_dynamic``: which layers, how exact, how small, saved and loaded."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from quantization.quantized_digits import accuracy, learnt

import weft
from weft import nn
from weft import quantization as Q
from weft.nn.functional import recurrent
from weft.quantization.nn import dynamic


def close(got: Any, want: Any, within: float = 0.03) -> bool:
    """Within a share of the largest number."""
    return bool((got - want).abs().max() <= within * want.abs().max())


def model() -> Any:
    """Layers of several kinds, some inside others."""
    inner = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
    return nn.Sequential(inner, nn.Linear(16, 4, bias=False)).eval()


def test_which_layers() -> None:
    """By default linear and recurrent ones; by class, by name; a copy, or the model itself."""
    m = model()
    q = Q.quantize_dynamic(m)
    assert type(q[0][0]) is dynamic.Linear and type(q[1]) is dynamic.Linear
    assert type(m[1]) is nn.Linear and q[0][1] is not m[0][1]
    only = Q.quantize_dynamic(m, {"0.0"})
    assert type(only[0][0]) is dynamic.Linear and type(only[1]) is nn.Linear
    below = Q.quantize_dynamic(m, {"0"})
    assert type(below[0][0]) is dynamic.Linear and type(below[1]) is nn.Linear
    by_tensor = Q.QConfig(Q.default_dynamic_quant_observer, Q.default_weight_observer)
    mixed = Q.quantize_dynamic(m, {nn.Linear: Q.default_dynamic_qconfig, "1": by_tensor})
    assert mixed[0][0].weight_scale.shape == (16,) and mixed[1].weight_scale.shape == ()
    assert "per_tensor_affine" in repr(mixed[1]) and "per_channel_affine" in repr(mixed[0][0])
    assert Q.quantize_dynamic(m, {nn.Linear: None})[1].__class__ is nn.Linear
    assert Q.quantize_dynamic(m, {nn.Linear}, inplace=True) is m and type(m[1]) is dynamic.Linear
    assert type(Q.quantize_dynamic(nn.Linear(2, 3))) is dynamic.Linear
    x = weft.randn(5, 8)
    for each in (q, only, mixed):
        assert close(each(x), Q.quantize_dynamic(each, set())(x), 1e-7)


def test_linear() -> None:
    """Weights are the nearest of 255 steps to the largest of their row; results are close."""
    m = nn.Linear(200, 50)
    q = dynamic.Linear.from_float(m)
    assert q.weight_int8.dtype == weft.int8 and not list(q.parameters())
    step = m.weight.detach().abs().amax(1) / 127.5
    assert weft.allclose(q.weight_scale, step)
    assert (q.weight().dequantize() - m.weight.detach()).abs().max() <= 0.51 * step.max()
    x = weft.randn(30, 200)
    assert q.reduce_range and close(q(x), m(x), 0.03)
    every = Q.QConfig(
        Q.PlaceholderObserver.with_args(quant_max=255), Q.default_dynamic_qconfig.weight
    )
    fine = Q.quantize_dynamic(m, {nn.Linear: every})
    assert not fine.reduce_range and close(fine(x), m(x), 0.02)
    assert not q(x.requires_grad_()).requires_grad
    assert weft.equal(q.bias(), m.bias.detach())
    text = "DynamicQuantizedLinear(in_features=200, out_features=50, dtype=torch.qint8, "
    assert repr(q) == text + "qscheme=torch.per_channel_affine)"
    assert weft.equal(q(x.reshape(5, 6, 200)).reshape(30, 50), q(x))
    assert weft.equal(nn.Sequential(q, nn.ReLU())(x), q(x).relu())


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("mode", ["zeros", "circular"])
def test_convolutions(n: int, mode: str) -> None:
    """Settings of all kinds carry over."""
    float_class: Any = getattr(nn, f"Conv{n}d")
    for settings in ({"padding": 1, "groups": 2}, {"stride": 2, "padding": 2}, {"padding": "same"}):
        m = float_class(4, 6, 3, padding_mode=mode, **settings)
        q = Q.quantize_dynamic(nn.Sequential(m), {float_class})[0]
        x = weft.randn(2, 4, *[8] * n)
        assert close(q(x), m(x)) and close(q(x[0]), m(x[0]))
        assert repr(q).startswith(f"DynamicQuantizedConv{n}d(4, 6, kernel_size=")
    with pytest.raises(RuntimeError, match=f"Conv{n}d: Expected {n + 1}D"):
        q(weft.ones(4))


RECURRENT = [
    (nn.LSTM, {"num_layers": 2, "bidirectional": True, "batch_first": True}),
    (nn.LSTM, {"proj_size": 5, "bias": False}),
    (nn.GRU, {"num_layers": 2}),
    (nn.RNN, {"nonlinearity": "relu"}),
    (nn.RNN, {}),
]


@pytest.mark.parametrize("kind, settings", RECURRENT)
def test_recurrent_layers(kind: Any, settings: dict[str, Any]) -> None:
    """Sequences, packed ones too, with states given and not."""
    m = kind(12, 20, **settings)
    state = weft.get_rng_state()
    q = Q.quantize_dynamic(nn.Sequential(m))[0]
    assert weft.equal(weft.get_rng_state(), state)  # nothing was drawn
    assert type(q) is getattr(dynamic, kind.__name__) and not list(q.parameters())
    assert repr(q) == "DynamicQuantized" + repr(m)
    x = weft.randn(7, 3, 12)
    y, last = q(x)
    want, want_last = m(x)
    assert close(y, want)
    again, _ = q(x, last)
    assert close(again, m(x, want_last)[0])
    packed = (
        nn.utils.rnn.pack_padded_sequence(x, [7, 4, 2], batch_first=q.batch_first)
        if not (q.batch_first)
        else nn.utils.rnn.pack_padded_sequence(x, [3] * 7, batch_first=True)
    )
    assert close(q(packed)[0].data, m(packed)[0].data)
    fresh = Q.quantize_dynamic(nn.Sequential(kind(12, 20, **settings)))[0]
    fresh.load_state_dict(q.state_dict())
    assert weft.equal(fresh(x)[0], y)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("time, batch, units", [(1, 1, 1), (6, 3, 33), (4, 17, 64)])
def test_layers_are_their_steps(
    kind: Any, time: int, batch: int, units: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A layer in one op has the bits of its steps, one after the other."""
    q = Q.quantize_dynamic(nn.Sequential(kind(9, units, 2, bidirectional=True)))[0]
    x = weft.randn(time, batch, 9)
    y, state = q(x)
    monkeypatch.setattr(recurrent, "_int8", recurrent.plain_one_way)
    want, want_state = q(x)
    assert weft.equal(y, want)
    assert weft.equal(weft.cat([*state]), weft.cat([*want_state]))


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
def test_cells(kind: Any) -> None:
    """One step."""
    m = kind(12, 20)
    q = Q.quantize_dynamic(nn.Sequential(m))[0]
    x = weft.randn(3, 12)
    got, want = q(x), m(x)
    pairs = zip(got, want) if isinstance(want, tuple) else [(got, want)]
    assert all(close(a, b) for a, b in pairs)


def test_embeddings() -> None:
    """Rows of bytes, each on its own grid; bags with offsets, padding and weights."""
    m = nn.Embedding(50, 16)
    q = Q.quantize_dynamic(nn.Sequential(m), dtype=weft.quint8)[0]
    index = weft.randint(0, 50, (4, 3))
    assert q.weight_uint8.dtype == weft.uint8
    assert (q(index) - m(index)).abs().max() <= (m.weight.amax(1) - m.weight.amin(1)).max() / 500
    for mode in ("sum", "mean", "max"):
        bag = nn.EmbeddingBag(50, 16, mode=mode, padding_idx=3)
        spec = {nn.EmbeddingBag: Q.float_qparams_weight_only_qconfig}
        qb = Q.quantize_dynamic(nn.Sequential(bag), spec, dtype=weft.quint8)[0]
        flat, offsets = weft.tensor([3, 5, 9, 3, 9, 49]), weft.tensor([0, 2, 5])
        assert close(qb(flat, offsets), bag(flat, offsets))
    with pytest.raises(NotImplementedError, match="embeddings need float_qparams"):
        Q.quantize_dynamic(nn.Sequential(nn.Embedding(2, 2)), {nn.Embedding})


def test_layers_in_larger_ones() -> None:
    """A Transformer layer, whose attention stays float; a layer in two places is one still."""
    m = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()
    q = Q.quantize_dynamic(m)
    assert type(q.linear1) is dynamic.Linear
    assert type(q.self_attn.out_proj) is type(m.self_attn.out_proj)
    x = weft.randn(2, 5, 32)
    with weft.no_grad():
        assert close(q(x), m(x))
    one = nn.Linear(4, 4)
    twice = Q.quantize_dynamic(nn.Sequential(one, nn.ReLU(), one))
    assert twice[0] is twice[2] and type(twice[0]) is dynamic.Linear


def test_saved(tmp_path: Path) -> None:
    """The file is about a quarter; loaded into a fresh model it gives the same bits."""
    m = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64))
    q = Q.quantize_dynamic(m)
    for name, each in (("float", m), ("int8", q)):
        weft.save(each.state_dict(), tmp_path / name)
    small, large = ((tmp_path / n).stat().st_size for n in ("int8", "float"))
    assert 0.2 < small / large < 0.3
    fresh = Q.quantize_dynamic(nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64)))
    x = weft.randn(3, 256)
    assert not weft.equal(fresh(x), q(x))
    fresh.load_state_dict(weft.load(tmp_path / "int8"))
    assert weft.equal(fresh(x), q(x))
    by_tensor = Q.QConfig(Q.default_dynamic_quant_observer, Q.default_weight_observer)
    other = Q.quantize_dynamic(m, {nn.Linear: by_tensor})
    fresh.load_state_dict(other.state_dict())
    assert weft.equal(fresh(x), other(x))
    with pytest.raises(RuntimeError, match="weight_int8"):
        fresh.load_state_dict(m.state_dict())
    twin = copy.deepcopy(q)
    assert weft.equal(twin(x), q(x)) and twin[0].weight_int8 is not q[0].weight_int8


def test_digits() -> None:
    """Recognises as many of the unseen digits, to a hundredth."""
    net = learnt()
    q = Q.quantize_dynamic(net, {nn.Linear, nn.Conv2d})
    assert accuracy(net) > 0.95
    assert abs(accuracy(q) - accuracy(net)) <= 0.01


def test_static_graphs(tmp_path: Path) -> None:
    """A trace, saved and loaded, and a compiled function give the same bits."""
    m = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10)).eval()
    q, x = Q.quantize_dynamic(m, {nn.Linear, nn.Conv2d}), weft.randn(2, 1, 8, 8)
    with weft.no_grad():
        traced = weft.jit.trace(q, x)
        assert weft.equal(traced(x), q(x))
        traced.save(tmp_path / "traced")
        assert weft.equal(weft.jit.load(tmp_path / "traced")(x), q(x))
        compiled = weft.compile(q)
        for data in (x, x * 3, x):  # each finds its own grid
            assert weft.equal(compiled(data), q(data))
        q[0].weight_int8.zero_()
        assert weft.equal(compiled(x), q(x))


def test_summary() -> None:
    """As many multiplications as before."""
    layers = [
        (nn.Linear(8, 4), (3, 8)),
        (nn.Conv2d(2, 4, 3), (1, 2, 6, 6)),
        (nn.LSTM(4, 5), (6, 2, 4)),
    ]
    for layer, shape in layers:
        q = Q.quantize_dynamic(nn.Sequential(layer), {type(layer)})
        macs = [weft.summary(m, weft.ones(*shape)).total_macs for m in (nn.Sequential(layer), q)]
        assert macs[0] == macs[1] > 0


def test_refused() -> None:
    """What is not supported is named."""
    m = model()
    with pytest.raises(NotImplementedError, match=r"dtype torch.float16 is not supported"):
        Q.quantize_dynamic(m, {nn.Linear}, dtype=weft.float16)
    with pytest.raises(NotImplementedError, match="class ReLU are not supported"):
        Q.quantize_dynamic(m, {nn.ReLU})
    affine = Q.QConfig(
        Q.default_dynamic_quant_observer, Q.MinMaxObserver.with_args(dtype=weft.qint8)
    )
    with pytest.raises(NotImplementedError, match="only symmetric ones"):
        Q.quantize_dynamic(m, {nn.Linear: affine})
    with pytest.raises(NotImplementedError, match=r"dtype torch.quint8 are not supported"):
        Q.quantize_dynamic(m, {nn.Linear: Q.QConfig(None, Q.MinMaxObserver)})
    nn.utils.prune.l1_unstructured(m[1], "weight", amount=2)
    with pytest.raises(NotImplementedError, match=r"the layer '1' has a hook.*prune.remove"):
        Q.quantize_dynamic(m)
    nn.utils.prune.remove(m[1], "weight")
    assert type(Q.quantize_dynamic(m)[1]) is dynamic.Linear
    with pytest.raises(RuntimeError, match="expected an input of float32"):
        Q.quantize_dynamic(m)(weft.ones(1, 8, dtype=weft.float64))


@pytest.mark.parametrize("most", [127, 255])
def test_how_many_integers_are_used_is_saved(most: int) -> None:
    """A state dict brings them along; one of a version that had no such entry keeps all 256."""
    exact = weft.quantization.QConfig(
        weft.quantization.PlaceholderObserver.with_args(quant_max=most),
        weft.quantization.default_per_channel_weight_observer,
    )
    layer = weft.quantization.nn.dynamic.Linear.from_float(weft.nn.Linear(40, 30), exact)
    state, x = layer.state_dict(), weft.randn(5, 40)
    other = weft.quantization.nn.dynamic.Linear(40, 30)
    other.load_state_dict(state)
    assert other.reduce_range == (most == 127)
    assert weft.equal(other(x), layer(x))
    del state["reduce_range"]
    other.load_state_dict(state)
    assert other.reduce_range is False
    assert weft.equal(other(x), layer(x)) == (most == 255)


def test_other_ranges_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="quant_max=100 are not supported"):
        weft.quantization.PlaceholderObserver(quant_max=100)
    with pytest.raises(NotImplementedError, match="quant_min=-128"):
        weft.quantization.PlaceholderObserver(quant_min=-128, quant_max=127)
