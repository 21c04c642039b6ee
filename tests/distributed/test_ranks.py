"""Real runs on several ranks: all collectives, and training together."""

from __future__ import annotations

import pytest
from distributed.mpi import run_ranks


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("program", ["collectives.py", "training.py"])
def test_ranks(program: str, n: int) -> None:
    """The program, which checks itself, is done on every rank."""
    code, text = run_ranks(n, program, launch=n == 2)
    assert code == 0, text
    assert [text.count(f"rank {r} is done") for r in range(n)] == [1] * n, text
