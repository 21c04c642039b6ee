"""Probability distributions: samples, densities, divergences; with gradients.

>>> normal = weft.distributions.Normal(0.0, 1.0)
>>> normal.log_prob(normal.sample((3,))).shape
torch.Size([3])
"""

# ruff: noqa: F401 (modules are part of what is offered)
from __future__ import annotations

import sys

from . import (
    choices,
    constraint_registry,
    constraints,
    discrete,
    distribution,
    exp_family,
    gaussian,
    kl,
    matrices,
    positive,
    real,
    relaxed,
    transformed,
    transforms,
    unit,
    utils,
)
from .choices import (
    Categorical,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from .constraint_registry import biject_to, transform_to
from .discrete import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .gaussian import LowRankMultivariateNormal, MultivariateNormal
from .kl import kl_divergence, register_kl
from .matrices import LKJCholesky, Wishart
from .positive import (
    Chi2,
    Exponential,
    FisherSnedecor,
    Gamma,
    GeneralizedPareto,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    LogNormal,
    Pareto,
    Weibull,
)
from .real import Cauchy, Gumbel, Laplace, Normal, StudentT, Uniform, VonMises
from .relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from .transformed import Independent, MixtureSameFamily, TransformedDistribution
from .transforms import *  # noqa: F403
from .unit import Beta, ContinuousBernoulli, Dirichlet, Kumaraswamy, LogisticNormal

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "kl_divergence",
    "register_kl",
    "transform_to",
    *transforms.__all__,
]

# PyTorch's modules: programs import `Normal` from `distributions.normal`.
_MODULES = {
    choices: "categorical multinomial one_hot_categorical",
    discrete: "bernoulli binomial geometric negative_binomial poisson",
    gaussian: "lowrank_multivariate_normal multivariate_normal",
    matrices: "lkj_cholesky wishart",
    positive: "chi2 exponential fishersnedecor gamma generalized_pareto half_cauchy half_normal "
    "inverse_gamma log_normal pareto weibull",
    real: "cauchy gumbel laplace normal studentT uniform von_mises",
    relaxed: "relaxed_bernoulli relaxed_categorical",
    transformed: "independent mixture_same_family transformed_distribution",
    unit: "beta continuous_bernoulli dirichlet kumaraswamy logistic_normal",
}
for _module, _names in _MODULES.items():
    for _name in _names.split():
        globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _module
