"""Spectrograms, and waveforms from spectrograms."""

from __future__ import annotations

from math import pi

import weft
from weft.nn import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["griffinlim", "inverse_spectrogram", "phase_vocoder", "spectrogram"]


def _normalisation(name: str, normalized: bool | str) -> tuple[bool, bool]:
    """Return whether to divide by the root of the length, and by the norm of the window."""
    if normalized not in (True, False, "window", "frame_length"):
        raise ValueError(
            f"{name}: normalized must be a bool, 'window' or 'frame_length', got {normalized!r}"
        )
    return normalized == "frame_length", normalized in (True, "window")


def spectrogram(
    waveform: Tensor,
    pad: int,
    window: Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    power: float | None,
    normalized: bool | str,
    center: bool = True,
    pad_mode: str = "reflect",
    onesided: bool = True,
    return_complex: bool | None = None,
) -> Tensor:
    """Return the spectra of overlapping frames of a waveform: (…, frequencies, frames).

    Args:
        waveform: samples (…, time).
        pad: how many zeros to add on both sides.
        window: weights of the samples of a frame.
        n_fft: the length of the transform.
        hop_length: how far apart frames are.
        win_length: the length of the window.
        power: of the magnitudes: 1 for amplitudes, 2 for powers; None gives complex spectra.
        normalized: True or 'window' divides by the norm of the window, 'frame_length' by the root
            of the length of the transform.
        center: whether frame t is centred at t * hop_length; then the signal is padded.
        pad_mode: how it is padded.
        onesided: whether only frequencies from 0 to half of the rate are returned.
        return_complex: must be None or True: complex spectra are asked for with ``power=None``.

    >>> weft.audio.functional.spectrogram(weft.ones(8), 0, weft.ones(4), 4, 2, 4, 1.0, False)[0]
    tensor([4., 4., 4., 4., 4.])
    """
    if return_complex is False:
        raise NotImplementedError(
            "spectrogram: return_complex=False is not supported: power=None gives complex spectra"
        )
    by_length, by_window = _normalisation("spectrogram", normalized)
    if pad > 0:
        waveform = F.pad(waveform, (pad, pad))
    shape = waveform.shape
    spectra = weft.stft(
        waveform.reshape(-1, shape[-1]), n_fft, hop_length, win_length, window, center, pad_mode,
        by_length, onesided, return_complex=True,
    )  # fmt: skip
    spectra = spectra.reshape(*shape[:-1], *spectra.shape[-2:])
    if by_window:
        spectra = spectra / window.square().sum().sqrt()
    if power is None:
        return spectra
    return spectra.abs() if power == 1.0 else spectra.abs() ** power


def inverse_spectrogram(
    spectrogram: Tensor,
    length: int | None,
    pad: int,
    window: Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    normalized: bool | str,
    center: bool = True,
    pad_mode: str = "reflect",
    onesided: bool = True,
) -> Tensor:
    """Return the waveform of complex spectra.

    Args:
        spectrogram: complex spectra (…, frequencies, frames).
        length: of the waveform; None: as far as frames reach.
        pad: how many zeros ``spectrogram`` added on both sides, which are taken off.
        window: weights of the samples of a frame.
        n_fft: the length of the transform.
        hop_length: how far apart frames are.
        win_length: the length of the window.
        normalized: as it was given to ``spectrogram``.
        center: as it was given to ``spectrogram``.
        pad_mode: how the signal was padded, which does not change the result.
        onesided: as it was given to ``spectrogram``.

    >>> w = weft.hann_window(4)
    >>> s = weft.audio.functional.spectrogram(weft.ones(8), 0, w, 4, 2, 4, None, False)
    >>> weft.audio.functional.inverse_spectrogram(s, 8, 0, w, 4, 2, 4, False)
    tensor([1., 1., 1., 1., 1., 1., 1., 1.])
    """
    if not spectrogram.is_complex():
        raise ValueError(f"inverse_spectrogram: expected complex spectra, got {spectrogram.dtype}")
    by_length, by_window = _normalisation("inverse_spectrogram", normalized)
    if by_window:
        spectrogram = spectrogram * window.square().sum().sqrt()
    shape = spectrogram.shape
    waveform = weft.istft(
        spectrogram.reshape(-1, *shape[-2:]), n_fft, hop_length, win_length, window, center,
        by_length, onesided, None if length is None else length + 2 * pad,
    )  # fmt: skip
    if pad > 0:
        waveform = waveform[:, pad:-pad]
    return waveform.reshape(*shape[:-2], waveform.shape[-1])


