"""LAPACK, in the dtype of its input: OpenBLAS, as the package scipy-openblas32 brings it.

Functions take and return NumPy arrays of matrices, one matrix or a batch of any shape. LAPACK counts
along columns first, so it sees the transpose of a matrix that lies row after row in memory. It is asked
for what the transpose needs, and nothing is copied only to turn it.

``info`` is what LAPACK says of each matrix: 0, or where it gave up.
"""

from __future__ import annotations

import functools
import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_REAL = {"complex64": "float32", "complex128": "float64"}


@functools.cache
def _library() -> Any:
    """Load it, once."""
    import ctypes
    import os

    import scipy_openblas32 as package

    return ctypes.CDLL(os.path.join(package.get_lib_dir(), package.get_library(fullname=True)))


@functools.cache
def _function(name: str, dtype: str) -> Any:
    letter = _LETTERS[dtype]
    if letter in "cz":  # what is symmetric or orthogonal for reals is Hermitian or unitary here
        name = {"sy": "he", "or": "un"}.get(name[:2], name[:2]) + name[2:]
    function = getattr(_library(), f"scipy_{letter}{name}_")
    function.restype = None
    return function


_threads = 0


def _use_threads() -> None:
    """Let it use as many threads as weft's own kernels."""
    global _threads
    import weft

    count = weft.get_num_threads()
    if count != _threads:
        _library().scipy_openblas_set_num_threads(count)
        _threads = count


def _each(name: str, dtype: Any, *args: Any) -> Any:
    """Call a function of LAPACK for each matrix: numbers and letters are the same for all.

    Arrays have the batch as their first dimension, or are work space if they have one dimension.
    Returns what it says of each.
    """
    import ctypes

    import numpy

    _use_threads()
    function = _function(name, dtype.name)
    count = max(len(a) for a in args if getattr(a, "ndim", 0) > 1)
    info = numpy.zeros((count, 1), numpy.int32)
    if not count:
        return info[:, 0]
    pointers: list[Any] = []
    moving = []
    for a in (*args, info):
        if isinstance(a, bytes):
            pointers.append(ctypes.c_char_p(a))
        elif isinstance(a, int):
            pointers.append(ctypes.byref(ctypes.c_int(a)))
        else:
            assert a.flags.c_contiguous
            pointer = ctypes.c_void_p(a.ctypes.data)
            if a.ndim > 1 and count > 1:
                moving.append((pointer, a.strides[0]))
            pointers.append(pointer)
    function(*pointers)
    for _ in range(count - 1):
        for pointer, step in moving:
            pointer.value += step
        function(*pointers)
    return info[:, 0]


def _with_work(name: str, dtype: Any, *args: Any, more: tuple[Any, ...] = ()) -> Any:
    """The same for functions that want work space, as much as they say; ``more`` comes behind it."""
    import numpy

    wanted = numpy.zeros(1, dtype)
    first = tuple(a[:1] if getattr(a, "ndim", 0) > 1 else a for a in args)
    _each(name, dtype, *first, wanted, -1, *more)
    size = max(1, int(wanted[0].real))
    return _each(name, dtype, *args, numpy.empty(size, dtype), size, *more)


def _flat(a: Any, copy: bool = True) -> Any:
    """One batch dimension, each matrix row after row; by default memory of its own."""
    import numpy

    a = a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])
    return numpy.array(a, order="C", copy=True) if copy else numpy.ascontiguousarray(a)


def _not_finite(a: Any) -> Any:
    """1 for each matrix with a number that is not finite: iterations on it may never end."""
    import numpy

    return (~numpy.isfinite(a).reshape(len(a), -1).all(-1)).astype(numpy.int32)


# ---- factors -----------------------------------------------------------------------------------


def cholesky(a: Any) -> tuple[Any, Any]:
    """The lower triangles L with a = L Lᴴ, of which the lower triangle is read; info."""
    import numpy

    low, n = _flat(a), a.shape[-1]
    info = _each("potrf", a.dtype, b"U", n, low, max(1, n)) if n else _none(low)
    return numpy.tril(low).reshape(a.shape), info


def _none(a: Any) -> Any:
    import numpy

    return numpy.zeros(len(a), numpy.int32)


def lu(a: Any) -> tuple[Any, Any, Any]:
    """L and U in one matrix, the exchanged rows (counted from 1), info."""
    import numpy

    *batch, m, n = a.shape
    columns = _flat(a.swapaxes(-1, -2))
    pivots = numpy.zeros((len(columns), max(1, min(m, n))), numpy.int32)
    info = _each("getrf", a.dtype, m, n, columns, max(1, m), pivots) if m and n else _none(columns)
    both = columns.swapaxes(-1, -2).reshape(a.shape)
    return both, pivots[:, : min(m, n)].reshape(*batch, min(m, n)), info


