"""The formulas of Kullback-Leibler divergences.

Where q is another family than p, KL = -H(p) - E_p[log q], which needs a few expectations under p.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import weft
from weft import Tensor
from weft.nn.functional import softplus

from .choices import Categorical, OneHotCategorical
from .discrete import Bernoulli, Binomial, Geometric, Poisson
from .exp_family import ExponentialFamily
from .gaussian import LowRankMultivariateNormal, MultivariateNormal, log_diagonal, solve_lower
from .kl import kl_divergence, register_kl
from .positive import Exponential, Gamma, HalfNormal, Pareto
from .real import Cauchy, Gumbel, Laplace, Normal, Uniform
from .transformed import Independent, TransformedDistribution
from .unit import Beta, ContinuousBernoulli, Dirichlet
from .utils import EULER, sum_rightmost

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []


def _both(kind: type) -> Callable[[Any], Any]:
    return register_kl(kind, kind)


def _outside(result: Tensor, *where: Tensor) -> Tensor:
    """Return a result that is infinite in some places."""
    for mask in where:
        result = weft.where(mask, math.inf, result)
    return result


def _infinite(p: Any, q: Any) -> Tensor:
    shape = weft.broadcast_shapes(p.batch_shape, q.batch_shape)
    mean = p.mean if isinstance(p.mean, Tensor) else weft.zeros(())
    return weft.full(shape, math.inf, dtype=mean.dtype)


# ---- two of one family ----


@_both(Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    yes = weft.where(p.probs == 0, 0.0, _outside(yes, q.probs == 0))
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return yes + weft.where(p.probs == 1, 0.0, _outside(no, q.probs == 1))


@_both(Beta)
def _beta(p: Any, q: Any) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@_both(Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    odds = p.probs * (p.logits - q.logits) + weft.log1p(-p.probs) - weft.log1p(-q.probs)
    return _outside(p.total_count * odds, p.total_count > q.total_count)


@_both(Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    terms = _outside(p.probs * (p.logits - q.logits), (q.probs == 0).expand_as(p.probs))
    return weft.where(p.probs == 0, 0.0, terms).sum(-1)


@_both(OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@_both(Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    apart = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return apart.log() - (4 * p.scale * q.scale).log()


@_both(ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    norms = p._log_norm() + weft.log1p(-p.probs) - q._log_norm() - weft.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + norms


@_both(Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    norms = (
        weft.lgamma(a.sum(-1)) - weft.lgamma(b.sum(-1)) + (weft.lgamma(b) - weft.lgamma(a)).sum(-1)
    )
    logs = weft.digamma(a) - weft.digamma(a.sum(-1, True))
    return norms + ((a - b) * logs).sum(-1)


@_both(Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@_both(ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            f"The KL-divergence of exponential families needs two of one class, got "
            f"{type(p).__name__} and {type(q).__name__}"
        )
    params, normalizer, gradients = p._normalizer_and_gradients()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for a, b, g in zip(params, q._natural_params, gradients):
        result = result - sum_rightmost((b - a) * g, a.dim() - len(p.batch_shape))
    return result


@_both(Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    norms = b * (p.rate / q.rate).log() + weft.lgamma(b) - weft.lgamma(a)
    return norms + (a - b) * weft.digamma(a) + (q.rate - p.rate) * (a / p.rate)


@_both(Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    moment = weft.exp(weft.lgamma(1 + ratio) - shift)
    return shift - ratio.log() + ratio * EULER + moment - (1 + EULER)


@_both(Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - weft.log1p(-q.probs) / p.probs - q.logits


@_both(HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@_both(Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return apart / q.scale + ratio * weft.exp(-apart / p.scale) - ratio.log() - 1


@_both(Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@_both(Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return _outside(result, p.scale < q.scale)


@_both(Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@_both(Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return _outside(result, q.low > p.low, q.high < p.high)


@_both(TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            f"KL between transformed distributions needs the same transforms, got {p.transforms} "
            f"and {q.transforms}"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@_both(Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL between Independents needs the same reinterpreted_batch_ndims, got "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@_both(MultivariateNormal)
@_both(LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _gaussians(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two normal distributions of vectors needs the same event shape, "
            f"got {p.event_shape} and {q.event_shape}"
        )
    a, b = p.scale_tril, q.scale_tril
    # the columns of q⁻¹ p, whose squares sum to the trace
    trace = solve_lower(b.unsqueeze(-3), a.mT).pow(2).sum((-2, -1))
    distance = solve_lower(b, q.loc - p.loc).pow(2).sum(-1)
    half = log_diagonal(b) - log_diagonal(a)
    return half + 0.5 * (trace + distance - p.event_shape[0])


# ---- two families, one of which has values that the other lacks ----

_ON_THE_LINE = (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_p: Any
_q: Any
for _p, _qs in {
    Normal: _ON_THE_LINE,
    Laplace: _ON_THE_LINE,
    Gumbel: _ON_THE_LINE,
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Poisson: (Bernoulli, Binomial),
}.items():
    for _q in _qs:
        register_kl(_p, _q)(_infinite)


# ---- -H(p) - E_p[log q] ----


def _x_log_x(x: Tensor) -> Tensor:
    return weft.xlogy(x, x)


def _mean_log(p: Any) -> Tensor:
    """Return E[log x]."""
    if isinstance(p, Beta):
        a, b = p.concentration1, p.concentration0
        return weft.digamma(a) - weft.digamma(a + b)
    if isinstance(p, Exponential):
        return -EULER - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + 1 / p.alpha
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1  # Uniform


def _mean_exp(p: Any, t: Tensor) -> Tensor:
    """Return E[exp(t x)], for negative t."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate - t)
    if isinstance(p, Gamma):
        return (1 - t / p.rate) ** -p.concentration
    if isinstance(p, Normal):
        return weft.exp(p.loc * t + 0.5 * (p.scale * t) ** 2)
    return (weft.exp(t * p.high) - weft.exp(t * p.low)) / (t * (p.high - p.low))  # Uniform


