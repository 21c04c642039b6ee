"""Transforms of waveforms, and of features along time."""

from __future__ import annotations

import math

import weft
from weft.audio import functional as A
from weft.audio.functional import resampling
from weft.nn import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor
    from weft import dtype as DType

__all__ = [
    "ComputeDeltas", "Deemphasis", "Fade", "MuLawDecoding", "MuLawEncoding", "Preemphasis",
    "Resample", "SlidingWindowCmn", "Vol",
]  # fmt: skip


class Resample(Module):
    """Waveforms (…, time) at another rate. The filter is computed once.

    Args:
        orig_freq: samples in a second, now.
        new_freq: samples in a second of the result.
        resampling_method: the window, 'sinc_interp_hann' or 'sinc_interp_kaiser'.
        lowpass_filter_width: how many zero crossings the filter reaches.
        rolloff: where the filter cuts off, as a share of half of the smaller rate.
        beta: of the Kaiser window; None: 14.77.
        dtype: of the filter; None: the default dtype.

    >>> weft.audio.transforms.Resample(44100, 16000)(weft.ones(1, 4410)).shape
    torch.Size([1, 1600])
    """

    kernel: Tensor

    def __init__(
        self,
        orig_freq: int = 16000,
        new_freq: int = 16000,
        resampling_method: str = "sinc_interp_hann",
        lowpass_filter_width: int = 6,
        rolloff: float = 0.99,
        beta: float | None = None,
        *,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.orig_freq, self.new_freq = orig_freq, new_freq
        self.resampling_method, self.beta = resampling_method, beta
        self.lowpass_filter_width, self.rolloff = lowpass_filter_width, rolloff
        self._rates = resampling.checked(
            orig_freq, new_freq, lowpass_filter_width, resampling_method, rolloff
        )
        if orig_freq != new_freq:
            filters, self.width = resampling.kernel(
                *self._rates, lowpass_filter_width, rolloff, resampling_method, beta
            )
            self.register_buffer("kernel", filters.to(dtype or weft.get_default_dtype()))

    def forward(self, waveform: Tensor) -> Tensor:
        if self.orig_freq == self.new_freq:
            return waveform
        return resampling.apply_kernel(waveform, *self._rates, self.kernel, self.width)

    def extra_repr(self) -> str:
        return f"orig_freq={self.orig_freq}, new_freq={self.new_freq}"


class MuLawEncoding(Module):
    """Samples from -1 to 1 as whole numbers, finer near zero.

    Args:
        quantization_channels: how many numbers there are.

    >>> weft.audio.transforms.MuLawEncoding()(weft.tensor([-1.0, 0.0, 1.0]))
    tensor([  0, 128, 255])
    """

    def __init__(self, quantization_channels: int = 256) -> None:
        super().__init__()
        self.quantization_channels = quantization_channels

    def forward(self, x: Tensor) -> Tensor:
        return A.mu_law_encoding(x, self.quantization_channels)

    def extra_repr(self) -> str:
        return f"quantization_channels={self.quantization_channels}"


class MuLawDecoding(Module):
    """Samples from the whole numbers of ``MuLawEncoding``.

    Args:
        quantization_channels: how many numbers there are.

    >>> weft.audio.transforms.MuLawDecoding()(weft.tensor([0, 255]))
    tensor([-1.,  1.])
    """

    def __init__(self, quantization_channels: int = 256) -> None:
        super().__init__()
        self.quantization_channels = quantization_channels

    def forward(self, x_mu: Tensor) -> Tensor:
        return A.mu_law_decoding(x_mu, self.quantization_channels)

    def extra_repr(self) -> str:
        return f"quantization_channels={self.quantization_channels}"


class ComputeDeltas(Module):
    """Slopes of features along time.

    Args:
        win_length: how many frames a slope is fitted to.
        mode: how frames are added at both ends.

    >>> weft.audio.transforms.ComputeDeltas(3)(weft.tensor([[0.0, 2.0, 4.0]]))
    tensor([[1., 2., 1.]])
    """

    def __init__(self, win_length: int = 5, mode: str = "replicate") -> None:
        super().__init__()
        self.win_length, self.mode = win_length, mode

    def forward(self, specgram: Tensor) -> Tensor:
        return A.compute_deltas(specgram, self.win_length, self.mode)

    def extra_repr(self) -> str:
        return f"win_length={self.win_length}, mode={self.mode!r}"


class SlidingWindowCmn(Module):
    """Features (…, frames, features) minus their means over a window of frames.

    Args:
        cmn_window: how many frames a window has.
        min_cmn_window: how many it has at least at the beginning, if it is not centred.
        center: whether a window has its frame in the middle, else at its end.
        norm_vars: whether features are also divided by their standard deviation.

    >>> weft.audio.transforms.SlidingWindowCmn()(weft.tensor([[1.0], [3.0]]))
    tensor([[-1.],
            [ 1.]])
    """

    def __init__(
        self,
        cmn_window: int = 600,
        min_cmn_window: int = 100,
        center: bool = False,
        norm_vars: bool = False,
    ) -> None:
        super().__init__()
        self.cmn_window, self.min_cmn_window = cmn_window, min_cmn_window
        self.center, self.norm_vars = center, norm_vars

    def forward(self, specgram: Tensor) -> Tensor:
        settings = (self.cmn_window, self.min_cmn_window, self.center, self.norm_vars)
        return A.sliding_window_cmn(specgram, *settings)


class Preemphasis(Module):
    """y[t] = x[t] - coeff x[t - 1].

    Args:
        coeff: how much of the sample before is taken off.

    >>> weft.audio.transforms.Preemphasis(0.5)(weft.tensor([1.0, 1.0]))
    tensor([1.0000, 0.5000])
    """

    def __init__(self, coeff: float = 0.97) -> None:
        super().__init__()
        self.coeff = coeff

    def forward(self, waveform: Tensor) -> Tensor:
        return A.preemphasis(waveform, self.coeff)


class Deemphasis(Module):
    """What undoes ``Preemphasis``.

    Args:
        coeff: as it was given to ``Preemphasis``.

    >>> weft.audio.transforms.Deemphasis(0.5)(weft.tensor([0.5, 0.25]))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, coeff: float = 0.97) -> None:
        super().__init__()
        self.coeff = coeff

    def forward(self, waveform: Tensor) -> Tensor:
        return A.deemphasis(waveform, self.coeff)


class Vol(Module):
    """Waveforms made louder, cut at -1 and 1.

    Args:
        gain: by how much.
        gain_type: 'amplitude' (a positive factor), 'power' (the square of one) or 'db'.

    >>> weft.audio.transforms.Vol(20.0, gain_type="db")(weft.tensor([0.01, 0.5]))
    tensor([0.1000, 1.0000])
    """

    def __init__(self, gain: float, gain_type: str = "amplitude") -> None:
        super().__init__()
        if gain_type not in ("amplitude", "power", "db"):
            raise ValueError(
                f"Vol: gain_type must be 'amplitude', 'power' or 'db', got {gain_type!r}"
            )
        if gain_type in ("amplitude", "power") and gain < 0:
            raise ValueError(f"Vol: a gain as {gain_type} must be positive, got {gain}")
        self.gain, self.gain_type = gain, gain_type

    def forward(self, waveform: Tensor) -> Tensor:
        factor = {
            "amplitude": lambda: self.gain,
            "power": lambda: math.sqrt(self.gain),
            "db": lambda: 10 ** (self.gain / 20),
        }[self.gain_type]()
        return (waveform * factor).clamp(-1, 1)

    def extra_repr(self) -> str:
        return f"gain={self.gain}, gain_type={self.gain_type!r}"


_SHAPES = {  # of the way t from 0 to 1: fading in; fading out is the same of 1 - t
    "linear": lambda t: t,
    "exponential": lambda t: 2.0 ** (t - 1) * t,
    "logarithmic": lambda t: weft.log10(0.1 + t) + 1,
    "quarter_sine": lambda t: weft.sin(t * (math.pi / 2)),
    "half_sine": lambda t: weft.sin(t * math.pi - math.pi / 2) / 2 + 0.5,
}


class Fade(Module):
    """Waveforms (…, time) that fade in at their beginning and out at their end.

    Args:
        fade_in_len: how many samples fading in takes.
        fade_out_len: how many samples fading out takes.
        fade_shape: 'linear', 'exponential', 'logarithmic', 'quarter_sine' or 'half_sine'.

    >>> weft.audio.transforms.Fade(3, 2)(weft.ones(5))
    tensor([0.0000, 0.5000, 1.0000, 1.0000, 0.0000])
    """

    def __init__(
        self, fade_in_len: int = 0, fade_out_len: int = 0, fade_shape: str = "linear"
    ) -> None:
        super().__init__()
        if fade_shape not in _SHAPES:
            raise ValueError(
                f"Fade: fade_shape must be one of {tuple(_SHAPES)}, got {fade_shape!r}"
            )
        if fade_in_len < 0 or fade_out_len < 0:
            raise ValueError(
                f"Fade: lengths must not be negative, got {fade_in_len} and {fade_out_len}"
            )
        self.fade_in_len, self.fade_out_len = fade_in_len, fade_out_len
        self.fade_shape = fade_shape

    def forward(self, waveform: Tensor) -> Tensor:
        size = waveform.shape[-1]
        if max(self.fade_in_len, self.fade_out_len) > size:
            raise ValueError(
                f"Fade: {size} samples are too few to fade in over {self.fade_in_len} and out over "
                f"{self.fade_out_len}"
            )
        start, end = self._ramp(self.fade_in_len), self._ramp(self.fade_out_len).flip(0)
        rise = weft.cat([start, weft.ones(size - len(start))])
        fall = weft.cat([weft.ones(size - len(end)), end])
        return waveform * (rise * fall).to(waveform.dtype)

    def _ramp(self, length: int) -> Tensor:
        return _SHAPES[self.fade_shape](weft.linspace(0, 1, length)).clamp(0, 1)

    def extra_repr(self) -> str:
        return f"{self.fade_in_len}, {self.fade_out_len}, fade_shape={self.fade_shape!r}"
