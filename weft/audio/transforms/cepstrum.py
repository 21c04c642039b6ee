"""Cepstral coefficients: the cosine transform of the logarithms of a bank of filters."""

from __future__ import annotations

import weft
from weft.audio import functional as A
from weft.audio.transforms.spectrum import AmplitudeToDB, MelSpectrogram, Spectrogram
from weft.nn import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["LFCC", "MFCC"]


class _Cepstrum(Module):
    """What both kinds share: decibels or logarithms, then the cosine transform."""

    dct_mat: Tensor

    def __init__(
        self, count: int, filters: int, dct_type: int, norm: str | None, logarithm: bool
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if dct_type != 2:
            raise ValueError(f"{name}: dct_type must be 2, got {dct_type}")
        if count > filters:
            raise ValueError(f"{name}: {count} coefficients of {filters} filters cannot be had")
        self.dct_type, self.norm, self.top_db = dct_type, norm, 80.0
        self.amplitude_to_DB = AmplitudeToDB("power", self.top_db)
        self.register_buffer("dct_mat", A.create_dct(count, filters, norm))
        self._logarithm = logarithm

    def _transformed(self, x: Tensor) -> Tensor:
        x = weft.log(x + 1e-6) if self._logarithm else self.amplitude_to_DB(x)
        return (x.transpose(-1, -2) @ self.dct_mat).transpose(-1, -2)


class MFCC(_Cepstrum):
    """Mel-frequency cepstral coefficients: (…, time) to (…, n_mfcc, frames).

    Args:
        sample_rate: samples in a second.
        n_mfcc: how many coefficients are kept.
        dct_type: must be 2.
        norm: of the cosine transform, 'ortho' or None.
        log_mels: logarithms of mel spectra, else decibels, at most 80 below the largest.
        melkwargs: arguments of ``MelSpectrogram``.

    >>> weft.audio.transforms.MFCC(melkwargs={"n_mels": 64})(weft.rand(1, 16000)).shape
    torch.Size([1, 40, 81])
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        n_mfcc: int = 40,
        dct_type: int = 2,
        norm: str | None = "ortho",
        log_mels: bool = False,
        melkwargs: dict[str, Any] | None = None,
    ) -> None:
        mel = MelSpectrogram(sample_rate=sample_rate, **(melkwargs or {}))
        super().__init__(n_mfcc, mel.n_mels, dct_type, norm, log_mels)
        self.sample_rate, self.n_mfcc, self.log_mels = sample_rate, n_mfcc, log_mels
        self.MelSpectrogram = mel

    def forward(self, waveform: Tensor) -> Tensor:
        return self._transformed(self.MelSpectrogram(waveform))


class LFCC(_Cepstrum):
    """Linear-frequency cepstral coefficients: (…, time) to (…, n_lfcc, frames).

    Args:
        sample_rate: samples in a second.
        n_filter: how many filters there are.
        f_min: the lowest frequency, in Hz.
        f_max: the highest frequency; None: half of the sample rate.
        n_lfcc: how many coefficients are kept.
        dct_type: must be 2.
        norm: of the cosine transform, 'ortho' or None.
        log_lf: logarithms of spectra, else decibels, at most 80 below the largest.
        speckwargs: arguments of ``Spectrogram``.

    >>> weft.audio.transforms.LFCC(n_lfcc=20)(weft.rand(16000)).shape
    torch.Size([20, 81])
    """

    filter_mat: Tensor

    def __init__(
        self,
        sample_rate: int = 16000,
        n_filter: int = 128,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_lfcc: int = 40,
        dct_type: int = 2,
        norm: str | None = "ortho",
        log_lf: bool = False,
        speckwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(n_lfcc, n_filter, dct_type, norm, log_lf)
        self.sample_rate, self.n_filter, self.n_lfcc = sample_rate, n_filter, n_lfcc
        self.f_min, self.log_lf = f_min, log_lf
        self.f_max = float(sample_rate // 2) if f_max is None else f_max
        self.Spectrogram = Spectrogram(**(speckwargs or {}))
        bank = A.linear_fbanks(
            self.Spectrogram.n_fft // 2 + 1, f_min, self.f_max, n_filter, sample_rate
        )
        self.register_buffer("filter_mat", bank)

    def forward(self, waveform: Tensor) -> Tensor:
        spectra = self.Spectrogram(waveform)
        return self._transformed((spectra.transpose(-1, -2) @ self.filter_mat).transpose(-1, -2))
