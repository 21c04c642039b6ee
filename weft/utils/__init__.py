"""``weft.utils``: data loading, TensorBoard, activation checkpointing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["checkpoint", "data", "tensorboard"]


def __getattr__(name: str) -> ModuleType:
    """Load a part on first use."""
    import importlib

    if name in __all__:
        return importlib.import_module(f"weft.utils.{name}")
    raise AttributeError(f"module 'weft.utils' has no attribute '{name}'")
