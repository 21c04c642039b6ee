"""``weft.backends.mkldnn``: oneDNN, which PyTorch uses. weft's own kernels do its work."""

from __future__ import annotations

enabled: bool = False


def is_available() -> bool:
    """Say whether weft was built with oneDNN: it never is.

    >>> weft.backends.mkldnn.is_available()
    False
    """
    return False
