"""Programs run on several ranks, as their users start them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RANKS = ROOT / "tests" / "distributed" / "ranks"


def run_ranks(
    n: int, program: str, *args: str, launch: bool = True, seconds: float = 900
) -> tuple[int, str]:
    """Run a program of ``ranks/``, or ``-m`` a module: exit code, and all that it printed.

    By ``weft launch`` or by mpiexec itself; with one thread to each rank, for there may be more of
    them than cores.
    """
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    start = [sys.executable, "-m", "weft", "launch", "-n", str(n)]
    if not launch:
        mpiexec = Path(sys.executable).with_name("mpiexec")
        start = [str(mpiexec), "-n", str(n), sys.executable]
    what = program if program == "-m" else str(RANKS / program)
    run = subprocess.Popen(
        [*start, what, *args],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        text, _ = run.communicate(timeout=seconds)
    except BaseException:
        os.killpg(run.pid, signal.SIGKILL)
        raise
    return run.returncode, text
