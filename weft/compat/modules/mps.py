"""``weft.mps``: a device that weft does not have, so that programs can ask for it."""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def is_available() -> bool:
    """Say whether the device is there: it is not.

    >>> weft.mps.is_available()
    False
    """
    return False


def device_count() -> int:
    """Return the number of such devices: none.

    >>> weft.mps.device_count()
    0
    """
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generators of the devices, of which there are none.

    >>> weft.mps.manual_seed(0)
    """


def empty_cache() -> None:
    """Raise, as PyTorch does without such a device."""
    from weft.compat.devices import refuse

    refuse("mps.empty_cache")


def synchronize() -> None:
    """Raise: there is no such device to wait for."""
    from weft.compat.devices import refuse

    refuse("mps.synchronize")
