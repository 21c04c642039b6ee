"""Distributions of shares: numbers between 0 and 1, and points of the simplex."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Size, Tensor
from weft.nn.functional import binary_cross_entropy_with_logits, one_hot

from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .implicit import dirichlet_sample
from .real import Normal
from .transformed import TransformedDistribution
from .transforms_vectors import StickBreakingTransform
from .utils import (
    EULER,
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
    tiny,
)

__all__ = ["Beta", "ContinuousBernoulli", "Dirichlet", "Kumaraswamy", "LogisticNormal"]


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution, of points of the simplex.

    Args:
        concentration: one number for each coordinate, along the last dimension.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Dirichlet(weft.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints: Any = {  # noqa: RUF012
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support: Any = constraints.simplex
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def _mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    def _mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        all_below = (self.concentration < 1).all(-1, True)
        corner = one_hot(mode.nan_to_num().argmax(-1), mode.shape[-1]).to(mode)
        return weft.where(all_below, corner, mode)

    def _variance(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1, True)
        return a * (total - a) / (total**2 * (total + 1))

    def _rsample(self, shape: Size) -> Tensor:
        return dirichlet_sample(self.concentration.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        terms = weft.xlogy(a - 1, value).sum(-1)
        return terms + weft.lgamma(a.sum(-1)) - weft.lgamma(a).sum(-1)

    def _entropy(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1)
        spread = (a.shape[-1] - total) * weft.digamma(total) + ((a - 1) * weft.digamma(a)).sum(-1)
        return weft.lgamma(a).sum(-1) - weft.lgamma(total) - spread

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x = natural_params[0]
        return weft.lgamma(x).sum(-1) - weft.lgamma(x.sum(-1))


class Beta(ExponentialFamily):
    """The beta distribution.

    Args:
        concentration1: of the value.
        concentration0: of one minus the value.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support: Any = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        both = weft.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    def _expand_into(self, new: Any, shape: Size) -> None:
        new._dirichlet = self._dirichlet.expand(shape)

    @property
    def concentration1(self) -> Tensor:
        """The concentration of the value."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The concentration of one minus the value."""
        return self._dirichlet.concentration[..., 1]

    def _mean(self) -> Tensor:
        return self._dirichlet.mean[..., 0]

    def _mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    def _variance(self) -> Tensor:
        return self._dirichlet.variance[..., 0]

    def _rsample(self, shape: Size) -> Tensor:
        both = self._dirichlet.concentration
        return dirichlet_sample(both.expand(Size((*shape, 2))))[..., 0]

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._dirichlet._log_prob(weft.stack([value, 1.0 - value], -1))

    def _entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return weft.lgamma(x) + weft.lgamma(y) - weft.lgamma(x + y)


class Kumaraswamy(Distribution):
    """The Kumaraswamy distribution, much like a beta one.

    Args:
        concentration1: the power of the value.
        concentration0: the power of one minus that.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints: Any = Beta.arg_constraints
    support: Any = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        arg = 1 + n / a
        return b * weft.exp(weft.lgamma(arg) + weft.lgamma(b) - weft.lgamma(arg + b))

    def _mean(self) -> Tensor:
        return self._moment(1)

    def _mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** (1 / a)
        return weft.where((a < 1) | (b < 1), math.nan, mode)

    def _variance(self) -> Tensor:
        return self._moment(2) - self._moment(1) ** 2

    def _rsample(self, shape: Size) -> Tensor:
        u = weft.rand(shape, dtype=self.concentration1.dtype)
        eps = weft.finfo(u.dtype).eps
        return self._icdf(u.clamp(min=tiny(u), max=1 - eps)).clamp(min=tiny(u), max=1 - eps)

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return a.log() + b.log() + (a - 1) * value.log() + (b - 1) * weft.log1p(-(value**a))

    def _cdf(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return -weft.expm1(b * weft.log1p(-(value**a)))

    def _icdf(self, value: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (-weft.expm1(weft.log1p(-value) / b)) ** (1 / a)

    def _entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = weft.digamma(b + 1) + EULER
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - a.log() - b.log()


class ContinuousBernoulli(ExponentialFamily):
    """The continuous Bernoulli distribution: a density p^x (1-p)^(1-x), scaled, on [0, 1].

    Args:
        probs: p.
        logits: its logit; one of both is given.
        lims: between these p is so near 1/2 that series are used.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support: Any = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        on = self._validate_args if validate_args is None else validate_args
        if probs is not None:
            (p,) = broadcast_all(probs)
            if on and not bool(constraints.unit_interval.check(p).all()):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(p)
            shape = p.shape
        else:
            (self.logits,) = broadcast_all(logits)
            shape = self.logits.shape
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    def _expand_into(self, new: Any, shape: Size) -> None:
        super()._expand_into(new, shape)
        new._lims = self._lims

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter p."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    @lazy_property
    def logits(self) -> Tensor:
        """The logit of p."""
        return probs_to_logits(self.probs, is_binary=True)

    def _apart(self) -> tuple[Tensor, Tensor]:
        """Return where p is not near 1/2, and p with another value elsewhere."""
        apart = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        return apart, weft.where(apart, self.probs, self._lims[0])

    def _log_norm(self) -> Tensor:
        apart, p = self._apart()
        exact = weft.log(weft.abs(weft.log1p(-p) - p.log())) - weft.log(weft.abs(1 - 2 * p))
        x = (self.probs - 0.5) ** 2
        return weft.where(apart, exact, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    def _mean(self) -> Tensor:
        apart, p = self._apart()
        exact = p / (2 * p - 1) + 1 / (weft.log1p(-p) - p.log())
        x = self.probs - 0.5
        return weft.where(apart, exact, 0.5 + (1 / 3 + 16 / 45 * x**2) * x)

    def _variance(self) -> Tensor:
        apart, p = self._apart()
        exact = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / (weft.log1p(-p) - p.log()) ** 2
        x = (self.probs - 0.5) ** 2
        return weft.where(apart, exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def _rsample(self, shape: Size) -> Tensor:
        return self._icdf(weft.rand(shape, dtype=self.probs.dtype))

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = weft.broadcast_tensors(self.logits, value)
        entropy = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._log_norm() - entropy

    def _cdf(self, value: Tensor) -> Tensor:
        apart, p = self._apart()
        exact = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        inside = weft.where(apart, exact, value)
        return weft.where(value <= 0, 0.0, weft.where(value >= 1, 1.0, inside))

    def _icdf(self, value: Tensor) -> Tensor:
        apart, p = self._apart()
        exact = weft.log1p(-p + value * (2 * p - 1)) - weft.log1p(-p)
        return weft.where(apart, exact / (p.log() - weft.log1p(-p)), value)

    def _entropy(self) -> Tensor:
        log_0, log_1 = weft.log1p(-self.probs), self.probs.log()
        return self.mean * (log_0 - log_1) - self._log_norm() - log_0

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x = natural_params[0]
        apart = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = weft.where(apart, x, self._lims[0] - 0.5)
        exact = weft.log(weft.abs(weft.expm1(cut))) - weft.log(weft.abs(cut))
        return weft.where(apart, exact, 0.5 * x + x**2 / 24 - x**4 / 2880)


class LogisticNormal(TransformedDistribution):
    """Normal variables, taken to the simplex by breaking a stick.

    Args:
        loc: the means, along the last dimension.
        scale: the standard deviations.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.LogisticNormal(weft.zeros(2), weft.ones(2)).event_shape
    torch.Size([3])
    """

    arg_constraints: Any = Normal.arg_constraints
    support: Any = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The means."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations."""
        return self.base_dist.base_dist.scale
