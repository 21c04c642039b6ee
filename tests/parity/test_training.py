"""Fifty training steps in weft and PyTorch, from the same weights and data; and twice in weft."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import weft
from bench.models import Setting, Task, build

SIZES: dict[str, dict[str, int]] = {
    "mlp": {},
    "wide_mlp": {"width": 256, "batch": 32},
    "lenet": {"batch": 32},
    "resnet18": {"batch": 32, "side": 16, "width": 16},
    "lstm_tagger": {"batch": 8, "length": 20, "words": 500, "width": 64},
    "gru_seq2seq": {"batch": 8, "length": 12, "words": 100, "hidden": 64},
    "transformer": {"batch": 8, "length": 24, "width": 64},
    "gpt": {"batch": 4, "length": 32, "width": 64},
    "vae": {"batch": 32, "hidden": 200},
}
# Rates at which a float32 run is not decided by rounding, through ReLUs that flip. At the tasks' own
# rates these two keep together in float64 only.
CALM = {"wide_mlp": 2e-4, "resnet18": 1e-5}
each = pytest.mark.parametrize("name", SIZES)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Threads of one library that spin while they are idle take time from the other."""
    counts = [lib.get_num_threads() for lib in (weft, torch)]
    for lib in (weft, torch):
        lib.set_num_threads(1)
    yield
    for lib, count in zip((weft, torch), counts):
        lib.set_num_threads(count)


def train(task: Task, steps: int = 50, compiled: bool = False) -> list[float]:
    """The loss of every step; of steps that weft compiled, most run as programs."""
    step = weft.compile(task.step) if compiled else task.step
    losses = [step().item() for _ in range(steps)]
    if compiled:
        assert sum(v["calls"] for v in step.report().specializations) >= steps - 6, step.report()
    return losses


def curves(name: str, compiled: bool = False, **setting: Any) -> list[list[float]]:
    """Losses in weft and in PyTorch; those fall."""
    ours, theirs = (
        train(
            build(name, Setting(lib, **setting), **SIZES[name]), compiled=compiled and lib is weft
        )
        for lib in (weft, torch)
    )
    assert theirs[-1] < 0.9 * theirs[0]
    return [ours, theirs]


@each
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.usefixtures("one_thread")
def test_curve_is_that_of_pytorch(name: str, compiled: bool) -> None:
    """Every loss of every step in float32; also of steps that weft.compile made programs of."""
    np.testing.assert_allclose(*curves(name, compiled, lr=CALM.get(name)), rtol=1e-4)


@pytest.mark.parametrize("name", CALM)
@pytest.mark.usefixtures("one_thread")
def test_curve_in_float64(name: str) -> None:
    """The same at the task's own rate."""
    np.testing.assert_allclose(*curves(name, dtype="float64"), rtol=1e-8)


@each
def test_same_seed_same_run(name: str) -> None:
    """Runs from the same seed are equal bit for bit: initial weights, dropout, every step.

    The second one again, the third one compiled.
    """
    more = {"dropout": 0.1} if name == "transformer" else {}
    runs = []
    for turn in range(3):
        weft.manual_seed(3)
        task = build(name, Setting(weft, drawn=False), **SIZES[name], **more)
        losses = train(task, 10, compiled=turn == 2)
        runs.append((losses, [p.detach().numpy() for p in task.model.parameters()]))
    (losses, weights), *others = runs
    assert len(set(losses)) == 10
    for again, same in others:
        assert losses == again
        assert all(map(np.array_equal, weights, same))
