"""``weft.amp``: mixed precision. Scaling of losses works; casting of ops does not yet.

>>> scaler = weft.amp.GradScaler("cpu", init_scale=8.0)
>>> scaler.scale(weft.tensor(2.0))
tensor(16.)
"""

from __future__ import annotations

from .autocast import (
    autocast,
    clear_autocast_cache,
    custom_bwd,
    custom_fwd,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
)
from .grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "clear_autocast_cache",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
]
