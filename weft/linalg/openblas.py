"""Calls of LAPACK and BLAS: OpenBLAS, as the package scipy-openblas32 brings it.

It is handed NumPy arrays with one batch dimension and matrices without gaps, and works where they lie.
``info`` is what LAPACK says of each matrix: 0, or where it gave up.
"""

from __future__ import annotations

import functools
import math

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}  # NumPy's for the same
REAL = {"complex64": "float32", "complex128": "float64"}


@functools.cache
def _library() -> Any:
    """Load it, once."""
    import ctypes
    import os

    import scipy_openblas32 as package

    return ctypes.CDLL(os.path.join(package.get_lib_dir(), package.get_library(fullname=True)))


@functools.cache
def _address(name: str, char: str) -> int:
    import ctypes

    letter = _LETTERS[char]
    if letter in "cz":  # what is orthogonal for reals is unitary here
        name = "heevd" if name == "syevd" else "un" + name[2:] if name[:2] == "or" else name
    function = getattr(_library(), f"scipy_{letter}{name}_")
    return ctypes.cast(function, ctypes.c_void_p).value or 0


_threads = 0


def _use_threads() -> None:
    """Let it use as many threads as weft's own kernels."""
    global _threads

    count = _C.get_num_threads()
    if count != _threads:
        _library().scipy_openblas_set_num_threads(count)
        _threads = count


def each(name: str, dtype: Any, *args: Any) -> Any:
    """Call a function for each matrix: numbers and letters are the same for all.

    Arrays have the batch as their first dimension, or are work space if they have one dimension.
    Returns what it says of each. BLAS says nothing, and does not read the pointer for that.
    """
    import numpy

    _use_threads()
    for a in args:
        if type(a) is numpy.ndarray and a.ndim > 1:
            info = numpy.zeros((len(a), 1), numpy.int32)
            if len(a):
                _C._call_each(_address(name, dtype.char), (*args, info))
            return info[:, 0]
    return numpy.zeros(0, numpy.int32)


def failed(info: Any) -> bool:
    """Whether LAPACK gave up on one of the matrices."""
    return bool(info[0] if info.shape == (1,) else info.any())


_sizes: dict[Any, int] = {}


def with_work(name: str, dtype: Any, *args: Any, more: tuple[Any, ...] = ()) -> Any:
    """The same for functions that want work space, as much as they say; ``more`` comes behind it."""
    import numpy

    case = (name, dtype.char, *(a for a in args if isinstance(a, (bytes, int))))
    size = _sizes.get(case)
    if size is None:
        wanted = numpy.zeros(1, dtype)
        first = tuple(a[:1] if getattr(a, "ndim", 0) > 1 else a for a in args)
        each(name, dtype, *first, wanted, -1, *more)
        size = max(1, int(wanted[0].real))
        if len(_sizes) > 1000:
            _sizes.clear()
        if all(len(a) for a in first if getattr(a, "ndim", 0) > 1):
            _sizes[case] = size
    return each(name, dtype, *args, numpy.empty(size, dtype), size, *more)


def nothing(a: Any) -> Any:
    """The info of matrices that need no work."""
    import numpy

    return numpy.zeros(len(a), numpy.int32)


# ---- memory ------------------------------------------------------------------------------------


def rows(a: Any, copy: bool = True) -> Any:
    """One batch dimension, each matrix row after row; by default memory of its own."""
    import numpy

    shape = (math.prod(a.shape[:-2]), *a.shape[-2:])
    if a.flags.c_contiguous:
        return a.reshape(shape).copy() if copy else a.reshape(shape)
    if a.size <= 4096:
        return a.copy("C").reshape(shape)
    memory = numpy.empty(a.shape, a.dtype)
    _C._from_buffer(memory).copy_(_C._from_buffer(a))  # weft goes through matrices in tiles
    return memory.reshape(shape)


def columns(a: Any) -> Any:
    """Memory of its own, one batch dimension, each matrix column after column: the transposes."""
    return rows(a.swapaxes(-1, -2))


def turned(a: Any, shape: Any) -> Any:
    """The transposes of matrices with one batch dimension, with the batch they had."""
    return a.swapaxes(-1, -2).reshape(shape)


def triangle(a: Any, upper: bool, diagonal: int = 0) -> Any:
    """A copy of the upper or lower triangle, zeros elsewhere."""
    import numpy

    t = _C._from_buffer(a)
    return numpy.asarray(t.triu(diagonal) if upper else t.tril(diagonal))


def product(a: Any, b: Any) -> Any:
    """Matrices multiplied by weft: NumPy has a BLAS of its own, with its own threads."""
    import numpy

    return numpy.asarray(_C._from_buffer(a) @ _C._from_buffer(b))


def not_finite(a: Any) -> Any:
    """1 for each matrix with a number that is not finite: iterations on it may never end."""
    import numpy

    return (~numpy.isfinite(a).all((-2, -1))).astype(numpy.int32)
