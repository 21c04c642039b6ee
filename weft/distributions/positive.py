"""Distributions of positive numbers: gamma and related ones, Weibull, Pareto, half-normal."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Size, Tensor

from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .implicit import gamma_sample
from .real import Cauchy, Normal
from .transformed import TransformedDistribution
from .transforms_numbers import AbsTransform, ExpTransform, PowerTransform
from .utils import EULER, broadcast_all, tiny

__all__ = [
    "Chi2",
    "Exponential",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "HalfCauchy",
    "HalfNormal",
    "InverseGamma",
    "LogNormal",
    "Pareto",
    "Weibull",
]


class Exponential(ExponentialFamily):
    """The exponential distribution.

    Args:
        rate: one over the mean.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints: Any = {"rate": constraints.positive}  # noqa: RUF012
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def _mean(self) -> Tensor:
        return 1 / self.rate

    def _mode(self) -> Tensor:
        return weft.zeros_like(self.rate)

    def _variance(self) -> Tensor:
        return self.rate**-2

    def _rsample(self, shape: Size) -> Tensor:
        return weft.empty(shape, dtype=self.rate.dtype).exponential_() / self.rate

    def _log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    def _cdf(self, value: Tensor) -> Tensor:
        return -weft.expm1(-self.rate * value)

    def _icdf(self, value: Tensor) -> Tensor:
        return -weft.log1p(-value) / self.rate

    def _entropy(self) -> Tensor:
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return -weft.log(-natural_params[0])


class Gamma(ExponentialFamily):
    """The gamma distribution.

    Args:
        concentration: the shape.
        rate: one over the scale.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    def _variance(self) -> Tensor:
        return self.concentration / self.rate**2

    def _rsample(self, shape: Size) -> Tensor:
        value = gamma_sample(self.concentration.expand(shape)) / self.rate
        low = tiny(value)
        return weft.where(value < low, value.detach().clamp(min=low), value)

    def _checked(self, value: Any) -> Any:
        return super()._checked(weft.as_tensor(value, dtype=self.rate.dtype))  # numbers too

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration, self.rate
        return weft.xlogy(a, b) + weft.xlogy(a - 1, value) - b * value - weft.lgamma(a)

    def _cdf(self, value: Tensor) -> Tensor:
        return weft.igamma(self.concentration, self.rate * value)

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + weft.lgamma(a) + (1 - a) * weft.digamma(a)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return weft.lgamma(x + 1) - (x + 1) * weft.log(-y)


class Chi2(Gamma):
    """The chi-squared distribution: the sum of squares of ``df`` normal variables.

    Args:
        df: degrees of freedom.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Chi2(3.0).variance
    tensor(6.)
    """

    arg_constraints: Any = {"df": constraints.positive}  # noqa: RUF012

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)
        if self._validate_args and not bool((self.df > 0).all()):
            raise ValueError(
                f"Expected parameter df of distribution {self!r} to satisfy the constraint "
                f"{constraints.positive!r}, but found invalid values:\n{self.df}"
            )

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2

    def _expand_into(self, new: Any, shape: Size) -> None:
        new.concentration, new.rate = self.concentration.expand(shape), self.rate.expand(shape)


class FisherSnedecor(Distribution):
    """The F distribution: the ratio of two chi-squared variables over their degrees of freedom.

    Args:
        df1: degrees of freedom above.
        df2: degrees of freedom below.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "df1": constraints.positive,
        "df2": constraints.positive,
    }
    support: Any = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def _mean(self) -> Tensor:
        return weft.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    def _mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return weft.where(self.df1 > 2, mode, math.nan)

    def _variance(self) -> Tensor:
        a, b = self.df1, self.df2
        value = 2 * b**2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4))
        return weft.where(b > 4, value, math.nan)

    def _rsample(self, shape: Size) -> Tensor:
        above = gamma_sample((0.5 * self.df1).expand(shape)) / self.df1
        below = gamma_sample((0.5 * self.df2).expand(shape)) / self.df2
        return (above / below.clamp(min=tiny(below))).clamp(min=tiny(below))

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = weft.lgamma(a + b) - weft.lgamma(a) - weft.lgamma(b)
        return norm + a * ratio.log() + (a - 1) * value.log() - (a + b) * weft.log1p(ratio * value)


class InverseGamma(TransformedDistribution):
    """The distribution of one over a gamma variable.

    Args:
        concentration: of the gamma distribution.
        rate: of the gamma distribution.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints: Any = Gamma.arg_constraints
    support: Any = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args)

    @property
    def concentration(self) -> Tensor:
        """That of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """That of the gamma distribution."""
        return self.base_dist.rate

    def _mean(self) -> Tensor:
        a = self.concentration
        return weft.where(a > 1, self.rate / (a - 1), math.inf)

    def _mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    def _variance(self) -> Tensor:
        a = self.concentration
        return weft.where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + weft.lgamma(a) - (1 + a) * weft.digamma(a)


