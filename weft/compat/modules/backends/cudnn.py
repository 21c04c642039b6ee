"""``weft.backends.cudnn``: NVIDIA's library of layers, which weft does not have."""

from __future__ import annotations

from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

enabled: bool = True
benchmark: bool = False
benchmark_limit: int | None = None
deterministic: bool = False
allow_tf32: bool = True


def is_available() -> bool:
    """Say whether the library is there.

    >>> weft.backends.cudnn.is_available()
    False
    """
    return False


def version() -> int | None:
    """Return the version of the library: None without one.

    >>> weft.backends.cudnn.version() is None
    True
    """
    return None


def is_acceptable(tensor: object) -> bool:
    """Say whether the library could work on a tensor: it is not there.

    >>> weft.backends.cudnn.is_acceptable(weft.ones(1))
    False
    """
    return False


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set all switches inside a ``with`` block.

    >>> with weft.backends.cudnn.flags(benchmark=True):
    ...     weft.backends.cudnn.benchmark
    True
    """
    new = {
        "enabled": enabled,
        "benchmark": benchmark,
        "benchmark_limit": benchmark_limit,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    old = {name: globals()[name] for name in new}
    globals().update(new)
    try:
        yield
    finally:
        globals().update(old)
