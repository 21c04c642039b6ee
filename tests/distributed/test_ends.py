"""A rank that ends does not leave the others waiting."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from distributed.mpi import run_ranks

# How a rank ends: whether by weft launch, what the run says.
ENDS = {
    "kill": (False, ""),
    "error": (False, "ValueError: in the middle"),
    "interrupt": (True, "KeyboardInterrupt"),
    "end": (True, "waits for rank 1, whose program has ended"),
    "late": (True, "rank 0 has waited 1 s for the other ranks of [0, 1]"),
    "missing": (True, "monitored_barrier: rank 1 did not come within 1 s"),
    "early error": (True, "ValueError: before the group was made"),
    "early end": (True, "init_process_group: rank 0 waits for rank 1"),
}
Runs = dict[str, "Future[tuple[int, str]]"]


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    """The runs, some at a time: most of what they do is to wait."""
    with ThreadPoolExecutor(3) as pool:
        yield {
            how: pool.submit(run_ranks, 2, "ends.py", how, launch=launch)
            for how, (launch, _) in ENDS.items()
        }


@pytest.mark.parametrize("how", ENDS)
def test_an_end(how: str, runs: Runs) -> None:
    """The run ends with an exit code that is not 0, and says why."""
    code, out = runs[how].result()
    assert code != 0 and ENDS[how][1] in out, (code, out)
    assert "reached the end" not in out


def test_an_error_that_is_caught() -> None:
    """Ranks that disagree can go on, if the program wants to."""
    code, out = run_ranks(2, "ends.py", "caught")
    assert code == 0, out
    assert out.count("caught") == out.count("reached the end") == 2
