"""Loudness: decibels, and mu-law encoding."""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

__all__ = [
    "DB_to_amplitude", "amplitude_to_DB", "gain", "mu_law_decoding", "mu_law_encoding",
]  # fmt: skip


def amplitude_to_DB(
    x: Tensor, multiplier: float, amin: float, db_multiplier: float, top_db: float | None = None
) -> Tensor:
    """Return multiplier log10(max(x, amin)) - multiplier db_multiplier.

    Args:
        x: amplitudes or powers, (…, frequencies, frames) if ``top_db`` is given.
        multiplier: 10 for powers, 20 for amplitudes.
        amin: smaller values are raised to it.
        db_multiplier: the logarithm of the reference.
        top_db: values further below the largest one of (channels, frequencies, frames) are raised
            to it.

    >>> weft.audio.functional.amplitude_to_DB(weft.tensor([[1.0, 0.1, 0.0]]), 10.0, 1e-10, 0.0, 80)
    tensor([[  0., -10., -80.]])
    """
    decibels = multiplier * weft.log10(x.clamp(min=amin)) - multiplier * db_multiplier
    if top_db is None:
        return decibels
    if top_db < 0:
        raise ValueError(f"amplitude_to_DB: top_db must not be negative, got {top_db}")
    if x.ndim < 2:
        raise ValueError(
            "amplitude_to_DB: top_db needs (…, frequencies, frames), "
            f"got the shape {tuple(x.shape)}"
        )
    if x.numel() == 0:
        return decibels
    top = decibels.amax(tuple(range(-min(x.ndim, 3), 0)), keepdim=True)
    return weft.maximum(decibels, top - top_db)


def DB_to_amplitude(x: Tensor, ref: float, power: float) -> Tensor:
    """Return ref (10^(x / 10))^power.

    Args:
        x: decibels.
        ref: the reference.
        power: 1 for powers, 0.5 for amplitudes.

    >>> weft.audio.functional.DB_to_amplitude(weft.tensor([0.0, 20.0]), 1.0, 0.5)
    tensor([ 1., 10.])
    """
    return ref * (10.0 ** (0.1 * x)) ** power


def gain(waveform: Tensor, gain_db: float = 1.0) -> Tensor:
    """Return a waveform made louder by decibels.

    Args:
        waveform: samples.
        gain_db: decibels.

    >>> weft.audio.functional.gain(weft.tensor([0.01]), 20.0)
    tensor([0.1000])
    """
    return waveform if gain_db == 0 else waveform * 10 ** (gain_db / 20)


def mu_law_encoding(x: Tensor, quantization_channels: int) -> Tensor:
    """Return samples from -1 to 1 as whole numbers, finer near zero.

    Args:
        x: samples.
        quantization_channels: how many numbers there are.

    >>> weft.audio.functional.mu_law_encoding(weft.tensor([-1.0, 0.0, 0.1, 1.0]), 256)
    tensor([  0, 128, 203, 255])
    """
    mu = _mu("mu_law_encoding", quantization_channels)
    if not x.is_floating_point():
        raise TypeError(f"mu_law_encoding: expected floating point samples, got {x.dtype}")
    y = x.sign() * weft.log1p(mu * x.abs()) / weft.log1p(weft.tensor(mu, dtype=x.dtype))
    return ((y + 1) / 2 * mu + 0.5).to(weft.int64)


def mu_law_decoding(x_mu: Tensor, quantization_channels: int) -> Tensor:
    """Return the samples of ``mu_law_encoding``, but for rounding.

    Args:
        x_mu: whole numbers.
        quantization_channels: how many numbers there are.

    >>> weft.audio.functional.mu_law_decoding(weft.tensor([0, 203, 255]), 256)
    tensor([-1.0000,  0.1007,  1.0000])
    """
    mu = _mu("mu_law_decoding", quantization_channels)
    y = x_mu if x_mu.is_floating_point() else x_mu.float()
    y = y / mu * 2 - 1
    return y.sign() * weft.expm1(y.abs() * weft.log1p(weft.tensor(mu, dtype=y.dtype))) / mu


def _mu(name: str, quantization_channels: int) -> float:
    if quantization_channels < 2:
        raise ValueError(
            f"{name}: quantization_channels must be at least 2, got {quantization_channels}"
        )
    return quantization_channels - 1.0
