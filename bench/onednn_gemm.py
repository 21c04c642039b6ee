"""``python -m bench.onednn_gemm``: weft's own matrix product beside that of the oneDNN it ships.

Both in one process, in turns, one thread; minima. See docs/notes/matmul.md.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path

SIZES = [
    (32, 32, 32),
    (64, 64, 64),
    (128, 128, 128),
    (256, 256, 256),
    (512, 512, 512),
    (1024, 1024, 1024),
    (128, 1024, 784),
    (32, 1024, 256),
    (2048, 256, 256),
    (1, 1024, 1024),
]


def seconds(f: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def both(onednn: ctypes.CDLL, m: int, n: int, k: int) -> tuple[float, float]:
    """Return GFLOP/s of oneDNN and of weft."""
    import weft

    a, b, c = weft.rand(m, k), weft.rand(k, n), weft.zeros(m, n)
    pa, pb, pc = (ctypes.c_void_p(t.data_ptr()) for t in (a, b, c))
    plain, long, real = ctypes.c_char(b"N"), ctypes.c_int64, ctypes.c_float
    given = (
        *(plain, plain, long(m), long(n), long(k)),
        *(real(1), pa, long(k), pb, long(n), real(0), pc, long(n)),
    )
    assert onednn.dnnl_sgemm(*given) == 0 and weft.allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    times = [
        (seconds(lambda: onednn.dnnl_sgemm(*given)), seconds(lambda: weft.mm(a, b)))
        for _ in range(100)
    ]
    theirs, ours = (2 * m * n * k / min(t) / 1e9 for t in zip(*times))
    return theirs, ours


def main() -> None:
    """Print both for every size."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import weft

    weft.set_num_threads(1)
    onednn = ctypes.CDLL(str(Path(weft.__file__).parent / "lib" / "libdnnl.so.3"))
    print("   m    n    k   oneDNN     weft  GFLOP/s")
    for size in SIZES:
        theirs, ours = both(onednn, *size)
        print("{:4} {:4} {:4}".format(*size), f"{theirs:8.1f} {ours:8.1f}   x{ours / theirs:.2f}")


if __name__ == "__main__":
    main()
