"""Metrics of classification: accuracy, confusion matrix, precision, recall, F1, perplexity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import weft

from .base import Metric, mismatch

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["F1", "Accuracy", "ConfusionMatrix", "Perplexity", "Precision", "Recall"]

_RULE = (
    "the output must have scores of the classes in dimension 1, or the shape of the target (a "
    "score or a label for each)"
)


def labels(
    output: Tensor, target: Tensor, threshold: float, ignore_index: int | None, who: str
) -> tuple[Tensor, Tensor]:
    """Return predicted and true labels, flat."""
    if output.dim() == target.dim() + 1 and output.shape[0] == target.shape[0]:
        if output.shape[1] == 1:
            output = output.squeeze(1)
        elif output.shape[2:] == target.shape[1:]:
            output = output.argmax(1)
    if output.shape != target.shape:
        raise mismatch(who, _RULE, output, target)
    if output.is_floating_point():
        output = output > threshold
    output, target = output.reshape(-1).long(), target.reshape(-1).long()
    if ignore_index is not None:
        keep = target != ignore_index
        output, target = output[keep], target[keep]
    return output, target


class Accuracy(Metric):
    """The part of the samples whose class is right.

    Args:
        top_k: a sample is right if its class is among the k with the highest scores.
        threshold: of outputs with one score for each target, those above it are class 1; 0 for
            scores before the sigmoid, 0.5 for probabilities.
        ignore_index: targets that do not count.

    >>> scores = weft.tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])
    >>> weft.train.metrics.Accuracy()(scores, weft.tensor([1, 0, 0]))
    0.6666666666666666
    """

    gathered = ("right", "count")

    def __init__(
        self, top_k: int = 1, threshold: float = 0.5, ignore_index: int | None = None
    ) -> None:
        if top_k < 1:
            raise ValueError(f"Accuracy: top_k must be at least 1, got {top_k}")
        self.top_k, self.threshold, self.ignore_index = top_k, threshold, ignore_index
        super().__init__()

    def reset(self) -> None:
        """Forget all batches."""
        self.right, self.count = 0, 0

    def update(self, output: Tensor, target: Tensor) -> None:
        """Add a batch of scores ``[N, C, ...]``, or labels or scores in the target's shape."""
        if self.top_k > 1:
            self._update_top(output, target)
            return
        if output.dim() == 2 and target.dim() == 1 and self.ignore_index is None:
            n = len(target)
            if output.size(1) > 1 and len(output) == n:  # the frequent case, quickly
                self.right += int((output.argmax(1) == target).sum().item())
                self.count += n
                return
        found, true = labels(output, target, self.threshold, self.ignore_index, "Accuracy")
        self.right += int((found == true).sum().item())
        self.count += true.numel()

    def _update_top(self, output: Tensor, target: Tensor) -> None:
        shaped = output.dim() == target.dim() + 1 and output.shape[2:] == target.shape[1:]
        if not shaped or output.shape[0] != target.shape[0] or output.shape[1] < self.top_k:
            rule = f"top_k={self.top_k} needs scores of at least {self.top_k} classes in dim 1"
            raise mismatch("Accuracy", rule, output, target)
        right = (output.topk(self.top_k, 1).indices == target.unsqueeze(1)).any(1)
        if self.ignore_index is not None:
            right = right[target != self.ignore_index]
        self.right += int(right.sum().item())
        self.count += right.numel()

    def compute(self) -> float:
        """Return the part that is right."""
        return self.right / self.count if self.count else math.nan


class ConfusionMatrix(Metric):
    """How many samples of each class (row) were taken for each class (column).

    Args:
        num_classes: by default as many as the outputs have scores, or the largest label needs.
        threshold: of outputs with one score for each target, those above it are class 1.
        ignore_index: targets that do not count.

    >>> matrix = weft.train.metrics.ConfusionMatrix()
    >>> matrix(weft.tensor([0, 1, 1]), weft.tensor([0, 0, 1]))
    tensor([[1, 1],
            [0, 1]])
    """

    gathered = ("matrix", "binary")

    def __init__(
        self,
        num_classes: int | None = None,
        threshold: float = 0.5,
        ignore_index: int | None = None,
    ) -> None:
        self.num_classes, self.threshold = num_classes, threshold
        self.ignore_index = ignore_index
        super().__init__()

    def reset(self) -> None:
        """Forget all batches."""
        n = self.num_classes or 0
        self.matrix = weft.zeros(n, n, dtype=weft.int64)
        self.binary = False  # whether outputs are one score for each target

    def update(self, output: Tensor, target: Tensor) -> None:
        """Add a batch of scores ``[N, C, ...]``, or labels or scores in the target's shape."""
        who = type(self).__name__
        found, true = labels(output, target, self.threshold, self.ignore_index, who)
        one_score = output.dim() == target.dim() or output.shape[1] == 1
        self.binary = one_score and output.is_floating_point()
        classes = 2 if self.binary else (0 if one_score else output.shape[1])
        if true.numel():
            lowest = int(weft.minimum(found.min(), true.min()).item())
            highest = int(weft.maximum(found.max(), true.max()).item())
            if lowest < 0 or highest >= (self.num_classes or math.inf):
                rule = f"from 0 to {self.num_classes - 1}" if self.num_classes else "at least 0"
                raise ValueError(f"{who}: labels must be {rule}, got {lowest} to {highest}")
            classes = max(classes, highest + 1)
        self._grow(classes)
        n = len(self.matrix)
        self.matrix += weft.bincount(true * n + found, minlength=n * n).reshape(n, n)

    def _grow(self, classes: int) -> None:
        old = len(self.matrix)
        if classes > old:
            matrix = weft.zeros(classes, classes, dtype=weft.int64)
            matrix[:old, :old] = self.matrix
            self.matrix = matrix

    def compute(self) -> Any:
        """Return the matrix, ``[classes, classes]``."""
        return self.matrix.clone()


