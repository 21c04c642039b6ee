"""What all tests of ``weft.jit`` share."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest

import weft
from weft.jit import cost_model
from weft.jit.compile.autotune import Autotuner


@pytest.fixture(autouse=True)
def _no_timing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no clock decide how a test runs, unless it asks for that with ``timed_calls``."""
    if "timed_calls" not in request.fixturenames:
        monkeypatch.setattr(Autotuner, "eager_is_next", False)


@pytest.fixture
def timed_calls() -> None:
    """Let calls in segments be timed against eager ones."""


@pytest.fixture
def quiet() -> Any:
    """Seed the random numbers, and let nothing be said about calls that run eagerly."""
    weft.manual_seed(3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="compile: ")
        yield


class Clock:
    """Every eager call takes so many seconds by it."""

    def __init__(self) -> None:
        self.seconds, self._now = 1e-9, 0.0
        self._ends = itertools.cycle((False, True))

    def __call__(self) -> float:
        self._now += self.seconds if next(self._ends) else 0.0
        return self._now


@pytest.fixture
def clock(shipped_price: None, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Calls that take nearly no time, so that nothing but a first signature is worth a capture."""
    made = Clock()
    monkeypatch.setattr(cost_model, "clock", made)
    return made
