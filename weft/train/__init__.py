"""Training: ``Trainer``, callbacks, metrics, and the search for hyper-parameters."""

from __future__ import annotations

from . import metrics
from .callback import Callback
from .callbacks import EarlyStopping, GradientClipping, LRMonitor, Timer
from .checkpoint import Checkpoint
from .logs import CSVLog, TensorBoardLog
from .nan import NaNGuard
from .trainer import Trainer, seed_everything
from .tuning import Pruning, SearchResult, search

__all__ = [
    "CSVLog",
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "GradientClipping",
    "LRMonitor",
    "NaNGuard",
    "Pruning",
    "SearchResult",
    "TensorBoardLog",
    "Timer",
    "Trainer",
    "metrics",
    "search",
    "seed_everything",
]
