"""A resumed run gives the very batches that were left."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data.loading import Count, Dice, Images, Numbers, Tape

import weft
from weft.utils import data
from weft.utils.data import DataLoader


def plain(batch: Any) -> Any:
    """A batch as lists."""
    return [plain(b) for b in batch] if isinstance(batch, list) else batch.tolist()


class Mixed(data.Sampler):
    """An order drawn from Python's and NumPy's random numbers."""

    def __iter__(self) -> Iterator[int]:
        order = list(np.random.permutation(20))
        random.shuffle(order)
        return iter(order)

    def __len__(self) -> int:
        return 20


def loaders(kind: str, workers: int) -> Any:
    """A loader of some kind, as a program would make it."""
    generator = weft.Generator().manual_seed(8)
    persistent = workers > 1
    common: Any = {"num_workers": workers, "persistent_workers": persistent}
    return {
        "in order": lambda: DataLoader(Dice(20), 3, **common),
        "shuffled": lambda: DataLoader(Dice(20), 3, shuffle=True, **common),
        "generator": lambda: DataLoader(Dice(20), 3, True, generator=generator, **common),
        "single": lambda: DataLoader(Dice(9), None, shuffle=True, **common),
        "replacement": lambda: DataLoader(
            Dice(20), 3, sampler=data.RandomSampler(Dice(20), True, 3000, generator), **common
        ),
        "weights": lambda: DataLoader(
            Dice(20), 3, sampler=data.WeightedRandomSampler(range(1, 21), 20), **common
        ),
        "own sampler": lambda: DataLoader(Dice(20), 3, sampler=Mixed(), **common),
        "batch sampler": lambda: DataLoader(
            Dice(20), batch_sampler=data.BatchSampler(Mixed(), 3, True), **common
        ),
        "rows": lambda: DataLoader(data.TensorDataset(weft.arange(20)), 3, True, **common),
        "distributed": lambda: DataLoader(
            Dice(20), 3, sampler=data.DistributedSampler(range(20), 2, 1), **common
        ),
        "stream": lambda: DataLoader(Count(20), 3, **common),
        "large": lambda: DataLoader(Images(9), 2, shuffle=True, **common),
    }[kind]()


KINDS = [
    *("in order", "shuffled", "generator", "single", "replacement", "weights", "own sampler"),
    *("batch sampler", "rows", "distributed", "stream", "large"),
]


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_rest_of_a_run(kind: str, workers: int, tmp_path: Path) -> None:
    """Stopped in the first epoch and in the second; saved and resumed with all random numbers."""
    if workers == 3 and kind not in ("shuffled", "replacement", "own sampler", "stream", "large"):
        return
    epochs, most = 3, 12
    weft.manual_seed(1)
    run = weft.TrainingState(loader=loaders(kind, workers), epoch=0)
    seen, stops = [], []
    for run.epoch in range(epochs):
        if kind == "distributed":
            run.loader.sampler.set_epoch(run.epoch)
        for i, batch in enumerate(run.loader):
            seen.append(plain(batch))
            if i == most:
                break
            if i in (0, 2) and run.epoch < 2:
                stops.append(len(seen))
                run.save(tmp_path / str(len(seen)))
    del run
    assert len(stops) == 4
    for stop in (stops[1], stops[2]):
        weft.manual_seed(99)
        run = weft.TrainingState(loader=loaders(kind, workers), epoch=0)
        assert run.resume(tmp_path / str(stop))
        assert run.loader.state_dict()["iteration"]["delivered"] in (1, 3)
        rest = []
        for epoch in range(run.epoch, epochs):
            if kind == "distributed" and epoch != run.epoch:
                run.loader.sampler.set_epoch(epoch)
            passed = 0 if epoch != run.epoch else (1 if stop == stops[2] else 3)
            for i, batch in enumerate(run.loader, passed):
                rest.append(plain(batch))
                if i == most:
                    break
        assert rest == seen[stop:]
        del run


def test_batches_loaded_ahead_do_not_count() -> None:
    loader = DataLoader(Numbers(20), 2, num_workers=2, prefetch_factor=4)
    for first in loader:
        assert first.tolist() == [0, 1]
        assert loader.state_dict()["iteration"]["delivered"] == 1
        break


def test_between_epochs_the_next_one_begins() -> None:
    loader = DataLoader(Numbers(6), 2)
    for _ in loader:
        break
    assert loader.state_dict()["iteration"] is None  # the loop was left
    list(loader)
    state = loader.state_dict()
    assert state["iteration"] is None
    other = DataLoader(Numbers(6), 2)
    other.load_state_dict(state)
    assert len(list(other)) == 3
    batches = iter(loader)  # an iteration that is kept goes on existing
    next(batches)
    assert loader.state_dict()["iteration"]["delivered"] == 1


def test_after_the_last_batch_nothing_is_left() -> None:
    loader = DataLoader(Numbers(4), 2, shuffle=True)
    states = []
    for _ in loader:
        states.append(loader.state_dict())
    other = DataLoader(Numbers(4), 2, shuffle=True)
    other.load_state_dict(states[-1])
    assert other.state_dict()["iteration"] is states[-1]["iteration"]
    assert list(other) == [] and len(list(other)) == 2


def test_a_generator_is_restored_between_epochs() -> None:
    def make(seed: int) -> Any:
        return DataLoader(Numbers(20), 20, True, generator=weft.Generator().manual_seed(seed))

    loader = make(1)
    list(loader)
    state = loader.state_dict()
    expected = [plain(b) for b in loader]
    other = make(2)
    other.load_state_dict(state)
    assert [plain(b) for b in other] == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_streams_that_know_their_position_do_not_skip(workers: int) -> None:
    loader = DataLoader(Tape(20), 2, num_workers=workers)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state = loader.state_dict()
    rest = [plain(b)[0] for b in batches]
    other = DataLoader(Tape(20), 2, num_workers=workers)
    other.load_state_dict(state)
    found = [plain(b) for b in other]
    assert [b[0] for b in found] == rest
    assert found[0][1] == [1, 2]  # the first that it has read


def test_streams_whose_workers_have_ended() -> None:
    """Parts of different lengths: at each position the rest is the same."""
    loader = DataLoader(Count(7), 1, num_workers=3)
    everything, states = [], []
    batches = iter(loader)
    for batch in batches:
        everything.append(plain(batch))
        states.append(loader.state_dict())
    for i, state in enumerate(states):
        other = DataLoader(Count(7), 1, num_workers=3)
        other.load_state_dict(state)
        assert [plain(b) for b in other] == everything[i + 1 :]


def test_out_of_order_the_rest_is_the_same_set() -> None:
    loader = DataLoader(Numbers(30), 2, num_workers=3, in_order=False)
    batches = iter(loader)
    before = [plain(next(batches)) for _ in range(5)]
    other = DataLoader(Numbers(30), 2, num_workers=3, in_order=False)
    other.load_state_dict(loader.state_dict())
    batches_of_both = before + [plain(b) for b in other]
    assert sorted(i for b in batches_of_both for i in b) == list(range(30))


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"batch_size": 3}, "batch_size=2, this loader has 3"),
        ({"drop_last": True}, "drop_last=False, this loader has True"),
        ({"num_workers": 1}, "num_workers=0, this loader has 1"),
        ({"dataset": Numbers(9)}, "samples=8, this loader has 9"),
        ({"generator": weft.Generator()}, "states of 0 generators, this loader has 1"),
    ],
)
def test_other_loaders_are_refused(other: dict[str, Any], text: str) -> None:
    loader = DataLoader(Numbers(8), 2)
    batches = iter(loader)
    for state in (loader.state_dict(), next(batches) is None or loader.state_dict()):
        with pytest.raises(ValueError, match=text):
            DataLoader(**{"dataset": Numbers(8), "batch_size": 2, **other}).load_state_dict(state)
