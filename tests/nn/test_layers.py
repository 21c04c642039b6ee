"""Simple layers and losses: settings, text, modes, in-place, and agreement with their functions."""

from __future__ import annotations

import math
from typing import Any

import pytest

import weft
from weft import nn
from weft.nn import functional as F

X = [[-2.0, -0.3, 0.0], [0.4, 1.0, 7.0]]


@pytest.mark.parametrize(
    ("module", "function", "text"),
    [
        (nn.ReLU(), F.relu, "ReLU()"),
        (nn.ReLU6(), F.relu6, "ReLU6()"),
        (nn.ELU(0.5), lambda x: F.elu(x, 0.5), "ELU(alpha=0.5)"),
        (nn.CELU(0.5), lambda x: F.celu(x, 0.5), "CELU(alpha=0.5)"),
        (nn.SELU(), F.selu, "SELU()"),
        (nn.GELU("tanh"), lambda x: F.gelu(x, approximate="tanh"), "GELU(approximate='tanh')"),
        (nn.Hardshrink(), F.hardshrink, "Hardshrink(0.5)"),
        (nn.Hardsigmoid(), F.hardsigmoid, "Hardsigmoid()"),
        (nn.Hardswish(), F.hardswish, "Hardswish()"),
        (
            nn.Hardtanh(-2, 3),
            lambda x: F.hardtanh(x, -2, 3),
            "Hardtanh(min_val=-2, max_val=3)",
        ),
        (
            nn.LeakyReLU(0.1),
            lambda x: F.leaky_relu(x, 0.1),
            "LeakyReLU(negative_slope=0.1)",
        ),
        (nn.LogSigmoid(), F.logsigmoid, "LogSigmoid()"),
        (nn.LogSoftmax(0), lambda x: F.log_softmax(x, 0), "LogSoftmax(dim=0)"),
        (nn.Mish(), F.mish, "Mish()"),
        (
            nn.RReLU().eval(),
            lambda x: F.leaky_relu(x, (1 / 8 + 1 / 3) / 2),
            "RReLU(lower=0.125, upper=0.3333333333333333)",
        ),
        (nn.Sigmoid(), F.sigmoid, "Sigmoid()"),
        (nn.SiLU(), F.silu, "SiLU()"),
        (nn.Softmax(1), lambda x: F.softmax(x, 1), "Softmax(dim=1)"),
        (nn.Softmin(1), lambda x: F.softmin(x, 1), "Softmin(dim=1)"),
        (nn.Softplus(2), lambda x: F.softplus(x, 2), "Softplus(beta=2, threshold=20.0)"),
        (nn.Softshrink(), F.softshrink, "Softshrink(0.5)"),
        (nn.Softsign(), F.softsign, "Softsign()"),
        (nn.Tanh(), F.tanh, "Tanh()"),
        (nn.Tanhshrink(), F.tanhshrink, "Tanhshrink()"),
        (
            nn.Threshold(0.3, 5.0),
            lambda x: F.threshold(x, 0.3, 5.0),
            "Threshold(threshold=0.3, value=5.0)",
        ),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, nn.Module) else "",
)
def test_activations(module: nn.Module, function: Any, text: str) -> None:
    """A module computes its function and prints its settings."""
    x = weft.tensor(X)
    assert weft.equal(module(x), function(x)) and repr(module) == text
    assert (x == weft.tensor(X)).all()


@pytest.mark.parametrize(
    "name", "ReLU ReLU6 ELU CELU SELU Hardtanh LeakyReLU SiLU Mish Hardswish Hardsigmoid".split()
)
def test_inplace_activations(name: str) -> None:
    """In place, the result is in the memory of the input."""
    x, y = weft.tensor(X), weft.tensor(X)
    module = getattr(nn, name)(inplace=True)
    out = module(x)
    assert out.data_ptr() == x.data_ptr() and weft.equal(x, getattr(nn, name)()(y))
    assert name.startswith("Hards") or "inplace=True" in repr(module)


def test_settings_are_checked() -> None:
    """Settings that make no sense are refused when the module is made."""
    with pytest.raises(AssertionError, match="must be greater than min_val"):
        nn.Hardtanh(2, 1)
    with pytest.raises(ValueError, match="between 0 and 1, but got 2"):
        nn.Dropout(2)
    with pytest.raises(ValueError, match="expected input to be 3D or 4D"):
        nn.Softmax2d()(weft.ones(2))
    with pytest.raises(AssertionError, match="Padding_idx must be within"):
        nn.Embedding(3, 2, padding_idx=3)
    with pytest.raises(TypeError, match="unflattened_size must be a tuple of ints"):
        nn.Unflatten(1, 3)
    with pytest.raises(ValueError, match="only p == 1 and p == 2 supported"):
        nn.MultiMarginLoss(p=3)
    with pytest.raises(TypeError, match="delta must be a float or int"):
        nn.HuberLoss(delta=1j)
    with pytest.raises(ValueError, match="expected 2D or 3D input"):
        nn.CircularPad1d(1)(weft.ones(3))


