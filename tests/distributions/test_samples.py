"""Samples: their moments, their gradients, and that a seed gives the same ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

import weft
from weft import distributions as D

N = 8_000
FEW = 2_000  # for gradients


def t(*values: float) -> weft.Tensor:
    """A tensor of float64."""
    return weft.tensor(values, dtype=weft.float64)


SIMPLEX = t(0.2, 0.5, 0.3)
COV = weft.tensor([[2.0, 0.3], [0.3, 1.0]], dtype=weft.float64)
CASES: list[Any] = [
    D.Bernoulli(t(0.1, 0.7)),
    D.Beta(t(0.5, 2.0, 9.0), t(0.5, 3.0, 1.0)),
    D.Binomial(t(5.0, 20.0), t(0.3, 0.8)),
    D.Chi2(t(1.0, 5.0)),
    D.ContinuousBernoulli(t(0.1, 0.5, 0.9)),
    D.Dirichlet(weft.stack([4 * SIMPLEX, SIMPLEX])),
    D.Exponential(t(0.5, 3.0)),
    D.FisherSnedecor(t(5.0, 9.0), t(30.0, 40.0)),
    D.Gamma(t(0.2, 1.0, 7.0), t(1.0, 0.5, 2.0)),
    D.GeneralizedPareto(t(0.0, 1.0, 2.0), t(1.0, 2.0, 1.0), t(0.0, 0.1, -0.5)),
    D.Geometric(t(0.2, 0.7)),
    D.Gumbel(t(-1.0, 2.0), t(1.0, 3.0)),
    D.HalfNormal(t(0.5, 3.0)),
    D.Independent(D.Normal(t(1.0, 2.0), 1.0), 1),
    D.InverseGamma(t(9.0, 12.0), t(1.0, 5.0)),
    D.Kumaraswamy(t(0.5, 2.0), t(1.5, 3.0)),
    D.Laplace(t(0.0, 1.0), t(1.0, 2.0)),
    D.LogNormal(t(0.0, 1.0), t(0.2, 0.5)),
    D.LowRankMultivariateNormal(t(1.0, 2.0), t(0.5, 1.0).unsqueeze(-1), t(1.0, 0.3)),
    D.MixtureSameFamily(D.Categorical(SIMPLEX), D.Normal(t(-2.0, 0.0, 5.0), 1.0)),
    D.Multinomial(6, SIMPLEX),
    D.MultivariateNormal(t(1.0, -1.0), COV),
    D.NegativeBinomial(t(3.0, 8.0), t(0.3, 0.5)),
    D.Normal(t(0.0, 3.0), t(1.0, 0.5)),
    D.OneHotCategorical(SIMPLEX),
    D.Pareto(t(1.0, 2.0), t(8.0, 9.0)),
    D.Poisson(t(0.3, 30.0)),
    D.StudentT(t(9.0, 30.0), 1.0, 2.0),
    D.Uniform(t(0.0, -2.0), t(1.0, 5.0)),
    D.Weibull(t(1.0, 2.0), t(1.5, 4.0)),
    D.Wishart(t(5.0, 8.0), COV),
]


@pytest.mark.parametrize("d", CASES, ids=lambda d: type(d).__name__)
def test_moments(d: Any) -> None:
    """Means and variances of samples are those that the class tells, to 5 standard errors."""
    samples = d.sample((N,))
    assert samples.shape == (N, *d.batch_shape, *d.event_shape) and not samples.requires_grad
    assert bool(d.support.check(samples).all())
    error = (samples.mean(0) - d.mean).abs() / (d.variance / N).sqrt().clamp(min=1e-9)
    assert float(error.max()) < 5
    ratio = samples.var(0) / d.variance
    assert float((ratio - 1).abs().max()) < 0.2
    weft.manual_seed(3)
    first = d.sample((4,))
    weft.manual_seed(3)
    assert weft.equal(d.sample((4,)), first)
    assert d.expand((2, *d.batch_shape)).sample().shape == (2, *d.batch_shape, *d.event_shape)


@pytest.mark.parametrize("d", [c for c in CASES if c.has_rsample and not c.event_shape], ids=str)
def test_samples_have_the_distribution(d: Any) -> None:
    """log_prob integrates over the samples: the entropy is the mean of -log_prob."""
    try:
        entropy = d.entropy()
    except NotImplementedError:
        pytest.skip("no entropy")
    terms = -d.log_prob(d.sample((N,)))
    error = (terms.mean(0) - entropy).abs() / (terms.std(0) / math.sqrt(N)).clamp(min=1e-9)
    assert float(error.max()) < 5


def test_angles_and_factors() -> None:
    """von Mises against SciPy's quantiles; LKJ factors are those of correlations."""
    angles = D.VonMises(t(1.0), t(2.0)).sample((N,)).flatten().numpy()
    assert abs(angles).max() <= math.pi
    around = (angles - 1 + math.pi) % (2 * math.pi) - math.pi
    assert scipy.stats.kstest(around, scipy.stats.vonmises(2.0).cdf).pvalue > 1e-3
    factors = D.LKJCholesky(3, t(1.0, 20.0)).sample((2000,))
    assert bool(D.constraints.corr_cholesky.check(factors.double()).all())
    correlations = (factors @ factors.mT)[..., 1, 0]
    # off-diagonal elements have Beta(c + 1/2 (n - 2), .) on (-1, 1): variance 1 / (2c + n - 1)
    assert correlations.var(0).tolist() == pytest.approx([1 / 4, 1 / 42], rel=0.15)