def _to_normal(p: Any, q: Any) -> Tensor:
    spread = (p.variance + (p.mean - q.loc) ** 2) / q.scale**2
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + 0.5 * spread


def _to_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


def _to_gamma(p: Any, q: Any) -> Tensor:
    a, b = q.concentration, q.rate
    return -p.entropy() + weft.lgamma(a) - a * b.log() - (a - 1) * _mean_log(p) + b * p.mean


def _to_gumbel(p: Any, q: Any) -> Tensor:
    t = -1 / q.scale
    moment = weft.exp(q.loc / q.scale) * _mean_exp(p, t)
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + moment


def _to_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - weft.log1p(-q.probs) - q._log_norm()


for _q, _formula, _ps in (
    (Normal, _to_normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)),
    (Exponential, _to_exponential, (Beta, ContinuousBernoulli, Gamma, Pareto)),
    (Gamma, _to_gamma, (Beta, Exponential, Pareto)),
    (Gumbel, _to_gumbel, (Exponential, Gamma, Normal)),
    (Gumbel, _to_gumbel, (Uniform,)),
    (ContinuousBernoulli, _to_continuous_bernoulli, (Beta,)),
):  # fmt: skip
    for _p in _ps:
        register_kl(_p, _q)(_formula)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _unit_uniform(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return _outside(result, q.low > 0, q.high < 1)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    z = (p.loc - q.loc) / p.scale
    distance = math.sqrt(2 / math.pi) * weft.exp(-0.5 * z**2) + z * weft.erf(z / math.sqrt(2))
    return -p.entropy() + weft.log(2 * q.scale) + p.scale * distance / q.scale


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    a, b, width = q.concentration1, q.concentration0, p.high - p.low
    other = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / width - 1  # E[log(1 - x)]
    norm = weft.lgamma(a) + weft.lgamma(b) - weft.lgamma(a + b)
    result = norm - width.log() - (a - 1) * _mean_log(p) - (b - 1) * other
    return _outside(result, p.high > 1, p.low < 0)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return _outside(_to_continuous_bernoulli(p, q), p.high > 1, p.low < 0)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    return _outside(_to_exponential(p, q), p.low < 0)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Tensor:
    return _outside(_to_gamma(p, q), p.low < 0)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    norm = q.alpha.log() + q.alpha * q.scale.log()
    result = -p.entropy() - norm + (q.alpha + 1) * _mean_log(p)
    return _outside(result, p.low < q.scale)
