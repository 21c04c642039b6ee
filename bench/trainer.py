"""What ``weft.train.Trainer`` adds to a plain loop of 1 ms steps: at most 2%.

    python -m bench.trainer           # the figures alone

Both train the same small network in one process, in turns of an epoch of 100 steps. Its forward
pass works until 1 ms of its thread's time is over, and it is the thread's time that is taken, so that
what is added can be seen also on a machine that has other work to do. The plain loop does nothing but
``zero_grad``, forward, loss, backward and ``step``.
"""

from __future__ import annotations

import gc
import io
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

from bench.harness import ROOT, Line, Timing, Worker

BUDGET = {"plain": 0.98}
ROUNDS, QUICK_ROUNDS = 40, 15
STEPS, BATCH, WIDTH = 100, 8, 16
FORWARD = 1e-3  # seconds


class Screen(io.StringIO):
    """A terminal that nobody sees."""

    def isatty(self) -> bool:
        return True


def loops() -> dict[str, Callable[[], object]]:
    """The ways to train one epoch."""
    import weft
    from weft.nn import functional as F
    from weft.train import Trainer

    weft.set_num_threads(1)
    weft.manual_seed(0)
    x, y = weft.rand(STEPS * BATCH, 64), weft.randint(10, (STEPS * BATCH,))
    data = list(zip(x.split(BATCH), y.split(BATCH)))

    class Wait(weft.nn.Module):
        """Takes its time."""

        def forward(self, x: Any) -> Any:
            end = time.thread_time() + FORWARD
            while time.thread_time() < end:
                pass
            return x

    layers = weft.nn.Linear(64, WIDTH), weft.nn.ReLU(), weft.nn.Linear(WIDTH, 10)
    model = weft.nn.Sequential(Wait(), *layers)
    optimizer = weft.optim.Adam(model.parameters(), lr=1e-8)

    def plain() -> None:
        for x, y in data:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    def fit(**options: Any) -> Callable[[], object]:
        trainer = Trainer(model, loss="cross_entropy", optimizer=optimizer, max_epochs=1, **options)

        def run() -> None:
            with redirect_stdout(Screen()):
                trainer.fit(data)

        return run

    return {
        "plain": plain,
        "silent": fit(progress=False),
        "bar": fit(),
        "bar and accuracy": fit(metrics="accuracy"),
    }


def samples(rounds: int) -> dict[str, list[float]]:
    """Seconds of a step of each loop, measured in turns."""
    ways = loops()
    for run in ways.values():
        run()
    found: dict[str, list[float]] = {label: [] for label in ways}
    gc.disable()
    for turn in range(rounds):
        order = list(ways)
        for label in order[turn % len(order) :] + order[: turn % len(order)]:
            start = time.thread_time()
            ways[label]()
            found[label].append((time.thread_time() - start) / STEPS)
        gc.collect()
    return found


def measure(workers: dict[str, Worker], quick: bool) -> list[Line]:
    """Time the loops in a process of weft's own; one line for each way to use the trainer."""
    worker = workers["weft"]
    done = subprocess.run(
        [worker.library.python, "-m", "bench.trainer", str(QUICK_ROUNDS if quick else ROUNDS)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)} if worker.info.get("in_tree") else None,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["failed"])[-1][:160]
        return [
            Line(
                "trainer",
                "overhead",
                "trainer/overhead/silent",
                1,
                budget=BUDGET,
                errors={"weft": why},
            )
        ]
    found = json.loads(done.stdout.splitlines()[-1])
    plain = [Timing("eager", 1, found.pop("plain"))]
    return [
        Line(
            "trainer",
            "overhead",
            f"trainer/overhead/{label.replace(' ', '_')}",
            1,
            timings={"weft": [Timing("eager", 1, seconds)], "plain": plain},
            budget={} if "accuracy" in label else BUDGET,
        )
        for label, seconds in found.items()
    ]


if __name__ == "__main__":
    result = samples(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
    base = result["plain"]
    for label, seconds in result.items():
        ratio = min(seconds) / min(base), statistics.median(seconds) / statistics.median(base)
        print(
            f"{label:<18}{min(seconds) * 1e3:7.3f} ms a step, {ratio[0] - 1:+.1%} "
            f"(median {statistics.median(seconds) * 1e3:.3f} ms, {ratio[1] - 1:+.1%})",
            file=sys.stderr,
        )
    print(json.dumps(result))
