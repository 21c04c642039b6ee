"""Observers, ``prepare`` and ``convert``; layers joined; learning with rounding."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quantization.quantized_digits import FUSED, Net, accuracy, digits, learn, learnt

import weft
from weft import nn
from weft import quantization as Q
from weft.quantization.nn import intrinsic, qat, quantized

# ---- observers


def seen(observer: Any, *values: Any) -> tuple[Any, Any]:
    """Show tensors to an observer; return the grid as lists."""
    for value in values:
        observer(weft.tensor(value))
    scale, zero = observer.calculate_qparams()
    return [round(s, 6) for s in scale.tolist()], zero.tolist()


def test_ranges() -> None:
    """Affine and symmetric grids, for bytes with and without sign, of all or some integers."""
    x = [-1.0, 4.1]
    assert seen(Q.MinMaxObserver(), x) == ([0.02], [50])
    assert seen(Q.MinMaxObserver(), [2.0, 5.1]) == ([0.02], [0])  # zero is on every grid
    assert seen(Q.MinMaxObserver(dtype=weft.qint8), x) == ([0.02], [-78])
    assert seen(Q.MinMaxObserver(reduce_range=True), [0.0, 12.7]) == ([0.1], [0])
    assert seen(Q.MinMaxObserver(quant_min=0, quant_max=15), [0.0, 1.5]) == ([0.1], [0])
    symmetric = Q.MinMaxObserver(dtype=weft.qint8, qscheme=weft.per_tensor_symmetric)
    assert seen(symmetric, [-2.55, 1.0]) == ([0.02], [0])
    symmetric = Q.MinMaxObserver(qscheme=weft.per_tensor_symmetric)
    assert seen(symmetric, [-2.55, 1.0]) == ([0.02], [128])
    assert seen(Q.MinMaxObserver(), [0.0], [1.0, 2.55], [-1.0])[0] == [round(3.55 / 255, 6)]
    zeros = Q.MinMaxObserver()
    zeros(weft.zeros(3))
    assert zeros.calculate_qparams()[0].item() > 0


def test_moving_averages() -> None:
    """A new range counts for a fixed part."""
    o = Q.MovingAverageMinMaxObserver(averaging_constant=0.25)
    seen(o, [-1.0, 1.0], [-1.0, 3.0])
    assert (o.min_val.item(), o.max_val.item()) == (-1.0, 1.5)


def test_channels() -> None:
    """One range for each channel, of any dimension."""
    x = weft.tensor([[1.0, -2.0], [3.0, 25.5]])
    o = Q.PerChannelMinMaxObserver()
    o(x)
    o(x * 0.5)
    assert o.min_val.tolist() == [-2.0, 1.5] and o.max_val.tolist() == [1.0, 25.5]
    o = Q.PerChannelMinMaxObserver(ch_axis=-1, dtype=weft.qint8, qscheme=weft.per_channel_symmetric)
    o(x)
    assert weft.allclose(o.calculate_qparams()[0], weft.tensor([3.0, 25.5]) / 127.5)


def test_histogram() -> None:
    """A few numbers far out are cut off; ranges may grow; without them the range is kept."""
    body = weft.linspace(0, 1, 20000).repeat(50)
    o = Q.HistogramObserver()
    o(body)
    assert abs(o.calculate_qparams()[0].item() * 255 - 1) < 0.02
    o(weft.tensor([40.0]))
    assert o.histogram.sum() == 1_000_001
    scale = o.calculate_qparams()[0].item()
    assert 10 < scale * 255 < 25
    x = weft.cat([body, weft.tensor([40.0])])
    error, kept = ((rounded(x, s, 0) - x).square().sum() for s in (scale, 40 / 255))
    assert error < 0.7 * kept
    assert seen(Q.HistogramObserver(), [2.0, 2.0]) == seen(Q.MinMaxObserver(), [2.0, 2.0])
    with pytest.raises(ValueError, match="NaN or infinite"):
        o(weft.tensor([float("nan")]))


def rounded(x: Any, scale: float, zero: int) -> Any:
    """On a grid of bytes."""
    return weft.fake_quantize_per_tensor_affine(x, scale, zero, 0, 255)


def test_observers_refuse() -> None:
    """Nothing seen: a warning and a grid of ones. Settings that do not go together raise."""
    with pytest.warns(UserWarning, match="must run observer"):
        assert Q.MinMaxObserver().calculate_qparams()[0].item() == 1
    with pytest.raises(NotImplementedError, match="belongs to PerChannelMinMaxObserver"):
        Q.MinMaxObserver(qscheme=weft.per_channel_affine)
    with pytest.raises(ValueError, match="between 0 and 255, got 5 and 300"):
        Q.MinMaxObserver(quant_min=5, quant_max=300)
    with pytest.raises(ValueError, match="with_args"):
        m = nn.Sequential(nn.Linear(1, 1))
        m.qconfig = Q.QConfig(Q.MinMaxObserver(), Q.MinMaxObserver())
        Q.prepare(m)
    with pytest.raises(RuntimeError, match="observes nothing"):
        Q.PlaceholderObserver().calculate_qparams()


# ---- joining layers


def test_fuse() -> None:
    """Joined layers give what the layers gave; the others do nothing."""
    net = learnt()
    fused = Q.fuse_modules(net, FUSED)
    assert type(fused.conv1) is intrinsic.ConvReLU2d and type(fused.bn1) is nn.Identity
    assert type(fused.fc1) is intrinsic.LinearReLU and type(net.conv1) is nn.Conv2d
    x = digits()[0][:9]
    assert weft.allclose(fused(x), net(x), atol=1e-4)
    m = nn.Sequential(nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3)).eval()
    with weft.no_grad():
        m[1].running_mean.uniform_()
        m[1].running_var.uniform_(0.5, 2)
    y = m(weft.ones(1, 2, 5))
    assert Q.fuse_modules(m, ["0", "1"], inplace=True) is m and type(m[0]) is nn.Conv1d
    assert weft.allclose(m(weft.ones(1, 2, 5)), y, atol=1e-6)


def test_fuse_refuses() -> None:
    """Layers that do not go together, and the wrong mode."""
    m = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.ReLU())
    with pytest.raises(NotImplementedError, match=r"layers \(Linear, Tanh\) cannot be joined"):
        Q.fuse_modules(m.eval(), ["0", "1"])
    with pytest.raises(NotImplementedError, match=r"layers \(Tanh, ReLU\) cannot be joined"):
        Q.fuse_modules(m, ["1", "2"])
    with pytest.raises(ValueError, match="evaluation mode"):
        Q.fuse_modules(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), ["0", "1"])
    with pytest.raises(TypeError, match="expected layers Linear, ReLU, got Linear, Tanh"):
        intrinsic.LinearReLU(nn.Linear(1, 1), nn.Tanh())


# ---- prepare and convert


def converted(net: Any, qconfig: Any, x: Any) -> Any:
    """A quantised copy that has seen x."""
    net.qconfig = qconfig
    prepared = Q.prepare(net)
    with weft.no_grad():
        prepared(x)
    return Q.convert(prepared)


QCONFIGS = [
    Q.get_default_qconfig("x86"),
    Q.get_default_qconfig("qnnpack"),
    Q.default_per_channel_qconfig,
]


@pytest.mark.parametrize("qconfig", QCONFIGS)
def test_digits(qconfig: Any, tmp_path: Path) -> None:
    """Recognises as many digits, to a hundredth; the file is about a quarter; loading works."""
    net = learnt()
    x = digits()[0]
    fused = Q.fuse_modules(net, FUSED)
    q = converted(fused, qconfig, x[:200])
    kinds = {name: type(m) for name, m in q.named_children()}
    assert kinds["conv1"] is quantized.ConvReLU2d and kinds["fc2"] is quantized.Linear
    assert kinds["quant"] is quantized.Quantize and kinds["dequant"] is quantized.DeQuantize
    assert not any(hasattr(m, "qconfig") for m in q.modules())
    assert abs(accuracy(q) - accuracy(net)) <= 0.01
    weft.save(net.state_dict(), tmp_path / "float")
    weft.save(q.state_dict(), tmp_path / "int8")
    assert (tmp_path / "int8").stat().st_size < 0.31 * (tmp_path / "float").stat().st_size
    other = Q.fuse_modules(Net().eval(), FUSED)
    fresh = converted(other, qconfig, weft.rand(3, 1, 8, 8))
    fresh.load_state_dict(weft.load(tmp_path / "int8"))
    assert weft.equal(fresh(x[:50]), q(x[:50]))
    assert fresh.fc2.scale == pytest.approx(q.fc2.scale) and isinstance(fresh.fc2.zero_point, int)


def test_results_lie_on_the_grid() -> None:
    """A result is (byte - zero point) times scale; ReLU cuts at zero; text says the grid."""
    m = nn.Sequential(nn.Linear(6, 5), nn.ReLU()).eval()
    x = weft.randn(40, 6)
    q = converted(Q.fuse_modules(m, ["0", "1"]), Q.get_default_qconfig(), x)[0]
    y = q(x)
    bytes_ = y / q.scale + q.zero_point
    assert weft.allclose(bytes_, bytes_.round(), atol=1e-3)
    assert bytes_.min() >= 0 and bytes_.max() <= 255.001 and y.min() == 0
    assert (y - m(x)).abs().max() < 0.1
    assert repr(q).startswith("QuantizedLinearReLU(in_features=6, out_features=5, scale=")
    observed = converted(nn.Sequential(nn.Linear(6, 5)).eval(), Q.default_qconfig, x)[0]
    assert observed.input_scale == pytest.approx(
        (x.max().clamp(min=0) - x.min()).item() / 127, rel=1e-5
    )


def test_ranges_of_inputs() -> None:
    """A qconfig says how many integers inputs have; files from before it did say 256."""
    m, x = nn.Sequential(nn.Linear(4, 4)).eval(), weft.randn(9, 4)
    half, full = (converted(m, Q.get_default_qconfig(b), x) for b in ("x86", "onednn"))
    assert half[0].reduce_range and not full[0].reduce_range
    state = full.state_dict()
    del state["0.reduce_range"]
    half.load_state_dict(state)
    assert weft.equal(half(x), full(x))


def test_some_layers_stay() -> None:
    """``qconfig = None`` leaves a layer as it is, a qconfig of its own counts before the model's."""
    m = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)).eval()
    m[1].qconfig = None
    m[2].qconfig = Q.QConfig(Q.MinMaxObserver, Q.default_weight_observer)
    q = converted(m, Q.get_default_qconfig(), weft.randn(9, 4))
    assert [type(layer) for layer in q] == [quantized.Linear, nn.Linear, quantized.Linear]
    assert q[0].weight_scale.shape == (4,) and q[2].weight_scale.shape == ()
    with pytest.raises(ValueError, match="no module has a qconfig"):
        Q.prepare(nn.Linear(1, 1))


