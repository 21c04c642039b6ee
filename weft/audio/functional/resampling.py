"""Resampling to another rate, by band-limited interpolation."""

from __future__ import annotations

from math import ceil, gcd, pi

import weft
from weft.nn import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor
    from weft import dtype as DType

__all__ = ["resample"]

_METHODS = ("sinc_interp_hann", "sinc_interp_kaiser")
_BETA = 14.769656459379492  # of the Kaiser window


def kernel(
    orig: int, new: int, width_in_zeros: int, rolloff: float, method: str, beta: float | None
) -> tuple[Tensor, int]:
    """Return windowed sincs, one for each of ``new`` phases, and how far they reach.

    h(t) = scale sinc(t) w(t), where t counts zero crossings of the low-pass filter, at
    rolloff times half of the smaller rate.

    >>> from weft.audio.functional.resampling import kernel
    >>> kernel(2, 1, 6, 0.99, "sinc_interp_hann", None)[0].shape
    torch.Size([1, 1, 28])
    """
    base = min(orig, new) * rolloff
    reach = ceil(width_in_zeros * orig / base)
    places = weft.arange(-reach, reach + orig, dtype=weft.float64) / orig
    phases = weft.arange(0, -new, -1, dtype=weft.float64) / new
    t = ((phases[:, None, None] + places) * base).clamp(-width_in_zeros, width_in_zeros)
    if method == "sinc_interp_hann":
        window = weft.cos(t * pi / width_in_zeros / 2).square()
    else:
        beta = _BETA if beta is None else beta
        top = weft.i0(weft.tensor(float(beta), dtype=weft.float64))
        window = weft.i0(beta * (1 - (t / width_in_zeros).square()).clamp(min=0).sqrt()) / top
    return weft.sinc(t) * window * (base / orig), reach


def checked(
    orig_freq: float, new_freq: float, lowpass_filter_width: int, method: str, rolloff: float
) -> tuple[int, int]:
    """Return both rates without their common divisor.

    >>> from weft.audio.functional.resampling import checked
    >>> checked(44100, 16000, 6, "sinc_interp_hann", 0.99)
    (441, 160)
    """
    if orig_freq <= 0 or new_freq <= 0:
        raise ValueError(f"resample: rates must be positive, got {orig_freq} and {new_freq}")
    if int(orig_freq) != orig_freq or int(new_freq) != new_freq:
        raise ValueError(
            f"resample: rates must be whole numbers, got {orig_freq} and {new_freq}: multiply both"
        )
    if method not in _METHODS:
        raise ValueError(f"resample: resampling_method must be one of {_METHODS}, got {method!r}")
    if lowpass_filter_width <= 0:
        raise ValueError(
            f"resample: lowpass_filter_width must be positive, got {lowpass_filter_width}"
        )
    if not 0 < rolloff <= 1:
        raise ValueError(f"resample: rolloff must be above 0 and at most 1, got {rolloff}")
    divisor = gcd(int(orig_freq), int(new_freq))
    return int(orig_freq) // divisor, int(new_freq) // divisor


def apply_kernel(waveform: Tensor, orig: int, new: int, filters: Tensor, reach: int) -> Tensor:
    """Return a waveform (…, time) resampled with filters of ``kernel``.

    >>> from weft.audio.functional.resampling import apply_kernel, kernel
    >>> h, reach = kernel(1, 2, 6, 0.99, "sinc_interp_hann", None)
    >>> apply_kernel(weft.ones(4), 1, 2, h.float(), reach).shape
    torch.Size([8])
    """
    if not waveform.is_floating_point():
        raise TypeError(f"resample: expected floating point samples, got {waveform.dtype}")
    length = waveform.shape[-1]
    flat = waveform.reshape(-1, 1, length)
    found = F.conv1d(F.pad(flat, (reach, reach + orig)), filters, stride=orig)
    found = found.transpose(1, 2).reshape(flat.shape[0], -1)
    return found[:, : -(-new * length // orig)].reshape(*waveform.shape[:-1], -1)


def resample(
    waveform: Tensor,
    orig_freq: int,
    new_freq: int,
    lowpass_filter_width: int = 6,
    rolloff: float = 0.99,
    resampling_method: str = "sinc_interp_hann",
    beta: float | None = None,
) -> Tensor:
    """Return a waveform (…, time) at another rate, by interpolation with windowed sincs.

    Args:
        waveform: samples.
        orig_freq: samples in a second, now.
        new_freq: samples in a second of the result.
        lowpass_filter_width: how many zero crossings the filter reaches: more are sharper and
            slower.
        rolloff: where the filter cuts off, as a share of half of the smaller rate.
        resampling_method: the window, 'sinc_interp_hann' or 'sinc_interp_kaiser'.
        beta: of the Kaiser window; None: 14.77.

    >>> weft.audio.functional.resample(weft.ones(2, 441), 44100, 16000).shape
    torch.Size([2, 160])
    """
    orig, new = checked(orig_freq, new_freq, lowpass_filter_width, resampling_method, rolloff)
    if orig == new:
        return waveform
    filters, reach = _kernel_of(
        orig, new, lowpass_filter_width, rolloff, resampling_method, beta, waveform.dtype
    )
    return apply_kernel(waveform, orig, new, filters, reach)


def _kernel_of(
    orig: int, new: int, width: int, rolloff: float, method: str, beta: float | None, dtype: DType
) -> tuple[Tensor, int]:
    filters, reach = kernel(orig, new, width, rolloff, method, beta)
    return (filters.to(dtype) if dtype.is_floating_point else filters), reach
