"""Functions of ``weft.audio.functional`` against SciPy and formulas written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.signal

import weft
from weft.audio import functional as A
from weft.autograd import gradcheck, gradgradcheck


def tensor(x: Any) -> weft.Tensor:
    """A tensor with values of its own."""
    return weft.tensor(np.asarray(x))


def noise(*shape: int, seed: int = 0) -> Any:
    """Samples from -0.5 to 0.5."""
    return np.random.default_rng(seed).uniform(-0.5, 0.5, shape)


# ---- resampling ---------------------------------------------------------------------------------


def resample_by_loop(x: Any, orig: int, new: int, width: int, rolloff: float, beta: Any) -> Any:
    """y(n / new) = sum over samples k of x[k] h((k / orig - n / new) base)."""
    divisor = math.gcd(orig, new)
    orig, new = orig // divisor, new // divisor
    base = min(orig, new) * rolloff
    out = np.zeros(math.ceil(new * len(x) / orig))
    for n in range(len(out)):
        t = (np.arange(len(x)) / orig - n / new) * base
        near = np.abs(t) < width
        if beta is None:
            window = np.cos(t * math.pi / width / 2) ** 2
        else:
            window = np.i0(beta * np.sqrt(np.maximum(1 - (t / width) ** 2, 0))) / np.i0(beta)
        out[n] = (x * np.sinc(t) * window * near).sum() * base / orig
    return out


@pytest.mark.parametrize(("orig", "new"), [(16000, 8000), (8000, 16000), (441, 160), (3, 7)])
@pytest.mark.parametrize("method", ["sinc_interp_hann", "sinc_interp_kaiser"])
def test_resample(orig: int, new: int, method: str) -> None:
    """The published formula, sample by sample."""
    x = noise(301)
    beta = 14.769656459379492 if method.endswith("kaiser") else None
    wanted = resample_by_loop(x, orig, new, 6, 0.99, beta)
    got = A.resample(tensor(x), orig, new, resampling_method=method)
    np.testing.assert_allclose(got.numpy(), wanted, atol=1e-10)
    wanted = resample_by_loop(x, orig, new, 12, 0.9, None)
    got = A.resample(tensor(x), orig, new, lowpass_filter_width=12, rolloff=0.9)
    np.testing.assert_allclose(got.numpy(), wanted, atol=1e-10)


def test_resample_keeps_a_tone() -> None:
    """A sine is the same sine at the other rate, away from the ends."""
    t = np.arange(4410) / 44100
    y = A.resample(tensor(np.sin(2 * np.pi * 440 * t)), 44100, 16000, lowpass_filter_width=64)
    wanted = np.sin(2 * np.pi * 440 * np.arange(1600) / 16000)
    np.testing.assert_allclose(y.numpy()[200:-200], wanted[200:-200], atol=2e-3)


def test_resample_shapes_and_gradients() -> None:
    """Any leading dimensions; the same rate gives the same tensor; gradients."""
    x = weft.rand(2, 3, 50)
    assert A.resample(x, 8000, 12000).shape == (2, 3, 75)
    assert A.resample(x, 8000, 8000) is x
    y = weft.rand(2, 30, dtype=weft.float64, requires_grad=True)
    assert gradcheck(lambda z: A.resample(z, 3, 2), (y,))
    for wrong in ((0, 1), (1.5, 1)):
        with pytest.raises(ValueError, match="rates"):
            A.resample(x, *wrong)
    for name, value in (
        ("resampling_method", "linear"), ("lowpass_filter_width", 0), ("rolloff", 1.5),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=name):
            A.resample(x, 2, 1, **{name: value})
    with pytest.raises(TypeError, match="int16"):
        A.resample(weft.zeros(5, dtype=weft.int16), 2, 1)


# ---- spectra ------------------------------------------------------------------------------------


def spectra_by_loop(x: Any, n_fft: int, hop: int, window: Any) -> Any:
    """The transform of each frame, centred and padded by reflection."""
    padded = np.pad(x, n_fft // 2, mode="reflect")
    left = (n_fft - len(window)) // 2
    window = np.pad(window, (left, n_fft - len(window) - left))
    count = 1 + (len(padded) - n_fft) // hop
    return np.stack(
        [np.fft.rfft(padded[i * hop : i * hop + n_fft] * window) for i in range(count)], 1
    )


@pytest.mark.parametrize("power", [None, 1.0, 2.0, 0.5])
@pytest.mark.parametrize("normalized", [False, True, "window", "frame_length"])
def test_spectrogram(power: float | None, normalized: Any) -> None:
    """Frame by frame, with SciPy's window."""
    x, window = noise(200), scipy.signal.get_window("hann", 24)
    wanted = spectra_by_loop(x, 32, 10, window)
    if normalized in (True, "window"):
        wanted = wanted / np.sqrt((window**2).sum())
    elif normalized:
        wanted = wanted / np.sqrt(32)
    wanted = wanted if power is None else np.abs(wanted) ** power
    w = weft.hann_window(24, dtype=weft.float64)
    got = A.spectrogram(tensor(x).expand(2, 3, -1), 0, w, 32, 10, 24, power, normalized)
    assert got.shape == (2, 3, 17, wanted.shape[1])
    np.testing.assert_allclose(got[1, 2].numpy(), wanted, atol=1e-10)


