"""Tools around training, loaded on first use: ``weft.utils.data`` and others.

>>> weft.utils.data.SequentialSampler(range(3))
SequentialSampler(3 samples)
"""

from __future__ import annotations

from typing import Any

_LAZY = (
    "_pytree", "benchmark", "bottleneck", "checkpoint", "data", "download", "flop_counter", "pytree",
    "tensorboard",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a part on first use."""
    import importlib

    if name in _LAZY:
        return importlib.import_module(f"weft.utils.{name}")
    raise AttributeError(f"module 'weft.utils' has no attribute '{name}'")