@pytest.mark.parametrize("a", [0.05, 0.5, 1.0, 3.0, 30.0, 2000.0])
def test_gamma_slope_against_quantiles(a: float) -> None:
    """dx/da at a fixed quantile, from SciPy's inverse of the distribution function."""
    u, h = np.linspace(0.02, 0.98, 13), 1e-4 * a
    x = scipy.special.gammaincinv(a, u)
    wanted = (scipy.special.gammaincinv(a + h, u) - scipy.special.gammaincinv(a - h, u)) / (2 * h)
    found = D.implicit.gamma_slope(weft.full((13,), a, dtype=weft.float64), weft.from_numpy(x))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=2e-5)


@pytest.mark.parametrize(("a", "b"), [(0.1, 0.2), (0.5, 3.0), (1.0, 1.0), (4.0, 0.7), (50.0, 90.0)])
def test_beta_slope_against_quantiles(a: float, b: float) -> None:
    """The same for the beta distribution; what is returned is over 1 - x."""
    u, h = np.linspace(0.05, 0.95, 11), 1e-4 * a
    x = scipy.special.betaincinv(a, b, u)
    wanted = (scipy.special.betaincinv(a + h, b, u) - scipy.special.betaincinv(a - h, b, u)) / (
        2 * h
    )
    full = [weft.full((11,), value, dtype=weft.float64) for value in (a, a + b)]
    found = D.implicit.dirichlet_slope(weft.from_numpy(x), *full).numpy() * (1 - x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


@pytest.mark.parametrize(
    ("make", "mean_slope"),
    [
        (lambda a: D.Gamma(a, 2.0), 0.5),  # mean a / 2
        (lambda a: D.Beta(a, 3.0), 3.0 / 4.5**2),  # mean a / (a + 3)
        (lambda a: D.Chi2(a), 1.0),
        (lambda a: D.Exponential(1 / a), 1.0),
        (lambda a: D.InverseGamma(a + 9, 1.0), -1 / 9.5**2),  # mean 1 / (a + 8)
        (lambda a: D.Weibull(a, 2.0), math.gamma(1.5)),
        (lambda a: D.Normal(0.0, a), 0.0),
        (lambda a: D.StudentT(a + 20, 1.0, 1.0), 0.0),
        (lambda a: D.Laplace(a, 1.0), 1.0),
        (lambda a: D.Uniform(0.0, a), 0.5),
    ],
)
def test_gradients_of_means(make: Any, mean_slope: float) -> None:
    """The mean gradient of samples is the gradient of the mean."""
    a = weft.full((FEW,), 1.5, dtype=weft.float64, requires_grad=True)
    make(a).rsample().sum().backward()
    assert a.grad is not None
    error = float(
        (a.grad.mean() - mean_slope).abs() / (a.grad.std() / math.sqrt(FEW)).clamp(min=1e-9)
    )
    assert error < 5


def test_gradients_of_dirichlet_and_wishart() -> None:
    """The same where samples are vectors and matrices."""
    a = (4 * SIMPLEX).expand(FEW, 3).clone().requires_grad_()
    D.Dirichlet(a).rsample()[:, 0].sum().backward()
    assert a.grad is not None
    wanted = t(3.2, -0.8, -0.8) / 16  # of a_0 / sum(a)
    assert float((a.grad.mean(0) - wanted).abs().max()) < 0.03
    df = weft.full((FEW,), 5.0, dtype=weft.float64, requires_grad=True)
    D.Wishart(df, COV).rsample()[:, 0, 0].sum().backward()
    assert df.grad is not None and float(df.grad.mean()) == pytest.approx(2.0, rel=0.1)


def test_straight_through_and_relaxed() -> None:
    """Gradients reach the logits."""
    logits = weft.zeros(3, dtype=weft.float64, requires_grad=True)
    sample = D.OneHotCategoricalStraightThrough(logits=logits).rsample()
    assert sorted(sample.tolist()) == [0.0, 0.0, 1.0]
    (sample * t(1.0, 2.0, 3.0)).sum().backward()
    assert logits.grad is not None and logits.grad.tolist() == pytest.approx([-1 / 3, 0, 1 / 3])
    cold = D.RelaxedOneHotCategorical(weft.tensor(0.01), logits=logits).rsample((50,))
    assert float(cold.detach().max(-1).values.mean()) > 0.9 and cold.requires_grad
    p = D.RelaxedBernoulli(weft.tensor(0.1), probs=t(0.2, 0.9)).sample((N,))
    assert (p > 0.5).double().mean(0).tolist() == pytest.approx([0.2, 0.9], abs=0.02)


def test_small_concentrations_do_not_underflow() -> None:
    """Samples stay on the simplex, and gradients finite, where gamma variables would be 0."""
    a = weft.full((1000, 3), 1e-3, requires_grad=True)
    x = D.Dirichlet(a).rsample()
    assert bool(((x.sum(-1) - 1).abs() < 1e-5).all())
    x[:, 0].sum().backward()
    assert a.grad is not None and bool(a.grad.isfinite().all())
    g = weft.full((1000,), 1e-3, requires_grad=True)
    D.Gamma(g, 1.0).rsample().sum().backward()
    assert g.grad is not None and bool(g.grad.isfinite().all())
