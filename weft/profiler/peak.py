"""What this machine can do at most: the speed of a matrix product of floats, measured once."""

from __future__ import annotations

import time

import weft

__all__ = ["peak_flops"]

_SIZE, _ROUNDS = 512, 12
_measured: dict[int, float] = {}  # by the number of threads


def peak_flops() -> float:
    """Return operations in a second of a large matrix product, with as many threads as ops have now.

    It is measured when it is first asked for, in about 30 ms: the best of some products of 512x512.

    >>> from weft.profiler.peak import peak_flops
    >>> peak_flops() > 1e8
    True
    """
    threads = weft.get_num_threads()
    if threads not in _measured:
        with weft.no_grad():
            x = weft.ones(_SIZE, _SIZE)
            best = min(_seconds(x) for _ in range(_ROUNDS))
        _measured[threads] = 2 * _SIZE**3 / best
    return _measured[threads]


def _seconds(x: weft.Tensor) -> float:
    start = time.perf_counter()
    weft.mm(x, x)
    return time.perf_counter() - start
