"""``index_add`` of many rows, long and short: the sums of one thread, in order, whatever the number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import weft


def places(kind: str, rows: int, count: int) -> np.ndarray:
    """Which row each row is added to."""
    at = np.random.default_rng(1).integers(0, rows, count)
    if kind == "sorted":
        at.sort()
    return at if kind != "one" else np.full(count, rows - 1)


@pytest.mark.parametrize("kind", ["random", "sorted", "one"])
@pytest.mark.parametrize("width", [1, 3, 7, 8, 16, 17, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_rows_are_added_in_order(kind: str, width: int, dtype: str) -> None:
    """Bit for bit as NumPy adds them one after the other."""
    random = np.random.default_rng(0)
    count = 80_000 // width + 700
    table = (random.standard_normal((90, width)) * 100).astype(dtype)
    rows = (random.standard_normal((count, width)) * 100).astype(dtype)
    at = places(kind, 90, count)
    wanted = table.copy()
    np.add.at(wanted, at, rows)
    before = weft.get_num_threads()
    try:
        for threads in (1, 2, 5):
            weft.set_num_threads(threads)
            found = weft.tensor(table).index_add(0, weft.tensor(at), weft.tensor(rows))
            np.testing.assert_array_equal(found.numpy(), wanted)
    finally:
        weft.set_num_threads(before)


def test_rows_of_more_dimensions() -> None:
    """The index runs along a dimension in the middle, and over rows with gaps."""
    random = np.random.default_rng(0)
    table = random.standard_normal((3, 50, 9)).astype("float32")
    rows = random.standard_normal((3, 2000, 18)).astype("float32")
    at = places("random", 50, 2000)
    wanted = table.copy()
    for plane, more in zip(wanted, rows[:, :, ::2]):
        np.add.at(plane, at, more)
    found = weft.tensor(table).index_add(1, weft.tensor(at), weft.tensor(rows)[:, :, ::2])
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_a_place_that_is_not_there() -> None:
    """A number out of range is refused, wherever it stands among many."""
    at = weft.zeros(3000, dtype=weft.int64)
    at[2500] = 4
    with pytest.raises((IndexError, RuntimeError), match="4"):
        weft.zeros(4, 16).index_add(0, at, weft.ones(3000, 16))
