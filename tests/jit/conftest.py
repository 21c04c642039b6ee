"""What all tests of ``weft.jit`` share."""

from __future__ import annotations

import pytest

from weft.jit.compile.race import Race


@pytest.fixture(autouse=True)
def _no_races(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no clock decide how a test runs, unless it asks for that with ``racing``."""
    if "racing" not in request.fixturenames:
        monkeypatch.setattr(Race, "is_eagers_turn", False)


@pytest.fixture
def racing() -> None:
    """Let calls by pieces be timed against eager ones."""
