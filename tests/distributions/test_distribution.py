"""What distributions refuse, how they are extended, and their parts."""

from __future__ import annotations

import copy
import pickle

import pytest

import weft
from weft import distributions as D


def test_checks_can_be_turned_off() -> None:
    """By argument and for all; messages name parameter, rule and values."""
    with pytest.raises(
        ValueError, match=r"parameter scale .* Normal\(.*GreaterThan\(lower_bound=0.0\)"
    ):
        D.Normal(0.0, weft.tensor([1.0, -1.0]))
    D.Normal(0.0, -1.0, validate_args=False)
    with pytest.raises(ValueError, match=r"within the support \(Boolean\(\)\)"):
        D.Bernoulli(0.5).log_prob(weft.tensor(2.0))
    with pytest.raises(ValueError, match="must be a Tensor"):
        D.Bernoulli(0.5).log_prob(1.0)
    D.Distribution.set_default_validate_args(False)
    try:
        D.Bernoulli(2.0).log_prob(weft.tensor(3.0))
    finally:
        D.Distribution.set_default_validate_args(True)


def test_what_is_not_there_is_named() -> None:
    """A question that a class cannot answer."""
    for question, what in (
        (lambda: D.Poisson(1.0).rsample(), "Poisson has no rsample"),
        (lambda: D.Poisson(1.0).entropy(), "Poisson has no entropy"),
        (lambda: D.Normal(0.0, 1.0).enumerate_support(), "Normal has no enumerate_support"),
        (lambda: D.kl_divergence(D.Cauchy(0.0, 1.0), D.Poisson(1.0)), "p type Cauchy and q"),
        (lambda: D.Gamma(1.0, 1.0).icdf(weft.tensor(0.5)), "Gamma has no icdf"),
        (lambda: D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0)), "two of one class, got Normal and Poisson"),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match=what):
            question()


def test_your_own() -> None:
    """Subclasses that define the public methods, and those with arguments of their own."""

    class Coin(D.Distribution):
        arg_constraints = {}  # noqa: RUF012
        support = D.constraints.boolean

        def sample(self, sample_shape=()):  # type: ignore[no-untyped-def]
            return weft.ones(sample_shape)

        def log_prob(self, value):  # type: ignore[no-untyped-def]
            return weft.zeros_like(value)

    assert Coin().sample((2,)).tolist() == [1.0, 1.0]
    assert D.Independent(Coin((3,)), 1).log_prob(weft.ones(3)) == 0

    class Mine(D.Normal):
        def __init__(self, loc: float) -> None:
            super().__init__(loc, 1.0)

    with pytest.raises(NotImplementedError, match="Mine of Normal"):
        Mine(0.0).expand((2,))
    assert D.kl_divergence(Mine(0.0), D.Normal(1.0, 1.0)) == 0.5


def test_divergences_find_the_nearest_formula() -> None:
    """Ambiguous pairs warn; exponential families have one for all."""
    p, q = D.Wishart(weft.tensor(4.0), weft.eye(2)), D.Wishart(weft.tensor(6.0), 2 * weft.eye(2))
    found = D.kl_divergence(p, q)
    samples = p.sample((3000,))
    assert float((p.log_prob(samples) - q.log_prob(samples)).mean()) == pytest.approx(
        float(found), rel=0.1
    )
    with pytest.raises(TypeError, match="subclass of Distribution"):
        D.register_kl(int, D.Normal)
    assert float(D.kl_divergence(D.Uniform(0.0, 1.0), D.Beta(1.0, 1.0))) == pytest.approx(
        0, abs=1e-6
    )
    flat = D.kl_divergence(D.Uniform(0.0, 1.0), D.ContinuousBernoulli(0.5))
    assert float(flat) == pytest.approx(0, abs=1e-5)


def test_transforms_keep_pairs() -> None:
    """A cache gives the very input back; inverses are shared; equal ones are equal."""
    cached = D.TanhTransform(cache_size=1)
    x = weft.tensor([20.0], dtype=weft.float32)
    assert cached.inv(cached(x)) is x and cached.inv is cached.inv and cached.inv.inv is cached
    assert D.AffineTransform(1.0, 2.0) == D.AffineTransform(1.0, 2.0) != D.AffineTransform(1.0, 3.0)
    assert D.ExpTransform() == D.ExpTransform() != D.TanhTransform()
    twice = D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)])
    assert float(twice.inv(twice(weft.tensor(0.3)))) == pytest.approx(0.3)
    with pytest.raises(ValueError, match="cache_size"):
        D.ExpTransform(cache_size=3)
    with pytest.raises(ValueError, match="size 2, got"):
        D.StackTransform([D.ExpTransform(), D.ExpTransform()])(weft.zeros(3))


def test_squashed_normal_is_differentiable() -> None:
    """The policy of soft actor-critic: tanh of a normal variable, with its volume."""
    loc = weft.zeros(2, requires_grad=True)
    policy = D.TransformedDistribution(D.Normal(loc, 0.5), [D.TanhTransform(cache_size=1)])
    action = policy.rsample((64,))
    loss = policy.log_prob(action).mean() - action.mean()
    loss.backward()
    assert loc.grad is not None and bool(loc.grad.isfinite().all()) and bool((loc.grad != 0).all())
    assert float(policy.cdf(weft.zeros(2))[0]) == pytest.approx(0.5)


def test_mode_of_kumaraswamy() -> None:
    """The highest density is at the mode."""
    d = D.Kumaraswamy(weft.tensor(2.0), weft.tensor(3.0))
    grid = weft.linspace(0.001, 0.999, 999)
    assert float(grid[d.log_prob(grid).argmax()]) == pytest.approx(float(d.mode), abs=2e-3)


def test_copies_and_modules() -> None:
    """Distributions are copied and pickled; PyTorch's modules are there by name."""
    for d in (
        D.Normal(0.0, 1.0),
        D.LogNormal(0.0, 1.0),
        D.Beta(1.0, 2.0),
        D.Categorical(weft.ones(3)),
    ):
        for twin in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
            assert repr(twin) == repr(d)
            assert twin.sample((2,)).shape == (2,)
    from weft.distributions.categorical import Categorical
    from weft.distributions.normal import Normal

    assert (Categorical, Normal) == (D.Categorical, D.Normal)
    assert D.transforms.StickBreakingTransform is D.StickBreakingTransform
