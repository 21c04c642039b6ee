"""Pillow, imported where an image is first touched."""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["is_pil", "pillow"]


def pillow(module: str = "Image") -> Any:
    """Return a module of Pillow, or say how to install it.

    >>> from weft.vision.pillow import pillow
    >>> pillow("Image").new("L", (2, 1)).size
    (2, 1)
    """
    try:
        return importlib.import_module(f"PIL.{module}")
    except ImportError as e:
        raise ImportError(
            f"weft.vision reads and changes images with Pillow, which could not be imported ({e}): "
            "pip install weft[vision]"
        ) from e


def is_pil(x: Any) -> bool:
    """Return whether an object is an image of Pillow. An image can only exist once Pillow is loaded.

    >>> from weft.vision.pillow import is_pil, pillow
    >>> is_pil(pillow("Image").new("L", (2, 1))), is_pil("L")
    (True, False)
    """
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(x, module.Image)
