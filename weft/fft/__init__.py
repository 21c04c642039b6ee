"""Discrete Fourier transforms, their inverses, and helpers for their frequencies."""

from __future__ import annotations

import weft

_NAMES = (
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
)  # fmt: skip

for _name in _NAMES:
    globals()[_name] = getattr(weft, f"fft_{_name}")
del _name

__all__ = [*_NAMES]
