"""Several threads compute, are interrupted and change the number of threads, all at once, for some seconds.

Run by `make tsan`: `python tests/robustness/threads_chaos.py SECONDS`. Each result is compared with that
of the same work alone.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import interruptions as works
from robustness.interrupting import alarms

import weft
from weft import nn

SIZES = (40, 130)
THREADS = 4


def training(seed: int, shared: nn.Linear) -> None:
    """A step of a model of its own, and gradients through a layer that all threads share."""
    rng = weft.Generator().manual_seed(seed)
    x = weft.randn(64, 32, generator=rng)
    model = nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 32))
    step = weft.optim.Adam(model.parameters())
    for _ in range(3):
        step.zero_grad()
        (shared(model(x)) ** 2).mean().backward()
        step.step()


def worker(seed: int, end: float, shared: nn.Linear, done: list[int]) -> None:
    rng = random.Random(seed)
    names = [n for n in works._WORKS if n not in works._ONE_AT_A_TIME]
    while time.monotonic() < end:
        if rng.random() < 0.2:
            weft.set_num_threads(rng.choice((1, 2, 3, 4)))
        if rng.random() < 0.2:
            training(rng.randrange(1000), shared)
        name, n = rng.choice(names), rng.choice(SIZES)
        work, expected = works._built(name, n)
        works._check(name, work(), expected, "among threads")
        done.append(1)


def main() -> None:
    seconds = float(sys.argv[1])
    for name in works._WORKS:
        for n in SIZES:
            works._built(name, n)
    shared, done, failed = nn.Linear(32, 32), list[int](), list[BaseException]()
    end = time.monotonic() + seconds

    def body(seed: int) -> None:
        try:
            worker(seed, end, shared, done)
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(1, THREADS)]
    for t in threads:
        t.start()
    with alarms(works.computing(), 0.03) as signals:
        body(0)
    for t in threads:
        t.join()
    if failed:
        raise failed[0]
    print(
        f"chaos: {len(done)} pieces of work, {len(signals)} handlers in {seconds:.0f} s, all equal"
    )


if __name__ == "__main__":
    main()
