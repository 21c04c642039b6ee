"""Distributions of weft and PyTorch: the same parameters and values, the same answers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import weft

LIBS = (weft, torch)
POSITIVE = np.array([0.3, 0.9, 1.7, 4.2])
REAL = np.array([-1.5, -0.2, 0.4, 2.3])
SHARE = np.array([0.05, 0.3, 0.5, 0.92])
COUNT = np.array([0.0, 1.0, 3.0, 4.0])
SPREAD = np.array([[0.7], [2.5]])
SIMPLEX = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
ONE_HOT = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
COV = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 0.8]])
TRIL = np.linalg.cholesky(COV)
ROWS3 = np.array([[0.1, -0.4, 1.2], [2.0, 0.3, -0.7]])
CORR = np.array([[1.0, 0, 0], [0.6, 0.8, 0], [0.0, 0.6, 0.8]])

# class: (list of parameters, value). Arrays become tensors of float64.
CASES: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "Bernoulli": ([{"probs": SHARE}, {"logits": REAL}], np.array([0.0, 1.0, 1.0, 0.0])),
    "Beta": ([{"concentration1": POSITIVE, "concentration0": SPREAD}], SHARE),
    "Binomial": (
        [{"total_count": 5, "probs": SHARE}, {"total_count": 4, "logits": REAL}],
        COUNT,
    ),
    "Categorical": ([{"probs": SIMPLEX * 2}, {"logits": ROWS3}], np.array([2, 0])),
    "Cauchy": ([{"loc": REAL, "scale": SPREAD}], REAL[::-1].copy()),
    "Chi2": ([{"df": POSITIVE}], POSITIVE[::-1].copy()),
    "ContinuousBernoulli": ([{"probs": SHARE}, {"logits": REAL}], SHARE[::-1].copy()),
    "Dirichlet": ([{"concentration": SIMPLEX * 6}, {"concentration": SIMPLEX}], SIMPLEX[::-1].copy()),
    "Exponential": ([{"rate": POSITIVE}, {"rate": SPREAD}], POSITIVE),
    "FisherSnedecor": ([{"df1": POSITIVE, "df2": SPREAD * 3}], POSITIVE),
    "Gamma": ([{"concentration": POSITIVE, "rate": SPREAD}], POSITIVE[::-1].copy()),
    "GeneralizedPareto": (
        [
            {"loc": np.zeros(4), "scale": POSITIVE * 3, "concentration": np.array([0.0, 0.2, -0.3, 0.6])},
            {"loc": -SPREAD, "scale": POSITIVE, "concentration": np.full(4, 0.1)},
        ],
        SHARE,
    ),
    "Geometric": ([{"probs": SHARE}, {"logits": REAL}], COUNT),
    "Gumbel": ([{"loc": REAL, "scale": SPREAD}], REAL),
    "HalfCauchy": ([{"scale": SPREAD}], POSITIVE),
    "HalfNormal": ([{"scale": SPREAD}], POSITIVE),
    "InverseGamma": ([{"concentration": POSITIVE, "rate": SPREAD}], POSITIVE),
    "Kumaraswamy": ([{"concentration1": POSITIVE, "concentration0": SPREAD}], SHARE),
    "Laplace": ([{"loc": REAL, "scale": SPREAD}], REAL[::-1].copy()),
    "LKJCholesky": ([{"dim": 3, "concentration": POSITIVE}], CORR),
    "LogNormal": ([{"loc": REAL, "scale": SPREAD}], POSITIVE),
    "LogisticNormal": ([{"loc": ROWS3[:, :2].copy(), "scale": np.array([0.5, 1.5])}], SIMPLEX),
    "LowRankMultivariateNormal": (
        [{"loc": ROWS3, "cov_factor": COV[:, :2].copy(), "cov_diag": np.array([0.5, 1.0, 2.0])}],
        ROWS3[::-1].copy(),
    ),
    "Multinomial": (
        [{"total_count": 4, "probs": SIMPLEX}, {"total_count": 4, "logits": ROWS3}],
        np.array([[1.0, 3.0, 0.0], [2.0, 1.0, 1.0]]),
    ),
    "MultivariateNormal": (
        [
            {"loc": ROWS3, "covariance_matrix": COV},
            {"loc": ROWS3[0], "precision_matrix": COV},
            {"loc": ROWS3, "scale_tril": np.stack([TRIL, 2 * TRIL])},
        ],
        ROWS3[::-1].copy(),
    ),
    "NegativeBinomial": ([{"total_count": 3.0, "probs": SHARE}, {"total_count": SPREAD, "logits": REAL}], COUNT),
    "Normal": ([{"loc": REAL, "scale": SPREAD}, {"loc": 0.0, "scale": 2.0}], REAL[::-1].copy()),
    "OneHotCategorical": ([{"probs": SIMPLEX}, {"logits": ROWS3}], ONE_HOT),
    "OneHotCategoricalStraightThrough": ([{"logits": ROWS3}], ONE_HOT),
    "Pareto": ([{"scale": SHARE, "alpha": SPREAD + 1}], POSITIVE + 1),
    "Poisson": ([{"rate": POSITIVE}], COUNT),
    "RelaxedBernoulli": ([{"temperature": np.array(0.7), "probs": SHARE}], SHARE),
    "RelaxedOneHotCategorical": ([{"temperature": np.array(0.7), "logits": ROWS3}], SIMPLEX),
    "StudentT": ([{"df": POSITIVE, "loc": 0.5, "scale": SPREAD}], REAL),
    "Uniform": ([{"low": REAL - 3, "high": SPREAD + 3}], SHARE - 0.3),
    "VonMises": ([{"loc": REAL, "concentration": SPREAD}], REAL[::-1].copy()),
    "Weibull": ([{"scale": POSITIVE, "concentration": SPREAD + 1}], POSITIVE),
    "Wishart": (
        [{"df": np.array([3.5, 5.0]), "covariance_matrix": COV}, {"df": np.array(4.0), "scale_tril": TRIL}],
        np.stack([COV, COV * 2 + np.eye(3)]),
    ),
}  # fmt: skip
ROWS = [(name, i) for name, (sets, _) in CASES.items() for i in range(len(sets))]


def tensors(lib: Any, parameters: dict[str, Any], grad: bool = False) -> dict[str, Any]:
    """Parameters as a library takes them."""
    made = {}
    for name, value in parameters.items():
        if isinstance(value, np.ndarray):
            value = lib.from_numpy(value.copy())
            if "concentration" in parameters and "loc" in parameters and "scale" in parameters:
                value = value.float()  # PyTorch's GeneralizedPareto takes no float64
            if grad and value.is_floating_point():
                value.requires_grad_()
        made[name] = value
    return made


def same(mine: Any, theirs: Any, what: str, tolerance: float = 1e-6) -> None:
    """Tensors with the same shape, dtype and elements."""
    assert tuple(mine.shape) == tuple(theirs.shape), what
    assert str(mine.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], what
    np.testing.assert_allclose(
        mine.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=1e-8, err_msg=what
    )


def both(question: Callable[[Any, Any], Any], distributions: list[Any], what: str) -> None:
    """The same answer, or the same refusal."""
    answers: list[Any] = []
    for lib, d in zip(LIBS, distributions):
        try:
            answers.append(question(lib, d))
        except (NotImplementedError, AttributeError) as e:
            answers.append(type(e))
    if isinstance(answers[1], type):
        assert isinstance(answers[0], type) or answers[0] is not None, what  # weft may know more
    else:
        assert not isinstance(answers[0], type), f"weft has no {what}"
        same(*answers, what)


@pytest.mark.parametrize(("name", "number"), ROWS)
def test_answers(name: str, number: int) -> None:
    """Densities, moments, entropy, shapes."""
    sets, value = CASES[name]
    value = value.astype(np.float32) if name == "GeneralizedPareto" else value
    pair = [getattr(lib.distributions, name)(**tensors(lib, sets[number])) for lib in LIBS]
    assert tuple(pair[0].batch_shape) == tuple(pair[1].batch_shape)
    assert tuple(pair[0].event_shape) == tuple(pair[1].event_shape)
    assert pair[0].has_rsample == pair[1].has_rsample
    assert pair[0].has_enumerate_support == pair[1].has_enumerate_support
    assert repr(pair[0].support) == repr(pair[1].support) or "ensor" in repr(pair[1].support)
    for what in ("mean", "mode", "variance", "stddev"):
        if (name, what) == ("Kumaraswamy", "mode"):
            continue  # PyTorch's is NaN for concentration0 > 1
        both(lambda lib, d, what=what: getattr(d, what), pair, f"{name}.{what}")
    both(lambda lib, d: d.log_prob(lib.from_numpy(value)), pair, f"{name}.log_prob")
    both(lambda lib, d: d.entropy(), pair, f"{name}.entropy")
    both(lambda lib, d: d.perplexity(), pair, f"{name}.perplexity")
    both(lambda lib, d: d.cdf(lib.from_numpy(value)), pair, f"{name}.cdf")
    if not pair[1].event_shape:
        both(lambda lib, d: d.icdf(lib.from_numpy(SHARE.astype(value.dtype))), pair, f"{name}.icdf")
    if pair[1].has_enumerate_support:
        for expand in (True, False):
            both(lambda lib, d, e=expand: d.enumerate_support(e), pair, f"{name}.enumerate_support")
    shape = (2, *pair[1].batch_shape) if pair[1].batch_shape else (len(value),)
    wide = [d.expand(shape) for d in pair]
    assert tuple(wide[0].batch_shape) == shape
    both(lambda lib, d: d.log_prob(lib.from_numpy(value)), wide, f"{name}.expand.log_prob")
    for d, w in zip(pair, wide):
        assert tuple(d.sample((3,)).shape) == (3, *d.batch_shape, *d.event_shape)
        assert tuple(w.sample().shape) == (*shape, *d.event_shape)


@pytest.mark.parametrize(("name", "number"), ROWS)
def test_gradients_of_log_prob(name: str, number: int) -> None:
    """By every parameter, and by the value where it is continuous."""
    sets, value = CASES[name]
    value = value.astype(np.float32) if name == "GeneralizedPareto" else value
    grads = []
    for lib in LIBS:
        given = tensors(lib, sets[number], grad=True)
        if name == "MultivariateNormal" and "precision_matrix" in given:
            given = tensors(lib, sets[number])
            given["loc"].requires_grad_()
        d = getattr(lib.distributions, name)(**given, validate_args=False)
        at = lib.from_numpy(value.copy())
        leaves = {n: v for n, v in given.items() if lib.is_tensor(v) and v.requires_grad}
        if not isinstance(value.flat[0], np.integer) and not d.support.is_discrete:
            leaves["value"] = at.requires_grad_()
        if not leaves:
            return
        found = lib.autograd.grad(d.log_prob(at).sum(), list(leaves.values()), allow_unused=True)
        grads.append(dict(zip(leaves, found)))
    for leaf in grads[1]:
        mine, theirs = grads[0][leaf], grads[1][leaf]
        if theirs is None:
            assert mine is None or not bool(mine.any()), f"{name} by {leaf}"
            continue
        if name == "Wishart" and leaf != "df":
            mine, theirs = mine + mine.mT, theirs + theirs.mT  # symmetric either way
        if name == "GeneralizedPareto" and leaf == "concentration":
            mine, theirs = mine[..., 1:], theirs[..., 1:]  # PyTorch's is 0 at 0
        if name == "LKJCholesky" and leaf == "value":
            mine, theirs = mine.tril(), theirs.tril()
        same(mine, theirs, f"{name} by {leaf}", 1e-5)


PAIRS = [
    ("Bernoulli", "Bernoulli"), ("Bernoulli", "Poisson"), ("Beta", "Beta"),
    ("Beta", "ContinuousBernoulli"), ("Beta", "Exponential"), ("Beta", "Gamma"),
    ("Beta", "Normal"), ("Beta", "Pareto"), ("Beta", "Uniform"), ("Binomial", "Binomial"),
    ("Categorical", "Categorical"), ("Cauchy", "Cauchy"), ("Chi2", "Chi2"), ("Chi2", "Gamma"),
    ("ContinuousBernoulli", "ContinuousBernoulli"), ("ContinuousBernoulli", "Exponential"),
    ("ContinuousBernoulli", "Normal"), ("ContinuousBernoulli", "Pareto"),
    ("Dirichlet", "Dirichlet"), ("Exponential", "Beta"), ("Exponential", "ContinuousBernoulli"),
    ("Exponential", "Exponential"), ("Exponential", "Gamma"), ("Exponential", "Gumbel"),
    ("Exponential", "Normal"), ("Exponential", "Pareto"), ("Exponential", "Uniform"),
    ("Gamma", "Beta"), ("Gamma", "ContinuousBernoulli"), ("Gamma", "Exponential"),
    ("Gamma", "Gamma"), ("Gamma", "Gumbel"), ("Gamma", "Normal"), ("Gamma", "Pareto"),
    ("Gamma", "Uniform"), ("Geometric", "Geometric"), ("Gumbel", "Beta"),
    ("Gumbel", "ContinuousBernoulli"), ("Gumbel", "Exponential"), ("Gumbel", "Gamma"),
    ("Gumbel", "Gumbel"), ("Gumbel", "Normal"), ("Gumbel", "Pareto"), ("Gumbel", "Uniform"),
    ("HalfNormal", "HalfNormal"), ("Laplace", "Beta"), ("Laplace", "ContinuousBernoulli"),
    ("Laplace", "Exponential"), ("Laplace", "Gamma"), ("Laplace", "Laplace"),
    ("Laplace", "Normal"), ("Laplace", "Pareto"), ("Laplace", "Uniform"),
    ("LogNormal", "LogNormal"), ("LowRankMultivariateNormal", "LowRankMultivariateNormal"),
    ("LowRankMultivariateNormal", "MultivariateNormal"),
    ("MultivariateNormal", "LowRankMultivariateNormal"),
    ("MultivariateNormal", "MultivariateNormal"), ("Normal", "Beta"),
    ("Normal", "ContinuousBernoulli"), ("Normal", "Exponential"), ("Normal", "Gamma"),
    ("Normal", "Gumbel"), ("Normal", "Laplace"), ("Normal", "Normal"), ("Normal", "Pareto"),
    ("Normal", "Uniform"), ("OneHotCategorical", "OneHotCategorical"), ("Pareto", "Beta"),
    ("Pareto", "ContinuousBernoulli"), ("Pareto", "Exponential"), ("Pareto", "Gamma"),
    ("Pareto", "Normal"), ("Pareto", "Pareto"), ("Pareto", "Uniform"), ("Poisson", "Bernoulli"),
    ("Poisson", "Binomial"), ("Poisson", "Poisson"), ("Uniform", "Beta"),
    ("Uniform", "ContinuousBernoulli"), ("Uniform", "Exponential"), ("Uniform", "Gamma"),
    ("Uniform", "Gumbel"), ("Uniform", "Normal"), ("Uniform", "Pareto"), ("Uniform", "Uniform"),
]  # fmt: skip
OTHER = {  # other parameters for q, and for p where those above leave nothing to see
    "Uniform": {"low": np.array([0.1, 0.3, -0.5, 0.01]), "high": np.array([0.9, 0.8, 1.5, 0.99])},
    "Pareto": {"scale": np.array([0.05, 0.2, 0.5, 0.1]), "alpha": np.array([1.5, 3.0, 0.8, 2.5])},
    "Normal": {"loc": REAL[::-1].copy(), "scale": POSITIVE},
    "Gamma": {"concentration": POSITIVE[::-1].copy(), "rate": POSITIVE},
    "Beta": {"concentration1": POSITIVE[::-1].copy(), "concentration0": POSITIVE},
    "Bernoulli": {"probs": np.array([0.0, 0.3, 1.0, 0.92])},
    "Categorical": {"probs": np.array([[0.0, 0.4, 0.6], [0.5, 0.5, 0.0]])},
    "MultivariateNormal": {"loc": ROWS3[::-1].copy(), "covariance_matrix": COV + np.eye(3)},
}  # fmt: skip


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_divergences(p: str, q: str) -> None:
    """Every pair that PyTorch registers, each way that parameters are given."""
    for first in [*CASES[p][0], *([OTHER[p]] if p in OTHER else [])]:
        for second in [*CASES[q][0], *([OTHER[q]] if q in OTHER else [])]:
            found = []
            for lib in LIBS:
                a = getattr(lib.distributions, p)(**tensors(lib, first))
                b = getattr(lib.distributions, q)(**tensors(lib, second))
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found.append(lib.distributions.kl_divergence(a, b))
                except (NotImplementedError, RuntimeError, IndexError) as e:
                    found.append(type(e))
            if isinstance(found[1], type):
                continue
            mine, theirs = np.broadcast_arrays(*(np.asarray(x.detach()) for x in found))
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8)


def test_every_pair_is_here() -> None:
    """The list above is PyTorch's, but for those without parameters of their own."""
    theirs = {(a.__name__, b.__name__) for a, b in torch.distributions.kl._KL_REGISTRY}
    left = theirs - set(PAIRS) - {
        ("ExponentialFamily", "ExponentialFamily"),
        ("TransformedDistribution", "TransformedDistribution"),
        ("Independent", "Independent"),
        ("ContinuousBernoulli", "Uniform"),  # PyTorch's is infinite for all q within (0, 1), too
    }  # fmt: skip
    assert not left
    assert set(torch.distributions.__all__) <= set(weft.distributions.__all__)


