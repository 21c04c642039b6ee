"""The modes and settings of weft that a call is made in."""

from __future__ import annotations

import sys

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
        *modes(), weft.get_num_threads(), _C._anomaly(), _C._winograd(), *_kernel_settings(),
    )  # fmt: skip


def _kernel_settings() -> tuple[bool, str]:
    """Return what kernels are asked to be: by default, unless the module that keeps it was needed."""
    if "weft.compat.kernel_settings" not in sys.modules:
        return False, "highest"
    return weft.are_deterministic_algorithms_enabled(), weft.get_float32_matmul_precision()
