"""Rows of complex numbers, Fourier transforms and windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import E, S, nz, pos, row, t, z

# fmt: off
row("real", lambda: [S(z(2, 3)), S(t(2)), S(z())], np.real, "f", half=None)
row("imag", lambda: [S(z(2, 3)), S(z())], np.imag, "f", half=None,
    errors=lambda: [E(RuntimeError, t(2))])
row("conj", lambda: [S(z(2, 3)), S(t(2)), S(z(0))], np.conj, "f", half=None)
row("conj_physical", lambda: [S(z(2, 3)), S(t(2))], np.conj, "f", half=None)
row("resolve_conj", lambda: [S(z(2, 3)), S(t(2))], np.copy, "f", half=None)
row("resolve_neg", lambda: [S(z(2, 3)), S(t(2))], np.copy, "f", half=None)
row("angle", lambda: [S(z(2, 3)), S(nz(3))], np.angle, "f", half=None)
row("view_as_real", lambda: [S(z(2, 3)), S(z()), S(z(0, 2))],
    lambda x: np.stack([x.real, x.imag], -1), "f", half=None,
    errors=lambda: [E(RuntimeError, t(2))])
row("view_as_complex", lambda: [S(t(2, 3, 2)), S(t(2))], lambda x: x[..., 0] + 1j * x[..., 1], "f",
    half=None, strided=False,
    errors=lambda: [E(RuntimeError, t(2, 3)), E(RuntimeError, t())])
row("complex", lambda: [S(t(2, 3), t(2, 3)), S(t(3), t(2, 1))], lambda a, b: a + 1j * b, "f",
    half=None)
row("polar", lambda: [S(pos(2, 3), t(2, 3))], lambda r, a: r * np.exp(1j * a), "f", half=None,
    atol=1e-6)
row("is_complex", lambda: [S(z(2)), S(t(2))], np.iscomplexobj, "f", grad=False)
row("is_floating_point", lambda: [S(z(2)), S(t(2))], lambda x: x.dtype.kind == "f", "f", grad=False)
# fmt: on

# ---- Fourier transforms ------------------------------------------------------------------------


def _fft1(name: str) -> Any:
    f = getattr(np.fft, name)
    return lambda x, n=None, dim=-1, norm=None: f(x, n, dim, norm)


def _fftn(name: str) -> Any:
    f = getattr(np.fft, name)
    usual = (-2, -1) if name.endswith("2") else None

    def twin(x: np.ndarray, s: Any = None, dim: Any = usual, norm: Any = None) -> Any:
        if s is not None and dim is None:
            dim = tuple(range(-len(s), 0))
        return f(x, s, dim, norm)

    return twin


def _mirrored(name: str) -> Any:
    """hfft is irfft of the conjugate, scaled the other way round; ihfft the conjugate of rfft."""
    f = _fftn(("i" if name.startswith("h") else "") + "rfft" + name[-1])
    other = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}

    def twin(x: np.ndarray, s: Any = None, norm: Any = None, **dims: Any) -> Any:
        x = np.conj(x) if name.startswith("h") else x
        y = f(x, s, norm=other[norm], **dims)
        return y if name.startswith("h") else np.conj(y)

    return twin


def fft(name: str, make: Any, twin: Any, **more: Any) -> None:
    """A Fourier transform."""
    row("fft." + name, make, twin, "f", **{"half": None, "atol": 2e-5, **more})


def _lines(a: Any) -> Any:
    return lambda: [
        S(a(5)),
        S(a(2, 4), 3),
        S(a(2, 4), 6, 1),
        S(a(4, 2), dim=0),
        S(a(4), norm="ortho"),
        S(a(6), None, -1, "forward"),
        S(a(2, 7)),
        S(a(1)),
        S(a(8)),
    ]


def _planes(a: Any) -> Any:
    return lambda: [
        S(a(3, 2)),
        S(a(2, 2, 3)),
        S(a(3, 4), (2, 5)),
        S(a(3, 2, 4), dim=(0, 1)),
        S(a(3, 4), norm="ortho"),
    ]


def _line_errors() -> list[E]:
    return [
        E((RuntimeError, IndexError), t(3), None, 1, match="fft|[Dd]im"),
        E(RuntimeError, t(3), 0, match="fft|[Ii]nvalid"),
        E(RuntimeError, t(3), norm="other", match="fft|norm"),
    ]


for _name, _make in {"fft": t, "ifft": z, "rfft": t, "irfft": z, "hfft": z, "ihfft": t}.items():
    fft(
        _name,
        _lines(_make) if _name not in ("irfft", "hfft") else lambda: _lines(z)()[:7],
        _fft1(_name),
        errors=_line_errors,
    )
for _name, _make in {"fft2": t, "ifft2": z, "rfft2": t, "fftn": t, "ifftn": z, "rfftn": t}.items():
    fft(_name, _planes(_make), _fftn(_name))
for _name in ("irfft2", "irfftn"):
    fft(_name, lambda: [S(z(2, 3)), S(z(2, 2, 2), (3, 3)), S(z(3, 4), norm="ortho")], _fftn(_name))
for _name in ("hfft2", "hfftn"):
    fft(
        _name,
        lambda: [S(z(2, 3)), S(z(2, 2, 2), (3, 3)), S(z(3, 4), norm="ortho")],
        _mirrored(_name),
    )
for _name in ("ihfft2", "ihfftn"):
    fft(_name, _planes(t), _mirrored(_name))
# fmt: off
fft("fftfreq", lambda: [S(5), S(4, 0.5)], lambda n, d=1.0: np.fft.fftfreq(n, d).astype(np.float32),
    grad=False, wide=True)
fft("rfftfreq", lambda: [S(5), S(4, d=0.5)],
    lambda n, d=1.0: np.fft.rfftfreq(n, d).astype(np.float32), grad=False, wide=True)
fft("fftshift", lambda: [S(t(5)), S(t(3, 4)), S(t(3, 4), dim=1)],
    lambda x, dim=None: np.fft.fftshift(x, dim))
fft("ifftshift", lambda: [S(t(5)), S(t(3, 4)), S(t(3, 4), dim=(0,))],
    lambda x, dim=None: np.fft.ifftshift(x, dim))
# fmt: on


def _stft(
    x: np.ndarray,
    n_fft: int,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: Any = None,
    return_complex: Any = None,
) -> np.ndarray:
    hop, size = hop_length or n_fft // 4, win_length or n_fft
    w = np.ones(size) if window is None else window
    left = (n_fft - size) // 2
    w = np.pad(w, (left, n_fft - size - left))
    if center:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)], mode=pad_mode)
    n = 1 + (x.shape[-1] - n_fft) // hop
    frames = np.stack([x[..., i * hop : i * hop + n_fft] * w for i in range(n)], -1)
    y = np.fft.fft(frames, axis=-2) if onesided is False else np.fft.rfft(frames, axis=-2)
    return y / np.sqrt(n_fft) if normalized else y


def _istft(
    y: np.ndarray,
    n_fft: int,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: Any = None,
    length: Any = None,
) -> np.ndarray:
    hop = hop_length or n_fft // 4
    w = np.ones(n_fft) if window is None else window
    frames = np.fft.irfft(y, n_fft, axis=-2) * (np.sqrt(n_fft) if normalized else 1)
    n = frames.shape[-1]
    total = n_fft + hop * (n - 1)
    x, env = np.zeros((*y.shape[:-2], total)), np.zeros(total)
    for i in range(n):
        x[..., i * hop : i * hop + n_fft] += frames[..., i] * w
        env[i * hop : i * hop + n_fft] += w * w
    cut = n_fft // 2 if center else 0
    end = cut + length if length else total - cut
    return x[..., cut:end] / env[cut:end]


def _hann(n: int) -> np.ndarray:
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)


def _spectrum(*batch: int, n_fft: int = 4, n: int = 6, **kw: Any) -> np.ndarray:
    return _stft(t(*batch, n), n_fft, **kw)


# fmt: off
row("stft",
    lambda: [S(t(8), 4, return_complex=True),
        S(t(2, 6), 4, 2, window=_hann(4), return_complex=True),
        S(t(10), 4, hop_length=1, center=False, return_complex=True),
        S(t(8), 6, win_length=4, window=_hann(4) + 0.1, return_complex=True),
        S(t(9), 4, normalized=True, onesided=False, return_complex=True),
        S(t(9), 4, pad_mode="constant", return_complex=True)], _stft, "f", half=None, atol=2e-5,
    grad=(0,),
    errors=lambda: [E(RuntimeError, t(12), 0, return_complex=True),
        E(RuntimeError, t(3), 40, center=False, return_complex=True),
        E(RuntimeError, t(12), 4, window=t(3), return_complex=True)])
row("istft",
    lambda: [S(_spectrum(), 4),
        S(_spectrum(2, window=_hann(4), hop_length=2), 4, 2, window=_hann(4)),
        S(_spectrum(normalized=True), 4, normalized=True), S(_spectrum(), 4, length=5),
        S(_spectrum(2, hop_length=3, n=12), 4, 3), S(_spectrum(n=4, hop_length=2), 4, 2)], _istft,
    "f", half=None, atol=2e-5, grad=(0,), errors=lambda: [E(RuntimeError, t(3, 4), 4)])
# fmt: on


# ---- windows -----------------------------------------------------------------------------------


def _cosines(*a: float) -> Any:
    return lambda k, m: sum(c * (-1) ** i * np.cos(2 * np.pi * i * k / m) for i, c in enumerate(a))


def _window(f: Any, sampled: str) -> Any:
    """A twin of a window: f of the places and the last of them, or one beyond for periodic ones."""

    def twin(n: int, periodic: Any = None, dtype: Any = np.float32, **more: Any) -> np.ndarray:
        if sampled == "sym":
            periodic = not more.pop("sym", True)
        m = n if periodic in (None, True) else n - 1
        return (np.ones(n) if n <= 1 else f(np.arange(n), m, **more)).astype(dtype)

    return twin


def _kaiser(k: np.ndarray, m: int, beta: float = 12.0) -> np.ndarray:
    return np.i0(beta * np.sqrt(np.maximum(0, 1 - (2 * k / m - 1) ** 2))) / np.i0(beta)


def _triangle(k: np.ndarray, m: int) -> np.ndarray:
    return 1 - abs(2 * k / m - 1)


F64 = np.dtype("float64")
_arch, _blackman = _cosines(0.5, 0.5), _cosines(0.42, 0.5, 0.08)


def _hamming(k: np.ndarray, m: int, alpha: float = 0.54, beta: float = 0.46) -> np.ndarray:
    return _cosines(alpha, beta)(k, m)


for _name, _f, _more in (
    ("hann", _arch, ()),
    ("hamming", _hamming, (S(5, alpha=0.4, beta=0.6),)),
    ("bartlett", _triangle, ()),
    ("blackman", _blackman, ()),
    ("kaiser", _kaiser, (S(5, beta=3.0),)),
):

    def _samples(more: Any = _more) -> list[S]:
        return [S(6), S(5, periodic=False), S(4, dtype=F64), S(1), S(0), *more]

    row(
        f"{_name}_window",
        _samples,
        _window(_f, "periodic"),
        "f",
        grad=False,
        wide=True,
        atol=5e-7,
        errors=lambda: [E(RuntimeError, -1), E(RuntimeError, 3, dtype=np.dtype("int64"))],
    )


def _exponential(k: np.ndarray, m: int, center: Any = None, tau: float = 1.0) -> np.ndarray:
    return np.exp(-abs(k - (m / 2 if center is None else center)) / tau)


def _gaussian(k: np.ndarray, m: int, std: float = 1.0) -> np.ndarray:
    return np.exp(-0.5 * ((k - m / 2) / std) ** 2)


for _name, _f, _more in (
    ("bartlett", _triangle, [{}]),
    ("blackman", _blackman, [{}]),
    ("cosine", lambda k, m: np.sin(np.pi * (k + 0.5) / (m + 1)), [{}]),
    ("exponential", _exponential, [{}, {"tau": 2.0}, {"center": 1, "sym": False}]),
    ("gaussian", _gaussian, [{}, {"std": 0.5}]),
    ("general_cosine", lambda k, m, a: _cosines(*a)(k, m), [{"a": [0.4, 0.3, 0.2]}]),
    ("general_hamming", lambda k, m, alpha=0.54: _hamming(k, m, alpha, 1 - alpha), [{}]),
    ("hamming", _hamming, [{}]),
    ("hann", _arch, [{}]),
    ("kaiser", _kaiser, [{}, {"beta": 3.0}]),
    ("nuttall", _cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411), [{}]),
):

    def _samples(more: Any = _more) -> list[S]:
        first = more[0]
        sizes = [S(n, **first) for n in (0, 1, 2, 7)]
        return [*sizes, S(6, sym=False, **first), S(4, dtype=F64, **first)] + [
            S(5, **m) for m in more
        ]

    def _errors(first: Any = _more[0]) -> list[E]:
        return [
            E(ValueError, -1, **first),
            E(ValueError, 3, dtype=np.dtype("int64"), **first),
            E(TypeError, 2.5, **first),
        ]

    row(
        f"signal.windows.{_name}",
        _samples,
        _window(_f, "sym"),
        "f",
        grad=False,
        wide=True,
        atol=5e-7,
        errors=_errors,
    )

del _name, _make, _f, _more
