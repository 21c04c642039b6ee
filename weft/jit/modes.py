"""The modes and settings of weft that a call is made in."""

from __future__ import annotations

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["modes", "settings"]


def modes() -> tuple[Any, ...]:
    """Return the modes that ops run in: each combination gets programs of its own."""
    return (
        _C._grad_enabled(), _C._inference_mode(), weft.get_default_dtype(),
        _C._autocast_key(),
    )  # fmt: skip


def settings() -> tuple[Any, ...]:
    """Return the modes, and other settings that a function may change for all that comes after it."""
    return (
        *modes(), weft.get_num_threads(), _C._anomaly(), _C._winograd(),
        weft.are_deterministic_algorithms_enabled(), weft.get_float32_matmul_precision(),
    )  # fmt: skip
