"""Metrics: accumulated batch by batch, exact at the end."""

from __future__ import annotations

from .base import Mean, Metric
from .classification import F1, Accuracy, ConfusionMatrix, Perplexity, Precision, Recall
from .names import by_name, named
from .ranking import AUC, AveragePrecision
from .regression import MAE, MSE, R2, RMSE

__all__ = [
    "AUC",
    "F1",
    "MAE",
    "MSE",
    "R2",
    "RMSE",
    "Accuracy",
    "AveragePrecision",
    "ConfusionMatrix",
    "Mean",
    "Metric",
    "Perplexity",
    "Precision",
    "Recall",
    "by_name",
    "named",
]
