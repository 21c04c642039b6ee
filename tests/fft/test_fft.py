"""Fourier transforms against NumPy in long double: lengths, layouts, errors, lines that keep apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft

LENGTHS = [
    *range(1, 34), 48, 51, 64, 77, 97, 100, 127, 128, 131, 210, 251, 262, 387, 512, 997, 1000, 1024,
    1999, 2048, 3000, 4099, 8192, 10007, 19998, 65536,
]  # fmt: skip
LIMIT = {"float32": 4e-7, "float64": 8e-16}  # PyTorch's and NumPy's errors are as large


def error(got: weft.Tensor, right: np.ndarray) -> float:
    """The root mean square error, relative to the numbers' size."""
    size = (abs(right) ** 2).sum()
    return float(np.sqrt((abs(got.numpy() - right) ** 2).sum() / (size if size else 1)))


def lines(rng: Any, *shape: int, dtype: str) -> np.ndarray:
    z = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return z.astype({"float32": "complex64", "float64": "complex128"}[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n: int, dtype: str) -> None:
    """One line, a few, and more than a vector has lanes."""
    rng = np.random.default_rng(n)
    for count in (1, 3, 37) if n < 5000 else (1,):
        z = lines(rng, count, n, dtype=dtype)
        wide, x, half = z.astype(np.clongdouble), z.real.copy(), z[:, : n // 2 + 1].copy()
        calls = {
            "fft": (z, np.fft.fft(wide)),
            "ifft": (z, np.fft.ifft(wide)),
            "rfft": (x, np.fft.rfft(wide.real)),
            "ihfft": (x, np.fft.ihfft(wide.real)),
            "irfft": (half, np.fft.irfft(wide[:, : n // 2 + 1], n)),
            "hfft": (half, np.fft.hfft(wide[:, : n // 2 + 1], n)),
        }
        for name, (given, right) in calls.items():
            size = [n] if name in ("irfft", "hfft") else []
            got = getattr(weft.fft, name)(weft.from_numpy(given), *size)
            assert error(got, right) < LIMIT[dtype], (name, count)
        assert error(weft.fft.fft(weft.from_numpy(x)), np.fft.fft(wide.real)) < LIMIT[dtype]


def laid_out(rng: Any, shape: list[int]) -> weft.Tensor:
    """Random numbers whose elements lie in some order, with gaps or backwards, or are shown twice."""
    x = weft.from_numpy(lines(rng, *shape, dtype="float64"))
    x = x.permute(*(int(d) for d in rng.permutation(len(shape))))
    if rng.random() < 0.3 and x.shape[0] > 2:
        x = x[1:]
    if rng.random() < 0.3:
        x = x[..., ::2]
    if rng.random() < 0.2:
        x = x[:1].expand(7, *[-1] * (x.ndim - 1))
    return x


@pytest.mark.parametrize("seed", range(60))
def test_layouts(seed: int) -> None:
    """Any dimensions of any layout, any norm."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 5))
    x = laid_out(rng, [int(rng.choice([1, 2, 3, 5, 8, 17, 20, 33])) for _ in range(rank)])
    dims = [int(d) for d in rng.permutation(rank)[: rng.integers(1, rank + 1)]]
    norm = rng.choice(np.array([None, "ortho", "forward"], dtype=object))
    z = x.numpy()
    sizes = [z.shape[d] for d in dims]
    half = np.fft.rfftn(z.real, axes=dims)
    where: dict[str, Any] = {"dim": dims, "norm": norm}
    there: dict[str, Any] = {"axes": dims, "norm": norm}
    for name in ("fftn", "ifftn"):
        ours, theirs = getattr(weft.fft, name), getattr(np.fft, name)
        assert error(ours(x, **where), theirs(z, **there)) < 1e-14
        assert error(ours(x.real, **where), theirs(z.real, **there)) < 1e-14
    assert error(weft.fft.rfftn(x.real, **where), np.fft.rfftn(z.real, **there)) < 1e-14
    back = weft.fft.irfftn(weft.from_numpy(half), s=sizes, **where)
    assert error(back, np.fft.irfftn(half, s=sizes, **there)) < 1e-14


@pytest.mark.parametrize("n", [5, 16, 131, 1000])
def test_lines_keep_apart(n: int) -> None:
    """NaN, inf and large numbers in one line do not reach another."""
    x = weft.randn(40, n)
    spoiled = x.clone()
    spoiled[3, 1], spoiled[20, 0], spoiled[21] = float("nan"), float("inf"), 1e30
    others = [i for i in range(40) if i not in (3, 20, 21)]
    for f in (weft.fft.rfft, weft.fft.fft, lambda x: weft.fft.irfft(x + 0j)):
        assert weft.equal(f(spoiled)[others], f(x)[others])
    assert weft.fft.fft(spoiled)[3].isnan().all()


@pytest.mark.parametrize("n", [1, 2, 6, 7, 96, 200])
def test_gradients_of_halves(n: int) -> None:
    """Those of real transforms are the sums over the whole spectrum."""
    x = weft.randn(3, n, dtype=weft.float64, requires_grad=True)
    g = weft.randn(3, n // 2 + 1, dtype=weft.complex128)
    k = np.exp(-2j * np.pi * np.outer(np.arange(n // 2 + 1), np.arange(n)) / n)
    (got,) = weft.autograd.grad(weft.fft.rfft(x), x, g)
    assert np.allclose(got.numpy(), (g.numpy() @ k.conj()).real)
    (got,) = weft.autograd.grad(weft.fft.ihfft(x), x, g)
    assert np.allclose(got.numpy(), (g.numpy() @ k).real / n)
    assert weft.autograd.gradcheck(lambda y: weft.fft.irfft(y, n), (g.requires_grad_(),))
    assert weft.autograd.gradgradcheck(weft.fft.rfft, (x,))


def test_threads() -> None:
    """Results do not depend on the number of threads."""
    x, before = weft.randn(70, 300, dtype=weft.complex64), weft.get_num_threads()
    y = weft.randn(100_000)
    results = []
    try:
        for count in (1, 2):
            weft.set_num_threads(count)
            results.append(
                [weft.fft.fft2(x), weft.fft.rfft(y), weft.stft(y, 64, return_complex=True)]
            )
    finally:
        weft.set_num_threads(before)
    assert all(weft.equal(a, b) for a, b in zip(*results))


def test_no_elements() -> None:
    """No lines are no work; a line without elements is an error."""
    assert weft.fft.fft(weft.ones(0, 4)).shape == (0, 4)
    assert weft.fft.irfft2(weft.ones(0, 3, 3) + 0j).shape == (0, 3, 4)
    for f in (weft.fft.fft, weft.fft.rfft, weft.fft.irfft):
        with pytest.raises(RuntimeError, match="Invalid number of data points"):
            f(weft.ones(4, 0))
