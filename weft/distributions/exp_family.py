"""Exponential families: densities exp(t(x)·η - F(η) + k(x))."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor

from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with natural parameters; its entropy follows from the log normaliser.

    A class defines ``_natural_params``, ``_log_normalizer(*params)`` and ``_mean_carrier_measure``.

    >>> issubclass(weft.distributions.Normal, weft.distributions.ExponentialFamily)
    True
    """

    _natural_params: Any
    _mean_carrier_measure: Any = None

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _log_normalizer")

    def _normalizer_and_gradients(self) -> tuple[tuple[Tensor, ...], Tensor, tuple[Tensor, ...]]:
        """Return the natural parameters, F of them, and its gradients."""
        with weft.enable_grad():
            params = tuple(p.detach().requires_grad_() for p in self._natural_params)
            normalizer = self._log_normalizer(*params)
            gradients = weft.autograd.grad(normalizer.sum(), params, create_graph=True)
        return params, normalizer, tuple(gradients)

    def _entropy(self) -> Tensor:
        if self._mean_carrier_measure is None:
            raise self._lacks("entropy: the mean of its carrier measure is not known")
        params, normalizer, gradients = self._normalizer_and_gradients()
        result = normalizer - self._mean_carrier_measure
        for p, g in zip(params, gradients):
            result = result - sum_rightmost(p * g, p.dim() - len(self._batch_shape))
        return result
