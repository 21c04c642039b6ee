"""``weft.accelerator``: the accelerator of this machine, which for weft is none."""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "is_available",
    "set_device_index",
    "synchronize",
]


def is_available() -> bool:
    """Say whether there is an accelerator.

    >>> weft.accelerator.is_available()
    False
    """
    return False


def current_accelerator(check_available: bool = False) -> weft.device | None:
    """Return the accelerator: None, whether or not it has to be available.

    >>> weft.accelerator.current_accelerator() is None
    True
    """
    return None


def device_count() -> int:
    """Return the number of accelerators.

    >>> weft.accelerator.device_count()
    0
    """
    return 0


def current_device_index() -> int:
    """Raise: there is no accelerator to have an index."""
    from weft.compat.devices import refuse

    return refuse("accelerator.current_device_index")


def set_device_index(device: Any, /) -> None:
    """Raise: there is no accelerator to choose."""
    from weft.compat.devices import refuse

    refuse("accelerator.set_device_index")


def synchronize(device: Any = None, /) -> None:
    """Raise: there is no accelerator to wait for."""
    from weft.compat.devices import refuse

    refuse("accelerator.synchronize")
