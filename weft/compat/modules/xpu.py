"""``weft.xpu``: a device that weft does not have, so that programs can ask for it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def is_available() -> bool:
    """Say whether the device is there: it is not.

    >>> weft.xpu.is_available()
    False
    """
    return False


def device_count() -> int:
    """Return the number of such devices: none.

    >>> weft.xpu.device_count()
    0
    """
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generators of the devices, of which there are none.

    >>> weft.xpu.manual_seed(0)
    """


def empty_cache() -> None:
    """Give back cached memory of the devices, of which there are none.

    >>> weft.xpu.empty_cache()
    """


def synchronize(device: Any = None) -> None:
    """Raise: there is no such device to wait for."""
    from weft.compat.devices import refuse

    refuse("xpu.synchronize")