def inv(a: Any) -> tuple[Any, Any]:
    """The inverse; info."""
    import numpy

    x, n = _flat(a), a.shape[-1]
    if not n:
        return x.reshape(a.shape), _none(x)
    pivots = numpy.zeros((len(x), n), numpy.int32)
    info = _each("getrf", a.dtype, n, n, x, n, pivots)
    if not info.any():
        _with_work("getri", a.dtype, n, x, n, pivots)
    return x.reshape(a.shape), info


def solve(a: Any, b: Any) -> tuple[Any, Any]:
    """The x of a x = b, whose batches are equal; info."""
    import numpy

    factors, n, k = _flat(a), a.shape[-1], b.shape[-1]
    columns = _flat(b.swapaxes(-1, -2))
    if not (n and k):
        return numpy.zeros(b.shape, b.dtype), _none(factors)
    pivots = numpy.zeros((len(factors), n), numpy.int32)
    info = _each("getrf", a.dtype, n, n, factors, n, pivots)
    if not info.any():  # it has factorised the transpose of a
        _each("getrs", a.dtype, b"T", n, k, factors, n, pivots, columns, n)
    return columns.swapaxes(-1, -2).reshape(b.shape), info


def solve_triangular(a: Any, b: Any, upper: bool, left: bool, unit: bool) -> Any:
    """The x of a x = b, or of x a = b; batches are equal."""
    import numpy

    x = _flat(b)
    m, n = b.shape[-2:]
    if x.size:
        one = numpy.ones(1, a.dtype)
        side, triangle = b"R" if left else b"L", b"L" if upper else b"U"
        unit_letter = b"U" if unit else b"N"
        k = a.shape[-1]
        a = _flat(a, copy=False)
        # of BLAS: it says nothing, and does not read the pointer for that
        _each("trsm", a.dtype, side, triangle, b"N", unit_letter, n, m, one, a, k, x, n)
    return x.reshape(b.shape)


def qr(a: Any, complete: bool, with_q: bool = True) -> tuple[Any, Any]:
    """Q, or None, and the upper triangle R: the transposes of the factors L and Q of aᵀ."""
    import numpy

    *batch, m, n = a.shape
    x, k = _flat(a), min(m, n)
    tau = numpy.zeros((len(x), max(1, k)), a.dtype)
    if k:
        _with_work("gelqf", a.dtype, n, m, x, n, tau)
    wide = m if complete else k
    r = numpy.zeros((len(x), wide, n), a.dtype)
    r[:, :k] = numpy.triu(x[:, :k])
    q = None
    if with_q:
        q = numpy.zeros((len(x), m, wide), a.dtype)
        q[..., :k] = x[..., :k]
        if k:
            _with_work("orglq", a.dtype, wide, m, k, q, wide, tau)
        elif complete:
            q += numpy.eye(m, dtype=a.dtype)
        q = q.reshape(*batch, m, wide)
    return q, r.reshape(*batch, wide, n)


def reflections(a: Any) -> tuple[Any, Any]:
    """A QR decomposition as LAPACK leaves it: R above reflections, and their factors."""
    import numpy

    *batch, m, n = a.shape
    columns, k = _flat(a.swapaxes(-1, -2)), min(m, n)
    tau = numpy.zeros((len(columns), max(1, k)), a.dtype)
    if k:
        _with_work("geqrf", a.dtype, m, n, columns, m, tau)
    return columns.swapaxes(-1, -2).reshape(a.shape), tau[:, :k].reshape(*batch, k)


