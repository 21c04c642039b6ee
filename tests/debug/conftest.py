"""Bytes are counted to the last one, so no garbage of earlier tests may go in between."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True)
def _no_garbage() -> None:
    """Free the tensors in cycles that earlier tests left."""
    gc.collect()
