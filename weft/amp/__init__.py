"""``weft.amp``: mixed precision.

>>> scaler = weft.amp.GradScaler("cpu", init_scale=8.0)
>>> scaler.scale(weft.tensor(2.0))
tensor(16.)
"""

from __future__ import annotations

from .autocast import (
    autocast,
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    custom_bwd,
    custom_fwd,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_cpu_dtype,
    set_autocast_cpu_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from .grad_scaler import GradScaler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .apex import initialize, load_state_dict, master_params, scale_loss, state_dict

_LAZY = ("initialize", "load_state_dict", "master_params", "scale_loss", "state_dict")

__all__ = [
    "GradScaler",
    "autocast",
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "initialize",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "load_state_dict",
    "master_params",
    "scale_loss",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "state_dict",
]


def __getattr__(name: str) -> Any:
    """Load what needs models and optimisers when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module 'weft.amp' has no attribute '{name}'")
    import importlib

    part = importlib.import_module("weft.amp.apex")
    for each in _LAZY:
        globals()[each] = getattr(part, each)
    return globals()[name]