def test_dropout_modes() -> None:
    """Training zeroes and scales; evaluation is the identity."""
    x = weft.ones(1000)
    m = nn.Dropout(0.25)
    y = m(x)
    assert y.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert abs(float((y == 0).float().mean()) - 0.25) < 0.06
    assert m.eval()(x) is x
    channels = nn.Dropout2d(0.5)(weft.ones(4, 8, 3, 3))
    per_channel = channels.flatten(2)
    assert (per_channel.max(2).values == per_channel.min(2).values).all()


@pytest.mark.parametrize(
    ("module", "args"),
    [
        (nn.Linear(3, 2), ((4, 3),)),
        (nn.Linear(3, 2, bias=False), ((3,),)),
        (nn.Bilinear(3, 2, 4), ((5, 3), (5, 2))),
        (nn.PReLU(3), ((2, 3),)),
        (nn.CosineSimilarity(), ((2, 3), (2, 3))),
        (nn.PairwiseDistance(3.0), ((2, 3), (2, 3))),
        (nn.ReflectionPad2d((1, 0, 1, 1)), ((1, 2, 3, 3),)),
        (nn.CircularPad1d(1), ((1, 2, 3),)),
        (nn.GLU(), ((2, 4),)),
        (nn.SmoothL1Loss(beta=0.5), ((2, 3), (2, 3))),
        (nn.TripletMarginLoss(swap=True), ((2, 3), (2, 3), (2, 3))),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, nn.Module) else "",
)
def test_gradients(module: nn.Module, args: Any) -> None:
    """Gradients agree with finite differences, by inputs and parameters."""
    module.double()
    inputs = [weft.randn(*shape, dtype=weft.float64, requires_grad=True) for shape in args]
    assert weft.autograd.gradcheck(
        lambda *a: module(*a[: len(args)]), [*inputs, *module.parameters()]
    )


def test_linear_shapes() -> None:
    """Any number of leading dimensions; the layer's text."""
    m = nn.Linear(3, 2)
    assert m(weft.ones(3)).shape == (2,) and m(weft.ones(4, 5, 3)).shape == (4, 5, 2)
    assert repr(m) == "Linear(in_features=3, out_features=2, bias=True)"
    assert nn.Linear(3, 2, bias=False).bias is None
    assert nn.Linear(3, 2, dtype=weft.float64).weight.dtype == weft.float64
    with pytest.raises(RuntimeError):
        m(weft.ones(2))
    assert nn.Identity(1, b=2)(m) is m


def test_embedding() -> None:
    """Rows by number; the padding row gets no gradient; pretrained rows are frozen."""
    m = nn.Embedding(5, 3, padding_idx=1)
    index = weft.tensor([[0, 1], [4, 0]])
    out = m(index)
    assert weft.equal(out, m.weight[index])
    out.sum().backward()
    assert m.weight.grad[:, 0].tolist() == [2, 0, 0, 0, 1]
    assert repr(m) == "Embedding(5, 3, padding_idx=1)"
    rows = weft.arange(6.0).reshape(3, 2)
    fixed = nn.Embedding.from_pretrained(rows)
    assert not fixed.weight.requires_grad and fixed(weft.tensor(2)).tolist() == [4, 5]
    bag = nn.EmbeddingBag.from_pretrained(rows, mode="sum")
    assert bag(weft.tensor([0, 1, 2]), weft.tensor([0, 2])).tolist() == [[2, 4], [4, 5]]
    assert repr(bag) == "EmbeddingBag(3, 2, mode='sum')"


