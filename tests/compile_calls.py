"""Calls of what ``weft.compile`` returns: made until they are replayed, and counted."""

from __future__ import annotations

from typing import Any


def warm(f: Any, *args: Any, times: int = 4) -> None:
    """Make calls until they are made from what was captured."""
    for _ in range(times):
        f(*args)


def runs(f: Any) -> int:
    """How often calls were made from what was captured."""
    return sum(v["calls"] for v in f.report().variants)
