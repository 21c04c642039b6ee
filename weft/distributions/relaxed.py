"""Continuous relaxations of discrete distributions, by noise and a temperature."""

from __future__ import annotations

from typing import Any

import weft
from weft import Size, Tensor

from . import constraints
from .choices import Categorical, _OfCategorical
from .discrete import _Binary
from .transformed import TransformedDistribution
from .transforms_numbers import ExpTransform, SigmoidTransform
from .utils import broadcast_all, clamp_probs

__all__ = [
    "ExpRelaxedCategorical",
    "LogitRelaxedBernoulli",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
]


class LogitRelaxedBernoulli(_Binary):
    """The logits of relaxed Bernoulli variables.

    Args:
        temperature: the lower, the nearer to a Bernoulli variable.
        probs: the probability.
        logits: its logit; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> from weft.distributions.relaxed import LogitRelaxedBernoulli
    >>> LogitRelaxedBernoulli(weft.tensor(0.5), weft.tensor([0.1, 0.9])).sample().shape
    torch.Size([2])
    """

    arg_constraints: Any = {  # noqa: RUF012
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support: Any = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def _expand_into(self, new: Any, shape: Size) -> None:
        super()._expand_into(new, shape)
        new.temperature = self.temperature

    def _rsample(self, shape: Size) -> Tensor:
        p = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(weft.rand(shape, dtype=p.dtype))
        noise = u.log() - weft.log1p(-u)
        return (noise + p.log() - weft.log1p(-p)) / self.temperature

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = weft.broadcast_tensors(self.logits, value)
        diff = logits - value * self.temperature
        (temperature,) = broadcast_all(self.temperature)
        return temperature.log() + diff - 2 * weft.nn.functional.softplus(diff)


class _Tempered(TransformedDistribution):
    """A relaxation as a transform of its logits."""

    has_rsample = True

    @property
    def temperature(self) -> Any:
        """The lower, the nearer to the discrete distribution."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logits."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs


class RelaxedBernoulli(_Tempered):
    """Numbers between 0 and 1 that are near Bernoulli variables at low temperatures.

    Args:
        temperature: the lower, the nearer.
        probs: the probability.
        logits: its logit; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> relaxed = weft.distributions.RelaxedBernoulli(weft.tensor(0.5), weft.tensor([0.1, 0.9]))
    >>> relaxed.rsample().shape
    torch.Size([2])
    """

    arg_constraints: Any = LogitRelaxedBernoulli.arg_constraints
    support: Any = constraints.unit_interval

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class ExpRelaxedCategorical(_OfCategorical):
    """The logarithms of relaxed one-hot vectors.

    Args:
        temperature: the lower, the nearer to one-hot vectors.
        probs: the probabilities, along the last dimension.
        logits: their logarithms; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> from weft.distributions.relaxed import ExpRelaxedCategorical
    >>> ExpRelaxedCategorical(weft.tensor(0.5), weft.ones(3)).sample().shape
    torch.Size([3])
    """

    support: Any = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.batch_shape
        super().__init__(shape, self._categorical.param_shape[-1:], validate_args)

    def _expand_into(self, new: Any, shape: Size) -> None:
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(shape)

    def _rsample(self, shape: Size) -> Tensor:
        u = clamp_probs(weft.rand(shape, dtype=self.logits.dtype))
        scores = (self.logits - weft.log(-u.log())) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self._event_shape[0]
        logits, value = weft.broadcast_tensors(self.logits, value)
        (temperature,) = broadcast_all(self.temperature)
        scale = weft.lgamma(weft.full_like(temperature, float(n))) + (n - 1) * temperature.log()
        score = logits - value * temperature
        return (score - score.logsumexp(-1, True)).sum(-1) + scale


class RelaxedOneHotCategorical(_Tempered):
    """Points of the simplex that are near one-hot vectors at low temperatures.

    Args:
        temperature: the lower, the nearer.
        probs: the probabilities, along the last dimension.
        logits: their logarithms; one of both is given.
        validate_args: see :class:`Distribution`.

    >>> relaxed = weft.distributions.RelaxedOneHotCategorical(weft.tensor(0.5), weft.ones(3))
    >>> relaxed.rsample().shape
    torch.Size([3])
    """

    arg_constraints: Any = ExpRelaxedCategorical.arg_constraints
    support: Any = constraints.simplex

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