def griffinlim(
    specgram: Tensor,
    window: Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    power: float,
    n_iter: int,
    momentum: float,
    length: int | None,
    rand_init: bool,
) -> Tensor:
    """Return a waveform whose spectra have the given magnitudes, with phases found in turns.

    Args:
        specgram: magnitudes (…, frequencies, frames), raised to ``power``.
        window: weights of the samples of a frame.
        n_fft: the length of the transform.
        hop_length: how far apart frames are.
        win_length: the length of the window.
        power: of the magnitudes.
        n_iter: how many turns to take.
        momentum: how much the last turn counts, from 0 to less than 1; more is faster.
        length: of the waveform; None: as far as frames reach.
        rand_init: whether phases begin at random, else at 0.

    >>> w = weft.hann_window(8)
    >>> s = weft.audio.functional.spectrogram(weft.ones(32), 0, w, 8, 4, 8, 1.0, False)
    >>> weft.audio.functional.griffinlim(s, w, 8, 4, 8, 1.0, 4, 0.99, 32, False).shape
    torch.Size([32])
    """
    if not 0 <= momentum < 1:
        raise ValueError(f"griffinlim: momentum must be in [0, 1), got {momentum}")
    shape = specgram.shape
    magnitudes = specgram.reshape(-1, *shape[-2:]) ** (1 / power)
    step = momentum / (1 + momentum)
    phases = weft.zeros_like(magnitudes)
    if rand_init:
        phases = weft.rand_like(magnitudes) * (2 * pi)
    unit = weft.polar(weft.ones_like(magnitudes), phases)
    before: Tensor | None = None
    settings = (n_fft, hop_length, win_length, window)
    for _ in range(n_iter):
        wave = weft.istft(magnitudes * unit, *settings, length=length)
        rebuilt = weft.stft(wave, *settings, return_complex=True)
        unit = rebuilt if before is None or not momentum else rebuilt - before * step
        unit = unit / (unit.abs() + 1e-16)
        before = rebuilt
    wave = weft.istft(magnitudes * unit, *settings, length=length)
    return wave.reshape(*shape[:-2], wave.shape[-1])


def phase_vocoder(complex_specgrams: Tensor, rate: float, phase_advance: Tensor) -> Tensor:
    """Return spectra of the same sound, faster or slower, at the same pitch.

    Args:
        complex_specgrams: complex spectra (…, frequencies, frames).
        rate: how much faster.
        phase_advance: by how much phases turn from frame to frame: (frequencies, 1).

    >>> s = weft.ones(3, 10, dtype=weft.complex64)
    >>> weft.audio.functional.phase_vocoder(s, 2.0, weft.zeros(3, 1)).shape
    torch.Size([3, 5])
    """
    if not rate > 0:
        raise ValueError(f"phase_vocoder: rate must be positive, got {rate}")
    if not complex_specgrams.is_complex():
        raise ValueError(f"phase_vocoder: expected complex spectra, got {complex_specgrams.dtype}")
    if rate == 1.0:
        return complex_specgrams
    magnitudes, phases = complex_specgrams.abs(), complex_specgrams.angle()
    steps = weft.arange(0, complex_specgrams.shape[-1], rate, dtype=magnitudes.dtype)
    at, share = steps.long(), steps % 1.0
    magnitudes, phases = F.pad(magnitudes, (0, 2)), F.pad(phases, (0, 2))
    turn = phases[..., at + 1] - phases[..., at] - phase_advance
    turn = turn - 2 * pi * weft.round(turn / (2 * pi)) + phase_advance
    turned = weft.cat([phases[..., :1], turn[..., :-1]], -1).cumsum(-1)
    return weft.polar(share * magnitudes[..., at + 1] + (1 - share) * magnitudes[..., at], turned)
