"""Metrics of scores that rank samples: area under the ROC curve, average precision."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import weft

from .base import Metric, mismatch

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["AUC", "AveragePrecision"]


class _OfScores(Metric):
    """A metric that needs all scores at the end."""

    gathered = ("scores", "targets")
    live = False
    AVERAGES = ("macro", "weighted", None)

    def __init__(self, average: str | None = "macro") -> None:
        if average not in self.AVERAGES:
            raise ValueError(
                f"{type(self).__name__}: average must be one of {self.AVERAGES}, got {average!r}"
            )
        self.average = average
        super().__init__()

    def reset(self) -> None:
        """Forget all batches."""
        self.scores: list[Tensor] = []
        self.targets: list[Tensor] = []

    def update(self, output: Tensor, target: Tensor) -> None:
        """Add a batch: scores ``[N]`` and targets 0 or 1, or scores ``[N, C]`` and labels."""
        if output.dim() == target.dim() + 1 and output.shape[1] == 1:
            output = output.squeeze(1)
        if output.dim() == 2 and output.shape[1] == 1 and output.shape == target.shape:
            output, target = output.squeeze(1), target.squeeze(1)
        if (
            output.dim() not in (1, 2)
            or target.dim() != 1
            or len(output) != len(target)
            or not output.is_floating_point()
        ):
            rule = "scores must be [N] or [N, C], of a floating-point dtype, and targets [N]"
            raise mismatch(type(self).__name__, rule, output, target)
        self.scores.append(output.detach().double().clone())
        self.targets.append(target.detach().long().clone())

    def compute(self) -> Any:
        """Return a number; with ``average=None`` one for each class, NaN where it has none."""
        if not self.scores:
            return math.nan
        import numpy as np

        scores, targets = weft.cat(self.scores), weft.cat(self.targets)
        if bool(scores.isnan().any()):  # what is no number has no rank
            single = scores.dim() == 1 or self.average is not None
            return math.nan if single else weft.full((scores.shape[1],), math.nan).double()
        if scores.dim() == 1:
            return self._area(scores.numpy(), targets.numpy() == 1)
        probable = bool((scores >= 0).all()) and bool(((scores.sum(1) - 1).abs() < 1e-3).all())
        table = (scores if probable else scores.softmax(1)).numpy()
        true = targets.numpy()
        each = np.array([self._area(table[:, c], true == c) for c in range(table.shape[1])])
        if self.average is None:
            return weft.from_numpy(each)
        weights = np.bincount(true, minlength=len(each)) if self.average == "weighted" else None
        known = ~np.isnan(each)
        if not known.any():
            return math.nan
        return float(np.average(each[known], weights=None if weights is None else weights[known]))

    @staticmethod
    def _area(scores: Any, positive: Any) -> float:
        raise NotImplementedError


class AUC(_OfScores):
    """The area under the ROC curve: how often a positive sample scores above a negative one.

    Args:
        average: for scores of several classes, each class against the rest: "macro" (all count
            alike), "weighted" (by how often they occur) or None (one result for each). A class
            that does not occur, or alone does, has no area and does not count.

    Scores ``[N, C]`` that are no probabilities go through a softmax.

    >>> scores = weft.tensor([0.1, 0.4, 0.35, 0.8])
    >>> weft.train.metrics.AUC()(scores, weft.tensor([0, 0, 1, 1]))
    0.75
    """

    @staticmethod
    def _area(scores: Any, positive: Any) -> float:
        import numpy as np

        p = int(positive.sum())
        n = len(positive) - p
        if not p or not n:
            return math.nan
        _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # ties share their mean rank
        return float((ranks[positive].sum() - p * (p + 1) / 2) / (p * n))


class AveragePrecision(_OfScores):
    """The area under precision over recall, as a sum of steps.

    Args:
        average: for scores of several classes, as in ``AUC``.

    >>> scores = weft.tensor([0.1, 0.4, 0.35, 0.8])
    >>> weft.train.metrics.AveragePrecision()(scores, weft.tensor([0, 0, 1, 1]))
    0.83...
    """

    @staticmethod
    def _area(scores: Any, positive: Any) -> float:
        import numpy as np

        if not positive.any():
            return math.nan
        order = np.argsort(-scores, kind="stable")
        scores, positive = scores[order], positive[order]
        last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)  # of each tie
        hits = np.cumsum(positive)[last]
        precision, recall = hits / (last + 1), hits / hits[-1]
        return float(np.sum(np.diff(recall, prepend=0.0) * precision))
