"""Random numbers in workers: the same run twice, and no two workers or epochs alike."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from data.loading import Count, Dice, Who, reseed

import weft
from weft.utils.data import DataLoader
from weft.utils.data.worker import RandomWatch


def run(workers: int, persistent: bool = False, **arguments: Any) -> list[list[list[float]]]:
    """Two epochs of random samples, after the same seed."""
    weft.manual_seed(5)
    loader: Any = DataLoader(
        Dice(12), 2, True, num_workers=workers, persistent_workers=persistent, **arguments
    )
    return [weft.cat(list(loader)).tolist() for _ in range(2)]


@pytest.mark.parametrize(("workers", "persistent"), [(2, False), (2, True), (3, False)])
def test_the_same_run_twice(workers: int, persistent: bool) -> None:
    first = run(workers, persistent)
    assert run(workers, persistent) == first
    for source in (1, 2, 3):  # Python, NumPy, weft
        drawn = [row[source] for epoch in first for row in epoch]
        assert len(set(drawn)) == len(drawn) == 24  # workers and epochs differ


def test_persistent_or_not_and_every_start_are_the_same() -> None:
    assert run(2, True) == run(2, False) == run(2, True, multiprocessing_context="forkserver")


def test_the_generator_decides() -> None:
    runs = []
    for seed in (1, 1, 2):
        generator = weft.Generator().manual_seed(seed)
        runs.append(run(2, generator=generator))
    assert runs[0] == runs[1] != runs[2]


def test_the_parents_numbers_are_its_own() -> None:
    before = np.random.get_state(legacy=False)["state"]["key"].tolist()
    seeds = {w[2] for w in DataLoader(Who(6), batch_size=None, num_workers=2)}
    seeds |= {w[2] for w in DataLoader(Who(6), batch_size=None, num_workers=2)}
    assert len(seeds) == 4
    assert np.random.get_state(legacy=False)["state"]["key"].tolist() == before


def test_a_seed_of_ones_own_in_the_worker_stays() -> None:
    epochs = [run(2, worker_init_fn=reseed) for _ in range(2)]
    assert epochs[0] == epochs[1]
    weft.manual_seed(6)
    other = [
        r[1:]
        for r in weft.cat(
            list(DataLoader(Dice(12), 2, num_workers=2, worker_init_fn=reseed))
        ).tolist()
    ]
    assert other == [row[1:] for row in epochs[0][0]]


def test_every_change_is_seen() -> None:
    """What a resumed worker needs is sent: also the normal number that NumPy keeps for later."""
    watch = RandomWatch()
    assert watch.changes() == {}
    draws: list[Any] = [
        ("numpy", lambda: np.random.randn()),
        ("numpy", lambda: np.random.randn()),  # the one that was kept
        ("numpy", lambda: np.random.randint(9)),
        ("python", lambda: random.gauss(0, 1)),
        ("python", lambda: random.gauss(0, 1)),
        ("weft", lambda: weft.rand(1)),
    ]
    for name, draw in draws:
        draw()
        assert list(watch.changes()) == [name]
        assert watch.changes() == {}


def test_streams_are_seeded_too() -> None:
    runs = []
    for _ in range(2):
        weft.manual_seed(3)
        loader = DataLoader(Count(8), 2, num_workers=2)
        runs.append([weft.cat(list(loader))[:, 1].tolist() for _ in range(2)])
    assert runs[0] == runs[1]
    assert len({x for epoch in runs[0] for x in epoch}) == 16
