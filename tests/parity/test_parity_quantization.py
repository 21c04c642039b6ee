"""The same weights, quantised by weft and by PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import weft

warnings.filterwarnings("ignore", category=DeprecationWarning)
TQ, WQ = torch.ao.quantization, weft.quantization
LIBRARIES: Any = ((torch, TQ), (weft, WQ))


@pytest.fixture(autouse=True)
def engine() -> Any:
    """The engine that PyTorch has for this machine."""
    before = torch.backends.quantized.engine
    wanted = [
        e for e in ("x86", "fbgemm", "onednn") if e in torch.backends.quantized.supported_engines
    ]
    if not wanted:
        pytest.skip("PyTorch has no engine for int8 products here")
    torch.backends.quantized.engine = wanted[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.backends.quantized.engine = before


def both(make: Any) -> list[Any]:
    """The same model in both, with PyTorch's parameters."""
    torch.manual_seed(0)
    t, w = make(torch.nn).eval(), make(weft.nn).eval()
    w.load_state_dict({k: weft.from_numpy(v.numpy().copy()) for k, v in t.state_dict().items()})
    return [t, w]


def inputs(*shape: int) -> list[Any]:
    """The same numbers in both."""
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    return [torch.from_numpy(x), weft.from_numpy(x)]


def arrays(values: Any) -> list[np.ndarray]:
    """Results as arrays."""
    return [v.detach().numpy() for v in values]


def mlp(nn: Any) -> Any:
    """Two linear layers."""
    return nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))


def recurrent(nn: Any) -> Any:
    """An LSTM."""
    return nn.Sequential(nn.LSTM(16, 24, 2, bidirectional=True))


@pytest.mark.parametrize("per_channel", [False, True])
def test_dynamic_linear(per_channel: bool) -> None:
    """Weights are the same integers; results are as near to float's, or nearer."""
    models, x, results = both(mlp), inputs(40, 64), []
    for (lib, q), model, data in zip(LIBRARIES, models, x):
        weight = q.default_per_channel_weight_observer if per_channel else q.default_weight_observer
        config = q.QConfig(activation=q.default_dynamic_quant_observer, weight=weight)
        small = q.quantize_dynamic(model, {lib.nn.Linear: config}, dtype=lib.qint8)
        results.append((small[0].weight().int_repr(), small(data), model(data), repr(small)))
    ints, got, floats = (arrays([r[k] for r in results]) for k in range(3))
    assert np.array_equal(ints[0], ints[1])
    assert np.allclose(floats[0], floats[1], atol=1e-5)
    errors = [np.abs(g - f).mean() for g, f in zip(got, floats)]
    assert errors[1] <= 1.1 * errors[0]
    assert np.abs(got[0] - got[1]).max() < 0.05 * np.abs(floats[0]).max()
    assert results[0][3] == results[1][3]


def test_dynamic_lstm() -> None:
    """Results and states are near."""
    results = []
    for (lib, q), model, data in zip(LIBRARIES, both(recurrent), inputs(7, 3, 16)):
        y, (h, c) = q.quantize_dynamic(model, {lib.nn.LSTM}, dtype=lib.qint8)(data)
        results.append(arrays([y, h, c]))
    for a, b in zip(*results):
        assert a.shape == b.shape and np.abs(a - b).max() < 0.02


def test_embedding_bag() -> None:
    """The same rows to within a step of their grids."""
    results = []
    index, offsets = np.array([1, 2, 4, 5, 4, 3]), np.array([0, 2, 5])
    for (lib, q), model in zip(
        LIBRARIES, both(lambda nn: nn.Sequential(nn.EmbeddingBag(9, 12, mode="sum")))
    ):
        spec = {lib.nn.EmbeddingBag: q.float_qparams_weight_only_qconfig}
        small = q.quantize_dynamic(model, spec, dtype=lib.quint8)
        results.append(small[0](lib.from_numpy(index), lib.from_numpy(offsets)))
    a, b = arrays(results)
    assert np.abs(a - b).max() < 0.06


OBSERVERS = [
    ("MinMaxObserver", {}),
    ("MinMaxObserver", {"dtype": "qint8", "qscheme": "per_tensor_symmetric"}),
    ("MinMaxObserver", {"qscheme": "per_tensor_symmetric"}),
    ("MinMaxObserver", {"reduce_range": True}),
    ("MinMaxObserver", {"quant_min": 0, "quant_max": 127}),
    ("MovingAverageMinMaxObserver", {"averaging_constant": 0.3}),
    ("PerChannelMinMaxObserver", {"dtype": "qint8", "qscheme": "per_channel_symmetric"}),
    ("PerChannelMinMaxObserver", {"ch_axis": 1}),
    ("PerChannelMinMaxObserver", {"qscheme": "per_channel_affine_float_qparams"}),
    ("MovingAveragePerChannelMinMaxObserver", {"averaging_constant": 0.3}),
]


