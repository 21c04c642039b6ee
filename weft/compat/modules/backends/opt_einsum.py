"""``weft.backends.opt_einsum``: a library that orders sums of products; weft has its own order."""

from __future__ import annotations

enabled: bool = False
strategy: str | None = None


def is_available() -> bool:
    """Say whether the library is used.

    >>> weft.backends.opt_einsum.is_available()
    False
    """
    return False
