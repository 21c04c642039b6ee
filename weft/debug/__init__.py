"""Tools that look into a running program: what holds memory (``weft.memory``)."""

from __future__ import annotations

from . import memory

__all__ = ["memory"]
