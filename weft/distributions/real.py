"""Distributions on the real line: normal, Laplace, Cauchy, Gumbel, Student's t, uniform, von Mises."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Size, Tensor

from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .implicit import gamma_sample
from .utils import EULER, broadcast_all, numpy_random, tiny

__all__ = ["Cauchy", "Gumbel", "Laplace", "Normal", "StudentT", "Uniform", "VonMises"]

_LOC_SCALE = {"loc": constraints.real, "scale": constraints.positive}


class _LocScale(Distribution):
    """A distribution that is shifted by ``loc`` and stretched by ``scale``."""

    arg_constraints: Any = _LOC_SCALE
    support: Any = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _standard(self, value: Tensor) -> Tensor:
        return (value - self.loc) / self.scale

    def _mean(self) -> Tensor:
        return self.loc

    def _mode(self) -> Tensor:
        return self.loc


class Normal(_LocScale, ExponentialFamily):
    """The normal distribution.

    Args:
        loc: the mean.
        scale: the standard deviation.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Normal(0.0, 1.0).log_prob(weft.tensor(0.0))
    tensor(-0.9189)
    """

    _mean_carrier_measure = 0

    def _variance(self) -> Tensor:
        return self.scale**2

    def _rsample(self, shape: Size) -> Tensor:
        return self.loc + self.scale * weft.randn(shape, dtype=self.loc.dtype)

    def _log_prob(self, value: Tensor) -> Tensor:
        z = self._standard(value)
        return -0.5 * z * z - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def _cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + weft.erf(self._standard(value) / math.sqrt(2)))

    def _icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * weft.erfinv(2 * value - 1) * math.sqrt(2)

    def _entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.loc / self.scale**2, -0.5 / self.scale**2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return -0.25 * x * x / y + 0.5 * weft.log(-math.pi / y)


class Laplace(_LocScale):
    """The Laplace distribution.

    Args:
        loc: the mean.
        scale: how fast the density falls.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Laplace(0.0, 1.0).variance
    tensor(2.)
    """

    def _variance(self) -> Tensor:
        return 2 * self.scale**2

    def _rsample(self, shape: Size) -> Tensor:
        eps = weft.finfo(self.loc.dtype).eps
        u = weft.empty(shape, dtype=self.loc.dtype).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * weft.log1p(-u.abs())

    def _log_prob(self, value: Tensor) -> Tensor:
        return -weft.log(2 * self.scale) - self._standard(value).abs()

    def _cdf(self, value: Tensor) -> Tensor:
        z = self._standard(value)
        return 0.5 - 0.5 * z.sign() * weft.expm1(-z.abs())

    def _icdf(self, value: Tensor) -> Tensor:
        off = value - 0.5
        return self.loc - self.scale * off.sign() * weft.log1p(-2 * off.abs())

    def _entropy(self) -> Tensor:
        return 1 + weft.log(2 * self.scale)


class Cauchy(_LocScale):
    """The Cauchy distribution, which has no mean.

    Args:
        loc: the median.
        scale: half the distance of the quartiles.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Cauchy(0.0, 1.0).cdf(weft.tensor(1.0))
    tensor(0.7500)
    """

    def _mean(self) -> Tensor:
        return weft.full_like(self.loc, math.nan)

    def _variance(self) -> Tensor:
        return weft.full_like(self.loc, math.inf)

    def _rsample(self, shape: Size) -> Tensor:
        return self.loc + self.scale * weft.empty(shape, dtype=self.loc.dtype).cauchy_()

    def _log_prob(self, value: Tensor) -> Tensor:
        return -math.log(math.pi) - self.scale.log() - weft.log1p(self._standard(value) ** 2)

    def _cdf(self, value: Tensor) -> Tensor:
        return weft.atan(self._standard(value)) / math.pi + 0.5

    def _icdf(self, value: Tensor) -> Tensor:
        return weft.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def _entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(_LocScale):
    """The Gumbel distribution, of largest values.

    Args:
        loc: the mode.
        scale: the width.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    def _mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    def _variance(self) -> Tensor:
        return (math.pi / math.sqrt(6) * self.scale) ** 2

    def _rsample(self, shape: Size) -> Tensor:
        u = weft.rand(shape, dtype=self.loc.dtype).clamp(tiny(self.loc), 1 - self._eps())
        return self._icdf(u)

    def _eps(self) -> float:
        return float(weft.finfo(self.loc.dtype).eps)

    def _log_prob(self, value: Tensor) -> Tensor:
        z = -self._standard(value)
        return z - weft.exp(z) - self.scale.log()

    def _cdf(self, value: Tensor) -> Tensor:
        return weft.exp(-weft.exp(-self._standard(value)))

    def _icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * weft.log(-weft.log(value))

    def _entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)


