"""Spectra, mel spectra, decibels, and the way back."""

from __future__ import annotations

import math

import weft
from weft.audio import functional as A
from weft.nn import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft import Tensor

__all__ = [
    "AmplitudeToDB", "GriffinLim", "InverseSpectrogram", "MelScale", "MelSpectrogram",
    "Spectrogram",
]  # fmt: skip


class _Framed(Module):
    """What transforms of frames share: the length of the transform, the hop and the window."""

    window: Tensor

    def __init__(
        self,
        n_fft: int,
        win_length: int | None,
        hop_length: int | None,
        window_fn: Callable[..., Tensor],
        wkwargs: dict[str, Any] | None,
    ) -> None:
        super().__init__()
        self.n_fft = n_fft
        self.win_length = n_fft if win_length is None else win_length
        self.hop_length = self.win_length // 2 if hop_length is None else hop_length
        self.register_buffer("window", window_fn(self.win_length, **(wkwargs or {})))

    def extra_repr(self) -> str:
        return f"n_fft={self.n_fft}, win_length={self.win_length}, hop_length={self.hop_length}"


class Spectrogram(_Framed):
    """Spectra of overlapping frames: (…, time) to (…, frequencies, frames).

    Args:
        n_fft: the length of the transform; it gives n_fft // 2 + 1 frequencies.
        win_length: the length of the window; None: n_fft.
        hop_length: how far apart frames are; None: half of the window.
        pad: how many zeros to add on both sides.
        window_fn: makes the window.
        power: of the magnitudes: 1 for amplitudes, 2 for powers; None gives complex spectra.
        normalized: True or 'window' divides by the norm of the window, 'frame_length' by the root
            of the length of the transform.
        wkwargs: more arguments of ``window_fn``.
        center: whether frames are centred; then the signal is padded.
        pad_mode: how it is padded.
        onesided: whether only frequencies from 0 to half of the rate are returned.
        return_complex: must be None or True: ``power=None`` gives complex spectra.

    >>> weft.audio.transforms.Spectrogram(n_fft=400)(weft.rand(2, 16000)).shape
    torch.Size([2, 201, 81])
    """

    def __init__(
        self,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window_fn: Callable[..., Tensor] = weft.hann_window,
        power: float | None = 2.0,
        normalized: bool | str = False,
        wkwargs: dict[str, Any] | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        onesided: bool = True,
        return_complex: bool | None = None,
    ) -> None:
        super().__init__(n_fft, win_length, hop_length, window_fn, wkwargs)
        self.pad, self.power, self.normalized = pad, power, normalized
        self.center, self.pad_mode, self.onesided = center, pad_mode, onesided
        self.return_complex = return_complex

    def forward(self, waveform: Tensor) -> Tensor:
        return A.spectrogram(
            waveform, self.pad, self.window, self.n_fft, self.hop_length, self.win_length,
            self.power, self.normalized, self.center, self.pad_mode, self.onesided,
            self.return_complex,
        )  # fmt: skip


class InverseSpectrogram(_Framed):
    """Waveforms of complex spectra: (…, frequencies, frames) to (…, time).

    Args:
        n_fft: the length of the transform.
        win_length: the length of the window; None: n_fft.
        hop_length: how far apart frames are; None: half of the window.
        pad: how many zeros ``Spectrogram`` added on both sides.
        window_fn: makes the window.
        normalized: as of ``Spectrogram``.
        wkwargs: more arguments of ``window_fn``.
        center: as of ``Spectrogram``.
        pad_mode: as of ``Spectrogram``.
        onesided: as of ``Spectrogram``.

    >>> there = weft.audio.transforms.Spectrogram(n_fft=16, power=None)
    >>> back = weft.audio.transforms.InverseSpectrogram(n_fft=16)
    >>> x = weft.rand(64)
    >>> weft.allclose(back(there(x), 64), x, atol=1e-5)
    True
    """

    def __init__(
        self,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window_fn: Callable[..., Tensor] = weft.hann_window,
        normalized: bool | str = False,
        wkwargs: dict[str, Any] | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        onesided: bool = True,
    ) -> None:
        super().__init__(n_fft, win_length, hop_length, window_fn, wkwargs)
        self.pad, self.normalized = pad, normalized
        self.center, self.pad_mode, self.onesided = center, pad_mode, onesided

    def forward(self, spectrogram: Tensor, length: int | None = None) -> Tensor:
        return A.inverse_spectrogram(
            spectrogram, length, self.pad, self.window, self.n_fft, self.hop_length,
            self.win_length, self.normalized, self.center, self.pad_mode, self.onesided,
        )  # fmt: skip


class GriffinLim(_Framed):
    """Waveforms of magnitudes, whose phases are found in turns.

    Args:
        n_fft: the length of the transform.
        n_iter: how many turns to take.
        win_length: the length of the window; None: n_fft.
        hop_length: how far apart frames are; None: half of the window.
        window_fn: makes the window.
        power: of the magnitudes.
        wkwargs: more arguments of ``window_fn``.
        momentum: how much the last turn counts, from 0 to less than 1.
        length: of the waveform; None: as far as frames reach.
        rand_init: whether phases begin at random, else at 0.

    >>> weft.audio.transforms.GriffinLim(n_fft=16, n_iter=2)(weft.rand(9, 5)).shape
    torch.Size([32])
    """

    def __init__(
        self,
        n_fft: int = 400,
        n_iter: int = 32,
        win_length: int | None = None,
        hop_length: int | None = None,
        window_fn: Callable[..., Tensor] = weft.hann_window,
        power: float = 2.0,
        wkwargs: dict[str, Any] | None = None,
        momentum: float = 0.99,
        length: int | None = None,
        rand_init: bool = True,
    ) -> None:
        if not 0 <= momentum < 1:
            raise ValueError(f"GriffinLim: momentum must be in [0, 1), got {momentum}")
        super().__init__(n_fft, win_length, hop_length, window_fn, wkwargs)
        self.n_iter, self.power, self.momentum = n_iter, power, momentum
        self.length, self.rand_init = length, rand_init

    def forward(self, specgram: Tensor) -> Tensor:
        return A.griffinlim(
            specgram, self.window, self.n_fft, self.hop_length, self.win_length, self.power,
            self.n_iter, self.momentum, self.length, self.rand_init,
        )  # fmt: skip