def svd(a: Any, full: bool, vectors: bool = True) -> tuple[Any, Any, Any, Any]:
    """U, S, Vh (of aᵀ they are Vhᵀ, S, Uᵀ), and info."""
    import numpy

    *batch, m, n = a.shape
    x, k = _flat(a), min(m, n)
    real = numpy.dtype(_REAL.get(a.dtype.name, a.dtype.name))
    u_columns, v_rows = (m, n) if full else (k, k)
    s = numpy.zeros((len(x), max(1, k)), real)
    u = numpy.zeros((len(x), m, u_columns) if vectors else (len(x), 1), a.dtype)
    vh = numpy.zeros((len(x), v_rows, n) if vectors else (len(x), 1), a.dtype)
    info = _not_finite(x)
    if k and not info.any():
        job = b"N" if not vectors else b"A" if full else b"S"
        integers = numpy.zeros(8 * k, numpy.int32)
        reals = (
            (numpy.zeros(max(5 * k * k + 5 * k, 2 * max(m, n) * k + 2 * k * k + k), real),)
            if a.dtype.kind == "c"
            else ()
        )
        info = _with_work(
            "gesdd",
            a.dtype,
            job,
            n,
            m,
            x,
            n,
            s,
            vh,
            n,
            u,
            max(1, u_columns),
            more=(*reals, integers),
        )
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
    real = numpy.dtype(_REAL.get(a.dtype.name, a.dtype.name))
    x = _flat(a.swapaxes(-1, -2))
    columns = numpy.zeros((len(x), k, tall), a.dtype)
    columns[..., :m] = b.swapaxes(-1, -2).reshape(len(x), k, m)
    values, rank = numpy.zeros((len(x), max(1, least)), real), numpy.zeros((len(x), 1), numpy.int32)
    info = _not_finite(x) | _not_finite(columns)
    if least and k and not info.any():
        args: tuple[Any, ...] = (m, n, k, x, m, columns, tall)
        limit = numpy.array([rcond], real)
        is_complex = a.dtype.kind == "c"
        if driver == "gels":
            info = _with_work("gels", a.dtype, b"N", *args)
        elif driver == "gelsy":
            order = numpy.zeros((len(x), n), numpy.int32)
            reals = (numpy.zeros(2 * n, real),) if is_complex else ()
            info = _with_work("gelsy", a.dtype, *args, order, limit, rank, more=reals)
        else:
            levels = max(0, int(math.log2(max(1.0, least / 26))) + 1)
            leaves = 3 * n + 2 * n * 25 + 8 * n * levels + 3 * 25 * k
            leaves = 10 * n + leaves + max(26 * 26, n * (1 + k) + 2 * k) + 10 * m
            reals = (numpy.zeros(leaves, real),) if is_complex else ()
            whole = (numpy.zeros(3 * least * levels + 11 * least, numpy.int32),)
            more = (*reals, *(whole if driver == "gelsd" else ()))
            info = _with_work(driver, a.dtype, *args, values, limit, rank, more=more)
    x = columns[..., :n].swapaxes(-1, -2).reshape(*batch, n, k)
    return x, rank.reshape(batch), values[:, :least].reshape(*batch, least), info


# ---- eigenvalues -------------------------------------------------------------------------------


def eigh(a: Any, lower: bool, vectors: bool = True) -> tuple[Any, Any, Any]:
    """Eigenvalues in ascending order, eigenvectors or None, info."""
    import numpy

    x, n = _flat(a), a.shape[-1]
    real = numpy.dtype(_REAL.get(a.dtype.name, a.dtype.name))
    values = numpy.zeros((len(x), max(1, n)), real)
    info = _not_finite(numpy.tril(x) if lower else numpy.triu(x))
    if n and not info.any():
        job = b"V" if vectors else b"N"
        real_size = 1 + 5 * n + 2 * n * n
        reals = (numpy.zeros(real_size, real), real_size) if a.dtype.kind == "c" else ()
        more = (*reals, numpy.zeros(3 + 5 * n, numpy.int32), 3 + 5 * n)
        # the triangle of the transpose
        args = (job, b"U" if lower else b"L", n, x, n, values)
        info = _with_work("syevd", a.dtype, *args, more=more)
    values = values[:, :n].reshape(a.shape[:-1])
    if not vectors:
        return values, None, info
    turned = x.swapaxes(-1, -2)
    return values, (turned.conj() if a.dtype.kind == "c" else turned).reshape(a.shape), info


def eig(a: Any) -> tuple[Any, Any, Any]:
    """Complex eigenvalues, eigenvectors of length one, info."""
    import numpy

    x, n = _flat(a.swapaxes(-1, -2)), a.shape[-1]
    wide = numpy.dtype(
        "complex64" if a.dtype.itemsize // (1 + (a.dtype.kind == "c")) == 4 else "complex128"
    )
    if not x.size:
        return numpy.zeros(a.shape[:-1], wide), numpy.zeros(a.shape, wide), _none(x)
    v, left = numpy.zeros_like(x), numpy.zeros((len(x), 1), a.dtype)
    if a.dtype.kind == "c":
        values = numpy.zeros((len(x), n), a.dtype)
        reals = numpy.zeros(2 * n, _REAL[a.dtype.name])
        args = (b"N", b"V", n, x, n, values, left, 1, v, n)
        info = _with_work("geev", a.dtype, *args, more=(reals,))
        vectors = v.swapaxes(-1, -2)
    else:
        re, im = numpy.zeros((len(x), n), a.dtype), numpy.zeros((len(x), n), a.dtype)
        info = _with_work("geev", a.dtype, b"N", b"V", n, x, n, re, im, left, 1, v, n)
        values = re + wide.type(1j) * im
        # pairs of conjugates: the real and the imaginary part lie one after the other
        first = im > 0
        second = numpy.roll(first, 1, -1)
        vectors = v.astype(wide)
        i, j = numpy.nonzero(first)
        vectors[i, j] = v[i, j] + 1j * v[i, (j + 1) % n]
        i, j = numpy.nonzero(second & (im < 0))
        vectors[i, j] = v[i, j - 1] - 1j * v[i, j]
        vectors = vectors.swapaxes(-1, -2)
    return values.reshape(a.shape[:-1]), vectors.reshape(a.shape), info
