"""Devices by PyTorch's names: the CPU, which is there, and others, which are not.

>>> weft.cpu.device_count(), weft.mps.device_count(), weft.xpu.is_available()
(1, 0, False)
"""

from __future__ import annotations

import importlib

import weft
from weft._environment import AGNOSTIC, at_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, NoReturn

__all__ = ["get_device_module", "refuse"]


def get_device_module(device: Any = None) -> ModuleType:
    """Return the module of a device: ``weft.cpu`` for the CPU.

    >>> weft.get_device_module("cpu").is_available()
    True
    """
    kind = weft.device("cpu" if device is None else device).type
    if kind not in ("cpu", "cuda", "mps", "xpu"):
        raise RuntimeError(f"get_device_module: weft has no module for the device '{kind}'")
    return weft.cuda if kind == "cuda" else importlib.import_module(f"weft.{kind}")


def refuse(what: str) -> NoReturn:
    """Raise the error for a function that needs a device that weft does not have."""
    raise RuntimeError(at_line(f"{what}: weft has only the device 'cpu'. {AGNOSTIC}"))