class StudentT(Distribution):
    """Student's t distribution.

    Args:
        df: degrees of freedom.
        loc: the centre.
        scale: the width.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.StudentT(weft.tensor([1.0, 3.0])).variance
    tensor([nan, 3.])
    """

    arg_constraints: Any = {"df": constraints.positive, **_LOC_SCALE}  # noqa: RUF012
    support: Any = constraints.real
    has_rsample = True

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    def _mean(self) -> Tensor:
        return weft.where(self.df > 1, self.loc, math.nan)

    def _mode(self) -> Tensor:
        return self.loc

    def _variance(self) -> Tensor:
        df = self.df
        finite = self.scale**2 * df / (df - 2)
        return weft.where(df > 2, finite, weft.where(df > 1, math.inf, math.nan).to(df.dtype))

    def _rsample(self, shape: Size) -> Tensor:
        x = weft.randn(shape, dtype=self.df.dtype)
        half = gamma_sample((0.5 * self.df).expand(shape))
        return self.loc + self.scale * x * weft.rsqrt(2 * half / self.df)

    def _log_prob(self, value: Tensor) -> Tensor:
        df, z = self.df, (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi)
        norm = norm + weft.lgamma(0.5 * df) - weft.lgamma(0.5 * (df + 1))
        return -0.5 * (df + 1) * weft.log1p(z**2 / df) - norm

    def _entropy(self) -> Tensor:
        df, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = weft.lgamma(df) + math.lgamma(0.5) - weft.lgamma(more)
        slope = more * (weft.digamma(more) - weft.digamma(df))
        return self.scale.log() + slope + 0.5 * self.df.log() + log_beta


class Uniform(Distribution):
    """The uniform distribution on an interval, its upper end left out.

    Args:
        low: the lower end.
        high: the upper end.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Uniform(1.0, 3.0).mean
    tensor(2.)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "low": constraints.dependent(is_discrete=False, event_dim=0),
        "high": constraints.dependent(is_discrete=False, event_dim=0),
    }
    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args and not bool((self.low < self.high).all()):
            raise ValueError(
                f"Uniform is not defined when low>= high: low is {self.low}, high is {self.high}"
            )

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval."""
        return constraints.interval(self.low, self.high)

    def _mean(self) -> Tensor:
        return (self.high + self.low) / 2

    def _mode(self) -> Tensor:
        return math.nan * self.high

    def _variance(self) -> Tensor:
        return (self.high - self.low) ** 2 / 12

    def _rsample(self, shape: Size) -> Tensor:
        return self.low + weft.rand(shape, dtype=self.low.dtype) * (self.high - self.low)

    def _log_prob(self, value: Tensor) -> Tensor:
        inside = ((self.low <= value) & (value < self.high)).to(self.low.dtype)
        return inside.log() - weft.log(self.high - self.low)

    def _cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def _icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def _entropy(self) -> Tensor:
        return weft.log(self.high - self.low)


class VonMises(Distribution):
    """The von Mises distribution: the normal one of angles.

    Args:
        loc: an angle in radians.
        concentration: how narrow it is.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.VonMises(weft.tensor(1.0), weft.tensor(4.0)).mean
    tensor(1.)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support: Any = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _mean(self) -> Tensor:
        return self.loc

    def _mode(self) -> Tensor:
        return self.loc

    def _variance(self) -> Tensor:
        k = self.concentration
        return 1 - weft.special.i1e(k) / weft.special.i0e(k)

    def _log_prob(self, value: Tensor) -> Tensor:
        k = self.concentration
        log_i0 = weft.special.i0e(k).log() + k
        return k * weft.cos(value - self.loc) - math.log(2 * math.pi) - log_i0

    def _sample(self, shape: Size) -> Tensor:
        loc, k = (x.detach().double().expand(shape).numpy() for x in (self.loc, self.concentration))
        return weft.as_tensor(numpy_random().vonmises(loc, k)).to(self.loc.dtype)
