"""Metrics by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from .base import Mean, Metric
from .classification import F1, Accuracy, ConfusionMatrix, Perplexity, Precision, Recall
from .ranking import AUC, AveragePrecision
from .regression import MAE, MSE, R2, RMSE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["NAMES", "by_name", "named"]

_COUNTS = {"precision": Precision, "recall": Recall, "f1": F1}
_AVERAGES = {"micro": "micro", "macro": "macro", "weighted": "weighted", "per_class": None}
_THRESHOLD = (Accuracy, ConfusionMatrix, Precision, Recall, F1)

NAMES: dict[str, Callable[..., Metric]] = {
    "accuracy": Accuracy,
    "top5": lambda **options: Accuracy(top_k=5, **options),
    "confusion_matrix": ConfusionMatrix,
    **_COUNTS,
    "auc": AUC,
    "average_precision": AveragePrecision,
    "mse": MSE,
    "mae": MAE,
    "rmse": RMSE,
    "r2": R2,
    "perplexity": Perplexity,
}


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint at the nearest of some names, and all of them.

    >>> from weft.train.metrics.names import nearest
    >>> nearest("acuracy", ["accuracy", "auc"])
    "did you mean 'accuracy'? There are accuracy, auc"
    """
    known = list(known)
    close = difflib.get_close_matches(name.lower(), known, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}There are {', '.join(known)}"


def by_name(name: str, threshold: float | None = None) -> Metric:
    """Return a new metric.

    Args:
        name: one of ``NAMES``; ``top3`` and the like; ``precision``, ``recall`` and ``f1`` also
            with ``_macro``, ``_micro``, ``_weighted`` and ``_per_class``.
        threshold: for metrics that have one.

    >>> weft.train.metrics.by_name("f1_micro").average
    'micro'
    """
    options: dict[str, Any] = {} if threshold is None else {"threshold": threshold}
    base, _, average = name.partition("_")
    if base in _COUNTS and average in _AVERAGES:
        return _COUNTS[base](average=_AVERAGES[average], **options)
    if name.startswith("top") and name[3:].isdigit():
        return Accuracy(top_k=int(name[3:]))
    if name not in NAMES:
        raise ValueError(f"metrics: unknown name {name!r}: {nearest(name, NAMES)}")
    return NAMES[name](**(options if NAMES[name] in _THRESHOLD else {}))


def named(
    metrics: str | Metric | Iterable[Any] | Mapping[str, Any] | None,
    threshold: float | None = None,
) -> dict[str, Metric]:
    """Return metrics with their names, however they were given.

    Args:
        metrics: a name, a metric, a list of these, or a dict from names to metrics, names of
            metrics, or functions of outputs and targets.
        threshold: for metrics that are given by name and have one.

    >>> list(weft.train.metrics.named(["accuracy", weft.train.metrics.F1("micro")]))
    ['accuracy', 'f1']
    """
    if metrics is None:
        return {}
    if isinstance(metrics, (str, Metric)):
        metrics = [metrics]
    if not hasattr(metrics, "items"):
        found: dict[str, Any] = {}
        for metric in metrics:
            if not isinstance(metric, (str, Metric)):
                raise TypeError(
                    f"metrics: a name or a metric was expected, got {type(metric).__name__}; a "
                    "function needs a name, as in metrics={'name': function}"
                )
            name = metric if isinstance(metric, str) else type(metric).__name__.lower()
            if name in found:
                raise ValueError(f"metrics: {name!r} is there twice: give a dict with names")
            found[name] = metric
        metrics = found
    return {name: _made(name, metric, threshold) for name, metric in metrics.items()}


def _made(name: str, metric: Any, threshold: float | None) -> Metric:
    if isinstance(metric, str):
        return by_name(metric, threshold)
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, type) and issubclass(metric, Metric):
        return metric()
    if callable(metric):
        return Mean(metric)
    raise TypeError(f"metrics: {name!r} is a {type(metric).__name__}, not a metric")