@pytest.mark.parametrize("name, settings", OBSERVERS)
def test_observers(name: str, settings: dict[str, Any]) -> None:
    """The same scales and zero points."""
    results = []
    for lib, q in LIBRARIES:
        real = {k: getattr(lib, v) if isinstance(v, str) else v for k, v in settings.items()}
        o = getattr(q, name)(**real)
        for seed in range(3):
            x = np.random.default_rng(seed).normal(size=(5, 4)).astype(np.float32) + seed
            o(lib.from_numpy(x))
        results.append(o.calculate_qparams())
    for a, b in zip(*results):
        assert np.allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_histogram_observer() -> None:
    """Not the same search, but a range that loses no more."""
    x = np.random.default_rng(0).standard_t(3, size=20000).astype(np.float32)
    lost = []
    for lib, q in LIBRARIES:
        o = q.HistogramObserver()
        o(lib.from_numpy(x))
        scale, zero = o.calculate_qparams()
        grid = scale.item(), int(zero.item()), 0, 255
        y = lib.fake_quantize_per_tensor_affine(lib.from_numpy(x), *grid).numpy()
        lost.append(np.square(y - x).sum())
    assert lost[1] <= 1.02 * lost[0]


def test_quantized_tensors() -> None:
    """The same integers, scales and text of the grid."""
    x = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    results = []
    for lib, _ in LIBRARIES:
        t = lib.from_numpy(x)
        a = lib.quantize_per_tensor(t, 0.03, 100, lib.quint8)
        b = lib.quantize_per_channel(
            t, lib.full((4,), 0.02), lib.zeros(4, dtype=lib.int64), 0, lib.qint8
        )
        results.append((a.int_repr(), a.dequantize(), b.int_repr(), b.dequantize()))
        assert (a.q_scale(), a.q_zero_point(), str(a.qscheme())) == (
            0.03,
            100,
            "torch.per_tensor_affine",
        )
    for a, b in zip(*results):
        assert np.allclose(a.numpy(), b.numpy(), atol=1e-7)


def convolutional(lib: Any, q: Any) -> Any:
    """A convolution, a linear layer and what marks the quantised part."""
    nn = lib.nn
    return nn.Sequential(
        q.QuantStub(), nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 10), q.DeQuantStub(),
    )  # fmt: skip


def test_static() -> None:
    """Fused, prepared and converted: within a few steps of the output's grid; learnt ranges agree."""
    torch.manual_seed(0)
    models = [convolutional(lib, q).eval() for lib, q in LIBRARIES]
    state = models[0].state_dict()
    models[1].load_state_dict({k: weft.from_numpy(v.numpy().copy()) for k, v in state.items()})
    results = []
    for (lib, q), model, x in zip(LIBRARIES, models, inputs(32, 3, 8, 8)):
        fused = q.fuse_modules(model, [["1", "2", "3"]])
        fused.qconfig = q.QConfig(
            activation=q.MinMaxObserver.with_args(quant_min=0, quant_max=127),
            weight=q.default_per_channel_weight_observer,
        )
        prepared = q.prepare(fused)
        with lib.no_grad():
            prepared(x)
            small = q.convert(prepared)
            results.append((small(x), model(x), small[6].scale, small[6].zero_point, str(small[1])))
    (a, want, scale, zero, text), (b, *_, scale_b, zero_b, text_b) = results
    assert scale == pytest.approx(scale_b, rel=1e-4) and zero == zero_b
    a, b, want = arrays([a, b, want])
    assert np.abs(a - b).max() <= 3.01 * scale
    assert np.abs(b - want).mean() <= 1.1 * np.abs(a - want).mean()
    assert text.split("scale=")[0] == text_b.split("scale=")[0]


def test_learning_with_rounding() -> None:
    """The first steps of a network that rounds: the same losses and gradients."""
    losses: list[list[float]] = []
    models = both(mlp)
    for (lib, q), model, x in zip(LIBRARIES, models, inputs(20, 64)):
        model.train()
        fake = q.FakeQuantize.with_args(
            observer=q.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=lib.quint8
        )
        model.qconfig = q.QConfig(activation=fake, weight=q.default_per_channel_weight_fake_quant)
        prepared = q.prepare_qat(model)
        optimizer = lib.optim.SGD(prepared.parameters(), lr=0.1)
        losses.append([])
        for _ in range(5):
            optimizer.zero_grad()
            loss = prepared(x).square().mean()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    assert np.allclose(losses[0], losses[1], rtol=0.02)
    assert losses[1][-1] < losses[1][0]
