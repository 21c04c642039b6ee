"""Frequency scales: mel and linear filter banks, and the discrete cosine transform."""

from __future__ import annotations

import math
import warnings

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["create_dct", "linear_fbanks", "melscale_fbanks"]

_SCALES = ("htk", "slaney")
# Slaney's scale: linear up to 1000 Hz, then 27 mels for a factor of 6.4.
_HZ_PER_MEL, _BREAK_HZ, _LOG_STEP = 200.0 / 3, 1000.0, math.log(6.4) / 27.0
_BREAK_MEL = _BREAK_HZ / _HZ_PER_MEL


def _to_mel(hz: float, scale: str) -> float:
    if scale == "htk":
        return 2595.0 * math.log10(1.0 + hz / 700.0)
    if hz < _BREAK_HZ:
        return hz / _HZ_PER_MEL
    return _BREAK_MEL + math.log(hz / _BREAK_HZ) / _LOG_STEP


def _to_hz(mels: Tensor, scale: str) -> Tensor:
    if scale == "htk":
        return 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    above = _BREAK_HZ * weft.exp(_LOG_STEP * (mels - _BREAK_MEL))
    return weft.where(mels >= _BREAK_MEL, above, mels * _HZ_PER_MEL)


def _triangles(frequencies: Tensor, corners: Tensor) -> Tensor:
    """Return (frequencies, filters): each rises from its corner to the next, falls to the third."""
    steps = corners[1:] - corners[:-1]
    away = corners.unsqueeze(0) - frequencies.unsqueeze(1)
    falling = away[:, 2:] / steps[1:]
    rising = -away[:, :-2] / steps[:-1]
    return weft.minimum(rising, falling).clamp(min=0)


def _checked(name: str, n_freqs: int, f_min: float, f_max: float, count: int) -> None:
    if n_freqs < 1 or count < 1:
        raise ValueError(f"{name}: n_freqs and filters must be positive, got {n_freqs}, {count}")
    if not 0 <= f_min < f_max:
        raise ValueError(f"{name}: 0 <= f_min < f_max is required, got {f_min} and {f_max}")


def melscale_fbanks(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: str | None = None,
    mel_scale: str = "htk",
) -> Tensor:
    """Return triangular filters that are evenly spaced in mels: (n_freqs, n_mels).

    Args:
        n_freqs: frequencies of a spectrum, from 0 to half of the sample rate.
        f_min: the lowest frequency, in Hz.
        f_max: the highest frequency.
        n_mels: how many filters there are.
        sample_rate: samples in a second.
        norm: 'slaney' divides filters by their widths, so that their areas are equal.
        mel_scale: 'htk': 2595 log10(1 + f / 700); 'slaney': linear up to 1000 Hz, then logarithmic.

    >>> weft.audio.functional.melscale_fbanks(5, 0.0, 4000.0, 2, 8000)
    tensor([[0.0000, 0.0000],
            [0.6759, 0.3241],
            [0.0000, 0.9055],
            [0.0000, 0.4528],
            [0.0000, 0.0000]])
    """
    if norm not in (None, "slaney"):
        raise ValueError(f"melscale_fbanks: norm must be None or 'slaney', got {norm!r}")
    if mel_scale not in _SCALES:
        raise ValueError(f"melscale_fbanks: mel_scale must be one of {_SCALES}, got {mel_scale!r}")
    _checked("melscale_fbanks", n_freqs, f_min, f_max, n_mels)
    frequencies = weft.linspace(0, sample_rate // 2, n_freqs, dtype=weft.float64)
    low, high = _to_mel(f_min, mel_scale), _to_mel(f_max, mel_scale)
    corners = _to_hz(weft.linspace(low, high, n_mels + 2, dtype=weft.float64), mel_scale)
    bank = _triangles(frequencies, corners)
    empty = int((bank.amax(0) == 0).sum())
    if empty:
        warnings.warn(
            f"melscale_fbanks: {empty} of {n_mels} mel filters are zero everywhere: n_mels="
            f"{n_mels} may be too high, or n_freqs={n_freqs} too low",
            stacklevel=2,
        )
    if norm == "slaney":
        bank = bank * (2.0 / (corners[2:] - corners[:-2]))
    return bank.to(weft.get_default_dtype())


def linear_fbanks(
    n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int
) -> Tensor:
    """Return triangular filters that are evenly spaced in Hz: (n_freqs, n_filter).

    Args:
        n_freqs: frequencies of a spectrum, from 0 to half of the sample rate.
        f_min: the lowest frequency, in Hz.
        f_max: the highest frequency.
        n_filter: how many filters there are.
        sample_rate: samples in a second.

    >>> weft.audio.functional.linear_fbanks(5, 0.0, 4000.0, 1, 8000).reshape(-1)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    _checked("linear_fbanks", n_freqs, f_min, f_max, n_filter)
    frequencies = weft.linspace(0, sample_rate // 2, n_freqs, dtype=weft.float64)
    corners = weft.linspace(f_min, f_max, n_filter + 2, dtype=weft.float64)
    return _triangles(frequencies, corners).to(weft.get_default_dtype())


def create_dct(n_mfcc: int, n_mels: int, norm: str | None) -> Tensor:
    """Return the matrix (n_mels, n_mfcc) of the cosine transform of type 2.

    Args:
        n_mfcc: how many coefficients are kept.
        n_mels: how many values are transformed.
        norm: 'ortho' makes the transform orthogonal; None is twice the sum.

    >>> weft.audio.functional.create_dct(2, 2, "ortho")
    tensor([[ 0.7071,  0.7071],
            [ 0.7071, -0.7071]])
    """
    if norm not in (None, "ortho"):
        raise ValueError(f"create_dct: norm must be None or 'ortho', got {norm!r}")
    n = weft.arange(n_mels, dtype=weft.float64)
    k = weft.arange(n_mfcc, dtype=weft.float64)
    dct = weft.cos(math.pi / n_mels * (n + 0.5).unsqueeze(1) * k) * 2
    if norm == "ortho":
        dct = dct * math.sqrt(1 / (2 * n_mels))
        dct[:, 0] *= math.sqrt(0.5)
    return dct.to(weft.get_default_dtype())
