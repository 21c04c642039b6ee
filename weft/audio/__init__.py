"""Sounds: reading and writing files, resampling, spectra and features, under torchaudio's names.

>>> wave = weft.sin(weft.arange(16000) * (2 * 3.14159 * 440 / 16000))
>>> weft.audio.transforms.MelSpectrogram(n_mels=40)(wave).shape
torch.Size([40, 81])
"""

from __future__ import annotations

from weft.audio.files import AudioMetaData, info, load, save

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["AudioMetaData", "functional", "info", "load", "save", "transforms"]


def __getattr__(name: str) -> Any:
    """Load functional and transforms on first use."""
    if name in ("functional", "transforms"):
        import importlib

        return importlib.import_module(f"weft.audio.{name}")
    raise AttributeError(f"module 'weft.audio' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