@pytest.mark.parametrize("name", ["Gamma", "Beta", "Dirichlet", "StudentT", "Chi2", "InverseGamma"])
def test_samples_follow_their_parameters(name: str) -> None:
    """Implicit derivatives at the same samples; PyTorch's are good to about three digits."""
    rng = np.random.default_rng(0)
    a = np.array([[0.05], [0.4], [1.0], [3.0], [40.0]]) * np.ones((5, 50))
    if name in ("Gamma", "StudentT", "Chi2", "InverseGamma"):
        x = np.maximum(rng.standard_gamma(a), 1e-30)
        mine = weft.distributions.implicit.gamma_slope(*map(weft.from_numpy, (a, x)))
        theirs = torch._standard_gamma_grad(torch.from_numpy(a), torch.from_numpy(x))
    else:
        total = a + np.array([0.3, 2.0] * 25)
        x = np.clip(rng.beta(a, total - a), 1e-30, 1 - 1e-9)
        mine = weft.distributions.implicit.dirichlet_slope(*map(weft.from_numpy, (x, a, total)))
        theirs = torch._dirichlet_grad(*map(torch.from_numpy, (x, a, total)))
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=5e-3, atol=1e-6)


BAD = [
    ("Normal", {"loc": 0.0, "scale": -1.0}, None),
    ("Normal", {"loc": math.nan, "scale": 1.0}, None),
    ("Bernoulli", {"probs": 1.5}, None),
    ("Bernoulli", {"probs": 0.5, "logits": 0.0}, None),
    ("Bernoulli", {"probs": 0.5}, 0.5),
    ("Categorical", {"probs": np.array([[0.5, -0.1]])}, None),
    ("Categorical", {"probs": np.array([0.5, 0.5])}, 2.0),
    ("Categorical", {"probs": np.array(0.5)}, None),
    ("Uniform", {"low": 1.0, "high": 0.0}, None),
    ("Uniform", {"low": 0.0, "high": 1.0}, 2.0),
    ("Poisson", {"rate": 1.0}, -1.0),
    ("Poisson", {"rate": 1.0}, 0.5),
    ("Gamma", {"concentration": 0.0, "rate": 1.0}, None),
    ("Beta", {"concentration1": 1.0, "concentration0": 1.0}, 1.5),
    ("Dirichlet", {"concentration": np.array([1.0, 1.0])}, np.array([0.5, 0.6])),
    ("MultivariateNormal", {"loc": np.zeros(2)}, None),
    ("MultivariateNormal", {"loc": np.zeros(2), "covariance_matrix": -np.eye(2)}, None),
    ("MultivariateNormal", {"loc": np.zeros(2), "scale_tril": np.ones((2, 2))}, None),
    ("MultivariateNormal", {"loc": np.zeros(2), "scale_tril": np.eye(2)}, np.zeros(3)),
    ("Exponential", {"rate": np.ones(3)}, np.ones(2)),
    ("Pareto", {"scale": 1.0, "alpha": 1.0}, 0.5),
    ("Geometric", {"probs": 0.0}, None),
    ("Binomial", {"total_count": 3, "probs": np.array(0.5)}, 4.0),
    ("Wishart", {"df": np.array(0.5), "covariance_matrix": np.eye(3)}, None),
    ("LKJCholesky", {"dim": 1}, None),
]


