"""A rank that ends does not leave the others waiting."""

from __future__ import annotations

import pytest
from mpi import run_ranks


@pytest.mark.parametrize(
    ("how", "launch", "text"),
    [
        ("kill", False, ""),
        ("error", False, "ValueError: in the middle"),
        ("interrupt", True, "KeyboardInterrupt"),
        ("end", True, "waits for rank 1, whose program has ended"),
        ("late", True, "rank 0 has waited 1 s for the other ranks of [0, 1]"),
        ("missing", True, "monitored_barrier: rank 1 did not come within 1 s"),
        ("early error", True, "ValueError: before the group was made"),
        ("early end", True, "init_process_group: rank 0 waits for rank 1"),
    ],
)
def test_an_end(how: str, launch: bool, text: str) -> None:
    """The run ends with an exit code that is not 0, and says why."""
    code, out = run_ranks(2, "ends.py", how, launch=launch, seconds=50)
    assert code != 0 and text in out, (code, out)
    assert "reached the end" not in out


def test_an_error_that_is_caught() -> None:
    """Ranks that disagree can go on, if the program wants to."""
    code, out = run_ranks(2, "ends.py", "caught")
    assert code == 0, out
    assert out.count("caught") == out.count("reached the end") == 2
