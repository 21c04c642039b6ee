"""The 1,797 handwritten digits of UCI, bundled with weft (see DIGITS_LICENSE.md)."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["load_digits"]


def load_digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Returns 1,797 grey images of 8x8 pixels and the digit that each shows.

    Returns:
        images: float32 of shape (1797, 8, 8), 0 for paper and 1 for ink.
        labels: int64 of shape (1797,), from 0 to 9.

    Example:
        >>> from weft.utils.data.digits import load_digits
        >>> images, labels = load_digits()
        >>> images.shape, labels[:5].tolist()
        ((1797, 8, 8), [0, 1, 2, 3, 4])
    """
    import numpy as np

    path = Path(__file__).with_name("digits.csv.gz")
    with gzip.open(path, "rt", encoding="ascii", newline="") as f:
        rows = np.array([[int(cell) for cell in row] for row in csv.reader(f)], dtype=np.int64)
    pixels, labels = rows[:, :64], rows[:, 64]
    images = (pixels.reshape(-1, 8, 8) / 16).astype(np.float32)  # 16: the most ink a pixel can hold
    return images, labels.copy()
