"""Whether the work of a function grows as its task does, or faster."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any


def assert_linear(f: Callable[[int], Any], small: int, large: int) -> None:
    """Assert that ``f(large)`` works no more than in proportion, by a margin for constant parts.

    It is CPU time of this thread that counts, which hardly depends on how busy the machine is, and
    the margin is wide: linear work takes ``large / small`` as long, quadratic work the square of it,
    and half way between them is where this fails. So let it be a hundred. Garbage is not collected
    meanwhile: that takes the longer, the more other tests have left.
    """

    def seconds(n: int) -> float:
        start = time.thread_time()
        f(n)
        return time.thread_time() - start

    f(small)
    gc.collect()
    gc.disable()
    try:
        least, most = min(seconds(small) for _ in range(5)), seconds(large)
    finally:
        gc.enable()
    assert most < (large / small) ** 1.5 * max(least, 1e-4), f"{most} s after {least} s"
