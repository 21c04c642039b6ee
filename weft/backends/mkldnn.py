"""``weft.backends.mkldnn``: oneDNN, which computes weft's larger convolutions and products."""

from __future__ import annotations

import os

import weft

enabled: bool = True


def is_available() -> bool:
    """Say whether weft was built with oneDNN.

    >>> isinstance(weft.backends.mkldnn.is_available(), bool)
    True
    """
    folder = os.path.join(os.path.dirname(weft.__file__), "lib")
    return os.path.isdir(folder) and any("onednn" in name for name in os.listdir(folder))