class Residual(nn.Module):
    """A sum that is observed, and one way around."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.sum = nn.Conv2d(3, 3, 3, padding=1), quantized.FloatFunctional()

    def forward(self, x: Any) -> Any:
        return self.sum.add_relu(self.conv(x), x)


def test_sums() -> None:
    """``FloatFunctional`` is observed, then gives results on its grid."""
    m, x = Residual().eval(), weft.randn(4, 3, 6, 6)
    q = converted(m, Q.get_default_qconfig(), x)
    assert type(q.sum) is quantized.QFunctional and (q(x) - m(x)).abs().max() < 0.2
    steps = q(x) / q.sum.scale
    assert weft.allclose(steps, steps.round(), atol=1e-3)
    assert "sum.scale" in q.state_dict()


def test_wrappers_and_short_ways() -> None:
    """``QuantWrapper`` around leaves; ``quantize`` in one call; ``prepare`` leaves the model alone."""
    m = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()
    x = weft.randn(20, 4)
    m[0].qconfig = Q.default_per_channel_qconfig
    wrapped = Q.add_quant_dequant(copy.deepcopy(m))
    assert type(wrapped[0]) is Q.QuantWrapper
    q = Q.quantize(wrapped, lambda net, data: net(data), [x])
    assert type(q[0].quant) is quantized.Quantize and (q(x) - m(x)).abs().max() < 0.2
    prepared = Q.prepare(m)
    assert not hasattr(m[0], "activation_post_process")
    prepared(x)
    state = prepared.state_dict()
    again = Q.prepare(m)
    again.load_state_dict(state)
    assert weft.equal(Q.convert(again)(x), Q.convert(prepared)(x))


def test_never_shown_anything() -> None:
    """Converting without data warns, and can still be given a state."""
    m = nn.Sequential(nn.Linear(4, 4)).eval()
    m.qconfig = Q.default_qconfig
    with pytest.warns(UserWarning, match="must run observer"):
        q = Q.convert(Q.prepare(m))
    assert q[0].scale == 1.0


def test_convert_refuses() -> None:
    """What is not supported is named."""
    m = nn.Sequential(nn.Linear(4, 4))
    m.qconfig = Q.QConfig(Q.MinMaxObserver.with_args(dtype=weft.qint8), Q.default_weight_observer)
    prepared = Q.prepare(m)
    prepared(weft.ones(1, 4))
    with pytest.raises(
        NotImplementedError, match=r"dtype quint8 with one scale for all, got .*qint8"
    ):
        Q.convert(prepared)
    with pytest.raises(NotImplementedError, match="is_reference"):
        Q.convert(prepared, is_reference=True)
    with pytest.raises(NotImplementedError, match="allow_list"):
        Q.prepare(m, allow_list=[nn.Linear])
    with pytest.raises(ValueError, match="backend must be one of"):
        Q.get_default_qconfig("tpu")


# ---- learning with rounding


def test_straight_through() -> None:
    """Values are rounded; gradients pass where the number is within the grid, else they are 0."""
    x = weft.tensor([-1.0, 0.26, 0.9, 9.0], requires_grad=True)
    y = weft.fake_quantize_per_tensor_affine(x, 0.5, 0, 0, 10)
    assert y.tolist() == [0.0, 0.5, 1.0, 5.0]
    (y * weft.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 3.0, 0.0]
    w = weft.tensor([[0.3, 5.0], [0.3, 5.0]], requires_grad=True)
    s, z = weft.tensor([0.5, 1.0]), weft.tensor([0, 0])
    y = weft.fake_quantize_per_channel_affine(w, s, z, 0, -4, 4)
    assert y.tolist() == [[0.5, 2.0], [0.0, 4.0]]
    y.sum().backward()
    assert w.grad.tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_fake_quantize_switches() -> None:
    """Watching and rounding can be switched off, for one module and for all."""
    f = Q.FakeQuantize(Q.MinMaxObserver, quant_min=0, quant_max=255)
    f(weft.tensor([0.0, 2.55]))
    f.apply(Q.disable_observer)
    assert f(weft.tensor([100.0])).item() == pytest.approx(
        2.55
    ) and f.scale.item() == pytest.approx(0.01)
    f.apply(Q.disable_fake_quant)
    assert f(weft.tensor([100.0])).item() == 100
    f.apply(Q.enable_fake_quant).apply(Q.enable_observer)
    assert f(weft.tensor([100.0])).item() == pytest.approx(100)
    twin = Q.FakeQuantize(Q.MinMaxObserver)
    twin.load_state_dict(f.state_dict())
    assert twin.scale.item() == f.scale.item()


def test_learning_with_rounding() -> None:
    """A prepared network learns, and what it becomes recognises as many digits."""
    net = copy.deepcopy(learnt()).train()
    joined = Q.fuse_modules_qat(net, FUSED)
    assert type(joined.conv1) is intrinsic.ConvBnReLU2d
    joined.qconfig = Q.get_default_qat_qconfig()
    prepared = Q.prepare_qat(joined)
    assert type(prepared.conv1) is qat.ConvBn and type(prepared.fc1) is qat.Linear
    before = prepared.fc1.weight.detach().clone()
    learn(prepared, 15, lr=1e-3)
    assert not weft.equal(prepared.fc1.weight.detach(), before)
    q = Q.convert(prepared)
    assert type(q.conv1) is quantized.ConvReLU2d and type(q.fc1) is quantized.LinearReLU
    assert accuracy(q) >= accuracy(learnt()) - 0.01
    x = digits()[0][:200]
    with weft.no_grad():
        same = (q(x).argmax(1) == prepared(x).argmax(1)).float().mean().item()
    assert same > 0.98


@pytest.mark.parametrize("n", [1, 2, 3])
def test_norm_taken_into_a_convolution(n: int) -> None:
    """With rounding switched off, both layers learn as they would by themselves."""
    conv: Any = getattr(nn, f"Conv{n}d")(2, 3, 2)
    norm: Any = getattr(nn, f"BatchNorm{n}d")(3)
    plain = nn.Sequential(conv, norm)
    joined = Q.fuse_modules_qat(plain, ["0", "1"])
    joined.qconfig = Q.get_default_qat_qconfig()
    prepared = Q.prepare_qat(joined).apply(Q.disable_fake_quant)
    x = weft.randn(5, 2, *[4] * n)
    want, got = plain(x), prepared(x)
    assert weft.allclose(got, want, atol=1e-5)
    g = weft.randn(*want.shape)
    want.backward(g)
    got.backward(g)
    assert weft.allclose(prepared[0].conv.weight.grad, conv.weight.grad, atol=1e-4)
    assert np.allclose(prepared[0].bn.running_var.numpy(), norm.running_var.numpy(), atol=1e-6)


def test_prepare_qat_refuses() -> None:
    """Only models that learn, with a qconfig."""
    with pytest.raises(ValueError, match="training mode"):
        Q.prepare_qat(nn.Linear(1, 1).eval())
    with pytest.raises(ValueError, match="no module has a qconfig"):
        Q.prepare_qat(nn.Linear(1, 1))
