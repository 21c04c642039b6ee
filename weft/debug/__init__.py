"""``weft.debug``: tools that say why a program does what it should not: where a NaN was born, what holds memory."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import memory
    from .nan import NanError, explain, nan_origin
    from .nan_report import Birth

__all__ = ["Birth", "NanError", "explain", "memory", "nan_origin"]

_HOMES = {"Birth": "nan_report", "NanError": "nan", "explain": "nan", "nan_origin": "nan"}


def __getattr__(name: str) -> Any:
    """Load one tool without the others."""
    import importlib

    if name == "memory":
        return importlib.import_module("weft.debug.memory")
    if name in _HOMES:
        return getattr(importlib.import_module(f"weft.debug.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'weft.debug' has no attribute {name!r}")
