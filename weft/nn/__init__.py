"""Layers, losses and containers: networks as trees of modules.

>>> net = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.ReLU(), weft.nn.Linear(8, 1))
>>> net(weft.ones(2, 4)).shape
torch.Size([2, 1])
"""

# ruff: noqa: F401 (what is imported here is what weft.nn offers)
from __future__ import annotations

from weft.nn.module import Module
from weft.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