class _OfCounts(ConfusionMatrix):
    """A metric that is a function of hits, predictions and targets of each class."""

    AVERAGES = ("auto", "macro", "micro", "weighted", "binary", None)

    def __init__(
        self,
        average: str | None = "auto",
        num_classes: int | None = None,
        threshold: float = 0.5,
        ignore_index: int | None = None,
    ) -> None:
        if average not in self.AVERAGES:
            raise ValueError(
                f"{type(self).__name__}: average must be one of {self.AVERAGES}, got {average!r}"
            )
        self.average = average
        super().__init__(num_classes, threshold, ignore_index)

    @staticmethod
    def _ratio(hits: Tensor, found: Tensor, true: Tensor) -> Tensor:
        raise NotImplementedError

    def compute(self) -> Any:
        """Return a number; with ``average=None`` one for each class, 0 where it has no meaning."""
        matrix = self.matrix.double()
        hits, found, true = matrix.diagonal(), matrix.sum(0), matrix.sum(1)
        average = self.average
        if average == "auto":
            average = "binary" if self.binary else "macro"
        if not len(matrix) or float(true.sum()) == 0:
            return math.nan
        if average == "micro":
            return float(self._ratio(hits.sum(), found.sum(), true.sum()))
        each = self._ratio(hits, found, true)
        if average is None:
            return each
        if average == "binary":
            if len(each) != 2:
                raise ValueError(
                    f"{type(self).__name__}: average='binary' is for two classes, got {len(each)}"
                )
            return float(each[1])
        if average == "weighted":
            return float((each * true).sum() / true.sum())
        return float(each[(found + true) > 0].mean())  # macro: over the classes that occur


def _divide(a: Tensor, b: Tensor) -> Tensor:
    """``a / b``, and 0 where ``b`` is 0."""
    return weft.where(b > 0, a / b.clamp(min=1), weft.zeros_like(a))


_AVERAGES = """
    Args:
        average: over classes: "macro" (all classes that occur count alike), "weighted" (by how
            often they occur), "micro" (all samples together), "binary" (class 1 alone), None (no
            average). "auto" is "binary" for outputs with one score for each target, else "macro".
        num_classes: by default as many as the outputs have scores, or the largest label needs.
        threshold: of outputs with one score for each target, those above it are class 1.
        ignore_index: targets that do not count.
"""


class Precision(_OfCounts):
    __doc__ = f"""Of the samples taken for a class, the part that belongs to it.
{_AVERAGES}
    >>> metric = weft.train.metrics.Precision(average=None)
    >>> metric(weft.tensor([0, 1, 1]), weft.tensor([0, 0, 1]))
    tensor([1.0000, 0.5000], dtype=torch.float64)
    """

    @staticmethod
    def _ratio(hits: Tensor, found: Tensor, true: Tensor) -> Tensor:
        return _divide(hits, found)


class Recall(_OfCounts):
    __doc__ = f"""Of the samples of a class, the part that was found.
{_AVERAGES}
    >>> metric = weft.train.metrics.Recall(average="macro")
    >>> metric(weft.tensor([0, 1, 1]), weft.tensor([0, 0, 1]))
    0.75
    """

    @staticmethod
    def _ratio(hits: Tensor, found: Tensor, true: Tensor) -> Tensor:
        return _divide(hits, true)


class F1(_OfCounts):
    __doc__ = f"""The harmonic mean of precision and recall.
{_AVERAGES}
    >>> metric = weft.train.metrics.F1(average="micro")
    >>> metric(weft.tensor([0, 1, 1, 1]), weft.tensor([0, 0, 1, 1]))
    0.75
    """

    @staticmethod
    def _ratio(hits: Tensor, found: Tensor, true: Tensor) -> Tensor:
        return _divide(2 * hits, found + true)


class Perplexity(Metric):
    """``exp`` of the mean of ``-log p(target)``: between how many classes a model wavers.

    Args:
        ignore_index: targets that do not count, such as padding.

    Outputs are scores before the softmax, with the classes in dimension 1.

    >>> round(weft.train.metrics.Perplexity()(weft.zeros(2, 5), weft.tensor([0, 3])), 6)
    5.0
    """

    gathered = ("total", "count")
    higher_is_better = False

    def __init__(self, ignore_index: int = -100) -> None:
        self.ignore_index = ignore_index
        super().__init__()

    def reset(self) -> None:
        """Forget all batches."""
        self.total, self.count = 0.0, 0

    def update(self, output: Tensor, target: Tensor) -> None:
        """Add a batch of scores ``[N, C, ...]`` and labels ``[N, ...]``."""
        if output.dim() != target.dim() + 1 or (
            (output.shape[0], *output.shape[2:]) != tuple(target.shape)
        ):
            raise mismatch(
                "Perplexity", "scores must be [N, C, ...], labels [N, ...]", output, target
            )
        loss = weft.nn.functional.cross_entropy(
            output.double(), target.long(), ignore_index=self.ignore_index, reduction="sum"
        )
        self.total += loss.item()
        self.count += int((target != self.ignore_index).sum().item())

    def compute(self) -> float:
        """Return the perplexity."""
        if not self.count:
            return math.nan
        mean = self.total / self.count
        return math.exp(mean) if mean < 709 else math.inf
