"""Import and first op, in fresh processes taken in turns: at least 15x faster than PyTorch's.

The whole life of the process counts, from fork to exit, the interpreter's own start included;
the row ``python`` shows what that is.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time

from bench.harness import ROOT, Line, Timing, Worker

BUDGET = {"torch": 15.0}
ROUNDS, QUICK_ROUNDS = 15, 4
FIRST_OP = {
    "jax": "import jax.numpy as np; (np.ones(3) + 1).block_until_ready()",
    "numpy": "import numpy; numpy.ones(3) + 1",
    "python": "pass",
}


def program(label: str, module: str) -> str:
    """The program whose wall time is taken.

    >>> program("weft", "weft")
    'import weft; weft.ones(3) + 1'
    """
    return FIRST_OP.get(label, f"import {module}; {module}.ones(3) + 1")


def run_once(worker: Worker, code: str) -> float:
    """Seconds that a fresh interpreter takes for ``code``, seen from outside."""
    env = dict(os.environ)
    if worker.info.get("in_tree"):  # weft isn't installed: use the source tree
        env["PYTHONPATH"] = str(ROOT)
    start = time.perf_counter()
    subprocess.run(
        [worker.library.python, "-c", code],
        check=True,
        cwd=tempfile.gettempdir(),
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    return time.perf_counter() - start


def measure(workers: dict[str, Worker], quick: bool) -> list[Line]:
    """Time the first op of each library, and of none, in turns."""
    timings: dict[str, list[Timing]] = {}
    errors: dict[str, str] = {}
    jobs: list[tuple[str, Worker, str]] = []
    for label, worker in workers.items():
        if label != "bare":
            jobs.append((label, worker, program(label, worker.library.module)))
    jobs.append(("python", workers["weft"], FIRST_OP["python"]))
    for label, worker, code in list(jobs):
        try:
            run_once(worker, code)  # fills the page cache and writes bytecode
            timings[label] = [Timing("eager", 0)]
        except subprocess.CalledProcessError as error:
            last = (error.stderr.decode().strip().splitlines() or ["failed"])[-1]
            errors[label] = last[:160]
            jobs.remove((label, worker, code))
    for turn in range(QUICK_ROUNDS if quick else ROUNDS):
        shift = turn % len(jobs)
        for label, worker, code in jobs[shift:] + jobs[:shift]:
            timings[label][0].samples.append(run_once(worker, code))
    name = "startup/import/first_op"
    return [Line("startup", "import", name, 1, "s", timings, BUDGET, None, errors)]
