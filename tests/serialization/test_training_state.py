"""A training that is stopped and resumed gives the bits of one that was not (D6), and files of it."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import random
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serialization import resumable

import weft
from weft import nn
from weft.serialization import FileError
from weft.utils.data import digits

HERE = Path(__file__).resolve().parent


def run(name: str, folder: Path, stops: list[int], *resumed: Path) -> list[dict[str, Any]]:
    """Train in a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(Path(weft.__file__).parents[1])}
    arguments = [name, str(folder), json.dumps(stops), *map(str, resumed)]
    done = subprocess.run(
        [sys.executable, str(HERE / "resumable.py"), *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", resumable.OPTIMIZERS)
def test_resumed_runs_are_bit_equal(name: str, tmp_path: Path) -> None:
    """Weights, optimiser, schedulers, random numbers and order after stops at random steps."""
    seed = int(os.environ.get("WEFT_SEED", "0"))
    print("seed", seed)
    count = int(os.environ.get("WEFT_STOP_COUNT", "3"))
    stops = random.Random(f"{name} {seed}").sample(range(1, resumable.STEPS + 1), count)
    (whole,) = run(name, tmp_path, stops)
    assert len(whole["seen"]) == resumable.STEPS
    for epoch in range(resumable.EPOCHS):  # each sample once per epoch
        batches = whole["seen"][epoch * 7 : epoch * 7 + 7]
        assert sorted(i for batch in batches for i in batch) == list(range(resumable.SAMPLES))
    resumed = run(name, tmp_path, [], *(tmp_path / f"run.weft.{stop}" for stop in stops))
    assert resumed == [whole] * count, stops


def small(**more: Any) -> Any:
    """A state with a model and an optimiser."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.BatchNorm1d(2))
    optimizer = weft.optim.Adam(model.parameters())
    return weft.TrainingState(model=model, optimizer=optimizer, **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test saves."""
    return tmp_path / "run.weft"


def test_every_kind_of_member(path: Path) -> None:
    """Objects are restored in place, data are set; lists and dicts of them too."""
    weight = weft.ones(2, requires_grad=True)
    (weight * 3).sum().backward()

    def make(seed: int) -> Any:
        return small(
            weight=weft.full((2,), float(seed), requires_grad=True),
            generators={"weft": weft.Generator().manual_seed(seed), "python": random.Random(seed)},
            arrays=[np.random.default_rng(seed), np.full(2, seed)],
            pair=(seed, "text"),
            history=[seed] * seed,
        )

    def numbers(state: Any) -> list[Any]:
        generators = state.generators
        return [
            weft.rand(1, generator=generators["weft"]).item(),
            generators["python"].random(),
            state.arrays[0].random(),
        ]

    first, second = make(3), make(5)
    first.weight.grad = weight.grad
    numbers(first)
    first.save(path)
    weight, generator = second.weight, second.generators["weft"]
    second.load(path)
    assert second.weight is weight and second.generators["weft"] is generator
    assert weight.tolist() == [3, 3] and weight.grad.tolist() == [3, 3]
    assert second.arrays[1].tolist() == [3, 3]
    assert (second.pair, second.history) == ((3, "text"), [3, 3, 3])
    assert numbers(first) == numbers(second)


def test_random_numbers_of_all_sources(path: Path) -> None:
    """Weft's, NumPy's and Python's go on where they were."""

    def numbers() -> list[Any]:
        return [weft.randn(3).tolist(), np.random.randn(3).tolist(), random.gauss(0, 1)]

    numbers()
    state = weft.TrainingState()
    state.save(path)
    expected = numbers()
    for _ in range(2):
        state.load(path)
        assert numbers() == expected


def test_gradients_and_modes(path: Path) -> None:
    """Half-summed gradients, frozen parameters, parts in evaluation mode."""
    first, second = small(), small()
    first.model(weft.ones(3, 2)).sum().backward()
    first.model[0].bias.grad = None
    first.model[0].bias.requires_grad_(False)
    first.model[2].eval()
    second.model[1].eval()
    second.model[0].bias.grad = weft.ones(2)
    first.save(path)
    second.load(path)
    for a, b in zip(first.model.parameters(), second.model.parameters()):
        assert a.requires_grad == b.requires_grad
        assert (a.grad is None and b.grad is None) or (a.grad == b.grad).all()
    assert [m.training for m in second.model.modules()] == [True, True, True, False]


def test_the_model_of_a_run_can_be_loaded_alone(path: Path) -> None:
    """A file of a training is a checkpoint of its modules too."""
    weft.TrainingState(model=nn.Linear(2, 3), critic=nn.Bilinear(1, 2, 3), epoch=4).save(path)
    model, rest = nn.Linear.load_from_checkpoint(path, return_rest=True)
    assert repr(model) == "Linear(in_features=2, out_features=3, bias=True)" and rest["epoch"] == 4
    assert type(nn.Bilinear.load_from_checkpoint(path)) is nn.Bilinear
    with pytest.raises(
        FileError, match=r"weft.nn.Linear and one of weft.nn.Bilinear, not of class"
    ):
        nn.Dropout.load_from_checkpoint(path)


def test_members_must_be_the_same(path: Path) -> None:
    """What only the file or only the program has is named; strict=False leaves it."""
    small(epoch=1, best=0.5).save(path)
    state = small(epoch=0, step=7)
    with pytest.raises(
        ValueError, match=r"file has no 'step'; the file has 'best', this state has"
    ):
        state.load(path)
    assert state.epoch == 0
    state.load(path, strict=False)
    assert (state.epoch, state.step) == (1, 7)
    with pytest.raises(AttributeError, match=r"no member 'best': .*TrainingState\(best=...\)"):
        state.best = 1
    for name in ("save", "resume", "random"):
        with pytest.raises(TypeError, match=f"cannot be called '{name}'"):
            weft.TrainingState(**{name: 1})
    assert repr(weft.TrainingState(a=1)) == "TrainingState(a=int)"


def test_errors_name_file_and_member(path: Path) -> None:
    """Files of other kinds, and states that do not fit."""
    weft.save({"epoch": 1}, path)
    with pytest.raises(FileError, match=r"run.weft: not a file of TrainingState"):
        small().load(path)
    weft.TrainingState(model=3, optimizer=4).save(path)
    with pytest.raises(FileError, match=r"run.weft: model: what the file has does not fit a Sequ"):
        small().load(path)
    weft.TrainingState(x=weft.ones(2)).save(path)
    with pytest.raises(
        FileError, match=r"x: what the file has does not fit a Tensor: shapes \[3\]"
    ):
        weft.TrainingState(x=weft.ones(3)).load(path)
    weft.TrainingState(x=[weft.ones(2)]).save(path)
    with pytest.raises(FileError, match=r"2 and 1 items"):
        weft.TrainingState(x=[weft.ones(2)] * 2).load(path)
    content = weft.load(path)
    for name in ("weft", "numpy", "python"):
        weft.save({**content, "random": {**content["random"], name: [3]}}, path)
        with pytest.raises(FileError, match=f"the state of {name}'s random numbers"):
            weft.TrainingState(x=[weft.ones(2)]).load(path)
    with pytest.raises(TypeError, match=r"obj\['log'\] is of type builtin_function"):
        weft.TrainingState(log=print).save(path)


def test_previous_file(path: Path) -> None:
    """The one before the last is kept, and taken when the last is damaged."""
    state: Any = weft.TrainingState(epoch=0)
    assert state.resume(path) is False
    for state.epoch in range(3):
        state.save(path)
        names = {"run.weft"} if state.epoch == 0 else {"run.weft", "run.weft.previous"}
        assert set(os.listdir(path.parent)) == names
    assert state.resume(path) and state.epoch == 2
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    with pytest.warns(UserWarning, match=r"run.weft: damaged.*; going on from .*run.weft.previous"):
        assert state.resume(path)
    assert state.epoch == 1
    with pytest.raises(FileError, match="damaged"):
        state.load(path)
    (path.parent / "run.weft.previous").write_bytes(b"nothing")
    with pytest.raises(FileError, match=r"run.weft: damaged"):
        state.resume(path)
    path.unlink()
    assert not state.resume(path)  # who deletes the file wants to begin anew


def test_examples_run() -> None:
    """The docs of weft.utils.data."""
    for module in (weft.utils.data, importlib.import_module("weft.utils.data.batches"), digits):
        done = doctest.testmod(module, extraglobs={"weft": weft})
        assert not done.failed, module
        assert done.attempted or module is weft.utils.data


def test_shuffled_batches() -> None:
    """Every sample once, another order each epoch, the same for the same seed; restored anywhere."""
    batches = weft.utils.data.ShuffledBatches(10, 3, seed=4)
    epochs = [[index.tolist() for index in batches] for _ in range(3)]
    assert all(sorted(chain(*epoch)) == list(range(10)) for epoch in epochs)
    assert [len(b) for b in epochs[0]] == [3, 3, 3, 1] and len(batches) == 4
    assert epochs[0] != epochs[1] != epochs[2]
    flat = list(chain(*epochs))
    for at in range(12):
        batches = weft.utils.data.ShuffledBatches(10, 3, seed=4)
        taken: list[Any] = []
        while len(taken) < at:
            for index in batches:
                taken.append(index.tolist())
                if len(taken) == at:
                    break
        resumed = weft.utils.data.ShuffledBatches(10, 3)
        resumed.load_state_dict(batches.state_dict())
        while len(taken) < 12:
            taken += [index.tolist() for index in resumed]
        assert taken == flat, at
    assert len(weft.utils.data.ShuffledBatches(10, 3, drop_last=True)) == 3
    assert list(weft.utils.data.ShuffledBatches(0, 3)) == []
    weft.manual_seed(1)
    seeds = {weft.utils.data.ShuffledBatches(1, 1).seed for _ in range(5)}
    weft.manual_seed(1)
    assert len(seeds) == 5 and weft.utils.data.ShuffledBatches(1, 1).seed in seeds
    with pytest.raises(ValueError, match="batch_size=3, these have 4"):
        weft.utils.data.ShuffledBatches(10, 4).load_state_dict(batches.state_dict())
    with pytest.raises(ValueError, match="at least 1, got 3 and 0"):
        weft.utils.data.ShuffledBatches(3, 0)
