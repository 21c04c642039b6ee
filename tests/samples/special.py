"""Rows of the special functions; their twins are integrals, sums and closed forms in NumPy."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre
from numpy.polynomial.legendre import leggauss

from samples import E, K, S, pos, row, t
from samples import unary as any_unary
from samples.pointwise import each

# ---- twins -------------------------------------------------------------------------------------


def integral(f: Any, a: float, b: float, points: int = 160) -> Any:
    """The integral of f(x, u) over u from a to b, for every x."""
    nodes, weights = leggauss(points)
    u = (a + b) / 2 + (b - a) / 2 * nodes

    def g(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, float)
        return (f(x[..., None], u) * weights).sum(-1) * ((b - a) / 2)

    return g


def bessel_i(n: int) -> Any:
    """The modified Bessel function of the first kind."""
    return integral(lambda x, u: np.exp(x * np.cos(u)) * np.cos(n * u) / np.pi, 0, np.pi)


def bessel_j(n: int) -> Any:
    """The Bessel function of the first kind."""
    return integral(lambda x, u: np.cos(n * u - x * np.sin(u)) / np.pi, 0, np.pi)


def bessel_y(n: int) -> Any:
    """The Bessel function of the second kind."""
    near = integral(lambda x, u: np.sin(x * np.sin(u) - n * u) / np.pi, 0, np.pi)
    decay = integral(
        lambda x, u: (np.exp(n * u) + (-1) ** n * np.exp(-n * u)) * np.exp(-x * np.sinh(u)) / np.pi,
        0, 6,
    )  # fmt: skip
    return lambda x: near(x) - decay(x)


def bessel_k(n: int) -> Any:
    """The modified Bessel function of the second kind."""
    return integral(lambda x, u: np.exp(-x * np.cosh(u)) * np.cosh(n * u), 0, 6)


def airy(x: float) -> float:
    """The power series of Ai, in sixty digits."""
    with localcontext() as context:
        context.prec = 60
        z = Decimal(x)
        f, g, u, w = Decimal(1), z, Decimal(1), z
        for k in range(1, 200):
            u *= z**3 / ((3 * k - 1) * 3 * k)
            w *= z**3 / (3 * k * (3 * k + 1))
            f, g = f + u, g + w
        a = Decimal("0.355028053887817239260063186004183176397979174199177")
        b = Decimal("0.258819403792806798405183560189203963479091138354934")
        return float(a * f - b * g)


def zeta(s: Any, q: Any) -> np.ndarray:
    """A thousand terms, and an integral for the others."""
    s, q = np.broadcast_arrays(np.asarray(s, float), np.asarray(q, float))
    k = np.arange(1000)
    head = ((q[..., None] + k) ** -s[..., None]).sum(-1)
    a = q + 1000
    return head + a ** (1 - s) / (s - 1) + a**-s / 2 + s * a ** (-s - 1) / 12


def igamma(a: Any, x: Any) -> np.ndarray:
    """The power series of the lower incomplete gamma function."""
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    term = np.exp(a * np.log(x) - x - each(math.lgamma)(a + 1))
    total = term.copy()
    for k in range(1, 200):
        term = term * x / (a + k)
        total += term
    return total


def degree(value: Any) -> Any:
    """A polynomial of x for every degree n, given value(x, n)."""
    f = np.frompyfunc(lambda x, n: value(x, int(n)), 2, 1)
    return lambda x, n: np.asarray(f(np.asarray(x, float), np.asarray(n, float)), float)


def series(value: Any) -> Any:
    """The same, given a function that sums a series of them."""
    return degree(lambda x, n: value(x, [0] * n + [1]))


def kind(top: Any) -> Any:
    """The same, given a ratio of sines or cosines of the angle whose cosine is x."""
    return degree(lambda x, n: top(math.acos(x), n))


# ---- rows --------------------------------------------------------------------------------------

_NORMAL = NormalDist()
_FLAT = {"dtypes": "f", "special": False, "ulp": 16, "atol": 1e-6, "half": 1}
_NO_GRAD = {**_FLAT, "grad": False}
FIRST = kind(lambda a, n: math.cos(n * a))
SECOND = kind(lambda a, n: math.sin((n + 1) * a) / math.sin(a))
THIRD = kind(lambda a, n: math.cos((n + 0.5) * a) / math.cos(a / 2))
FOURTH = kind(lambda a, n: math.sin((n + 0.5) * a) / math.sin(a / 2))


def scaled(f: Any, sign: int = -1) -> Any:
    """exp(-|x|) f(x), or exp(x) f(x)."""
    return lambda x: f(x) * np.exp(sign * abs(np.asarray(x, float)))


def unary(name: str, twin: Any, **more: Any) -> None:
    """A function of one tensor; messages write special_i0e for special.i0e."""
    own = name.replace(".", "_")
    any_unary(name, twin, errors=lambda: [E(TypeError, "text", match=own)], **more)


# fmt: off
unary("i0", bessel_i(0), **_FLAT)
unary("special.i0e", scaled(bessel_i(0)), **_FLAT)
unary("special.i1", bessel_i(1), **_FLAT)
unary("special.i1e", scaled(bessel_i(1)), **_FLAT)
unary("special.entr", lambda x: -x * np.log(x), lo=0.1, **_FLAT)
unary("special.erfcx", each(lambda x: math.exp(x * x) * math.erfc(x)), lo=-2, hi=3, **_FLAT)
unary("special.ndtr", each(lambda x: math.erfc(-x / math.sqrt(2)) / 2), **_FLAT)
unary("special.log_ndtr", each(lambda x: math.log(math.erfc(-x / math.sqrt(2)) / 2)), lo=-5, **_FLAT)
unary("special.ndtri", each(_NORMAL.inv_cdf), lo=0.05, hi=0.9, **_FLAT)
unary("special.bessel_j0", bessel_j(0), **_NO_GRAD)
unary("special.bessel_j1", bessel_j(1), **_NO_GRAD)
unary("special.bessel_y0", bessel_y(0), lo=0.6, **_NO_GRAD)
unary("special.bessel_y1", bessel_y(1), lo=0.6, **_NO_GRAD)
unary("special.modified_bessel_i0", bessel_i(0), **_NO_GRAD)
unary("special.modified_bessel_i1", bessel_i(1), **_NO_GRAD)
unary("special.modified_bessel_k0", bessel_k(0), lo=0.6, **_NO_GRAD)
unary("special.modified_bessel_k1", bessel_k(1), lo=0.6, **_NO_GRAD)
unary("special.scaled_modified_bessel_k0", scaled(bessel_k(0), 1), lo=0.6, **_NO_GRAD)
unary("special.scaled_modified_bessel_k1", scaled(bessel_k(1), 1), lo=0.6, **_NO_GRAD)
unary("special.spherical_bessel_j0", lambda x: np.sinc(x / np.pi), **_NO_GRAD)
unary("special.airy_ai", each(airy), lo=-9, hi=5, **_NO_GRAD)
# fmt: on


def two(name: str, twin: Any, a: Any, b: Any, grad: Any = False, method: bool = False) -> None:
    """A function of two tensors that broadcast."""

    def make() -> list[S]:
        return [S(a(2, 3), b(2, 3)), S(a(2, 1), b(3)), S(a(), b()), S(a(0), b(1)), S(a(37), b(37))]

    row(name, make, twin, "f", ulp=16, atol=2e-6, half=None, grad=grad, method=method,
        errors=lambda: [E(RuntimeError, a(2, 3), b(2, 4), match=name.replace(".", "_"))])  # fmt: skip


def inner(*shape: int) -> np.ndarray:
    """Values between -1 and 1."""
    return t(*shape, lo=-0.9, hi=0.9)


def between(*shape: int) -> np.ndarray:
    """Values between 0 and 1."""
    return t(*shape, lo=0.05, hi=0.95)


def degrees(*shape: int) -> np.ndarray:
    """Whole numbers from 0 to 7."""
    return np.floor(abs(t(*shape, lo=0, hi=8)))


def shifted(f: Any) -> Any:
    """f(2 x - 1, n)."""
    return lambda x, n: f(2 * np.asarray(x, float) - 1, n)


# fmt: off
two("igamma", igamma, pos, pos, (1,), True)
two("igammac", lambda a, x: 1 - igamma(a, x), pos, pos, (1,), True)
two("special.zeta", zeta, lambda *s: t(*s, lo=1.3, hi=4), pos, (1,))
two("special.xlog1py", lambda x, y: x * np.log1p(y), t, pos, True)
two("special.chebyshev_polynomial_t", FIRST, inner, degrees)
two("special.chebyshev_polynomial_u", SECOND, inner, degrees)
two("special.chebyshev_polynomial_v", THIRD, inner, degrees)
two("special.chebyshev_polynomial_w", FOURTH, inner, degrees)
two("special.shifted_chebyshev_polynomial_t", shifted(FIRST), between, degrees)
two("special.shifted_chebyshev_polynomial_u", shifted(SECOND), between, degrees)
two("special.shifted_chebyshev_polynomial_v", shifted(THIRD), between, degrees)
two("special.shifted_chebyshev_polynomial_w", shifted(FOURTH), between, degrees)
two("special.hermite_polynomial_h", series(hermite.hermval), inner, degrees)
two("special.hermite_polynomial_he", series(hermite_e.hermeval), inner, degrees)
two("special.laguerre_polynomial_l", series(laguerre.lagval), inner, degrees)
two("special.legendre_polynomial_p", series(legendre.legval), inner, degrees)
assert chebyshev.chebval(0.5, [0, 0, 1]) == FIRST(0.5, 2).round(12)


def _polygamma(n: int, x: np.ndarray) -> np.ndarray:
    return (-1) ** (n + 1) * math.factorial(n) * zeta(n + 1.0, x)


row("polygamma", lambda: [S(1, pos(2, 3)), S(2, pos(4)), S(3, pos())], _polygamma, "f", ulp=16,
    atol=1e-5, half=None, method=False, errors=lambda: [E(RuntimeError, -1, pos(2))])
row("mvlgamma", lambda: [S(t(2, 3, lo=2.1, hi=5), 1), S(t(4, lo=2.1, hi=5), 3), S(t(0), 2)],
    lambda x, p: (p * (p - 1) / 4 * math.log(math.pi)
        + sum(each(math.lgamma)(x - j / 2) for j in range(p))), "f", ulp=16, atol=1e-5, half=None,
    errors=lambda: [E(RuntimeError, pos(2), 0)])
row("frexp", lambda: [S(t(2, 3)), S(t()), S(t(0)), K(np.array([0.0, 8.0, -0.3]))],
    lambda x: tuple(np.frexp(x)), "f", half=None, wide=True,
    errors=lambda: [E(RuntimeError, np.array([1, 2]))])
# fmt: on
