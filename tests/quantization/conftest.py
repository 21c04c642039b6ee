"""One thread: the models are small, and others may be at work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import weft


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Set and put back."""
    before = weft.get_num_threads()
    weft.set_num_threads(1)
    yield
    weft.set_num_threads(before)
