"""Special functions over wide ranges, against identities that hold between them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples.special import airy

import weft

S = weft.special
RNG = np.random.default_rng(7)


def spread(low: float, high: float, n: int = 2000) -> weft.Tensor:
    """Numbers between low and high, as many small as large ones; doubles."""
    return weft.tensor(np.exp(RNG.uniform(math.log(low), math.log(high), n)))


def close(a: weft.Tensor, b: weft.Tensor, rtol: float = 3e-15) -> None:
    """The two agree to some units in the last place of their larger terms."""
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=rtol, atol=0)


def test_wronskians() -> None:
    """J1 Y0 - J0 Y1 = 2 / (pi x) and I0 K1 + I1 K0 = 1 / x: all parts of all eight functions."""
    x = spread(1e-6, 1e4)
    waves = S.bessel_j1(x) * S.bessel_y0(x) - S.bessel_j0(x) * S.bessel_y1(x)
    close(waves * x, weft.full_like(x, 2 / math.pi), 2e-14)
    scaled = S.i0e(x) * S.scaled_modified_bessel_k1(x) + S.i1e(x) * S.scaled_modified_bessel_k0(x)
    close(scaled * x, weft.ones_like(x), 4e-15)
    x = spread(1e-6, 500.0)
    plain = S.i0(x) * S.modified_bessel_k1(x) + S.i1(x) * S.modified_bessel_k0(x)
    close(plain * x, weft.ones_like(x), 2e-14)


def test_signs_and_edges() -> None:
    """Odd and even functions; zero, infinity, NaN and what lies outside."""
    inf, nan = math.inf, math.nan
    x = spread(1e-3, 1e8)
    for even in (S.i0e, S.bessel_j0, S.spherical_bessel_j0):
        assert weft.equal(even(-x), even(x))
    for odd in (S.i1e, S.bessel_j1):
        assert weft.equal(odd(-x), -odd(x))
    for dtype in (weft.float32, weft.float64):
        x = weft.tensor([0.0, inf, nan, -1.0], dtype=dtype)
        expected = {
            S.i0: [1, inf, nan, None], S.i0e: [1, 0, nan, None], S.i1: [0, inf, nan, None],
            S.i1e: [0, 0, nan, None], S.bessel_j0: [1, 0, nan, None], S.bessel_j1: [0, 0, nan, None],
            S.bessel_y0: [-inf, 0, nan, nan], S.bessel_y1: [-inf, 0, nan, nan],
            S.modified_bessel_k0: [inf, 0, nan, nan], S.modified_bessel_k1: [inf, 0, nan, nan],
            S.scaled_modified_bessel_k0: [inf, 0, nan, nan],
            S.scaled_modified_bessel_k1: [inf, 0, nan, nan], S.spherical_bessel_j0: [1, 0, nan, None],
            S.airy_ai: [0.3550280538878172, 0, nan, None], S.ndtri: [-inf, nan, nan, nan],
            S.erfcx: [1, 0, nan, None], S.log_ndtr: [-math.log(2), 0, nan, None],
        }  # fmt: skip
        for f, values in expected.items():
            for got, want in zip(f(x).tolist(), values):
                if want is not None:
                    assert got == pytest.approx(want, rel=1e-6, nan_ok=True), f
    assert S.ndtri(weft.tensor([1.0, 0.5])).tolist() == [inf, 0]


def test_one_element_does_not_change_another() -> None:
    """Blocks of one kind and mixed ones give the same bits, and so do floats in place."""
    for f in (S.i0, S.i1e, S.bessel_j1, S.bessel_y0, S.modified_bessel_k0, S.airy_ai, S.ndtri):
        for dtype in (weft.float32, weft.float64):
            x = spread(1e-3, 30.0, 300).to(dtype)
            x = x / 40 if f is S.ndtri else x
            alone = weft.cat([f(x[i : i + 1]) for i in range(len(x))])
            assert weft.equal(f(x), alone), (f, dtype)
            assert weft.equal(f(x.sort()[0]).sort()[0], alone.sort()[0]), (f, dtype)


def test_airy() -> None:
    """Against the power series in sixty digits, across the borders of its parts."""
    x = np.concatenate(
        [RNG.uniform(-12, 8, 200), [-3, np.nextafter(-3, -4), 1, np.nextafter(1, 2)]]
    )
    want = np.array([airy(float(v)) for v in x])
    np.testing.assert_allclose(S.airy_ai(weft.tensor(x)).numpy(), want, rtol=1e-13, atol=2e-15)
    assert abs(S.airy_ai(weft.tensor(-2e4, dtype=weft.float64)).item()) < 0.06


def test_polygamma_by_recurrence() -> None:
    """psi_n(x + 1) - psi_n(x) = (-1)^n n! / x^(n+1); below zero, too."""
    x = weft.tensor(np.concatenate([RNG.uniform(-6, 0, 200), RNG.uniform(0.01, 60, 800)]))
    x = x[(x - x.round()).abs() > 1e-3]
    for n in (1, 2, 3, 6):
        step = weft.polygamma(n, x + 1) - weft.polygamma(n, x)
        want = (-1) ** n * math.factorial(n) / x ** (n + 1)
        scale = weft.polygamma(n, x).abs() + want.abs()
        assert ((step - want).abs() / scale).max().item() < 1e-12
    assert weft.polygamma(1, weft.tensor([0.0, -3.0])).tolist() == [math.inf, math.inf]


def test_zeta_by_recurrence() -> None:
    """zeta(s, q) - zeta(s, q + 1) = q^-s; poles and what is not defined."""
    s, q = spread(1.01, 60.0), spread(1e-3, 1e4)
    z = S.zeta(s, q)
    assert ((z - S.zeta(s, q + 1) - q**-s).abs() / z).max().item() < 1e-13
    assert S.zeta(weft.tensor(2.0), weft.tensor(1.0)).item() == pytest.approx(math.pi**2 / 6)
    given = [(1.0, 2.0), (0.5, 2.0), (3.0, -1.0), (2.5, -1.5), (1e200, 3.0), (math.inf, 3.0)]
    got = S.zeta(*(weft.tensor(v, dtype=weft.float64) for v in zip(*given))).tolist()
    assert got == pytest.approx([math.inf, math.nan, math.inf, math.nan, 0, 0], nan_ok=True)


def test_ndtri_is_the_inverse() -> None:
    """ndtri(p) where the share below is p, in both tails and the middle."""
    p = weft.cat([spread(1e-300, 0.5), 1 - spread(1e-12, 0.5)])
    x = S.ndtri(p)
    close(S.log_ndtr(x), p.log(), 1e-12)


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_incomplete_gamma(dtype: weft.dtype) -> None:
    """For whole orders the upper one is a sum of Poisson's probabilities."""
    a = RNG.integers(1, 60, 500)
    x = RNG.uniform(0.01, 80, 500).astype(np.float32).astype(float)
    want = np.array(
        [
            sum(math.exp(j * math.log(v) - v - math.lgamma(j + 1)) for j in range(k))
            for k, v in zip(a, x)
        ]
    )
    args = weft.tensor(a.astype(float), dtype=dtype), weft.tensor(x, dtype=dtype)
    tolerance = 2e-6 if dtype == weft.float32 else 3e-13
    np.testing.assert_allclose(
        weft.igammac(*args).double().numpy(), want, rtol=tolerance, atol=1e-30
    )
    both = weft.igamma(*args) + weft.igammac(*args)
    assert (both - 1).abs().max().item() < 1e-6
    edge = weft.tensor([0.0, 1.0, -1.0, math.inf]), weft.tensor([1.0, 0.0, 1.0, 1.0])
    assert weft.igamma(*edge).tolist() == pytest.approx([1, 0, math.nan, 0], nan_ok=True)


