"""Layers, losses and containers: networks as trees of modules.

>>> net = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.ReLU(), weft.nn.Linear(8, 1))
>>> net(weft.ones(2, 4)).shape
torch.Size([2, 1])
"""

# ruff: noqa: F401, F403 (what is imported here is what weft.nn offers)
from __future__ import annotations

from weft.nn import common_types, functional, grad, init, module_backward, module_hooks, parameter
from weft.nn.activation import *
from weft.nn.attention import *
from weft.nn.container import *
from weft.nn.conv import *
from weft.nn.distance import *
from weft.nn.dropout import *
from weft.nn.embedding import *
from weft.nn.flatten import *
from weft.nn.fold import *
from weft.nn.linear import *
from weft.nn.loss import *
from weft.nn.loss_linear import *
from weft.nn.module import Module
from weft.nn.normalization import *
from weft.nn.padding import *
from weft.nn.parallel import DataParallel
from weft.nn.parameter import (
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
    factory_kwargs,
)
from weft.nn.pooling import *
from weft.nn.recurrent import *
from weft.nn.resize import *
from weft.nn.transformer import *

from weft.nn import modules, native_calls, utils  # isort: skip  # these build on all of the above
