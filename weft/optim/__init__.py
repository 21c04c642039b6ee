"""``weft.optim``: optimisers, and schedules for their learning rates.

>>> x = weft.tensor([1.0], requires_grad=True)
>>> optimizer = weft.optim.SGD([x], lr=0.1)
>>> scheduler = weft.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
>>> for _ in range(2):
...     optimizer.zero_grad()
...     (x * x).sum().backward()
...     optimizer.step()
...     scheduler.step()
>>> x, scheduler.get_last_lr()
(tensor([0.7200], requires_grad=True), [0.025])
"""

from __future__ import annotations

from . import lr_scheduler, optimizer
from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .adamax import Adamax
from .asgd import ASGD
from .lbfgs import LBFGS
from .muon import Muon
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam
from .stateless import swap_in_optimizer_params_and_state

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "optimizer",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]


def __getattr__(name: str):  # type: ignore[no-untyped-def]  # the type depends on the name
    """Load ``swa_utils`` on first use: it needs ``weft.nn``."""
    if name == "swa_utils":
        import importlib

        return importlib.import_module("weft.optim.swa_utils")
    raise AttributeError(f"module 'weft.optim' has no attribute '{name}'")
