"""Modules of ``weft.audio.transforms``: defaults, state, whole chains against SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal

import weft
from weft import nn
from weft.audio import functional as A
from weft.audio import transforms as T

RATE = 16000


def speech(seconds: float = 0.25) -> weft.Tensor:
    """A few tones with noise."""
    t = np.arange(int(RATE * seconds)) / RATE
    x = 0.3 * np.sin(2 * np.pi * 300 * t) + 0.2 * np.sin(2 * np.pi * 2500 * t)
    return weft.tensor((x + 0.01 * np.random.default_rng(0).normal(size=t.shape)).astype("f4"))


def test_spectrogram_against_scipy() -> None:
    """SciPy's spectra of the padded signal, unscaled."""
    x = speech()
    padded = np.pad(x.double().numpy(), 200, mode="reflect")
    _, _, wanted = scipy.signal.stft(
        padded, window="hann", nperseg=400, noverlap=200, boundary=None, padded=False
    )
    wanted = np.abs(wanted * scipy.signal.get_window("hann", 400).sum()) ** 2
    got = T.Spectrogram()(x).numpy()
    assert got.shape == wanted.shape == (201, 21)
    np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)


def test_mel_and_mfcc_against_scipy() -> None:
    """The chain written out: powers, filters, decibels, SciPy's cosine transform."""
    x = speech()
    power = T.Spectrogram(n_fft=512, hop_length=160, win_length=400)(x).double().numpy()
    bank = A.melscale_fbanks(257, 20.0, 7600.0, 40, RATE, "slaney", "slaney").double().numpy()
    mel = bank.T @ power
    settings: Any = {
        "n_fft": 512, "hop_length": 160, "win_length": 400, "f_min": 20.0, "f_max": 7600.0,
        "n_mels": 40, "norm": "slaney", "mel_scale": "slaney",
    }  # fmt: skip
    got = T.MelSpectrogram(RATE, **settings)(x)
    np.testing.assert_allclose(got.numpy(), mel, rtol=1e-3, atol=1e-7)
    decibels = 10 * np.log10(np.maximum(mel, 1e-10))
    decibels = np.maximum(decibels, decibels.max() - 80)
    wanted = scipy.fft.dct(decibels, axis=0, norm="ortho")[:13]
    mfcc = T.MFCC(RATE, 13, melkwargs=settings)
    np.testing.assert_allclose(mfcc(x).numpy(), wanted, rtol=1e-3, atol=2e-3)
    logs = scipy.fft.dct(np.log(mel + 1e-6), axis=0)[:13]
    got = T.MFCC(RATE, 13, norm=None, log_mels=True, melkwargs=settings)(x)
    np.testing.assert_allclose(got.numpy(), logs, rtol=1e-2, atol=2e-2)


def test_lfcc_against_scipy() -> None:
    """The same with evenly spaced filters."""
    x = speech()
    power = T.Spectrogram()(x).double().numpy()
    bands = A.linear_fbanks(201, 0.0, 8000.0, 30, RATE).double().numpy().T @ power
    decibels = 10 * np.log10(np.maximum(bands, 1e-10))
    decibels = np.maximum(decibels, decibels.max() - 80)
    wanted = scipy.fft.dct(decibels, axis=0, norm="ortho")[:12]
    got = T.LFCC(RATE, n_filter=30, n_lfcc=12)(x)
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-3, atol=2e-3)


