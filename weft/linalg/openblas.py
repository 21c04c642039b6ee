"""Where LAPACK and BLAS are: OpenBLAS, as the package scipy-openblas32 brings it.

The kernels that call it (``csrc/ops/lapack*.cpp``) ask here for the address of a routine when they first need it.
"""

from __future__ import annotations

import functools

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LETTERS = {weft.float32: "s", weft.float64: "d", weft.complex64: "c", weft.complex128: "z"}


@functools.cache
def _library() -> Any:
    """Load it, once."""
    import ctypes
    import os

    import scipy_openblas32 as package

    return ctypes.CDLL(os.path.join(package.get_lib_dir(), package.get_library(fullname=True)))


def address(name: str, dtype: Any) -> int:
    """Return where the routine of this name is, for matrices of this dtype."""
    import ctypes

    letter = _LETTERS[dtype]
    if letter in "cz":  # what is orthogonal for reals is unitary here
        name = "heevd" if name == "syevd" else "un" + name[2:] if name[:2] == "or" else name
    function = getattr(_library(), f"scipy_{letter}{name}_")
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def use_threads(count: int) -> None:
    """Let it use as many threads as weft's own kernels."""
    _library().scipy_openblas_set_num_threads(count)