@pytest.mark.parametrize(("name", "parameters", "value"), BAD)
def test_refusals(name: str, parameters: dict[str, Any], value: Any) -> None:
    """The same errors, and none with validate_args=False for those of the checks."""
    for lib in LIBS:
        with pytest.raises(ValueError) as found:
            d = getattr(lib.distributions, name)(**tensors(lib, parameters))
            d.log_prob(lib.tensor(value, dtype=lib.float64))
        if lib is weft:
            assert str(found.value)


TRANSFORMS: list[tuple[str, Callable[[Any, Any], Any], np.ndarray]] = [
    ("Exp", lambda D, t: D.ExpTransform(), REAL),
    ("Power", lambda D, t: D.PowerTransform(t(np.array(1.7))), POSITIVE),
    ("Sigmoid", lambda D, t: D.SigmoidTransform(), REAL),
    ("Softplus", lambda D, t: D.SoftplusTransform(), REAL),
    ("Tanh", lambda D, t: D.TanhTransform(), REAL),
    ("Affine", lambda D, t: D.AffineTransform(t(REAL), -2.0), POSITIVE),
    ("Affine vectors", lambda D, t: D.AffineTransform(1.0, t(POSITIVE), event_dim=1), np.ones((2, 4))),
    ("StickBreaking", lambda D, t: D.StickBreakingTransform(), ROWS3),
    ("CorrCholesky", lambda D, t: D.CorrCholeskyTransform(), np.array([[0.3, -0.5, 0.9], [1.0, 0.1, -1.2]])),
    ("CorrCholesky 2", lambda D, t: D.CorrCholeskyTransform(), np.array([[0.3], [-0.5]])),
    ("Compose", lambda D, t: D.ComposeTransform(
        [D.ExpTransform(), D.AffineTransform(1.0, 2.0), D.StickBreakingTransform()]), ROWS3),
    ("Independent", lambda D, t: D.IndependentTransform(D.ExpTransform(), 1), ROWS3),
    ("Reshape", lambda D, t: D.ReshapeTransform((3,), (1, 3)), ROWS3),
    ("Cat", lambda D, t: D.CatTransform([D.ExpTransform(), D.TanhTransform()], dim=1, lengths=[1, 2]), ROWS3),
    ("Stack", lambda D, t: D.StackTransform([D.ExpTransform(), D.TanhTransform()], dim=0), ROWS3),
    ("Distribution", lambda D, t: D.CumulativeDistributionTransform(D.Normal(t(np.array(0.5)), 2.0)), REAL),
]  # fmt: skip


