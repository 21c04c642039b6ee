"""Sets of samples for tests/data/: some misbehave. Workers that are not forked import this file."""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import weft
from weft.utils.data import Dataset, IterableDataset, get_worker_info


class Numbers(Dataset):
    """Sample ``i`` is the number ``i``."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return index


class Images(Numbers):
    """Sample ``i`` is an image full of ``i``: large enough to be sent beside the socket."""

    def __getitem__(self, index: int) -> Any:
        return weft.full((3, 64, 64), float(index)), index


class Dice(Numbers):
    """A sample is its index with random numbers of Python, NumPy and weft."""

    def __getitem__(self, index: int) -> Any:
        drawn = random.random(), float(np.random.rand()), float(weft.rand((), dtype=weft.float64))
        return weft.tensor([index, *drawn], dtype=weft.float64)


class Who(Numbers):
    """A sample tells of the worker that loads it."""

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        assert info is not None
        same = info.dataset is self
        return info.id, info.num_workers, info.seed, os.getpid(), weft.get_num_threads(), same


class Kernels(Numbers):
    """A sample is computed by kernels that use threads where they may."""

    def __getitem__(self, index: int) -> Any:
        a = weft.full((300, 300), 0.5, requires_grad=True)
        big = weft.ones(1 << 20)
        ((a @ a).tanh().sum() + (big * 2).sum()).backward()
        assert a.grad is not None
        return float((big + index).sum())


class Fault(Numbers):
    """One sample does harm; the worker that meets it writes its process id into ``folder``."""

    def __init__(self, length: int, bad: int, fault: str, folder: Any = None) -> None:
        super().__init__(length)
        self.bad, self.fault, self.folder = bad, fault, folder

    def __getitem__(self, index: int) -> Any:
        if index == self.bad:
            if self.folder is not None:
                Path(self.folder, "pid").write_text(str(os.getpid()))
            return self.harm()
        return index

    def harm(self) -> Any:
        """Do it."""
        if self.fault.startswith("SIG"):
            faulthandler.disable()  # pytest's, which would print the stack
            number = getattr(signal, self.fault)
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_DFL)  # else a sanitizer's handler would end it
            os.kill(os.getpid(), number)
        elif self.fault == "exit":
            sys.exit(3)
        elif self.fault == "unpicklable":
            return lambda: None
        elif self.fault == "own":
            raise OwnError(7, "seven")
        elif self.fault == "sleep":
            time.sleep(600)
        else:
            raise {"key": KeyError, "value": ValueError, "os": OSError}[self.fault]("bad sample")
        return 0


class OwnError(Exception):
    """Is not made of a text."""

    def __init__(self, number: int, name: str) -> None:
        super().__init__(number, name)
        self.number, self.name = number, name


class Count(IterableDataset):
    """A stream of numbers; each worker has its part."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, self.length, step):
            yield weft.tensor([i, random.random()], dtype=weft.float64)


class Tape(IterableDataset):
    """A stream that knows its own position, and counts what it reads."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.position = 0
        self.read = 0

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        while self.position * step + first < self.length:
            self.position += 1
            self.read += 1
            yield (self.position - 1) * step + first, self.read
        self.position = 0

    def state_dict(self) -> dict[str, int]:
        """Return the position."""
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go to a position."""
        self.position = state["position"]


def identity(samples: list[Any]) -> list[Any]:
    """A batch is the list of its samples."""
    return samples


def reseed(number: int) -> None:
    """Begin random numbers in a way of one's own."""
    random.seed(100 + number)
    np.random.seed(100 + number)
    weft.manual_seed(100 + number)


def fail_to_start(number: int) -> None:
    """One worker cannot start."""
    if number == 1:
        raise ValueError(f"worker {number} has no disk")