class AmplitudeToDB(Module):
    """Decibels of powers or amplitudes, with 1 as the reference.

    Args:
        stype: 'power' or 'magnitude'.
        top_db: values further below the largest one are raised to it; None: none are.

    >>> weft.audio.transforms.AmplitudeToDB("magnitude", top_db=30)(weft.tensor([[1.0, 0.0]]))
    tensor([[  0., -30.]])
    """

    def __init__(self, stype: str = "power", top_db: float | None = None) -> None:
        super().__init__()
        if stype not in ("power", "magnitude"):
            raise ValueError(f"AmplitudeToDB: stype must be 'power' or 'magnitude', got {stype!r}")
        if top_db is not None and top_db < 0:
            raise ValueError(f"AmplitudeToDB: top_db must not be negative, got {top_db}")
        self.stype, self.top_db = stype, top_db
        self.multiplier = 10.0 if stype == "power" else 20.0
        self.amin, self.ref_value = 1e-10, 1.0
        self.db_multiplier = math.log10(max(self.amin, self.ref_value))

    def forward(self, x: Tensor) -> Tensor:
        return A.amplitude_to_DB(x, self.multiplier, self.amin, self.db_multiplier, self.top_db)

    def extra_repr(self) -> str:
        return f"stype={self.stype!r}, top_db={self.top_db}"


class MelScale(Module):
    """Spectra as seen by filters that are evenly spaced in mels.

    Args:
        n_mels: how many filters there are.
        sample_rate: samples in a second.
        f_min: the lowest frequency, in Hz.
        f_max: the highest frequency; None: half of the sample rate.
        n_stft: how many frequencies spectra have: n_fft // 2 + 1.
        norm: 'slaney' divides filters by their widths.
        mel_scale: 'htk' or 'slaney'.

    >>> weft.audio.transforms.MelScale(n_mels=10, n_stft=101)(weft.rand(101, 7)).shape
    torch.Size([10, 7])
    """

    fb: Tensor

    def __init__(
        self,
        n_mels: int = 128,
        sample_rate: int = 16000,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_stft: int = 201,
        norm: str | None = None,
        mel_scale: str = "htk",
    ) -> None:
        super().__init__()
        self.n_mels, self.sample_rate, self.f_min = n_mels, sample_rate, f_min
        self.f_max = float(sample_rate // 2) if f_max is None else f_max
        self.norm, self.mel_scale = norm, mel_scale
        bank = A.melscale_fbanks(n_stft, f_min, self.f_max, n_mels, sample_rate, norm, mel_scale)
        self.register_buffer("fb", bank)

    def forward(self, specgram: Tensor) -> Tensor:
        return (specgram.transpose(-1, -2) @ self.fb).transpose(-1, -2)

    def extra_repr(self) -> str:
        return f"n_mels={self.n_mels}, sample_rate={self.sample_rate}"


class MelSpectrogram(Module):
    """Mel spectra of overlapping frames: (…, time) to (…, n_mels, frames).

    Args:
        sample_rate: samples in a second.
        n_fft: the length of the transform.
        win_length: the length of the window; None: n_fft.
        hop_length: how far apart frames are; None: half of the window.
        f_min: the lowest frequency, in Hz.
        f_max: the highest frequency; None: half of the sample rate.
        pad: how many zeros to add on both sides.
        n_mels: how many filters there are.
        window_fn: makes the window.
        power: of the magnitudes.
        normalized: as of ``Spectrogram``.
        wkwargs: more arguments of ``window_fn``.
        center: whether frames are centred.
        pad_mode: how the signal is padded.
        onesided: must be None or True.
        norm: 'slaney' divides filters by their widths.
        mel_scale: 'htk' or 'slaney'.

    >>> weft.audio.transforms.MelSpectrogram(16000, n_mels=64)(weft.rand(1, 16000)).shape
    torch.Size([1, 64, 81])
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        f_min: float = 0.0,
        f_max: float | None = None,
        pad: int = 0,
        n_mels: int = 128,
        window_fn: Callable[..., Tensor] = weft.hann_window,
        power: float = 2.0,
        normalized: bool | str = False,
        wkwargs: dict[str, Any] | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        onesided: bool | None = None,
        norm: str | None = None,
        mel_scale: str = "htk",
    ) -> None:
        super().__init__()
        if onesided is False:
            raise NotImplementedError("MelSpectrogram: onesided=False is not supported")
        self.spectrogram = Spectrogram(
            n_fft, win_length, hop_length, pad, window_fn, power, normalized, wkwargs, center,
            pad_mode,
        )  # fmt: skip
        self.mel_scale = MelScale(
            n_mels, sample_rate, f_min, f_max, n_fft // 2 + 1, norm, mel_scale
        )
        self.sample_rate, self.n_fft, self.n_mels = sample_rate, n_fft, n_mels
        self.win_length = self.spectrogram.win_length
        self.hop_length = self.spectrogram.hop_length
        self.pad, self.power, self.normalized = pad, power, normalized
        self.f_min, self.f_max = f_min, f_max

    def forward(self, waveform: Tensor) -> Tensor:
        return self.mel_scale(self.spectrogram(waveform))