def test_spectrogram_refuses_and_pads() -> None:
    """Zeros on both sides; what is not supported is named."""
    x, w = weft.rand(64), weft.hann_window(16)
    padded = A.spectrogram(weft.nn.functional.pad(x, (8, 8)), 0, w, 16, 4, 16, 2.0, False)
    assert weft.equal(A.spectrogram(x, 8, w, 16, 4, 16, 2.0, False), padded)
    with pytest.raises(ValueError, match="normalized"):
        A.spectrogram(x, 0, w, 16, 4, 16, 2.0, "loudness")
    with pytest.raises(NotImplementedError, match="return_complex"):
        A.spectrogram(x, 0, w, 16, 4, 16, 2.0, False, return_complex=False)
    y = weft.rand(24, dtype=weft.float64, requires_grad=True)
    w = weft.hann_window(8, dtype=weft.float64)
    assert gradcheck(lambda z: A.spectrogram(z, 0, w, 8, 4, 8, 2.0, True), (y,))


@pytest.mark.parametrize("normalized", [False, True, "frame_length"])
def test_inverse_spectrogram(normalized: Any) -> None:
    """There and back."""
    x, w = tensor(noise(2, 3, 500)), weft.hann_window(64, dtype=weft.float64)
    spectra = A.spectrogram(x, 7, w, 64, 16, 64, None, normalized)
    back = A.inverse_spectrogram(spectra, 500, 7, w, 64, 16, 64, normalized)
    np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-10)
    with pytest.raises(ValueError, match="complex"):
        A.inverse_spectrogram(spectra.abs(), None, 0, w, 64, 16, 64, False)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_griffinlim(momentum: float) -> None:
    """The magnitudes of the found waveform come near to those that were asked for."""
    t = np.arange(2000) / 8000
    x = tensor(np.sin(2 * np.pi * 500 * t) + 0.5 * np.sin(2 * np.pi * 1200 * t))
    w = weft.hann_window(128, dtype=weft.float64)
    wanted = A.spectrogram(x, 0, w, 128, 32, 128, 2.0, False)

    def distance(turns: int) -> float:
        weft.manual_seed(0)
        y = A.griffinlim(wanted, w, 128, 32, 128, 2.0, turns, momentum, 2000, True)
        assert y.shape == (2000,)
        got = A.spectrogram(y, 0, w, 128, 32, 128, 2.0, False)
        return float((got.sqrt() - wanted.sqrt()).norm() / wanted.sqrt().norm())

    assert distance(30) < 0.3 * distance(0)
    with pytest.raises(ValueError, match="momentum"):
        A.griffinlim(wanted, w, 128, 32, 128, 2.0, 3, 1.0, 2000, True)


