"""``weft.optim.lr_scheduler``: how the learning rate changes from step to step.

>>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=0.1)
>>> scheduler = weft.optim.lr_scheduler.StepLR(optimizer, step_size=2)
>>> for _ in range(3):
...     optimizer.step()
...     scheduler.step()
...     print([round(lr, 6) for lr in scheduler.get_last_lr()])
[0.1]
[0.01]
[0.01]
"""

from __future__ import annotations

from .base import LRScheduler
from .compose import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from .curves import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR

_LRScheduler = LRScheduler  # the name of old programs

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
