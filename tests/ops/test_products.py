"""Products of matrices in shapes that take ways of their own: the same as in float64, on any thread."""

from __future__ import annotations

import numpy as np
import pytest

import weft

# Rows, depth, columns; whether a and b are given transposed.
SHAPES = [
    (768, 1100, 256, True, False),  # made turned, since that packs less
    (130, 2048, 65, True, False),
    (97, 1024, 96, True, False),
    (64, 70, 64, False, False),  # ends in two halves
    (50, 40, 112, False, True),
    (33, 600, 160, True, False),
    (20, 128, 1, False, False),  # inner products
    (64, 16, 1, False, True),
    (5, 15, 1, False, False),
    (9, 64, 2, False, False),  # few columns
    (274, 365, 2, False, True),
    (65, 130, 3, False, False),
    (300, 700, 4, False, True),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
def test_against_numpy(shape: tuple[int, int, int, bool, bool], kind: str) -> None:
    """Single matrices and batches of them, added to something or not."""
    m, k, n, turn_a, turn_b = shape
    weft.manual_seed(0)
    dtype = getattr(weft, kind)

    def drawn(rows: int, columns: int, turned: bool) -> weft.Tensor:
        size = (3, columns, rows) if turned else (3, rows, columns)
        x = (
            weft.randint(-9, 9, size).to(dtype)
            if kind == "int64"
            else weft.randn(*size, dtype=dtype)
        )
        return x.transpose(1, 2) if turned else x

    a, b = drawn(m, k, turn_a), drawn(k, n, turn_b)
    wide = np.int64 if kind == "int64" else np.float64
    want = np.asarray(a).astype(wide) @ np.asarray(b).astype(wide)
    bound = {"float32": 3e-6, "float64": 1e-13, "int64": 0}[kind] * max(np.abs(want).max(), 1)
    threads = weft.get_num_threads()
    try:
        for count in (1, 3):
            weft.set_num_threads(count)
            assert np.abs(np.asarray(a @ b) - want).max() <= bound
            assert np.abs(np.asarray(a[0] @ b[0]) - want[0]).max() <= bound
            plus = weft.addmm(weft.ones(m, n, dtype=dtype), a[1], b[1])
            assert np.abs(np.asarray(plus) - 1 - want[1]).max() <= bound
            assert weft.equal(a @ b, weft.stack([x @ y for x, y in zip(a, b)]))
    finally:
        weft.set_num_threads(threads)
