"""``weft.cpu``: the one device there is."""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["current_device", "device_count", "is_available", "set_device", "synchronize"]


def is_available() -> bool:
    """Say whether there is a CPU.

    >>> weft.cpu.is_available()
    True
    """
    return True


def device_count() -> int:
    """Return the number of CPUs that tensors can be on: one.

    >>> weft.cpu.device_count()
    1
    """
    return 1


def current_device() -> str:
    """Return the name of the device in use.

    >>> weft.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device: Any) -> None:
    """Choose the device: the CPU.

    >>> weft.cpu.set_device("cpu")
    """
    weft._environment.require_cpu(device)


def synchronize(device: Any = None) -> None:
    """Wait for all work. Ops are done when they return, so there is nothing to wait for.

    >>> weft.cpu.synchronize()
    """
    if device is not None:
        weft._environment.require_cpu(device)


def __getattr__(name: str) -> Any:
    """Load ``weft.cpu.amp`` when it is first asked for."""
    if name != "amp":
        raise AttributeError(f"module 'weft.cpu' has no attribute '{name}'")
    from importlib import import_module  # `from . import amp` would ask this function again

    return import_module("weft.cpu.amp")
