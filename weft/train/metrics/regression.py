"""Metrics of regression: MSE, RMSE, MAE, R2."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import weft

from .base import Metric, mismatch

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["MAE", "MSE", "R2", "RMSE"]


def _alike(output: Tensor, target: Tensor, who: str) -> tuple[Tensor, Tensor]:
    """Return output and target in one shape, as float64; ``[N, 1]`` and ``[N]`` are alike."""
    if output.shape != target.shape:
        flat = [n for n in output.shape if n != 1], [n for n in target.shape if n != 1]
        if flat[0] != flat[1]:
            raise mismatch(who, "both must have the same shape", output, target)
        output = output.reshape(target.shape)
    return output.double(), target.double()


class _MeanOfErrors(Metric):
    gathered = ("total", "count")
    higher_is_better = False

    def reset(self) -> None:
        """Forget all batches."""
        self.total, self.count = 0.0, 0

    def update(self, output: Tensor, target: Tensor) -> None:
        """Add a batch: both of the same shape."""
        y, t = _alike(output, target, type(self).__name__)
        self.total += self._error(y - t).sum().item()
        self.count += y.numel()

    @staticmethod
    def _error(difference: Tensor) -> Tensor:
        raise NotImplementedError

    def compute(self) -> float:
        """Return the mean over all elements."""
        return self.total / self.count if self.count else math.nan


class MSE(_MeanOfErrors):
    """The mean of squared errors.

    >>> weft.train.metrics.MSE()(weft.tensor([1.0, 3.0]), weft.tensor([1.0, 1.0]))
    2.0
    """

    @staticmethod
    def _error(difference: Tensor) -> Tensor:
        return difference * difference


class RMSE(MSE):
    """The root of the mean of squared errors.

    >>> weft.train.metrics.RMSE()(weft.tensor([1.0, 5.0, 1.0, 1.0]), weft.ones(4))
    2.0
    """

    def compute(self) -> float:
        """Return the root of the mean over all elements."""
        return math.sqrt(super().compute())


class MAE(_MeanOfErrors):
    """The mean of absolute errors.

    >>> weft.train.metrics.MAE()(weft.tensor([1.0, 3.0]), weft.tensor([1.0, 1.0]))
    1.0
    """

    @staticmethod
    def _error(difference: Tensor) -> Tensor:
        return difference.abs()


class R2(Metric):
    """The part of the variance of the targets that the outputs explain.

    Outputs of several numbers for each sample give the mean of the results for each. A target
    that does not vary gives 1 where it is met exactly, else 0.

    >>> metric = weft.train.metrics.R2()
    >>> metric(weft.tensor([2.5, 0.0, 2.0, 8.0]), weft.tensor([3.0, -0.5, 2.0, 7.0]))
    0.948...
    """

    gathered = ("count", "mean", "spread", "errors")

    def reset(self) -> None:
        """Forget all batches."""
        self.count = 0
        self.mean = weft.zeros(0, dtype=weft.float64)
        self.spread = weft.zeros(0, dtype=weft.float64)
        self.errors = weft.zeros(0, dtype=weft.float64)

    def update(self, output: Tensor, target: Tensor) -> None:
        """Add a batch: both of the same shape, samples in dimension 0."""
        y, t = _alike(output, target, "R2")
        n = len(t)
        if not n:
            return
        y, t = y.reshape(n, -1), t.reshape(n, -1)
        errors, mean = ((y - t) ** 2).sum(0), t.mean(0)
        spread = ((t - mean) ** 2).sum(0)
        if not self.count:
            self.count, self.mean, self.spread, self.errors = n, mean, spread, errors
            return
        total, apart = self.count + n, mean - self.mean
        self.spread = self.spread + spread + apart**2 * (self.count * n / total)
        self.mean = self.mean + apart * (n / total)
        self.errors, self.count = self.errors + errors, total

    def compute(self) -> float:
        """Return the mean over the numbers of a sample; NaN for fewer than two samples."""
        if self.count < 2:
            return math.nan
        flat, met = self.spread == 0, self.errors == 0
        r2 = 1 - self.errors / weft.where(flat, weft.ones_like(self.spread), self.spread)
        return float(weft.where(flat, met.double(), r2).mean())
