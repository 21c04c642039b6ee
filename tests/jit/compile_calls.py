"""Calls of what ``weft.compile`` returns: made until they are replayed, and counted."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft


def warm(f: Any, *args: Any, times: int = 4) -> None:
    """Make calls until they are made from what was captured."""
    for _ in range(times):
        f(*args)


def runs(f: Any) -> int:
    """How often calls were made from what was captured."""
    report = f.report()
    return sum(v["calls"] for v in report.specializations) + sum(
        d["replays"] for d in report.any_size
    )


def bits(x: Any) -> Any:
    """What two results must have in common."""
    if isinstance(x, weft.Tensor):
        data = np.ascontiguousarray(x.detach().numpy()).tobytes()
        return tuple(x.shape), str(x.dtype), x.requires_grad, x.is_leaf, data
    if isinstance(x, (list, tuple)):
        return [bits(v) for v in x]
    return {k: bits(v) for k, v in x.items()} if isinstance(x, dict) else x
