"""``weft.backends.mps``: Apple's GPUs, which weft does not use."""

from __future__ import annotations


def is_available() -> bool:
    """Say whether it is there.

    >>> weft.backends.mps.is_available()
    False
    """
    return False


def is_built() -> bool:
    """Say whether weft was built for it.

    >>> weft.backends.mps.is_built()
    False
    """
    return False