def test_nextafter_by_numpy() -> None:
    """All signs, zeros, subnormals, infinities and NaN, to the bit."""
    for dtype in (np.float32, np.float64):
        tiny, most = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
        v = np.array([0, -0.0, tiny, -tiny, 1, -1, most, -most, np.inf, -np.inf, np.nan], dtype)
        a, b = (g.ravel().copy() for g in np.meshgrid(v, v))
        got = weft.nextafter(weft.tensor(a), weft.tensor(b)).numpy()
        with np.errstate(all="ignore"):
            want = np.nextafter(a, b)
        np.testing.assert_array_equal(got, want)
        number = ~np.isnan(want)
        assert (np.signbit(got) == np.signbit(want))[number].all()


def test_powers_in_blocks() -> None:
    """A usual exponent among others changes nothing for these."""
    for dtype in (weft.float32, weft.float64):
        x, y = spread(0.1, 9.0, 200).to(dtype), spread(0.1, 5.0, 200).to(dtype)
        plain = weft.pow(x, y)
        y[::7] = 2
        mixed = weft.pow(x, y)
        keep = weft.arange(200) % 7 != 0
        assert weft.equal(mixed[keep], plain[keep])
        assert weft.equal(mixed[::7], x[::7] * x[::7])


def test_small_poisson_counts() -> None:
    """The share of each count is its probability."""
    weft.manual_seed(3)
    for mean in (0.3, 4.0, 9.9):
        n = 200_000
        x = weft.poisson(weft.full((n,), mean)).numpy()
        for k in range(12):
            p = math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1))
            assert abs((x == k).mean() - p) < 6 * math.sqrt(p * (1 - p) / n) + 1e-9
    assert weft.poisson(weft.zeros(3)).tolist() == [0, 0, 0]


def test_choices_among_many_weights() -> None:
    """Weights of zero are never chosen, others as often as they should."""
    weft.manual_seed(4)
    w = np.zeros(1000)
    w[[3, 64, 500, 998]] = [1, 2, 3, 4]
    x = weft.multinomial(weft.tensor(w), 100_000, replacement=True).numpy()
    counts = np.bincount(x, minlength=1000) / len(x)
    np.testing.assert_allclose(counts, w / 10, atol=0.01)


def test_polynomials_of_mixed_degrees() -> None:
    """Degrees side by side give what each gives alone; below 0 zero, NaN stays."""
    names = [n for n in S.__all__ if "_polynomial_" in n]
    assert len(names) == 12
    for name in names:
        f = getattr(S, name)
        x = weft.tensor(RNG.uniform(-1, 1, 101))
        n = weft.tensor(RNG.integers(0, 30, 101).astype(float))
        alone = weft.cat([f(x[i : i + 1], n[i : i + 1]) for i in range(101)])
        assert weft.equal(f(x, n), alone), name
        odd = f(weft.full((5,), 0.3), weft.tensor([-1.0, -0.5, 0.9, math.nan, 2.7]))
        assert odd[:3].tolist() == [0, 1, 1] and odd[3].isnan()
        assert odd[4] == f(weft.tensor(0.3), 2)
    n, angle = weft.tensor(RNG.integers(0, 60, 200).astype(float)), spread(0.1, 3.0, 200)
    assert (S.chebyshev_polynomial_t(angle.cos(), n) - (n * angle).cos()).abs().max() < 1e-11
