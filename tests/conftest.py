"""What every test stands on: the right build of weft, a fixed seed, and a calm Hypothesis."""

from __future__ import annotations

import os
import random
from pathlib import Path

import hypothesis
import numpy as np
import pytest

import weft

ROOT = Path(__file__).resolve().parents[1]

# `make sanitize` must not pass because some other weft was imported.
if os.environ.get("WEFT_SANITIZE") and "sanitize" not in Path(weft.__file__).parts:
    raise RuntimeError(f"expected the sanitized build of weft, but imported {weft.__file__}")

hypothesis.settings.register_profile("weft", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "weft"))


@pytest.fixture(autouse=True)
def _seed() -> None:
    """The same random numbers in every test, whichever ran before it."""
    random.seed(0)
    np.random.seed(0)
    weft.manual_seed(0)


@pytest.fixture
def root() -> Path:
    """The folder of the repository."""
    return ROOT


def pytest_collection_modifyitems(config, items):
    """Leave out the tests that pending.txt names, and say how many there are."""
    import pathlib

    listed = (pathlib.Path(__file__).parent / "pending.txt").read_text().splitlines()
    pending = {line for line in listed if line and not line.startswith("#")}
    left_out = [item for item in items if item.nodeid in pending]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.nodeid not in pending]
        print(f"\n{len(left_out)} tests are pending (tests/pending.txt)")
