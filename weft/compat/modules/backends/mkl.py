"""``weft.backends.mkl``: Intel's library of matrix products, which weft does not use."""

from __future__ import annotations


def is_available() -> bool:
    """Say whether it is there.

    >>> weft.backends.mkl.is_available()
    False
    """
    return False