@pytest.mark.parametrize(("name", "make", "x"), TRANSFORMS, ids=[t[0] for t in TRANSFORMS])
def test_transforms(name: str, make: Any, x: np.ndarray) -> None:
    """Values, inverses, volumes and shapes."""
    found = []
    for lib in LIBS:
        transform = make(lib.distributions, lambda a, lib=lib: lib.from_numpy(a.copy()))
        at = lib.from_numpy(x.copy())
        y = transform(at)
        np.testing.assert_allclose(np.asarray(transform.inv(y)), x, rtol=1e-6, atol=1e-9)
        shapes = tuple(transform.forward_shape(x.shape)), tuple(transform.inverse_shape(y.shape))
        found.append(
            (
                y,
                transform.log_abs_det_jacobian(at, y),
                transform.inv.log_abs_det_jacobian(y, at),
                shapes,
                transform.bijective,
            )
        )
    mine, theirs = found
    for a, b in zip(mine[:3], theirs[:3]):
        same(a, b, name)
    assert mine[3:] == theirs[3:]


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize(
    "constraint",
    ["real", "positive", "nonnegative", "unit_interval", "simplex", "lower_cholesky", "corr_cholesky",
     "real_vector", "positive_definite", ("interval", -1.0, 3.0), ("greater_than", 2.0), ("less_than", 2.0)],
)  # fmt: skip
def test_registries(registry: str, constraint: Any) -> None:
    """The same transforms onto sets, whose values the constraints take."""
    x = np.array([[0.3, -0.5, 0.9], [1.0, 0.1, -1.2], [0.2, 0.7, -0.4]])
    found = []
    if registry == "biject_to" and constraint in ("lower_cholesky", "positive_definite"):
        with pytest.raises(NotImplementedError, match="Cannot transform"):
            weft.distributions.biject_to(getattr(weft.distributions.constraints, constraint))
        return
    for lib in LIBS:
        c = lib.distributions.constraints
        wanted = (
            getattr(c, constraint[0])(*constraint[1:])
            if isinstance(constraint, tuple)
            else getattr(c, constraint)
        )
        y = getattr(lib.distributions, registry)(wanted)(lib.from_numpy(x))
        found.append((y, wanted.check(y), repr(wanted), wanted.event_dim, wanted.is_discrete))
    same(found[0][0], found[1][0], str(constraint))
    assert bool(found[0][1].all()) and found[0][2:] == found[1][2:]
    assert tuple(found[0][1].shape) == tuple(found[1][1].shape)


