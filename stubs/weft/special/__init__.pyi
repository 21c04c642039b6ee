# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""Special functions: weft's own under the names that SciPy and PyTorch give them, and more."""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft._C import _Device as _Device
from weft._C import _DType as _DType
from weft._C import _Hook as _Hook
from weft._C import _Index as _Index
from weft._C import _Ints as _Ints
from weft._C import _Layout as _Layout
from weft._C import _MemoryFormat as _MemoryFormat
from weft._C import _Number as _Number
from weft._C import _Operand as _Operand
from weft._C import _bool as _bool
from weft._C import _complex as _complex
from weft._C import _float as _float
from weft._C import _int as _int
from weft._C import _str as _str
from weft._C import Generator
from weft._C import Size
from weft._C import Tensor


def airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Airy function Ai."""
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind, order 0."""
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind, order 1."""
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind, order 0."""
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind, order 1."""
def chebyshev_polynomial_t(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree n."""
def chebyshev_polynomial_u(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree n."""
def chebyshev_polynomial_v(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree n."""
def chebyshev_polynomial_w(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree n."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-input * log(input), the term of an entropy."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), exact where that is small."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input ** 2) * erfc(input)."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose erf is input."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of input."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-input))."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) - 1, exact near zero."""
def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The lower incomplete gamma function of order input, over gamma(input)."""
def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The upper incomplete gamma function of order input, over gamma(input)."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function's size."""
def hermite_polynomial_h(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The physicists' Hermite polynomial of degree n."""
def hermite_polynomial_he(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The probabilists' Hermite polynomial of degree n."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|input|) times the modified Bessel function of order 0."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 1."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|input|) times the modified Bessel function of order 1."""
def laguerre_polynomial_l(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Laguerre polynomial of degree n."""
def legendre_polynomial_p(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Legendre polynomial of degree n."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), exact near zero."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the share of the normal distribution below input."""
def log_softmax(
    input: Tensor,
    dim: _int,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The logarithm of softmax, without overflow.

    >>> weft.log_softmax(weft.tensor([1.0, 1.0]), 0)
    tensor([-0.6931, -0.6931])
    """
@overload
def logit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(input / (1 - input)), the inverse of sigmoid; with eps, input is first kept between eps and 1 - eps."""
@overload
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor: ...
def logsumexp(
    input: Tensor,
    dim: _int | Sequence[_int],
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """log(sum(exp(input))) over dim, without overflow.

    >>> weft.logsumexp(weft.zeros(2), 0)
    tensor(0.6931)
    """
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, order 0."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, order 1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind, order 0."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind, order 1."""
def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function of p dimensions.

    >>> weft.mvlgamma(weft.tensor([1.0]), 1)
    tensor([0.])
    """
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The share of the normal distribution below input."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the normal distribution has the share input below it."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma.

    >>> weft.polygamma(1, weft.tensor([1.0]))
    tensor([1.6449])
    """
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
@overload
def round(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounds to the nearest integer, halves to the even one."""
@overload
def round(input: Tensor, *, decimals: _int, out: Tensor | None = None) -> Tensor: ...
def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) times the modified Bessel function of the second kind, order 0."""
def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) times the modified Bessel function of the second kind, order 1."""
def shifted_chebyshev_polynomial_t(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The same of 2 * input - 1, first kind."""
def shifted_chebyshev_polynomial_u(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The same of 2 * input - 1, second kind."""
def shifted_chebyshev_polynomial_v(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The same of 2 * input - 1, third kind."""
def shifted_chebyshev_polynomial_w(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The same of 2 * input - 1, fourth kind."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi input) / (pi input), 1 at zero."""
def softmax(
    input: Tensor,
    dim: _int,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Exponentials along dim, scaled to sum to one.

    >>> weft.softmax(weft.tensor([1.0, 1.0]), 0)
    tensor([0.5000, 0.5000])
    """
def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(input) / input."""
def xlog1py(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input * log1p(other), zero where input is zero."""
def xlogy(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input * log(other), zero where input is zero."""
def zeta(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of (other + k) ** -input over all k >= 0 (Hurwitz)."""
