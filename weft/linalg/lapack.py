"""Factors, solvers and eigenvalues of LAPACK, in the dtype of their input.

Functions take and return NumPy arrays of matrices, one matrix or a batch of any shape. LAPACK counts
along columns first, so it sees the transpose of a matrix that lies row after row in memory. Where it is
as fast with that, it is asked for what the transpose needs, and nothing is turned.
"""

from __future__ import annotations

import math

from weft import _C
from weft.linalg.openblas import (
    REAL,
    columns,
    each,
    failed,
    not_finite,
    nothing,
    rows,
    triangle,
    turned,
    with_work,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_triangle_solve = _C._op_function("triangle_solve")


# ---- triangles ---------------------------------------------------------------------------------


def solve_triangular(
    a: Any, b: Any, upper: bool, left: bool = True, unit: bool = False, adjoint: bool = False
) -> Any:
    """The x of a x = b, or of x a = b; with ``adjoint`` of aᴴ, where a is ``upper`` or not.

    Batches are equal.
    """
    import numpy

    a, b = _C._from_buffer(a), _C._from_buffer(b)
    if adjoint:
        a, upper = a.mH, not upper
    if left:
        return numpy.asarray(_triangle_solve(a, b, upper, unit))
    return numpy.asarray(_triangle_solve(a.mT, b.mT, not upper, unit).mT.contiguous())


def cholesky(a: Any, upper: bool = False) -> tuple[Any, Any]:
    """The triangles L with a = L Lᴴ, or U with a = Uᴴ U, reading that triangle of a; info."""
    n = a.shape[-1]
    x = rows(a) if upper else columns(a)
    info = each("potrf", a.dtype, b"L", n, x, n) if n else nothing(x)
    x = triangle(x, True)
    return x.reshape(a.shape) if upper else turned(x, a.shape), info


def cholesky_inverse(factor: Any, upper: bool) -> tuple[Any, Any]:
    """The inverse of the matrix with this Cholesky factor; info."""
    import numpy

    n = factor.shape[-1]
    if factor.dtype.kind == "f" and n >= _SOLVES:
        return _cholesky_inverse_by_triangles(factor.swapaxes(-1, -2) if upper else factor)
    x = rows(factor)
    info = (x.diagonal(0, -2, -1) == 0).any(-1).astype(numpy.int32)
    if x.size and not failed(info):
        letter = b"L" if upper else b"U"
        _invert_triangle(x, letter, 0, n)
        each("lauum", x.dtype, letter, n, x, n)
    other = triangle(x, upper, 1 if upper else -1).swapaxes(-1, -2)
    x = triangle(x, upper)
    x += other.conj() if x.dtype.kind == "c" else other
    return x.reshape(factor.shape), info


def _cholesky_inverse_by_triangles(factor: Any) -> tuple[Any, Any]:
    """The inverse of real L Lᵀ, given L; info."""
    import numpy

    info = (factor.diagonal(0, -2, -1) == 0).any(-1).astype(numpy.int32).reshape(-1)
    if failed(info):
        return factor, info
    x, n = rows(inverse_of_lower(factor), copy=False), factor.shape[-1]
    each("lauum", x.dtype, b"U", n, x, n)
    other = triangle(x, False, -1).swapaxes(-1, -2)
    x = triangle(x, False)
    x += other
    return x.reshape(factor.shape), info


def _invert_triangle(x: Any, letter: bytes, low: int, high: int) -> None:
    """Invert a block of the diagonal where it lies, by halves: trtri is slow if it is large."""
    import numpy

    n, middle = x.shape[-1], (low + high) // 2
    if high - low <= 80:
        each("trtri", x.dtype, letter, b"N", high - low, x[:, low:high, low:high], n)
        return
    first, second, one = slice(low, middle), slice(middle, high), numpy.ones(1, x.dtype)
    _invert_triangle(x, letter, low, middle)
    # LAPACK sees columns where these are rows
    if letter == b"U":
        sides, c = (b"L", b"R"), x[:, second, first]
    else:
        sides, c = (b"R", b"L"), x[:, first, second]
    size = (c.shape[-1], c.shape[-2])
    a, b = x[:, first, first], x[:, second, second]
    each("trmm", x.dtype, sides[0], letter, b"N", b"N", *size, one, a, n, c, n)
    each("trsm", x.dtype, sides[1], letter, b"N", b"N", *size, -one, b, n, c, n)
    _invert_triangle(x, letter, middle, high)


# ---- elimination -------------------------------------------------------------------------------


def lu(a: Any) -> tuple[Any, Any, Any]:
    """L and U in one matrix, the exchanged rows (counted from 1), info."""
    import numpy

    *batch, m, n = a.shape
    x = columns(a)
    pivots = numpy.zeros((len(x), max(1, min(m, n))), numpy.int32)
    info = each("getrf", a.dtype, m, n, x, m, pivots) if m and n else nothing(x)
    return turned(x, a.shape), pivots[:, : min(m, n)].reshape(*batch, min(m, n)), info


def lu_order(pivots: Any, count: int) -> Any:
    """The rows in the order in which exchanges leave them, of which none is beyond ``count``."""
    import numpy

    *batch, k = pivots.shape
    order = numpy.zeros((math.prod(batch), count)) + numpy.arange(count)
    if order.size and k:
        steps = rows(pivots[..., None], copy=False)
        each("laswp", order.dtype, 1, order, count, 1, k, steps, 1)
    return order.astype(numpy.int64).reshape(*batch, count)


def factor(a: Any) -> tuple[Any, Any, Any]:
    """The factors of aᵀ, which need no turning; exchanged rows; info."""
    import numpy

    x, n = rows(a), a.shape[-1]
    pivots = numpy.zeros((len(x), n), numpy.int32)
    info = each("getrf", a.dtype, n, n, x, n, pivots) if n else nothing(x)
    return x.reshape(a.shape), pivots.reshape(a.shape[:-1]), info


def inv_factored(factors: Any, pivots: Any, copy: bool = True) -> Any:
    """The inverse of a, from what ``factor`` gives for a."""
    n = factors.shape[-1]
    if factors.dtype.char != "D" and n >= _SOLVES:
        return _inv_by_triangles(factors, pivots)
    x = rows(factors, copy)
    if x.size:
        with_work("getri", x.dtype, n, x, n, rows(pivots[..., None], copy=False))
    return x.reshape(factors.shape)


_SOLVES = 64  # rows from which weft's solver of triangles beats getri and trtri, but for complex128


def _inv_by_triangles(factors: Any, pivots: Any) -> Any:
    """The inverse of a: as LAPACK sees aᵀ = P L U, a⁻¹ is P L⁻ᵀ U⁻ᵀ, and Lᵀ and Uᵀ lie here."""
    import numpy

    inverse = inverse_of_lower(factors)
    f, inverse = _C._from_buffer(factors), _C._from_buffer(inverse)
    inverse = numpy.asarray(_triangle_solve(f, inverse, True, True))
    order = lu_order(pivots, factors.shape[-1])
    result = numpy.empty_like(inverse)
    for i in numpy.ndindex(*order.shape[:-1]):
        result[i][order[i]] = inverse[i]
    return result


def inverse_of_lower(a: Any) -> Any:
    """The inverses of lower triangles; what lies above them is not read."""
    import numpy

    n, panel = a.shape[-1], 96
    inverse = numpy.zeros(a.shape, a.dtype)
    for low in range(0, n, panel):  # the rows above a panel of columns are zero
        high = min(low + panel, n)
        unit = numpy.zeros((*a.shape[:-2], n - low, high - low), a.dtype)
        unit[..., range(high - low), range(high - low)] = 1
        part = _triangle_solve(
            _C._from_buffer(a[..., low:, low:]), _C._from_buffer(unit), False, False
        )
        inverse[..., low:, low:high] = part
    return inverse


def inv(a: Any) -> tuple[Any, Any]:
    """The inverse; info."""
    factors, pivots, info = factor(a)
    return factors if failed(info) else inv_factored(factors, pivots, copy=False), info


def solve(a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """The x of a x = b, whose batches are equal; what ``factor`` gives for a."""
    factors, pivots, info = factor(a)
    x = b if failed(info) else solve_turned(factors, pivots, b, b"T")
    return x, factors, pivots, info


def solve_turned(factors: Any, pivots: Any, b: Any, letter: bytes = b"N") -> Any:
    """The x of aᵀ x = b (``b"T"``: of a x = b), from what ``factor`` gives for a."""
    x = columns(b)
    if x.size:
        n, k = b.shape[-2:]
        factors, pivots = rows(factors, copy=False), rows(pivots[..., None], copy=False)
        each("getrs", b.dtype, letter, n, k, factors, n, pivots, x, n)
    return turned(x, b.shape)


def ldl(a: Any, hermitian: bool) -> tuple[Any, Any, Any]:
    """The factors of a = L D Lᵀ, or L D Lᴴ, in one lower triangle; exchanged rows; info."""
    import numpy

    x, n = columns(a), a.shape[-1]
    pivots = numpy.zeros((len(x), n), numpy.int32)
    name = "hetrf" if hermitian and a.dtype.kind == "c" else "sytrf"
    info = with_work(name, a.dtype, b"L", n, x, n, pivots) if n else nothing(x)
    return turned(triangle(x, True), a.shape), pivots.reshape(a.shape[:-1]), info


def ldl_solve(factors: Any, pivots: Any, b: Any, hermitian: bool) -> Any:
    """The x of a x = b, from the factors of a; batches are equal."""
    x, (n, k) = columns(b), b.shape[-2:]
    if x.size:
        steps = rows(pivots[..., None], copy=False)
        name = "hetrs" if hermitian and b.dtype.kind == "c" else "sytrs"
        each(name, b.dtype, b"L", n, k, columns(factors), n, steps, x, n)
    return turned(x, b.shape)


# ---- reflections -------------------------------------------------------------------------------


def qr(a: Any, complete: bool, with_q: bool = True) -> tuple[Any, Any]:
    """Q, or None, and the upper triangle R."""
    import numpy

    *batch, m, n = a.shape
    x, k = columns(a), min(m, n)
    tau = numpy.zeros((len(x), max(1, k)), a.dtype)
    if k:
        with_work("geqrf", a.dtype, m, n, x, m, tau)
    wide = m if complete else k
    r = turned(triangle(x[..., :wide], False), (*batch, wide, n))
    if not with_q:
        return None, r
    if wide > n:
        q = numpy.zeros((len(x), wide, m), a.dtype)
        q[:, :n] = x
    else:
        q = x[:, :wide]
    if k:
        with_work("orgqr", a.dtype, m, wide, k, q, m, tau)
    elif complete:
        q += numpy.eye(m, dtype=a.dtype)
    return turned(q, (*batch, m, wide)), r


def reflections(a: Any) -> tuple[Any, Any]:
    """A QR decomposition as LAPACK leaves it: R above reflections, and their factors."""
    import numpy

    *batch, m, n = a.shape
    x, k = columns(a), min(m, n)
    tau = numpy.zeros((len(x), max(1, k)), a.dtype)
    if k:
        with_work("geqrf", a.dtype, m, n, x, m, tau)
    return turned(x, a.shape), tau[:, :k].reshape(*batch, k)


def reflected(a: Any, tau: Any) -> Any:
    """The first columns of the product of reflections, as many as a has."""
    m, n = a.shape[-2:]
    x, k = columns(a), tau.shape[-1]
    if x.size:
        factors = rows(tau[..., None], copy=False)
        with_work("orgqr", a.dtype, m, n, k, x, m, factors)
    return turned(x, a.shape)


def reflect(a: Any, tau: Any, b: Any, adjoint: bool) -> Any:
    """The product of reflections, or its adjoint, times b; batches are equal."""
    (m, n), k = b.shape[-2:], tau.shape[-1]
    x = columns(b)
    if x.size and k:
        factors = rows(tau[..., None], copy=False)
        letter = b"N" if not adjoint else b"C" if a.dtype.kind == "c" else b"T"
        with_work("ormqr", a.dtype, b"L", letter, m, n, k, columns(a), m, factors, x, m)
    return turned(x, b.shape)


# ---- singular values ---------------------------------------------------------------------------


def svd(a: Any, full: bool, vectors: bool = True) -> tuple[Any, Any, Any, Any]:
    """U, S, Vh (of aᵀ they are Vhᵀ, S, Uᵀ), and info."""
    import numpy

    *batch, m, n = a.shape
    x, k = rows(a), min(m, n)
    real = numpy.dtype(REAL.get(a.dtype.name, a.dtype.name))
    u_columns, v_rows = (m, n) if full else (k, k)
    s = numpy.zeros((len(x), max(1, k)), real)
    u = numpy.zeros((len(x), m, u_columns) if vectors else (len(x), 1), a.dtype)
    vh = numpy.zeros((len(x), v_rows, n) if vectors else (len(x), 1), a.dtype)
    info = not_finite(x)
    if k and not failed(info):
        job = b"N" if not vectors else b"A" if full else b"S"
        integers = numpy.zeros(8 * k, numpy.int32)
        reals = (
            (numpy.zeros(max(5 * k * k + 5 * k, 2 * max(m, n) * k + 2 * k * k + k), real),)
            if a.dtype.kind == "c"
            else ()
        )
        args = (job, n, m, x, n, s, vh, n, u, max(1, u_columns))
        info = with_work("gesdd", a.dtype, *args, more=(*reals, integers))
    elif vectors and not k:
        u += numpy.eye(m, u_columns, dtype=a.dtype)
        vh += numpy.eye(v_rows, n, dtype=a.dtype)
    s = s[:, :k].reshape(*batch, k)
    if not vectors:
        return None, s, None, info
    return u.reshape(*batch, m, u_columns), s, vh.reshape(*batch, v_rows, n), info


def lstsq(a: Any, b: Any, rcond: float, driver: str) -> tuple[Any, Any, Any, Any]:
    """The x that makes a x - b smallest, ranks, singular values (zeros by some drivers), info."""
    import numpy

    *batch, m, n = a.shape
    k, least, tall = b.shape[-1], min(m, n), max(m, n)
    real = numpy.dtype(REAL.get(a.dtype.name, a.dtype.name))
    x = columns(a)
    y = numpy.zeros((len(x), k, tall), a.dtype)
    y[..., :m] = columns(b)
    values, rank = numpy.zeros((len(x), max(1, least)), real), numpy.zeros((len(x), 1), numpy.int32)
    info = not_finite(x) | not_finite(y)
    if least and k and not failed(info):
        args: tuple[Any, ...] = (m, n, k, x, m, y, tall)
        limit = numpy.array([rcond], real)
        is_complex = a.dtype.kind == "c"
        if driver == "gels":
            info = with_work("gels", a.dtype, b"N", *args)
        elif driver == "gelsy" and m >= n and _solved_by_qr(x, y, m, n, rcond):
            rank += n
        elif driver == "gelsy":
            order = numpy.zeros((len(x), n), numpy.int32)
            reals = (numpy.zeros(2 * n, real),) if is_complex else ()
            info = with_work("gelsy", a.dtype, *args, order, limit, rank, more=reals)
        else:
            levels = max(0, int(math.log2(max(1.0, least / 26))) + 1)
            leaves = 3 * n + 2 * n * 25 + 8 * n * levels + 3 * 25 * k
            leaves = 10 * n + leaves + max(26 * 26, n * (1 + k) + 2 * k) + 10 * m
            reals = (numpy.zeros(leaves, real),) if is_complex else ()
            whole = (numpy.zeros(3 * least * levels + 11 * least, numpy.int32),)
            more = (*reals, *(whole if driver == "gelsd" else ()))
            info = with_work(driver, a.dtype, *args, values, limit, rank, more=more)
    x = turned(y[..., :n], (*batch, n, k))
    return x, rank.reshape(batch), values[:, :least].reshape(*batch, least), info


def _solved_by_qr(a: Any, y: Any, m: int, n: int, rcond: float) -> bool:
    """Put solutions into y if the columns of a are far from dependent; else leave both alone.

    That spares the exchanges of columns by which gelsy finds the rank.
    """
    import numpy

    x, tau = a.copy(), numpy.zeros((len(a), n), a.dtype)
    with_work("geqrf", a.dtype, m, n, x, m, tau)
    real = numpy.dtype(REAL.get(a.dtype.name, a.dtype.name))
    found = numpy.zeros((2, len(x), 1), real)  # of the norms 1 and infinity, over their inverses
    more = numpy.empty(n, real if a.dtype.kind == "c" else numpy.int32)
    work = numpy.empty(3 * n, a.dtype)
    for norm, values in zip((b"1", b"I"), found):
        each("trcon", a.dtype, norm, b"U", b"N", n, x, m, values, work, more)
    # The product is a bound for the square of that of the norm 2, which rcond is for.
    if not (found[0] * found[1] > (10 * rcond) ** 2).all():
        return False
    k, tall = y.shape[-2:]
    letter = b"C" if a.dtype.kind == "c" else b"T"
    with_work("ormqr", a.dtype, b"L", letter, m, k, n, x, m, tau, y, tall)
    each("trtrs", a.dtype, b"U", b"N", b"N", n, k, x, m, y, tall)
    return True


# ---- eigenvalues -------------------------------------------------------------------------------


def eigh(a: Any, lower: bool, vectors: bool = True) -> tuple[Any, Any, Any]:
    """Eigenvalues in ascending order, eigenvectors or None, info."""
    import numpy

    x, n = rows(a), a.shape[-1]
    real = numpy.dtype(REAL.get(a.dtype.name, a.dtype.name))
    values = numpy.zeros((len(x), max(1, n)), real)
    info = not_finite(triangle(x, not lower))
    if n and not failed(info):
        job = b"V" if vectors else b"N"
        real_size = 1 + 5 * n + 2 * n * n
        reals = (numpy.zeros(real_size, real), real_size) if a.dtype.kind == "c" else ()
        more = (*reals, numpy.zeros(3 + 5 * n, numpy.int32), 3 + 5 * n)
        # the triangle of the transpose
        args = (job, b"U" if lower else b"L", n, x, n, values)
        info = with_work("syevd", a.dtype, *args, more=more)
    values = values[:, :n].reshape(a.shape[:-1])
    if not vectors:
        return values, None, info
    return values, turned(x.conj() if a.dtype.kind == "c" else x, a.shape), info


def eig(a: Any, vectors: bool = True) -> tuple[Any, Any, Any]:
    """Complex eigenvalues, eigenvectors of length one or None, info."""
    import numpy

    x, n = columns(a), a.shape[-1]
    wide = numpy.dtype("complex64" if a.dtype.name in ("float32", "complex64") else "complex128")
    if not x.size:
        return numpy.zeros(a.shape[:-1], wide), numpy.zeros(a.shape, wide), nothing(x)
    left = numpy.zeros((len(x), 1), a.dtype)
    v = numpy.zeros_like(x) if vectors else left
    jobs, last = (b"N", b"V" if vectors else b"N", n, x, n), (left, 1, v, n)
    if a.dtype.kind == "c":
        values = numpy.zeros((len(x), n), a.dtype)
        reals = numpy.zeros(2 * n, REAL[a.dtype.name])
        info = with_work("geev", a.dtype, *jobs, values, *last, more=(reals,))
    else:
        re, im = numpy.zeros((len(x), n), a.dtype), numpy.zeros((len(x), n), a.dtype)
        info = with_work("geev", a.dtype, *jobs, re, im, *last)
        values = re + wide.type(1j) * im
        if vectors:
            v = _pairs(v, im, wide)
    found = turned(v, a.shape) if vectors else None
    return values.reshape(a.shape[:-1]), found, info


def _pairs(v: Any, im: Any, wide: Any) -> Any:
    """Complex vectors: of conjugates, the real and the imaginary part lie one after the other."""
    import numpy

    found = v.astype(wide)
    i, j = numpy.nonzero(im > 0)
    found.imag[i, j] = v[i, j + 1]
    found.real[i, j + 1] = v[i, j]
    found.imag[i, j + 1] = -v[i, j + 1]
    return found