def test_mixtures_and_independent() -> None:
    """Distributions made of others."""
    found = []
    for lib in LIBS:
        D = lib.distributions
        loc = lib.from_numpy(ROWS3.copy()).requires_grad_()
        mixture = D.MixtureSameFamily(D.Categorical(lib.from_numpy(SIMPLEX)), D.Normal(loc, 0.5))
        vectors = D.MixtureSameFamily(
            D.Categorical(lib.from_numpy(SIMPLEX[0])),
            D.Independent(D.Normal(lib.from_numpy(COV), 1.0), 1),
        )
        inside = D.Independent(D.Gamma(lib.from_numpy(POSITIVE), 1.0), 1)
        at = lib.from_numpy(np.array([0.1, 0.7]))
        log_prob = mixture.log_prob(at)
        found.append([
            log_prob, lib.autograd.grad(log_prob.sum(), loc)[0], mixture.cdf(at), mixture.mean,
            mixture.variance, vectors.log_prob(lib.from_numpy(ROWS3)), vectors.mean, vectors.variance,
            inside.log_prob(lib.from_numpy(POSITIVE)), inside.entropy(), inside.mean,
            D.kl_divergence(inside, D.Independent(D.Gamma(2.0, lib.from_numpy(POSITIVE)), 1)),
        ])  # fmt: skip
        assert repr(inside).startswith("Independent(Gamma(")
        assert tuple(vectors.sample((5,)).shape) == (5, 3) and tuple(
            mixture.sample((4,)).shape
        ) == (4, 2)
        with pytest.raises(NotImplementedError):
            D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))
    for i, (a, b) in enumerate(zip(*found)):
        same(a, b, f"answer {i}")
    texts = [repr(lib.distributions.Normal(0.0, lib.ones(2))) for lib in LIBS]
    assert texts[0] == texts[1]
