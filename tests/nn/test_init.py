"""``nn.init``: distributions by their moments and bounds, exact patterns, errors."""

from __future__ import annotations

import math
from typing import Any

import pytest

import weft
from weft import nn
from weft.nn import init

N = (400, 300)


def check(x: Any, mean: float, std: float) -> None:
    """Mean and deviation are as given, but for chance."""
    error = 5 * std / math.sqrt(x.numel())
    assert abs(float(x.mean()) - mean) < error
    assert abs(float(x.std()) - std) < error


@pytest.mark.parametrize(
    ("fill", "mean", "std"),
    [
        (lambda x: init.uniform_(x, 1, 3), 2, 2 / math.sqrt(12)),
        (lambda x: init.normal_(x, 1, 3), 1, 3),
        (lambda x: init.xavier_uniform_(x, 2.0), 0, 2 * math.sqrt(2 / 700)),
        (lambda x: init.xavier_normal_(x), 0, math.sqrt(2 / 700)),
        (lambda x: init.kaiming_uniform_(x, nonlinearity="relu"), 0, math.sqrt(2 / 300)),
        (lambda x: init.kaiming_normal_(x, a=1, mode="fan_out"), 0, math.sqrt(1 / 400)),
        (lambda x: init.trunc_normal_(x, 0, 1, -2, 2), 0, 0.8796),
    ],
)
def test_moments(fill: Any, mean: float, std: float) -> None:
    """Every distribution has the mean and deviation of its formula, whatever the generator."""
    x = weft.empty(N)
    assert fill(x) is x
    check(x, mean, std)
    p = nn.Parameter(weft.empty(N))
    weft.manual_seed(1)
    fill(p)
    weft.manual_seed(1)
    assert (fill(weft.empty(N)) == p).all() and p.grad_fn is None


def test_bounds() -> None:
    """Uniform ones reach their bounds and no further; truncated ones too."""
    x = init.kaiming_uniform_(weft.empty(N), a=math.sqrt(5))
    bound = 1 / math.sqrt(300)
    assert 0.99 * bound < float(x.abs().max()) <= bound
    x = init.trunc_normal_(weft.empty(N), 1.0, 2.0, 0.0, 1.5)
    assert float(x.min()) >= 0 and float(x.max()) <= 1.5
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(weft.empty(4), 10.0, 1.0)


def test_generator() -> None:
    """A generator of one's own decides, and the default one stays where it is."""
    g = weft.Generator()
    g.manual_seed(3)
    before = weft.get_rng_state()
    a = init.normal_(weft.empty(5), generator=g)
    g.manual_seed(3)
    assert (init.normal_(weft.empty(5), generator=g) == a).all()
    assert (weft.get_rng_state() == before).all()


def test_patterns() -> None:
    """Constants, identities, Dirac, orthogonal, sparse."""
    assert init.ones_(weft.empty(2)).tolist() == [1, 1]
    assert init.zeros_(weft.empty(2)).tolist() == [0, 0]
    assert init.constant_(weft.empty(2), 3).tolist() == [3, 3]
    assert init.eye_(weft.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    w = init.dirac_(weft.empty(4, 2, 3, 3), groups=2)
    x = weft.randn(1, 4, 5, 5)
    assert weft.allclose(nn.functional.conv2d(x, w, padding=1, groups=2), x)
    for shape in ((3, 5), (5, 3), (4, 2, 3)):
        q = init.orthogonal_(weft.empty(shape), gain=2).reshape(shape[0], -1)
        gram = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        assert weft.allclose(gram, 4 * weft.eye(gram.shape[0]), atol=1e-5)
    s = init.sparse_(weft.empty(10, 4), 0.35)
    assert (s == 0).sum(0).tolist() == [4, 4, 4, 4]


def test_gain() -> None:
    """Gains by name."""
    assert init.calculate_gain("linear") == init.calculate_gain("conv2d") == 1
    assert init.calculate_gain("tanh") == 5 / 3 and init.calculate_gain("selu") == 3 / 4
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("leaky_relu", 1) == 1
    with pytest.raises(ValueError, match="Unsupported nonlinearity zz"):
        init.calculate_gain("zz")
    with pytest.raises(ValueError, match="negative_slope True not a valid number"):
        init.calculate_gain("leaky_relu", True)


def test_errors() -> None:
    """Shapes that make no sense are refused."""
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        init.xavier_uniform_(weft.empty(3))
    with pytest.raises(ValueError, match="Mode zz not supported"):
        init.kaiming_uniform_(weft.empty(3, 3), mode="zz")
    with pytest.raises(ValueError, match="2 dimensions"):
        init.eye_(weft.empty(3))
    with pytest.raises(ValueError, match="3, 4, or 5 dimensions"):
        init.dirac_(weft.empty(3))
    with pytest.raises(ValueError, match="divisible by groups"):
        init.dirac_(weft.empty(3, 1, 1), groups=2)
    with pytest.warns(UserWarning, match="no-op"):
        init.kaiming_uniform_(weft.empty(0, 3))
    with pytest.warns(FutureWarning, match="deprecated"):
        init.uniform(weft.empty(2))


def test_layers_begin_as_in_pytorch() -> None:
    """The bounds of layers' parameters at the beginning."""
    m = nn.Linear(64, 200)
    for p in (m.weight, m.bias):
        assert 0.9 / 8 < float(p.abs().max()) <= 1 / 8
    assert abs(float(nn.Embedding(100, 50, padding_idx=3).weight.std()) - 0.99) < 0.05
    assert nn.Embedding(5, 2, padding_idx=-1).weight[4].tolist() == [0, 0]
    b = nn.Bilinear(16, 3, 50)
    assert 0.2 < float(b.weight.abs().max()) <= 0.25
    assert nn.PReLU(2).weight.tolist() == [0.25, 0.25]
