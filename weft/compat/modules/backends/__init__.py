"""``weft.backends``: the libraries below, under PyTorch's names, and their switches.

A switch of a library that weft does not use can be set and read, and changes nothing, as in
PyTorch on a machine without it.

>>> weft.backends.cudnn.benchmark = True
>>> weft.backends.cudnn.is_available(), weft.backends.mps.is_available()
(False, False)
>>> weft.backends.cudnn.benchmark = False
"""

from __future__ import annotations

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, quantized, winograd

__all__ = [
    "cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized", "winograd",
]  # fmt: skip