def test_phase_vocoder() -> None:
    """A tone played at another speed keeps its pitch: the bin of its peak, and its turn."""
    n_fft, hop = 256, 64
    x = np.sin(2 * np.pi * 1000 * np.arange(8000) / 8000)
    w = weft.hann_window(n_fft, dtype=weft.float64)
    spectra = A.spectrogram(tensor(x), 0, w, n_fft, hop, n_fft, None, False)
    advance = weft.linspace(0, math.pi * hop, n_fft // 2 + 1, dtype=weft.float64).unsqueeze(1)
    assert A.phase_vocoder(spectra, 1.0, advance) is spectra
    for rate in (0.8, 1.5):
        out = A.phase_vocoder(spectra, rate, advance)
        assert out.shape == (n_fft // 2 + 1, math.ceil(spectra.shape[1] / rate))
        y = A.inverse_spectrogram(out, None, 0, w, n_fft, hop, n_fft, False).numpy()
        middle = y[1000:-1000]
        spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle))))
        assert abs(spectrum.argmax() / len(middle) * 8000 - 1000) < 5
    with pytest.raises(ValueError, match="rate"):
        A.phase_vocoder(spectra, 0.0, advance)


# ---- banks of filters ---------------------------------------------------------------------------


def mel_bank(n_freqs: int, low: float, high: float, n_mels: int, rate: int, scale: str) -> Any:
    """Triangles by their definition, and their corners in Hz."""

    def to_mel(f: float) -> float:
        if scale == "htk":
            return 2595 * math.log10(1 + f / 700)
        return f * 3 / 200 if f < 1000 else 15 + 27 * math.log(f / 1000) / math.log(6.4)

    def to_hz(m: float) -> float:
        if scale == "htk":
            return 700 * (10 ** (m / 2595) - 1)
        return m * 200 / 3 if m < 15 else 1000 * math.exp((m - 15) * math.log(6.4) / 27)

    corners = [to_hz(m) for m in np.linspace(to_mel(low), to_mel(high), n_mels + 2)]
    bank = np.zeros((n_freqs, n_mels))
    for i, f in enumerate(np.linspace(0, rate // 2, n_freqs)):
        for j, (a, b, c) in enumerate(zip(corners, corners[1:], corners[2:])):
            bank[i, j] = max(0, min((f - a) / (b - a), (c - f) / (c - b)))
    return bank, corners


@pytest.mark.parametrize("scale", ["htk", "slaney"])
@pytest.mark.parametrize("norm", [None, "slaney"])
def test_melscale_fbanks(scale: str, norm: str | None) -> None:
    """Each weight by its definition."""
    wanted, corners = mel_bank(129, 50.0, 7600.0, 20, 16000, scale)
    if norm:
        wanted = wanted * 2 / (np.array(corners[2:]) - np.array(corners[:-2]))
    got = A.melscale_fbanks(129, 50.0, 7600.0, 20, 16000, norm, scale)
    assert got.dtype == weft.float32
    np.testing.assert_allclose(got.numpy(), wanted, atol=1e-6)


def test_banks_refuse_and_warn() -> None:
    """Filters that are zero everywhere are told of; wrong names and ranges are refused."""
    with pytest.warns(UserWarning, match="zero everywhere"):
        A.melscale_fbanks(20, 0.0, 8000.0, 80, 16000)
    for change in ({"norm": "area"}, {"mel_scale": "bark"}, {"n_mels": 0}, {"f_max": 0.0}):
        given = {"n_freqs": 20, "f_min": 0.0, "f_max": 8000.0, "n_mels": 4, "sample_rate": 16000}
        with pytest.raises(ValueError, match="melscale_fbanks"):
            A.melscale_fbanks(**{**given, **change})
    corners = np.linspace(100, 4000, 7)
    wanted = [
        [max(0, min((f - a) / (b - a), (c - f) / (c - b)))
         for a, b, c in zip(corners, corners[1:], corners[2:])]
        for f in np.linspace(0, 4000, 33)
    ]  # fmt: skip
    np.testing.assert_allclose(A.linear_fbanks(33, 100.0, 4000.0, 5, 8000), wanted, atol=1e-6)


@pytest.mark.parametrize("norm", [None, "ortho"])
def test_create_dct(norm: Any) -> None:
    """SciPy's cosine transform of type 2."""
    x = noise(3, 40)
    got = x @ A.create_dct(13, 40, norm).double().numpy()
    np.testing.assert_allclose(got, scipy.fft.dct(x, norm=norm)[:, :13], atol=1e-5)
    with pytest.raises(ValueError, match="norm"):
        A.create_dct(13, 40, "unit")


# ---- levels -------------------------------------------------------------------------------------


def test_decibels() -> None:
    """There and back; the floor is set for each item of a batch."""
    x = np.abs(noise(2, 3, 4, 5)) + 1e-12
    x[1] *= 1e-6
    decibels = A.amplitude_to_DB(tensor(x), 10.0, 1e-10, 0.0, 30.0).numpy()
    wanted = 10 * np.log10(np.maximum(x, 1e-10))
    for n in range(2):
        np.testing.assert_allclose(decibels[n], np.maximum(wanted[n], wanted[n].max() - 30))
    shifted = A.amplitude_to_DB(tensor(x), 20.0, 1e-5, 2.0).numpy()
    np.testing.assert_allclose(shifted, 20 * np.log10(np.maximum(x, 1e-5)) - 40)
    back = A.DB_to_amplitude(A.amplitude_to_DB(tensor(x[0]), 20.0, 1e-10, 0.0), 1.0, 0.5)
    np.testing.assert_allclose(back.numpy(), x[0], rtol=1e-10)
    assert A.amplitude_to_DB(weft.zeros(0, 3), 10.0, 1e-10, 0.0, 80.0).shape == (0, 3)
    with pytest.raises(ValueError, match="top_db"):
        A.amplitude_to_DB(tensor(x), 10.0, 1e-10, 0.0, -1.0)
    y = tensor(np.abs(noise(2, 3)) + 0.1).requires_grad_()
    assert gradcheck(lambda z: A.amplitude_to_DB(z, 10.0, 1e-10, 0.0), (y,))


@pytest.mark.parametrize("channels", [256, 16])
def test_mu_law(channels: int) -> None:
    """By the formula, and back within a step."""
    x = np.concatenate([noise(200) * 2, [-1.0, 0.0, 1.0]])
    mu = channels - 1
    curve = np.sign(x) * np.log1p(mu * np.abs(x)) / np.log1p(mu)
    coded = A.mu_law_encoding(tensor(x), channels)
    assert coded.dtype == weft.int64
    np.testing.assert_array_equal(coded.numpy(), ((curve + 1) / 2 * mu + 0.5).astype(int))
    steps = np.arange(channels) / mu * 2 - 1
    wanted = np.sign(steps) * ((1 + mu) ** np.abs(steps) - 1) / mu
    decoded = A.mu_law_decoding(weft.arange(channels), channels)
    np.testing.assert_allclose(decoded.numpy(), wanted, atol=1e-6)
    assert np.abs(A.mu_law_decoding(coded, channels).numpy() - x).max() < 8 / channels
    with pytest.raises(ValueError, match="quantization_channels"):
        A.mu_law_encoding(tensor(x), 1)


# ---- frames -------------------------------------------------------------------------------------


@pytest.mark.parametrize("win_length", [3, 5, 6, 9])
def test_compute_deltas(win_length: int) -> None:
    """d_t = sum n (c_{t+n} - c_{t-n}) / 2 sum n², with the ends repeated."""
    x, n = noise(2, 3, 12), (win_length - 1) // 2
    padded = np.pad(x, ((0, 0), (0, 0), (n, n)), mode="edge")
    total = sum(k * (padded[..., n + k : n + k + 12] - padded[..., n - k : n - k + 12])
                for k in range(1, n + 1))  # fmt: skip
    wanted = total / (2 * sum(k * k for k in range(1, n + 1)))
    np.testing.assert_allclose(A.compute_deltas(tensor(x), win_length), wanted, atol=1e-12)
    with pytest.raises(ValueError, match="win_length"):
        A.compute_deltas(tensor(x), 2)


def window_of(t: int, frames: int, window: int, least: int, center: bool) -> tuple[int, int]:
    """Kaldi's rule for the frames that count for frame t."""
    start = t - window // 2 if center else t - window
    end = start + window if center else t + 1
    if start < 0:
        end, start = end - start, 0
    if not center and end > t:
        end = max(t + 1, least)
    if end > frames:
        start, end = max(start - (end - frames), 0), frames
    return start, end


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("norm_vars", [False, True])
def test_sliding_window_cmn(center: bool, norm_vars: bool) -> None:
    """Frame by frame."""
    x = noise(2, 30, 4)
    for window, least in ((10, 4), (7, 1), (100, 50), (5, 12)):
        wanted = np.zeros_like(x)
        for t in range(30):
            a, b = window_of(t, 30, window, least, center)
            part = x[:, a:b]
            wanted[:, t] = x[:, t] - part.mean(1)
            if norm_vars:
                wanted[:, t] = wanted[:, t] / part.std(1) if b - a > 1 else 0
        got = A.sliding_window_cmn(tensor(x), window, least, center, norm_vars)
        np.testing.assert_allclose(got.numpy(), wanted, atol=1e-6)


@pytest.mark.parametrize("axis", [2, 3])
def test_masks(axis: int) -> None:
    """Neighbouring lines, as many as allowed, the same for all or one draw for each."""
    x = weft.ones(6, 2, 20, 30)
    other = 5 - axis
    seen = set()
    for _ in range(40):
        y = A.mask_along_axis(x, 8, -1.0, axis)
        assert bool((y == y[:1, :1]).all())
        line = (y[0, 0].amax(other - 2) == -1).numpy()
        seen.add(int(line.sum()))
        assert (np.diff(np.nonzero(line)[0]) == 1).all()
    assert max(seen) <= 7 and len(seen) > 4
    y = A.mask_along_axis_iid(x, 8, 0.0, axis)
    lines = (y.amax(other) == 0).reshape(12, -1).numpy()
    assert lines.sum(1).max() <= 8 and len({tuple(line) for line in lines}) > 3
    assert all((np.diff(np.nonzero(line)[0]) == 1).all() for line in lines)
    assert bool((A.mask_along_axis(x, 8, 0.0, axis, p=0.0) == 1).all())
    for f in (A.mask_along_axis, A.mask_along_axis_iid):
        with pytest.raises(ValueError, match="axis"):
            f(x, 8, 0.0, 0)
        with pytest.raises(ValueError, match="p must"):
            f(x, 8, 0.0, axis, p=2.0)


# ---- filters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 100, 128, 300])
@pytest.mark.parametrize("order", [1, 2, 5])
def test_lfilter(order: int, length: int) -> None:
    """SciPy's, over several blocks."""
    rng = np.random.default_rng(order)
    a = np.concatenate([[1.5], rng.uniform(-0.25, 0.25, order)])
    b = rng.uniform(-1, 1, order + 1)
    x = noise(2, 3, length)
    got = A.lfilter(tensor(x), tensor(a), tensor(b), clamp=False)
    np.testing.assert_allclose(got.numpy(), scipy.signal.lfilter(b, a, x), atol=1e-10)
    clamped = A.lfilter(tensor(x * 9), tensor(a), tensor(b))
    np.testing.assert_allclose(
        clamped.numpy(), scipy.signal.lfilter(b, a, x * 9).clip(-1, 1), atol=1e-10
    )


def test_lfilter_dtypes_and_growth() -> None:
    """Narrow floats keep their dtype; a filter that grows is cut at -1 and 1."""
    x = weft.rand(300)
    a, b = weft.tensor([1.0, -0.5]), weft.tensor([1.0, 0.0])
    wanted = A.lfilter(x, a, b, clamp=False)
    narrow = A.lfilter(x.bfloat16(), a.bfloat16(), b.bfloat16(), clamp=False)
    assert narrow.dtype == weft.bfloat16 and weft.allclose(narrow.float(), wanted, atol=0.05)
    grown = A.lfilter(x, weft.tensor([1.0, -3.0]), b)
    assert grown[2:].tolist() == [1.0] * 298


def test_lfilter_of_several() -> None:
    """Each filter on a channel of its own, or all on the whole."""
    a = np.array([[1.0, -0.5, 0.1], [2.0, 0.3, 0.2]])
    b = np.array([[1.0, 0.0, 0.5], [0.5, 0.2, 0.0]])
    x = noise(4, 2, 60)
    own = A.lfilter(tensor(x), tensor(a), tensor(b), clamp=False).numpy()
    every = A.lfilter(tensor(x), tensor(a), tensor(b), clamp=False, batching=False).numpy()
    assert own.shape == (4, 2, 60) and every.shape == (4, 2, 2, 60)
    for k in range(2):
        np.testing.assert_allclose(own[:, k], scipy.signal.lfilter(b[k], a[k], x[:, k]))
        np.testing.assert_allclose(every[:, :, k], scipy.signal.lfilter(b[k], a[k], x))
    with pytest.raises(ValueError, match="2 filters"):
        A.lfilter(tensor(x[:, :1]), tensor(a), tensor(b))
    with pytest.raises(ValueError, match="same shape"):
        A.lfilter(tensor(x), tensor(a), tensor(b[0]))
    with pytest.raises(ValueError, match="zero"):
        A.lfilter(tensor(x[0, 0]), tensor(a[0] * 0), tensor(b[0]))
    with pytest.raises(TypeError, match="dtype"):
        A.lfilter(tensor(x[0, 0]).float(), tensor(a[0]), tensor(b[0]))


def test_lfilter_gradients() -> None:
    """Of the waveform and of both sets of coefficients, twice."""
    x = tensor(noise(2, 6)).requires_grad_()
    a = tensor([1.5, -0.4, 0.2]).requires_grad_()
    b = tensor([0.5, 0.3, -0.2]).requires_grad_()
    assert gradcheck(lambda *t: A.lfilter(*t, clamp=False), (x, a, b))
    assert gradgradcheck(lambda *t: A.lfilter(*t, clamp=False), (x, a, b))


def test_biquads() -> None:
    """The cookbook's filters: their gain at a few frequencies, and their coefficients."""
    rate, cut, q = 8000, 1000.0, 0.707
    impulse = weft.zeros(4000, dtype=weft.float64)
    impulse[0] = 1.0

    def gains(y: weft.Tensor) -> list[float]:
        response = np.abs(np.fft.rfft(y.numpy()))
        return [float(response[int(f * 4000 / rate)]) for f in (20, 1000, 3900)]

    low = gains(A.lowpass_biquad(impulse, rate, cut, q))
    high = gains(A.highpass_biquad(impulse, rate, cut, q))
    band = gains(A.bandpass_biquad(impulse, rate, cut, q))
    np.testing.assert_allclose(low, [1.0, q, 0.0], atol=0.01)
    np.testing.assert_allclose(high, [0.0, q, 1.0], atol=0.01)
    np.testing.assert_allclose(band, [0.0, 1.0, 0.0], atol=0.07)
    skirt = gains(A.bandpass_biquad(impulse, rate, cut, 0.5, const_skirt_gain=True))
    assert skirt[1] == pytest.approx(0.5, abs=0.01)
    with pytest.raises(ValueError, match="4000"):
        A.lowpass_biquad(impulse, rate, 4000.0)


def test_emphasis() -> None:
    """There and back."""
    x = noise(2, 50) * 0.1
    there = A.preemphasis(tensor(x), 0.9)
    np.testing.assert_allclose(there.numpy(), scipy.signal.lfilter([1, -0.9], [1], x), atol=1e-12)
    np.testing.assert_allclose(A.deemphasis(there, 0.9).numpy(), x, atol=1e-12)
    y = tensor(x).requires_grad_()
    assert gradcheck(lambda z: A.preemphasis(z), (y,))
