"""A training with all sorts of state that is killed and resumed; a program for test_resume.py.

    python killable.py FOLDER KIND

trains once without a stop, in FOLDER/calm, and once killed (SIGKILL) at random batches, or while a
checkpoint is being written, and resumed until it is done, in FOLDER/killed. Both leave a digest of
weights, optimiser, random numbers and results in a file ``done``. Prints the number of kills.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

import weft
from weft import nn
from weft.optim import lr_scheduler
from weft.train import (
    Callback,
    Checkpoint,
    CSVLog,
    EarlyStopping,
    GradientClipping,
    LRMonitor,
    Trainer,
)
from weft.utils.data import DataLoader, TensorDataset

SAMPLES, EPOCHS = 30, 3


class Noisy:
    """Batches without a state, in an order drawn from NumPy's and Python's random numbers."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __iter__(self) -> Any:
        order = np.random.permutation(len(self.x))
        for i in range(0, len(order), 4):
            index = weft.from_numpy(order[i : i + 4])
            yield self.x[index] + random.random() / 10, self.y[index]


class Kill(Callback):
    """Ends the process as ``kill -9`` does."""

    order = 200

    def __init__(self, after: int) -> None:
        self.after = after

    def on_batch_end(self, trainer: Trainer) -> None:
        self.after -= 1
        if self.after == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def kill_in_save(number: int) -> None:
    """Kill the process in the middle of writing a checkpoint."""
    from weft.serialization import weft_file

    write, left = weft_file._storages, [number]

    def dying(*args: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return write(*args)

    weft_file._storages = dying


def data_of(kind: str) -> Any:
    generator = weft.Generator().manual_seed(5)
    x = weft.rand(SAMPLES, 6, generator=generator)
    y = (x.sum(1) > 3).long()
    if kind == "loader":
        return DataLoader(TensorDataset(x, y), batch_size=4, shuffle=True)
    if kind == "workers":
        return DataLoader(TensorDataset(x, y), batch_size=4, shuffle=True, num_workers=1)
    return Noisy(x, y) if kind == "noisy" else (x, y)


def digest(trainer: Trainer) -> dict[str, Any]:
    h = hashlib.sha256()
    for name, x in trainer.model.state_dict().items():
        h.update(name.encode() + x.numpy().tobytes())
    for state in trainer.optimizer.state_dict()["state"].values():
        for name, x in sorted(state.items()):
            h.update(name.encode() + (x.numpy().tobytes() if isinstance(x, weft.Tensor) else b""))
    numbers = [float(weft.rand(())), float(np.random.random()), random.random()]
    return {"sha256": h.hexdigest(), "random": numbers, "history": trainer.history}


def main(folder: Path, kind: str, kill: int) -> None:
    """Train. With KILL die after that many batches, or, negative, while that file is written."""
    weft.set_num_threads(1)
    callbacks: list[Callback] = [
        Checkpoint(folder, monitor="val_accuracy", keep=2, every_n_steps=2),
        EarlyStopping(patience=50),
        GradientClipping(norm=0.5),
        LRMonitor(),
        CSVLog(folder / "log.csv"),
        Kill(kill if kill > 0 else -1),
    ]
    if kill < 0:
        kill_in_save(-kill)
    trainer = Trainer(
        lambda: nn.Sequential(
            nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2)
        ),
        loss=nn.CrossEntropyLoss(),
        optimizer=lambda p: weft.optim.AdamW(p, lr=0.02),
        metrics=["accuracy", "auc", "f1"],
        scheduler=lambda o: lr_scheduler.CosineAnnealingLR(o, 12),
        scheduler_interval="step",
        callbacks=callbacks,
        accumulate=3 if kind == "accumulate" else 1,
        max_epochs=EPOCHS,
        batch_size=4,
        seed=11,
        progress=False,
    )
    trainer.fit(data_of(kind), validation=data_of("tensors"), resume="last")
    (folder / "done").write_text(json.dumps(digest(trainer)))


def ends(folder: Path, kind: str, kill: int = 0, seconds: float | None = None) -> bool:
    """Train in a child of this process, which has done nothing but imports; say if it ended."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            main(folder, kind, kill)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)  # not waited for yet, so that it still is ours
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    assert status == 0, "the training failed"
    return True


def killed_and_resumed(folder: Path, kind: str) -> int:
    """Kill after some batches, at any time, and in a save, in turns; return how often."""
    assert ends(folder / "calm", kind)
    rng, kills, killed = random.Random(kind), 0, folder / "killed"
    while not (
        ends(killed, kind, rng.randint(4, 8))
        if kills % 3 == 0
        else ends(killed, kind, seconds=rng.uniform(0.02, 0.3))
        if kills % 3 == 1
        else ends(killed, kind, -rng.randint(2, 5))
    ):
        kills += 1
        assert kills < 40, "no progress"
    return kills


if __name__ == "__main__":
    print(killed_and_resumed(Path(sys.argv[1]), sys.argv[2]))
