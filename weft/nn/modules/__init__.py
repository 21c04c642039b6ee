"""Names as PyTorch spells them, for programs that say ``torch.nn.modules.linear.Linear``.

Every file of ``weft.nn`` is found here under PyTorch's name for it.
"""

from __future__ import annotations

import importlib
import sys

from weft.nn.modules import utils as utils

_FILES = {  # PyTorch's name: ours
    "activation": "activation",
    "adaptive": "loss_linear",
    "batchnorm": "batchnorm",
    "channelshuffle": "resize",
    "container": "container",
    "conv": "conv",
    "distance": "distance",
    "dropout": "dropout",
    "flatten": "flatten",
    "fold": "fold",
    "instancenorm": "batchnorm",
    "lazy": "lazy",
    "linear": "linear",
    "linear_cross_entropy": "loss_linear",
    "linear_cross_entropy_options": "loss_linear",
    "loss": "loss",
    "module": "module",
    "normalization": "normalization",
    "padding": "padding",
    "pixelshuffle": "resize",
    "pooling": "pooling",
    "rnn": "recurrent",
    "sparse": "embedding",
    "transformer": "transformer",
    "upsampling": "resize",
}


for _name, _ours in _FILES.items():
    globals()[_name] = importlib.import_module("weft.nn." + _ours)
    sys.modules[f"{__name__}.{_name}"] = globals()[_name]
del _name, _ours


def __getattr__(name: str):  # type: ignore[no-untyped-def]  # mypy: in a cycle, Any fails
    """Find a class by its name."""
    import weft.nn as nn

    if name.startswith("__") or not hasattr(nn, name):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(nn, name)
