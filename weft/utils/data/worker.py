"""What a worker process does: it is given indices, and sends batches."""

from __future__ import annotations

import os
import pickle
import random
import select
import signal
import threading
import time
import traceback
from collections import deque
from typing import TYPE_CHECKING, Any

import weft
from weft.random import SOURCES, all_states, set_all_states

from .channel import Channel, Message
from .fetch import Stream, fetcher

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

__all__ = ["WorkerInfo", "get_worker_info"]

# Kinds of messages, to a worker and from it.
EPOCH, TASK = 0, 1
BATCH, FAILURE, END = 2, 3, 4


class WorkerInfo:
    """What a worker process knows of itself.

    Attributes:
        id: its number, from 0.
        num_workers: how many there are.
        seed: of its random numbers in this epoch.
        dataset: its copy of the set.

    >>> weft.utils.data.worker.WorkerInfo(id=0, num_workers=2, seed=5, dataset=None)
    WorkerInfo(id=0, num_workers=2, seed=5, dataset=None)
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse."""
        raise RuntimeError(f"Cannot assign attributes to {type(self).__name__} objects")

    def __repr__(self) -> str:
        """Return the attributes."""
        values = ", ".join(f"{name}={value}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({values})"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return what this worker process knows of itself; in any other process None.

    >>> weft.utils.data.get_worker_info() is None
    True
    """
    return _info


class Loading:
    """How a loader loads: all that a worker must know, in one object that can be pickled."""

    def __init__(self, loader: Any) -> None:
        self.stream: bool = loader._stream
        self.batched: bool = loader._batched
        self.collate_fn: Callable[[Any], Any] = loader.collate_fn
        self.batch_size: int | None = loader.batch_size
        self.drop_last: bool = loader.drop_last


def resumable(x: Any) -> bool:
    """Return whether an object keeps its own state."""
    return callable(getattr(x, "state_dict", None)) and callable(
        getattr(x, "load_state_dict", None)
    )


def run(
    end: socket.socket,
    others: list[socket.socket],
    parent: int,
    number: int,
    num_workers: int,
    dataset: Any,
    loading: Loading,
    init: Callable[[int], Any] | None,
) -> None:
    """Work until the loader closes its end.

    Args:
        end: of the conversation with the loader.
        others: ends that a fork copied here; they are the loader's.
        parent: the process of the loader, with which this one ends.
        number: of this worker.
        num_workers: how many there are.
        dataset: the set.
        loading: how to load.
        init: called with the number at the start.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the loader, which ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # what the program does then, it does itself
    for other in others:
        other.close()
    threading.Thread(target=_die_with, args=(parent,), daemon=True).start()
    weft.set_num_threads(1)
    worker = _Worker(Channel(end), number, num_workers, dataset, loading, init)
    try:
        worker.work()
    except (EOFError, ConnectionError):
        pass  # the loader is done with us


class _Worker:
    def __init__(
        self,
        channel: Channel,
        number: int,
        num_workers: int,
        dataset: Any,
        loading: Loading,
        init: Callable[[int], Any] | None,
    ) -> None:
        self.channel = channel
        self.number = number
        self.num_workers = num_workers
        self.dataset = dataset
        self.loading = loading
        self.init = init
        self.fetch: Any = None
        self.failed: BaseException | None = None  # at the beginning of the epoch
        self.random: RandomWatch | None = None

    def work(self) -> None:
        tasks: deque[Message] = deque()
        while True:
            if not tasks:
                self.channel.wait()
            for message in self.channel.receive():
                if message.kind == EPOCH:
                    tasks.clear()  # what is left of the last epoch, nobody waits for
                tasks.append(message)
            if tasks:
                message = tasks.popleft()
                (self.begin if message.kind == EPOCH else self.answer)(message)

    def begin(self, message: Message) -> None:
        """Begin an epoch: seeds, the set's stream, and where an earlier run was."""
        global _info
        base_seed, resumed = message.load()
        self.failed = None
        seed = base_seed + self.number
        try:
            seed_all(seed)
            _info = WorkerInfo(
                id=self.number, num_workers=self.num_workers, seed=seed, dataset=self.dataset
            )
            if self.init is not None:
                self.init(self.number)
                self.init = None
            if resumed and resumed["dataset"] is not None:
                self.dataset.load_state_dict(resumed["dataset"])
            self.fetch = fetcher(self.dataset, self.loading)
            if resumed and isinstance(self.fetch, Stream) and resumed["dataset"] is None:
                self.fetch.skip(resumed["delivered"])
            if resumed:
                set_all_states(resumed["random"])
        except Exception as e:
            self.failed = e
        self.random = RandomWatch()

    def answer(self, task: Message) -> None:
        """Send a batch, or why there is none."""
        kind: int = BATCH
        try:
            if self.failed is not None:
                raise self.failed
            content: Any = (self.fetch(task.load()), self._state())
        except StopIteration:
            kind, content = END, None
        except Exception as e:
            kind, content = FAILURE, describe(e)
        try:
            self.channel.send(kind, task.epoch, task.serial, content)
        except (ConnectionError, EOFError):
            raise
        except Exception as e:  # it cannot be pickled
            self.channel.send(FAILURE, task.epoch, task.serial, describe(e))

    def _state(self) -> dict[str, Any]:
        """What a run that is resumed after this batch needs: what has changed of it."""
        state: dict[str, Any] = {"random": self.random.changes() if self.random else {}}
        if self.loading.stream and resumable(self.dataset):
            state["dataset"] = self.dataset.state_dict()
        return state


class RandomWatch:
    """Tells which states of random numbers have changed since the last look.

    NumPy takes long to give its state, so its memory is looked at first.

    >>> watch = weft.utils.data.worker.RandomWatch()
    >>> _ = weft.rand(3)
    >>> list(watch.changes()), list(watch.changes())
    (['weft'], [])
    """

    def __init__(self) -> None:
        self.states = all_states()
        self.mark = _memory_of_numpy()

    def changes(self) -> dict[str, Any]:
        """Return the states that are not what they were."""
        mark, numpy = _memory_of_numpy(), self.states["numpy"]
        # A second normal number is kept beside that memory, and is taken from there.
        if mark is None or mark != self.mark or numpy.get("has_gauss"):
            numpy = SOURCES["numpy"][0]()
        now = {"weft": weft.get_rng_state(), "numpy": numpy, "python": random.getstate()}
        changed = {name: now[name] for name in now if not _equal(now[name], self.states[name])}
        self.states, self.mark = now, mark
        return changed


def _memory_of_numpy() -> bytes | None:
    """The memory of NumPy's generator, if it is the usual one."""
    import ctypes

    import numpy as np

    generator = np.random.get_bit_generator()  # type: ignore[attr-defined]
    if type(generator).__name__ != "MT19937":
        return None
    return ctypes.string_at(generator.ctypes.state_address, 625 * 4)  # 624 words and a position


def _equal(a: Any, b: Any) -> bool:
    """Whether states of random numbers are equal."""
    if a is b:
        return True
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    same = a == b
    return bool(same.all() if hasattr(same, "all") else same)


def seed_all(seed: int) -> None:
    """Seed weft's, Python's and NumPy's random numbers.

    >>> weft.utils.data.worker.seed_all(3)
    >>> weft.initial_seed()
    3
    """
    import numpy as np

    random.seed(seed)
    weft.manual_seed(seed)
    np.random.seed([seed & 0xFFFFFFFF, seed >> 32])


def describe(e: BaseException) -> dict[str, Any]:
    """Return what the loader receives of an exception: all that can be pickled."""
    told: dict[str, Any] = {
        "name": type(e).__name__,
        "text": "".join(traceback.format_exception(type(e), e, e.__traceback__)),
    }
    for name, what in (("type", type(e)), ("exception", e)):
        try:
            told[name] = pickle.dumps(what)
            pickle.loads(told[name])
        except Exception:
            told[name] = None
    return told


def _die_with(parent: int) -> None:
    """End this process when its parent ends, however that happens and whatever is running."""
    try:
        waiting = select.poll()
        waiting.register(os.pidfd_open(parent), select.POLLIN)
        waiting.poll()
    except ProcessLookupError:
        pass
    except (OSError, AttributeError):  # no descriptors of processes on this system
        while _alive(parent):
            time.sleep(0.5)
    os._exit(1)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
