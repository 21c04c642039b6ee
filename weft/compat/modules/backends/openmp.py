"""``weft.backends.openmp``: the threads of weft's loops."""

from __future__ import annotations


def is_available() -> bool:
    """Say whether weft computes with several threads.

    >>> weft.backends.openmp.is_available()
    True
    """
    return True