def test_losses_keep_their_settings() -> None:
    """Reductions old and new, weights as buffers, smoothing and ignored targets."""
    x, y = weft.randn(6, 4), weft.tensor([0, 1, 2, 3, 0, 1])
    w = weft.tensor([1.0, 2.0, 3.0, 4.0])
    m = nn.CrossEntropyLoss(weight=w, ignore_index=3, label_smoothing=0.1, reduction="sum")
    plain = F.cross_entropy(x, y, w, ignore_index=3, label_smoothing=0.1, reduction="sum")
    assert weft.equal(m(x, y), plain) and list(m.state_dict()) == ["weight"]
    assert m.double().weight.dtype == weft.float64
    assert nn.MSELoss(size_average=False).reduction == "sum"
    assert nn.MSELoss(reduce=False).reduction == "none"
    assert nn.L1Loss(reduction="none")(x, x).shape == x.shape
    assert list(nn.BCEWithLogitsLoss(pos_weight=w).state_dict()) == ["pos_weight"]
    distance = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(1))
    assert distance(x, x, x).item() == 1
    with pytest.raises(ValueError, match="zz is not a valid value for reduction"):
        nn.MSELoss(reduction="zz")(x, x)


def test_adaptive_softmax() -> None:
    """The loss is that of the full distribution, which sums to one."""
    m = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)
    assert [(k, tuple(v.shape)) for k, v in m.state_dict().items()] == [
        ("head.weight", (7, 8)),
        ("tail.0.0.weight", (4, 8)),
        ("tail.0.1.weight", (5, 4)),
        ("tail.1.0.weight", (2, 8)),
        ("tail.1.1.weight", (10, 2)),
    ]
    x, y = weft.randn(6, 8), weft.tensor([0, 4, 5, 9, 10, 19])
    out = m(x, y)
    full = m.log_prob(x)
    assert weft.allclose(full.exp().sum(1), weft.ones(6), atol=1e-5)
    assert weft.allclose(out.output, full.gather(1, y.unsqueeze(1)).squeeze(1), atol=1e-5)
    assert weft.allclose(out.loss, -out.output.mean())
    assert weft.equal(m.predict(x), full.argmax(1))
    alone = m(x[0], y[0])
    assert alone.output.shape == () and weft.allclose(alone.output, out.output[0], atol=1e-5)
    out.loss.backward()
    assert all(p.grad is not None for p in m.parameters())
    with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 19\]"):
        m(x, weft.full((6,), 20))
    with pytest.raises(ValueError, match="unique, positive integers"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 5])


def test_linear_cross_entropy() -> None:
    """Cross entropy of a linear map, also of several targets per row."""
    m = nn.LinearCrossEntropyLoss(4, 5, bias=True, label_smoothing=0.1)
    x, y = weft.randn(3, 4), weft.tensor([0, 1, 4])
    plain = F.cross_entropy(m.linear(x), y, label_smoothing=0.1)
    assert weft.allclose(m(x, y), plain)
    many = nn.LinearCrossEntropyLoss(4, 5, out_features=(2,))
    logits = many.linear(x).reshape(3, 5, 2)
    targets = weft.tensor([[0, 1], [2, 3], [4, 0]])
    assert weft.allclose(many(x, targets), F.cross_entropy(logits, targets))
    with pytest.raises(RuntimeError, match="label_smoothing to be in range"):
        nn.LinearCrossEntropyLoss(4, 5, label_smoothing=2.0)


def test_pytorch_paths() -> None:
    """Every name of PyTorch's folder leads to a file, and classes are found in it."""
    modules = nn.modules
    for name in modules._FILES:
        assert getattr(modules, name).__name__.startswith("weft.nn."), name
    assert modules.linear.Linear is nn.Linear and modules.Conv2d is nn.Conv2d
    assert modules.batchnorm._BatchNorm and modules.sparse.Embedding is nn.Embedding
    assert issubclass(nn.MSELoss, modules.loss._Loss) and modules.rnn.LSTM is nn.LSTM
    with pytest.raises(AttributeError, match="no attribute 'zz'"):
        modules.zz  # noqa: B018


def test_ctc_by_hand() -> None:
    """Two frames, one label: the paths are a-, -a and aa."""
    p = weft.tensor([[[0.6, 0.4]], [[0.7, 0.3]]])
    loss = nn.CTCLoss(reduction="sum")(p.log(), weft.tensor([[1]]), [2], [1])
    expected = -math.log(0.4 * 0.7 + 0.6 * 0.3 + 0.4 * 0.3)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1)])
def test_an_embedding_reads_a_gradient_as_it_lies(order: tuple[int, ...]) -> None:
    """A transposed batch comes to the same rows, however its elements lie in memory."""
    table = nn.Embedding(7, 4)
    indices = weft.arange(15).reshape(3, 5) * 3 % 7
    shape = [(3, 5, 4)[d] for d in order]
    g = weft.randn(*shape).permute([order.index(d) for d in range(3)])
    table(indices).backward(g)
    want = weft.zeros(7, 4).index_add(0, indices.flatten(), g.reshape(-1, 4))
    assert weft.allclose(table.weight.grad, want, atol=1e-6)
