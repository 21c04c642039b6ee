"""Recursive filters (``lfilter``), and what is made of them."""

from __future__ import annotations

from math import cos, pi, sin

import weft
from weft.autograd import Function
from weft.nn import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = [
    "bandpass_biquad", "biquad", "deemphasis", "highpass_biquad", "lfilter", "lowpass_biquad",
    "preemphasis",
]  # fmt: skip

_BLOCK = 128  # samples that are found at once from those before


class _Feedback(Function):
    """y[t] = x[t] - sum_k a[k] y[t - k - 1], for x (filters, rows, time) with a (filters, order).

    A block of samples is the block of inputs times the response to an impulse, plus the last
    outputs times the responses to them; so Python takes one step for each block. The way back is
    the same filter in reversed time. All in double precision.
    """

    _pure = True

    @staticmethod
    def forward(ctx: Any, x: Tensor, a: Tensor) -> Tensor:
        import numpy as np

        (filters, order), (_, rows, size) = a.shape, x.shape
        past, spread = _responses(a.detach().double().numpy())
        blocks = -(-size // _BLOCK)
        values = np.zeros((filters, rows, blocks * _BLOCK))
        values[:, :, :size] = x.detach().double().numpy()
        y = np.zeros((filters, rows, order + blocks * _BLOCK))
        driven = values.reshape(filters, rows * blocks, _BLOCK) @ spread
        driven = driven.reshape(filters, rows, blocks, _BLOCK)
        for k in range(blocks):
            end = order + k * _BLOCK
            y[:, :, end : end + _BLOCK] = driven[:, :, k] + y[:, :, end - order : end] @ past
        out = weft.from_numpy(y[:, :, order : order + size].copy()).to(x.dtype)
        ctx.save_for_backward(a, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, y = ctx.saved_tensors
        gx = _Feedback.apply(g.flip(-1), a).flip(-1)
        if not ctx.needs_input_grad[1]:
            return gx, None
        size = g.shape[-1]
        shares = [
            -(gx[..., k:] * y[..., : max(size - k, 0)]).sum((1, 2))
            for k in range(1, a.shape[1] + 1)
        ]
        return gx, weft.stack(shares, -1)


def _responses(a: Any) -> tuple[Any, Any]:
    """Return what a block of outputs gets from each output before it, and from each input."""
    import numpy as np

    filters, order = a.shape
    oldest_first = a[:, ::-1]
    # Rows: the outputs before and in a block, after each past output, then after an impulse.
    response = np.zeros((filters, order + 1, order + _BLOCK))
    response[:, np.arange(order), np.arange(order)] = 1
    for t in range(order, order + _BLOCK):
        last = response[:, :, t - order : t]
        response[:, :, t] = -(last @ oldest_first[:, :, None])[:, :, 0]
        if t == order:
            response[:, order, t] += 1
    lag = np.arange(_BLOCK) - np.arange(_BLOCK)[:, None]
    spread = np.where(lag >= 0, response[:, order, order:][:, np.maximum(lag, 0)], 0)
    return response[:, :order, order:], spread


def lfilter(
    waveform: Tensor, a_coeffs: Tensor, b_coeffs: Tensor, clamp: bool = True, batching: bool = True
) -> Tensor:
    """Return a[0] y[t] = sum_k b[k] x[t - k] - sum_{k>0} a[k] y[t - k], as SciPy's lfilter.

    Args:
        waveform: samples (…, time).
        a_coeffs: (order + 1), or (filters, order + 1) for several filters.
        b_coeffs: of the same shape.
        clamp: whether the result is cut at -1 and 1.
        batching: with several filters, whether each is applied to a channel of its own
            (…, filters, time); if not, all are applied to the whole: (…, filters, time).

    >>> a, b = weft.tensor([1.0, -0.5]), weft.tensor([1.0, 0.0])
    >>> weft.audio.functional.lfilter(weft.tensor([1.0, 0.0, 0.0]), a, b)
    tensor([1.0000, 0.5000, 0.2500])
    """
    if a_coeffs.shape != b_coeffs.shape or a_coeffs.ndim not in (1, 2):
        raise ValueError(
            "lfilter: a_coeffs and b_coeffs must have the same shape, of one or two dimensions, "
            f"got {tuple(a_coeffs.shape)} and {tuple(b_coeffs.shape)}"
        )
    if not waveform.dtype == a_coeffs.dtype == b_coeffs.dtype or not waveform.is_floating_point():
        raise TypeError(
            "lfilter: waveform and coefficients must have the same floating dtype, got "
            f"{waveform.dtype}, {a_coeffs.dtype} and {b_coeffs.dtype}"
        )
    a, b = (c if c.ndim == 2 else c.unsqueeze(0) for c in (a_coeffs, b_coeffs))
    if bool((a.detach()[:, 0] == 0).any()):
        raise ValueError("lfilter: a_coeffs[0] must not be zero")
    filters, size = a.shape
    x = waveform
    if a_coeffs.ndim == 2:
        if not batching:
            x = x.unsqueeze(-2).expand(*x.shape[:-1], filters, x.shape[-1])
        elif x.ndim < 2 or x.shape[-2] != filters:
            raise ValueError(
                f"lfilter: {filters} filters need a waveform (…, {filters}, time), "
                f"got {tuple(x.shape)}"
            )
    shape = x.shape
    x = x.reshape(-1, filters, shape[-1])
    y = F.conv1d(F.pad(x, (size - 1, 0)), (b / a[:, :1]).flip(-1).unsqueeze(1), groups=filters)
    if size > 1 and y.numel():
        y = _Feedback.apply(y.transpose(0, 1), a[:, 1:] / a[:, :1]).transpose(0, 1)
    y = y.reshape(shape)
    return y.clamp(-1.0, 1.0) if clamp else y


def biquad(
    waveform: Tensor, b0: float, b1: float, b2: float, a0: float, a1: float, a2: float
) -> Tensor:
    """Return a waveform filtered by (b0 + b1 z + b2 z²) / (a0 + a1 z + a2 z²), cut at -1 and 1.

    Args:
        waveform: samples (…, time).
        b0: of the input now.
        b1: of the input one sample ago.
        b2: of the input two samples ago.
        a0: of the output now.
        a1: of the output one sample ago.
        a2: of the output two samples ago.

    >>> weft.audio.functional.biquad(weft.tensor([1.0, 0.0, 0.0]), 0.5, 0.25, 0.0, 1.0, 0.0, 0.0)
    tensor([0.5000, 0.2500, 0.0000])
    """
    a = waveform.new_tensor([float(v) for v in (a0, a1, a2)])
    b = waveform.new_tensor([float(v) for v in (b0, b1, b2)])
    return lfilter(waveform, a, b)


def _angle(name: str, sample_rate: int, frequency: float, Q: float) -> tuple[float, float]:
    """Return the cosine of the frequency, and alpha of Bristow-Johnson's cookbook."""
    if not 0 < frequency < sample_rate / 2 or not Q > 0:
        raise ValueError(
            f"{name}: the frequency must lie between 0 and half of the sample rate {sample_rate}, "
            f"and Q above 0, got {frequency} and {Q}"
        )
    w = 2 * pi * frequency / sample_rate
    return cos(w), sin(w) / 2 / Q


def lowpass_biquad(
    waveform: Tensor, sample_rate: int, cutoff_freq: float, Q: float = 0.707
) -> Tensor:
    """Return a waveform without its high frequencies, by a filter of two poles.

    Args:
        waveform: samples (…, time).
        sample_rate: samples in a second.
        cutoff_freq: where it begins to fall, in Hz.
        Q: how sharp.

    >>> weft.audio.functional.lowpass_biquad(weft.ones(1000), 8000, 400.0)[-1]
    tensor(1.)
    """
    c, alpha = _angle("lowpass_biquad", sample_rate, cutoff_freq, Q)
    return biquad(waveform, (1 - c) / 2, 1 - c, (1 - c) / 2, 1 + alpha, -2 * c, 1 - alpha)


def highpass_biquad(
    waveform: Tensor, sample_rate: int, cutoff_freq: float, Q: float = 0.707
) -> Tensor:
    """Return a waveform without its low frequencies, by a filter of two poles.

    Args:
        waveform: samples (…, time).
        sample_rate: samples in a second.
        cutoff_freq: where it begins to fall, in Hz.
        Q: how sharp.

    >>> weft.audio.functional.highpass_biquad(weft.ones(1000), 8000, 400.0)[-1].abs() < 1e-5
    tensor(True)
    """
    c, alpha = _angle("highpass_biquad", sample_rate, cutoff_freq, Q)
    return biquad(waveform, (1 + c) / 2, -1 - c, (1 + c) / 2, 1 + alpha, -2 * c, 1 - alpha)


def bandpass_biquad(
    waveform: Tensor,
    sample_rate: int,
    central_freq: float,
    Q: float = 0.707,
    const_skirt_gain: bool = False,
) -> Tensor:
    """Return the frequencies of a waveform near one of them, by a filter of two poles.

    Args:
        waveform: samples (…, time).
        sample_rate: samples in a second.
        central_freq: the frequency in Hz.
        Q: how sharp.
        const_skirt_gain: whether the peak is Q, else 1.

    >>> weft.audio.functional.bandpass_biquad(weft.ones(1000), 8000, 400.0)[-1].abs() < 1e-5
    tensor(True)
    """
    c, alpha = _angle("bandpass_biquad", sample_rate, central_freq, Q)
    b = alpha * Q if const_skirt_gain else alpha
    return biquad(waveform, b, 0.0, -b, 1 + alpha, -2 * c, 1 - alpha)


def preemphasis(waveform: Tensor, coeff: float = 0.97) -> Tensor:
    """Return y[t] = x[t] - coeff x[t - 1].

    Args:
        waveform: samples (…, time).
        coeff: how much of the sample before is taken off.

    >>> weft.audio.functional.preemphasis(weft.tensor([1.0, 1.0, 2.0]), 0.5)
    tensor([1.0000, 0.5000, 1.5000])
    """
    return waveform - F.pad(coeff * waveform[..., :-1], (1, 0))


def deemphasis(waveform: Tensor, coeff: float = 0.97) -> Tensor:
    """Return y[t] = x[t] + coeff y[t - 1], which undoes ``preemphasis``; cut at -1 and 1.

    Args:
        waveform: samples (…, time).
        coeff: as it was given to ``preemphasis``.

    >>> weft.audio.functional.deemphasis(weft.tensor([0.5, 0.25, 0.5]), 0.5)
    tensor([0.5000, 0.5000, 0.7500])
    """
    return lfilter(waveform, waveform.new_tensor([1.0, -coeff]), waveform.new_tensor([1.0, 0.0]))
