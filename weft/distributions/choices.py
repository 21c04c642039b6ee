"""Distributions of choices: one of several events, and how often each occurs."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Size, Tensor
from weft.nn.functional import one_hot

from . import constraints
from .discrete import Binomial, one_of
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, numpy_random, probs_to_logits

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]


class _Choice(Distribution):
    """A distribution of the probabilities, or logits, of several events."""

    arg_constraints: Any = {  # noqa: RUF012
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    probs: Any
    logits: Any

    @property
    def _param(self) -> Tensor:
        raise NotImplementedError

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape


class Categorical(_Choice):
    """The number of one of several events.

    Args:
        probs: their probabilities, along the last dimension, up to a factor.
        logits: their logarithms, up to a summand; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Categorical(weft.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        name, given = ("probs", probs) if one_of(probs, logits) else ("logits", logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = given / given.sum(-1, True)
        else:
            self.logits = given - given.logsumexp(-1, True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    def _expand_into(self, new: Any, shape: Size) -> None:
        super()._expand_into(new, shape)
        new._num_events = self._num_events

    @property
    def _param(self) -> Tensor:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.logits

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return probs_to_logits(self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The numbers of the events."""
        return constraints.integer_interval(0, self._num_events - 1)

    def _mean(self) -> Tensor:
        return self.probs.new_full(self._batch_shape, math.nan)

    def _mode(self) -> Tensor:
        return self.probs.argmax(-1)

    def _variance(self) -> Tensor:
        return self._mean()

    def _sample(self, shape: Size) -> Tensor:
        flat = self.probs.reshape(-1, self._num_events)
        count = shape.numel() // max(len(flat), 1)
        if not count:
            return weft.empty(shape, dtype=weft.int64)
        return weft.multinomial(flat, count, True).T.reshape(shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        value = value.long().unsqueeze(-1)
        shape = weft.broadcast_shapes(value.shape[:-1], self.logits.shape[:-1])
        logits = self.logits.expand(Size((*shape, self._num_events)))
        return logits.gather(-1, value.expand(Size((*shape, 1)))).squeeze(-1)

    def _entropy(self) -> Tensor:
        logits = self.logits.clamp(min=weft.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def _enumerate_support(self, expand: bool) -> Tensor:
        return self._along_first(weft.arange(self._num_events), expand)


class _OfCategorical(_Choice):
    """A distribution made of a Categorical."""

    _categorical: Categorical

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits


class OneHotCategorical(_OfCategorical):
    """One of several events, as a vector with a 1 in its place.

    Args:
        probs: their probabilities, along the last dimension, up to a factor.
        logits: their logarithms, up to a summand; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.OneHotCategorical(weft.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    support: Any = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        shape = self._categorical.batch_shape
        super().__init__(shape, self._categorical.param_shape[-1:], validate_args)

    def _expand_into(self, new: Any, shape: Size) -> None:
        new._categorical = self._categorical.expand(shape)

    def _mean(self) -> Tensor:
        return self.probs

    def _mode(self) -> Tensor:
        return one_hot(self._categorical.mode, self._event_shape[0]).to(self.probs)

    def _variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _sample(self, shape: Size) -> Tensor:
        chosen = self._categorical._sample(Size(shape[:-1]))
        return one_hot(chosen, self._event_shape[0]).to(self.probs)

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._categorical._log_prob(value.argmax(-1))

    def _entropy(self) -> Tensor:
        return self._categorical.entropy()

    def _enumerate_support(self, expand: bool) -> Tensor:
        return self._along_first(weft.eye(self._event_shape[0], dtype=self._param.dtype), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with gradients that go through to the probabilities as if samples were these.

    Args:
        probs: their probabilities, along the last dimension, up to a factor.
        logits: their logarithms, up to a summand; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> logits = weft.zeros(2, requires_grad=True)
    >>> chosen = weft.distributions.OneHotCategoricalStraightThrough(logits=logits)
    >>> chosen.rsample().sum().item()
    1.0
    """

    has_rsample = True

    def _rsample(self, shape: Size) -> Tensor:
        return self._sample(shape).detach() + (self.probs - self.probs.detach())


class Multinomial(_OfCategorical):
    """How often each of several events occurs in ``total_count`` trials.

    Args:
        total_count: the number of trials.
        probs: the probabilities, along the last dimension, up to a factor.
        logits: their logarithms, up to a summand; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> weft.distributions.Multinomial(4, weft.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.batch_shape
        super().__init__(shape, self._categorical.param_shape[-1:], validate_args)

    def _expand_into(self, new: Any, shape: Size) -> None:
        new._categorical = self._categorical.expand(shape)
        new.total_count = self.total_count

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts that sum to the number of trials."""
        return constraints.multinomial(self.total_count)

    def _mean(self) -> Tensor:
        return self.probs * self.total_count

    def _variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def _sample(self, shape: Size) -> Tensor:
        probs = self.probs.detach().double().expand(shape)
        drawn = numpy_random().multinomial(self.total_count, (probs / probs.sum(-1, True)).numpy())
        return weft.as_tensor(drawn).to(self.probs.dtype)

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = weft.broadcast_tensors(self.logits, value)
        ways = weft.lgamma(value.sum(-1) + 1) - weft.lgamma(value + 1).sum(-1)
        logits = weft.where((value == 0) & (logits == -math.inf), 0.0, logits)
        return ways + (logits * value).sum(-1)

    def _entropy(self) -> Tensor:
        n = self.total_count
        single = Binomial(n, self.probs, validate_args=False)
        values = single._enumerate_support(expand=False)[1:]
        expected = (single._log_prob(values).exp() * weft.lgamma(values + 1)).sum((0, -1))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + expected