@pytest.mark.filterwarnings("ignore:melscale_fbanks")
def test_defaults_and_names() -> None:
    """torchaudio's defaults, and its names of buffers."""
    spectrogram = T.Spectrogram()
    assert (spectrogram.n_fft, spectrogram.win_length, spectrogram.hop_length) == (400, 400, 200)
    assert T.Spectrogram(win_length=300).hop_length == 150
    mel = T.MelSpectrogram()
    assert {k: tuple(v.shape) for k, v in mel.state_dict().items()} == {
        "spectrogram.window": (400,), "mel_scale.fb": (201, 128),
    }  # fmt: skip
    mfcc = T.MFCC()
    assert mfcc.dct_mat.shape == (128, 40) and mfcc.top_db == 80.0
    assert set(mfcc.state_dict()) == {
        "dct_mat", "MelSpectrogram.spectrogram.window", "MelSpectrogram.mel_scale.fb",
    }  # fmt: skip
    assert mel(weft.rand(2, 3, 1600)).shape == (2, 3, 128, 9)
    for make in (
        lambda: T.MFCC(dct_type=3), lambda: T.MFCC(n_mfcc=200), lambda: T.AmplitudeToDB("loudness"),
        lambda: T.AmplitudeToDB(top_db=-1), lambda: T.GriffinLim(momentum=1.0),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            make()
    with pytest.raises(NotImplementedError, match="onesided"):
        T.MelSpectrogram(onesided=False)


def test_features_are_differentiable() -> None:
    """A waveform can be found by descent on its features, in a chain of modules."""
    chain = nn.Sequential(
        T.Resample(RATE, 8000), T.MelSpectrogram(8000, 128, n_mels=16), T.AmplitudeToDB("power", 80)
    )
    target = chain(speech(0.1)).detach()
    x = (0.05 * weft.randn(1600)).requires_grad_()
    optimizer = weft.optim.Adam([x], lr=0.01)
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = (chain(x) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]


def test_inverse_and_griffinlim() -> None:
    """Modules give what functions give."""
    x = speech(0.1).expand(2, -1)
    spectra = T.Spectrogram(128, power=None)(x)
    back = T.InverseSpectrogram(128)(spectra, 1600)
    assert weft.allclose(back, x, atol=1e-5)
    found = T.GriffinLim(128, n_iter=4, length=1600, rand_init=False)(spectra.abs().square())
    w = weft.hann_window(128)
    wanted = A.griffinlim(spectra.abs().square(), w, 128, 64, 128, 2.0, 4, 0.99, 1600, False)
    assert weft.equal(found, wanted)


def test_resample_module() -> None:
    """As the function; the filter is a buffer; equal rates change nothing."""
    x = speech(0.1)
    resample = T.Resample(RATE, 12000)
    assert weft.allclose(resample(x), A.resample(x, RATE, 12000), atol=1e-6)
    assert list(resample.state_dict()) == ["kernel"]
    assert T.Resample(8000, 8000)(x) is x
    assert T.Resample(2, 3, dtype=weft.float64).kernel.dtype == weft.float64


FADES = {
    "linear": (lambda t: t, lambda t: 1 - t),
    "exponential": (lambda t: 2 ** (t - 1) * t, lambda t: 2**-t * (1 - t)),
    "logarithmic": (lambda t: np.log10(0.1 + t) + 1, lambda t: np.log10(1.1 - t) + 1),
    "quarter_sine": (
        lambda t: np.sin(t * math.pi / 2),
        lambda t: np.sin(t * math.pi / 2 + math.pi / 2),
    ),
    "half_sine": (
        lambda t: np.sin(t * math.pi - math.pi / 2) / 2 + 0.5,
        lambda t: np.sin(t * math.pi + math.pi / 2) / 2 + 0.5,
    ),
}


@pytest.mark.parametrize("shape", FADES)
def test_fade(shape: str) -> None:
    """Both ends by their curves, which may overlap."""
    for into, out in ((5, 8), (0, 0), (15, 20)):
        rise, fall = np.ones(20), np.ones(20)
        rise[:into] = FADES[shape][0](np.linspace(0, 1, into)).clip(0, 1)
        fall[20 - out :] = FADES[shape][1](np.linspace(0, 1, out)).clip(0, 1)
        got = T.Fade(into, out, shape)(weft.ones(2, 20))
        np.testing.assert_allclose(got[1].numpy(), rise * fall, atol=1e-6)
    with pytest.raises(ValueError, match="20 samples"):
        T.Fade(21, 0)(weft.ones(20))
    with pytest.raises(ValueError, match="fade_shape"):
        T.Fade(fade_shape="sudden")


def test_vol() -> None:
    """Three ways to say how much."""
    x = weft.tensor([0.1, -0.4, 0.9])
    for gain, kind, factor in ((2.0, "amplitude", 2.0), (4.0, "power", 2.0), (6.0206, "db", 2.0)):
        wanted = (x * factor).clamp(-1, 1)
        assert weft.allclose(T.Vol(gain, kind)(x), wanted, atol=1e-5)
    for gain, kind in ((-1.0, "power"), (1.0, "loudness")):
        with pytest.raises(ValueError):
            T.Vol(gain, kind)


def test_masking_modules() -> None:
    """Which dimension is masked, and with which value."""
    x = weft.ones(3, 40, 50)
    for module, other in (
        (T.FrequencyMasking(30), 2), (T.TimeMasking(30, p=0.9), 1),
        (T.FrequencyMasking(30, iid_masks=True), 2), (T.TimeMasking(30, iid_masks=True), 1),
    ):  # fmt: skip
        whole = [module(x, mask_value=5.0) for _ in range(8)]
        assert all(bool((y.amax(other) == y.amin(other)).all()) for y in whole)
        assert any(bool((y == 5).any()) for y in whole)
        same = all(bool((y == y[:1]).all()) for y in whole)
        assert same != module.iid_masks
    with pytest.raises(ValueError, match="p must"):
        T.TimeMasking(3, p=1.5)


def test_time_stretch() -> None:
    """The rate at the making or in the call."""
    x = T.Spectrogram(64, power=None)(speech(0.1))
    stretch = T.TimeStretch(hop_length=32, n_freq=33)
    assert weft.equal(stretch(x, 1.25), T.TimeStretch(32, 33, fixed_rate=1.25)(x))
    assert stretch(x, 1.25).shape[1] == math.ceil(x.shape[1] / 1.25)
    with pytest.raises(ValueError, match="fixed_rate"):
        stretch(x)


def test_small_modules() -> None:
    """Those that only hold the arguments of a function."""
    x = speech(0.05)
    assert weft.equal(T.MuLawEncoding(64)(x), A.mu_law_encoding(x, 64))
    assert weft.equal(T.MuLawDecoding(64)(weft.arange(64)), A.mu_law_decoding(weft.arange(64), 64))
    assert weft.equal(T.Preemphasis(0.5)(x), A.preemphasis(x, 0.5))
    assert weft.allclose(T.Deemphasis(0.5)(T.Preemphasis(0.5)(x)), x, atol=1e-5)
    features = weft.rand(1, 8, 30)
    assert weft.equal(T.ComputeDeltas(7)(features), A.compute_deltas(features, 7))
    cmn = T.SlidingWindowCmn(10, 5, center=True, norm_vars=True)
    assert weft.equal(cmn(features), A.sliding_window_cmn(features, 10, 5, True, True))
