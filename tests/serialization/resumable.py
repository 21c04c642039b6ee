"""A training with everything that must survive a stop; run as a program by test_training_state.py.

    python resumable.py OPTIMIZER FOLDER STOPS [FILE ...]

trains, and prints digests of all states at the end, and the order of samples. Without a FILE it
begins, and keeps a copy of its state at each of the steps in STOPS; else it resumes from each FILE.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

import weft
from weft import nn
from weft.nn import functional as F
from weft.optim import lr_scheduler

OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda p: weft.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "AdamW": lambda p: weft.optim.AdamW(p, lr=0.01, amsgrad=True),
    "RMSprop": lambda p: weft.optim.RMSprop(p, lr=0.01, centered=True, momentum=0.5),
    "NAdam": lambda p: weft.optim.NAdam(p, lr=0.01),
    "ASGD": lambda p: weft.optim.ASGD(p, lr=0.05, t0=5),
}
EPOCHS, SAMPLES, BATCH, ACCUMULATED = 4, 50, 8, 3
STEPS = EPOCHS * -(-SAMPLES // BATCH)


class Net(nn.Module):
    """Layers with all sorts of state: weights, running means, random masks, a recurrent one."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, width, 3, padding=1), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.3)
        )
        self.memory = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, 3)

    def forward(self, x: Any) -> Any:
        out, _ = self.memory(self.body(x).transpose(1, 2))
        return self.head(F.dropout(out[:, -1], 0.2, self.training))


def start(name: str) -> weft.TrainingState:
    """A training at its beginning."""
    random.seed(1)
    np.random.seed(2)
    weft.manual_seed(3)
    net = Net(6)
    optimizer = OPTIMIZERS[name](net.parameters())
    return weft.TrainingState(
        model=net,
        optimizer=optimizer,
        schedulers=[
            lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=STEPS)
            if name == "SGD"
            else lr_scheduler.ExponentialLR(optimizer, 0.95),
            lr_scheduler.ReduceLROnPlateau(optimizer, patience=1),
        ],
        batches=weft.utils.data.ShuffledBatches(SAMPLES, BATCH),
        noise=np.random.default_rng(5),
        loss_sum=0.0,
        step=0,
        seen=[],
    )


def digest(x: Any) -> str:
    """The SHA-256 of nested data: tensors and arrays by their bytes."""
    sha = hashlib.sha256()

    def add(x: Any) -> None:
        if isinstance(x, weft.Tensor):
            add(x.detach().contiguous().numpy())
        elif isinstance(x, np.ndarray):
            sha.update(f"{x.dtype} {x.shape}".encode() + x.tobytes())
        elif isinstance(x, dict):
            sha.update(f"dict {len(x)}".encode())
            for key, value in x.items():
                add(key)
                add(value)
        elif isinstance(x, (list, tuple)):
            sha.update(f"{type(x).__name__} {len(x)}".encode())
            for item in x:
                add(item)
        else:
            sha.update(f"{type(x).__name__} {x!r}".encode())

    add(x)
    return sha.hexdigest()


def train(run: Any, path: Path, stops: list[int]) -> None:
    """Train to the end; keep a copy of the checkpoint of each stop."""
    data = weft.linspace(-1, 1, SAMPLES * 5).reshape(SAMPLES, 1, 5)
    labels = weft.arange(SAMPLES) % 3
    while run.batches.epoch < EPOCHS:
        run.model.train()
        for index in run.batches:
            x = data[index] + 0.1 * weft.randn(len(index), 1, 5)
            x = x + float(np.random.rand()) + random.random() + float(run.noise.standard_normal())
            loss = F.cross_entropy(run.model(x), labels[index]) / ACCUMULATED
            loss.backward()
            run.loss_sum += loss.item()
            run.step += 1
            run.seen.append(index.tolist())
            if run.step % ACCUMULATED == 0:
                run.optimizer.step()
                run.optimizer.zero_grad()
                run.schedulers[0].step()
            if run.step in stops:
                run.save(path)
                shutil.copy(path, f"{path}.{run.step}")
        run.schedulers[1].step(run.loss_sum)


def main() -> None:
    """Train, or resume, and print what came of it."""
    name, folder, stops = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    for file in sys.argv[4:] or [None]:
        run: Any = start(name)
        if file is not None:
            weft.rand(7)  # whatever happens before, the file decides
            random.seed(99)
            assert run.resume(file)
        train(run, folder / "run.weft", stops)
        run.save(folder / "end.weft")
        end = weft.load(folder / "end.weft")
        print(json.dumps({key: digest(value) for key, value in end.items()} | {"seen": run.seen}))


if __name__ == "__main__":
    main()