class LogNormal(TransformedDistribution):
    """The distribution of exp of a normal variable.

    Args:
        loc: the mean of the logarithm.
        scale: the standard deviation of the logarithm.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.LogNormal(0.0, 1.0).mode
    tensor(0.3679)
    """

    arg_constraints: Any = Normal.arg_constraints
    support: Any = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    def _mean(self) -> Tensor:
        return weft.exp(self.loc + self.scale**2 / 2)

    def _mode(self) -> Tensor:
        return weft.exp(self.loc - self.scale**2)

    def _variance(self) -> Tensor:
        s = self.scale**2
        return weft.expm1(s) * weft.exp(2 * self.loc + s)

    def _entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class _Half(TransformedDistribution):
    """The distribution of the absolute value of a variable around 0."""

    arg_constraints: Any = {"scale": constraints.positive}  # noqa: RUF012
    support: Any = constraints.nonnegative
    has_rsample = True

    @property
    def scale(self) -> Tensor:
        """That of the whole distribution."""
        return self.base_dist.scale

    def _mode(self) -> Tensor:
        return weft.zeros_like(self.scale)

    def _log_prob(self, value: Tensor) -> Tensor:
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return weft.where(value >= 0, log_prob, -math.inf)

    def _cdf(self, value: Tensor) -> Tensor:
        return 2 * self.base_dist.cdf(value) - 1

    def _icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def _entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The distribution of the absolute value of a normal variable around 0.

    Args:
        scale: of the normal distribution.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args)

    def _mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    def _variance(self) -> Tensor:
        return self.scale**2 * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The distribution of the absolute value of a Cauchy variable around 0.

    Args:
        scale: of the Cauchy distribution.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.HalfCauchy(1.0).cdf(weft.tensor(1.0))
    tensor(0.5000)
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args)

    def _mean(self) -> Tensor:
        return weft.full_like(self.scale, math.inf)

    def _variance(self) -> Tensor:
        return self.base_dist.variance


class Weibull(Distribution):
    """The Weibull distribution.

    Args:
        scale: the scale.
        concentration: the shape; 1 makes it exponential.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support: Any = constraints.positive
    has_rsample = True

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        return self.scale**n * weft.exp(weft.lgamma(1 + n / self.concentration))

    def _mean(self) -> Tensor:
        return self._moment(1)

    def _mode(self) -> Tensor:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** (1 / k)

    def _variance(self) -> Tensor:
        return self._moment(2) - self._moment(1) ** 2

    def _rsample(self, shape: Size) -> Tensor:
        e = weft.empty(shape, dtype=self.scale.dtype).exponential_().clamp(min=tiny(self.scale))
        return self.scale * e ** (1 / self.concentration)

    def _log_prob(self, value: Tensor) -> Tensor:
        k, log_z = self.concentration, value.log() - self.scale.log()
        return k.log() - self.scale.log() + (k - 1) * log_z - weft.exp(k * log_z)

    def _cdf(self, value: Tensor) -> Tensor:
        return -weft.expm1(-((value / self.scale) ** self.concentration))

    def _icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-weft.log1p(-value)) ** (1 / self.concentration)

    def _entropy(self) -> Tensor:
        k = self.concentration
        return EULER * (1 - 1 / k) + weft.log(self.scale / k) + 1


class Pareto(Distribution):
    """The Pareto distribution.

    Args:
        scale: the smallest value.
        alpha: how fast the density falls.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Pareto(1.0, 3.0).mean
    tensor(1.5000)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "alpha": constraints.positive,
        "scale": constraints.positive,
    }
    has_rsample = True

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """What is at least the scale."""
        return constraints.greater_than_eq(self.scale)

    def _mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    def _mode(self) -> Tensor:
        return self.scale

    def _variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def _rsample(self, shape: Size) -> Tensor:
        e = weft.empty(shape, dtype=self.scale.dtype).exponential_()
        return self.scale * weft.exp(e / self.alpha)

    def _log_prob(self, value: Tensor) -> Tensor:
        a = self.alpha
        return a.log() + a * self.scale.log() - (a + 1) * value.log()

    def _cdf(self, value: Tensor) -> Tensor:
        return 1 - (self.scale / value) ** self.alpha

    def _icdf(self, value: Tensor) -> Tensor:
        return self.scale * (1 - value) ** (-1 / self.alpha)

    def _entropy(self) -> Tensor:
        return weft.log(self.scale / self.alpha) + 1 + 1 / self.alpha


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution: of what lies beyond a threshold.

    Args:
        loc: the threshold.
        scale: the scale.
        concentration: the shape; 0 makes it exponential, less gives it an upper end.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.GeneralizedPareto(0.0, 1.0, 0.0).mean
    tensor(1.)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From the threshold to the upper end."""
        c = self.concentration
        end = weft.where(c < 0, self.loc - self.scale / c, math.inf)
        return constraints.interval(self.loc, end)

    def _nearly_exponential(self) -> tuple[Tensor, Tensor]:
        """Return where the shape is 0, and the shape with 1 in these places."""
        flat = weft.isclose(self.concentration, weft.zeros_like(self.concentration))
        return flat, weft.where(flat, 1.0, self.concentration)

    def _mean(self) -> Tensor:
        c = self.concentration
        return weft.where(c < 1, self.loc + self.scale / (1 - c), math.nan)

    def _mode(self) -> Tensor:
        return self.loc

    def _variance(self) -> Tensor:
        c = self.concentration
        value = self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))
        return weft.where(c < 0.5, value, math.nan)

    def _log_survival(self, value: Tensor) -> Tensor:
        flat, c = self._nearly_exponential()
        z = (value - self.loc) / self.scale
        series = -z + self.concentration * z**2 / 2
        return weft.where(flat, series, -weft.log1p(c * z) / c)

    def _log_prob(self, value: Tensor) -> Tensor:
        return (1 + self.concentration) * self._log_survival(value) - self.scale.log()

    def _cdf(self, value: Tensor) -> Tensor:
        return -weft.expm1(self._log_survival(value))

    def _icdf(self, value: Tensor) -> Tensor:
        flat, c = self._nearly_exponential()
        log_above = weft.log1p(-value)
        series = -log_above + self.concentration * log_above**2 / 2
        return self.loc + self.scale * weft.where(flat, series, weft.expm1(-c * log_above) / c)

    def _rsample(self, shape: Size) -> Tensor:
        return self._icdf(weft.rand(shape, dtype=self.loc.dtype))

    def _entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
