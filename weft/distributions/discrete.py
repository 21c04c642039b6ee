"""Distributions of whole numbers: yes or no, and counts."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Size, Tensor
from weft.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .positive import Gamma
from .utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    numpy_random,
    probs_to_logits,
    tiny,
)

__all__ = [
    "Bernoulli",
    "Binomial",
    "Geometric",
    "NegativeBinomial",
    "Poisson",
]


def one_of(probs: Any, logits: Any) -> bool:
    """Return whether probabilities are given; raise if both or none are.

    >>> from weft.distributions.discrete import one_of
    >>> one_of(0.5, None)
    True
    """
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return probs is not None


class _Binary(Distribution):
    """A distribution of a probability or its logit, one of which is given."""

    def _take(self, probs: Any, logits: Any, *others: Any) -> tuple[Tensor, ...]:
        """Set ``probs`` or ``logits``; return the others in the same shape."""
        if one_of(probs, logits):
            *rest, self.probs = broadcast_all(*others, probs)
        else:
            *rest, self.logits = broadcast_all(*others, logits)
        return tuple(rest)

    @property
    def _param(self) -> Tensor:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape

    @lazy_property
    def probs(self) -> Tensor:
        """The probability."""
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        """The logit of the probability."""
        return probs_to_logits(self.probs, is_binary=True)

    def _binary_entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Bernoulli(_Binary, ExponentialFamily):
    """1 with a probability, otherwise 0.

    Args:
        probs: the probability.
        logits: its logit; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Bernoulli(0.25).variance
    tensor(0.1875)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support: Any = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def _mean(self) -> Tensor:
        return self.probs

    def _mode(self) -> Tensor:
        return weft.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs))

    def _variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _sample(self, shape: Size) -> Tensor:
        return weft.bernoulli(self.probs.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = weft.broadcast_tensors(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value.to(logits.dtype), reduction="none")

    def _entropy(self) -> Tensor:
        return self._binary_entropy()

    def _enumerate_support(self, expand: bool) -> Tensor:
        return self._along_first(weft.arange(2, dtype=self._param.dtype), expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (weft.logit(self.probs),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return weft.log1p(weft.exp(natural_params[0]))


class Binomial(_Binary):
    """How many of ``total_count`` trials succeed.

    Args:
        total_count: the number of trials.
        probs: the probability that one succeeds.
        logits: its logit; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Binomial(10, weft.tensor(0.2)).mean
    tensor(2.)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (count,) = self._take(probs, logits, total_count)
        self.total_count = count.to(self._param.dtype)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The numbers from 0 to the number of trials."""
        return constraints.integer_interval(0, self.total_count)

    def _mean(self) -> Tensor:
        return self.total_count * self.probs

    def _mode(self) -> Tensor:
        return weft.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    def _variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def _sample(self, shape: Size) -> Tensor:
        count = self.total_count.detach().long().expand(shape).numpy()
        probs = self.probs.detach().double().expand(shape).numpy()
        return weft.as_tensor(numpy_random().binomial(count, probs)).to(self._param.dtype)

    def _log_prob(self, value: Tensor) -> Tensor:
        n, logits = self.total_count, self.logits
        ways = weft.lgamma(n + 1) - weft.lgamma(value + 1) - weft.lgamma(n - value + 1)
        return value * logits + ways + n * logsigmoid(-logits)

    def _entropy(self) -> Tensor:
        log_prob = self._log_prob(self._enumerate_support(expand=False))
        return -(log_prob.exp() * log_prob).sum(0)

    def _enumerate_support(self, expand: bool) -> Tensor:
        total = int(self.total_count.max())
        if not bool((self.total_count == total).all()):
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        return self._along_first(weft.arange(1 + total, dtype=self._param.dtype), expand)


class Geometric(_Binary):
    """How many trials fail before the first one that succeeds.

    Args:
        probs: the probability that one succeeds; positive.
        logits: its logit; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints: Any = Bernoulli.arg_constraints
    support: Any = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not bool((self.probs > 0).all()):
            raise ValueError(
                f"Expected parameter probs of distribution {self!r} to be positive but found "
                f"invalid values:\n{self.probs}"
            )

    def _mean(self) -> Tensor:
        return 1 / self.probs - 1

    def _mode(self) -> Tensor:
        return weft.zeros_like(self.probs)

    def _variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def _sample(self, shape: Size) -> Tensor:
        u = weft.rand(shape, dtype=self.probs.dtype).clamp(min=tiny(self.probs))
        return (u.log() / weft.log1p(-self.probs)).floor()

    def _log_prob(self, value: Tensor) -> Tensor:
        value, probs = weft.broadcast_tensors(value, self.probs)
        probs = weft.where((probs == 1) & (value == 0), 0.0, probs)
        return value * weft.log1p(-probs) + self.probs.log()

    def _entropy(self) -> Tensor:
        return self._binary_entropy() / self.probs


class NegativeBinomial(_Binary):
    """How many trials succeed before ``total_count`` have failed.

    Args:
        total_count: how many fail; it need not be whole.
        probs: the probability that one succeeds.
        logits: its logit; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.NegativeBinomial(3.0, weft.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints: Any = {  # noqa: RUF012
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support: Any = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (count,) = self._take(probs, logits, total_count)
        self.total_count = count.to(self._param.dtype)
        super().__init__(self._param.shape, validate_args=validate_args)

    def _mean(self) -> Tensor:
        return self.total_count * weft.exp(self.logits)

    def _mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    def _variance(self) -> Tensor:
        return self._mean() / weft.sigmoid(-self.logits)

    def _sample(self, shape: Size) -> Tensor:
        rates = Gamma(self.total_count, weft.exp(-self.logits), validate_args=False)
        return weft.poisson(rates._rsample(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        odds = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = weft.lgamma(n + value) - weft.lgamma(1.0 + value) - weft.lgamma(n)
        return odds + weft.where(n + value == 0, 0.0, ways)


class Poisson(ExponentialFamily):
    """The Poisson distribution, of counts.

    Args:
        rate: the mean.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Poisson(4.0).variance
    tensor(4.)
    """

    arg_constraints: Any = {"rate": constraints.nonnegative}  # noqa: RUF012
    support: Any = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def _mean(self) -> Tensor:
        return self.rate

    def _mode(self) -> Tensor:
        return self.rate.floor()

    def _variance(self) -> Tensor:
        return self.rate

    def _sample(self, shape: Size) -> Tensor:
        return weft.poisson(self.rate.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        rate, value = weft.broadcast_tensors(self.rate, value)
        return weft.xlogy(value, rate) - rate - weft.lgamma(value + 1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return weft.exp(natural_params[0])
