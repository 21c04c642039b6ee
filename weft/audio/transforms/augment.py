"""Augmentation of spectrograms: random masks, other speeds."""

from __future__ import annotations

import math

import weft
from weft.audio import functional as A
from weft.nn import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["FrequencyMasking", "TimeMasking", "TimeStretch"]


class _Masking(Module):
    """Neighbouring rows or columns of spectra set to a value."""

    _from_the_end = 0

    def __init__(self, mask_param: int, iid_masks: bool, p: float = 1.0) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{type(self).__name__}: p must be between 0 and 1, got {p}")
        self.mask_param, self.iid_masks, self.p = mask_param, iid_masks, p

    def forward(self, specgram: Tensor, mask_value: float = 0.0) -> Tensor:
        axis = specgram.ndim - self._from_the_end
        mask = A.mask_along_axis_iid if self.iid_masks else A.mask_along_axis
        return mask(specgram, self.mask_param, mask_value, axis, self.p)

    def extra_repr(self) -> str:
        return f"{self.mask_param}, iid_masks={self.iid_masks}"


class FrequencyMasking(_Masking):
    """Sets neighbouring frequencies of spectra (…, frequencies, frames) to a value.

    Args:
        freq_mask_param: how many frequencies at most.
        iid_masks: whether each spectrum has a draw of its own, else all have the same.

    >>> weft.audio.transforms.FrequencyMasking(2)(weft.ones(1, 8, 5)).shape
    torch.Size([1, 8, 5])
    """

    _from_the_end = 2

    def __init__(self, freq_mask_param: int, iid_masks: bool = False) -> None:
        super().__init__(freq_mask_param, iid_masks)


class TimeMasking(_Masking):
    """Sets neighbouring frames of spectra (…, frequencies, frames) to a value.

    Args:
        time_mask_param: how many frames at most.
        iid_masks: whether each spectrum has a draw of its own, else all have the same.
        p: which share of the frames at most.

    >>> weft.audio.transforms.TimeMasking(2, p=0.5)(weft.ones(1, 8, 5)).shape
    torch.Size([1, 8, 5])
    """

    _from_the_end = 1

    def __init__(self, time_mask_param: int, iid_masks: bool = False, p: float = 1.0) -> None:
        super().__init__(time_mask_param, iid_masks, p)


class TimeStretch(Module):
    """Complex spectra of the same sound, faster or slower, at the same pitch.

    Args:
        hop_length: how far apart frames are; None: n_freq - 1.
        n_freq: how many frequencies spectra have.
        fixed_rate: how much faster; None: it is given with each call.

    >>> stretch = weft.audio.transforms.TimeStretch(n_freq=5, fixed_rate=2.0)
    >>> stretch(weft.ones(5, 10, dtype=weft.complex64)).shape
    torch.Size([5, 5])
    """

    phase_advance: Tensor

    def __init__(
        self, hop_length: int | None = None, n_freq: int = 201, fixed_rate: float | None = None
    ) -> None:
        super().__init__()
        self.fixed_rate = fixed_rate
        hop = n_freq - 1 if hop_length is None else hop_length
        self.register_buffer("phase_advance", weft.linspace(0, math.pi * hop, n_freq).unsqueeze(1))

    def forward(self, complex_specgrams: Tensor, overriding_rate: float | None = None) -> Tensor:
        rate = self.fixed_rate if overriding_rate is None else overriding_rate
        if rate is None:
            raise ValueError("TimeStretch: give fixed_rate when making it, or a rate in the call")
        return A.phase_vocoder(complex_specgrams, rate, self.phase_advance)
