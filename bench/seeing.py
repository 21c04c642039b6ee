"""What it costs to look: ops of about 20 microseconds and a training step, alone and recorded.

    python -m bench.seeing           # the figures alone

All ways are taken in turns in one process, and it is the thread's time that counts. ``alone``: no
profiler. ``default``: ``profile()``. ``everything``: shapes, memory, stacks and operations.
``sampled``: one op of 10, with shapes. Not what is done with a record after it is made, but making it is timed.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.harness import ROOT, Line, Timing, Worker

BUDGETS = {  # of a step, whose ops are shorter, sampling has no budget
    "ops_20us": {"everything": 1 / 1.10, "default": 1 / 1.10, "sampled": 1 / 1.02},
    "training_step": {"everything": 1 / 1.10, "default": 1 / 1.10},
}
ROUNDS, QUICK_ROUNDS = 60, 20
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "everything": {"shapes": True, "memory": True, "stacks": True},
    "sampled": {"shapes": True, "every": 10},
}
LONG, REPEATED = 20e-6, 400  # seconds of an op, calls in a sample


def seconds_of(x: Any) -> float:
    """What one call takes when nothing disturbs it."""
    x.tanh()
    times = []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(20):
            x.tanh()
        times.append((time.perf_counter() - start) / 20)
    return min(times)


def ops_of_20_us() -> Callable[[], object]:
    """Tanh of as many elements as take 20 microseconds, again and again."""
    import weft

    count = 1 << 10
    while seconds_of(x := weft.rand(count)) < LONG:
        count = int(count * 1.2)

    def run() -> None:
        for _ in range(REPEATED):
            x.tanh()

    return run


def training_step() -> Callable[[], object]:
    """Steps of a small convolutional network, forward, backward and Adam."""
    import weft
    from weft import nn
    from weft.nn import functional as F

    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 49, 10),
    )  # fmt: skip
    optimizer = weft.optim.Adam(model.parameters(), lr=1e-8)
    x, y = weft.rand(16, 1, 28, 28), weft.randint(10, (16,))

    def run() -> None:
        for _ in range(10):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    return run


ROWS = {"ops_20us": ops_of_20_us, "training_step": training_step}


def samples(rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of each row in each way, measured in turns."""
    import weft
    from weft import _C

    weft.set_num_threads(1)
    weft.manual_seed(0)
    recordings = {label: _C.Recording(**options) for label, options in OPTIONS.items()}
    found: dict[str, dict[str, list[float]]] = {}
    for name, make in ROWS.items():
        work = make()
        ways = ["alone", *recordings]
        times: dict[str, list[float]] = {label: [] for label in ways}
        gc.disable()
        for turn in range(rounds + 2):
            for label in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                recording = recordings.get(label)
                if recording is not None:
                    recording.start()
                start = time.thread_time()
                work()
                seconds = time.thread_time() - start
                if recording is not None:
                    recording.stop()
                if turn >= 2:
                    times[label].append(seconds)
            gc.collect()
        gc.enable()
        found[name] = times
    return found


def measure(workers: dict[str, Worker], quick: bool) -> list[Line]:
    """Time all ways in a process of weft's own; a line for each row and way."""
    worker = workers["weft"]
    done = subprocess.run(
        [worker.library.python, "-m", "bench.seeing", str(QUICK_ROUNDS if quick else ROUNDS)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)} if worker.info.get("in_tree") else None,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["failed"])[-1][:160]
        return [
            Line(
                "seeing",
                "profiler",
                "seeing/profiler",
                1,
                budget={"alone": 1.0},
                errors={"weft": why},
            )
        ]
    lines = []
    for name, times in json.loads(done.stdout.splitlines()[-1]).items():
        alone = [Timing("eager", 1, times.pop("alone"))]
        lines += [
            Line(
                "seeing", "profiler", f"seeing/{name}/{label}", 1,
                timings={"weft": [Timing("eager", 1, seconds)], "alone": alone},
                budget={"alone": BUDGETS[name][label]} if label in BUDGETS[name] else {},
            )
            for label, seconds in times.items()
        ]  # fmt: skip
    return lines


if __name__ == "__main__":
    result = samples(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
    for name, times in result.items():
        base = times["alone"]
        for label, seconds in times.items():
            ratio = min(seconds) / min(base), statistics.median(seconds) / statistics.median(base)
            print(
                f"{name:<14} {label:<11}{min(seconds) * 1e3:8.3f} ms, {ratio[0] - 1:+.2%} "
                f"(median {ratio[1] - 1:+.2%})",
                file=sys.stderr,
            )
    print(json.dumps(result))
