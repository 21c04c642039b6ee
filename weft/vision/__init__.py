"""Images: datasets, transforms, models, and helpers to read, show and save them.

>>> digits = weft.vision.datasets.Digits(transform=weft.vision.transforms.ToTensor())
>>> image, label = digits[0]
>>> image.shape, label
(torch.Size([1, 8, 8]), 0)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["datasets", "io", "models", "ops", "transforms", "utils"]


def __getattr__(name: str) -> Any:
    """Load a part of weft.vision on its first use."""
    if name in __all__:
        import importlib

        return importlib.import_module(f"weft.vision.{name}")
    raise AttributeError(f"module 'weft.vision' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
