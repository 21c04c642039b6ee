"""What every test stands on: the right build of weft, a fixed seed, and a calm Hypothesis."""

from __future__ import annotations

import gc
import linecache
import os
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import numpy as np
import pytest

import weft
from weft.jit import cost_model
from weft.jit.passes.rebuild import Rebuild

ROOT = Path(__file__).resolve().parents[1]

# `make sanitize` and `make tsan` must not pass because some other weft was imported.
if (build := os.environ.get("WEFT_SANITIZE")) and build not in Path(weft.__file__).parts:
    raise RuntimeError(f"expected the sanitized build of weft, but imported {weft.__file__}")

Rebuild.verifies = True  # what every pass makes
SHIPPED_WORTH, cost_model.WORTH = cost_model.WORTH, 0.0  # every signature is captured as it comes

hypothesis.settings.register_profile("weft", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "weft"))


@pytest.fixture(autouse=True)
def _seed() -> None:
    """The same random numbers in every test, whichever ran before it."""
    if (
        "sqlalchemy" in sys.modules
    ):  # its lines go when garbage is collected, even while they are looked through
        linecache.clearcache()
    random.seed(0)
    np.random.seed(0)
    weft.manual_seed(0)


@pytest.fixture
def shipped_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signatures are captured when that pays, as users have it."""
    assert SHIPPED_WORTH > 1
    monkeypatch.setattr(cost_model, "WORTH", SHIPPED_WORTH)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT interrupts this process, and those that it starts.

    In a shell's background jobs it is ignored, which processes inherit from their parents.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Loops may have two threads, however many CPUs there are."""
    before = weft.get_num_threads()
    weft.set_num_threads(2)
    yield
    weft.set_num_threads(before)


@pytest.fixture
def settled() -> None:
    """No garbage of earlier tests is left that could be collected, and counted, during this one."""
    gc.collect()


@pytest.fixture
def root() -> Path:
    """The folder of the repository."""
    return ROOT
