"""The workers of a loader, seen from its side: started, watched, ended."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import socket
import sys
import threading
import time
import warnings
from collections import deque
from typing import TYPE_CHECKING, Any

from .channel import Channel, Message
from .worker import EPOCH, TASK, Loading, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.context import BaseContext

PATIENCE = 1.0  # seconds: for workers to end by themselves, and between two looks at silent ones
STOPPED_LOOKS = 2  # as often a worker must be found stopped; Ctrl-Z and fg stop it for a moment


class Worker:
    """One worker process.

    Attributes:
        number: from 0.
        process: of the operating system.
        channel: to it.
        waiting: serial numbers and indices of the batches it was asked for and has not sent.
        answers: what it has sent and nobody has taken, each with its indices.
    """

    def __init__(self, number: int, process: Any, channel: Channel) -> None:
        self.number = number
        self.process = process
        self.channel = channel
        self.waiting: deque[tuple[int, Any]] = deque()
        self.answers: deque[tuple[Message, Any]] = deque()
        self.gone = False
        self.found_stopped = 0

    def __str__(self) -> str:
        """Return the number and the process."""
        return f"DataLoader worker {self.number} (pid {self.process.pid})"

    def task(self) -> str:
        """Return what it is working on, in words."""
        if not self.waiting:
            return "with no batch to load"
        return f"while it loaded {shown(*self.waiting[0])}"


def shown(serial: int, indices: Any) -> str:
    """Return what a batch is made of, in words that are not too many.

    >>> weft.utils.data.pool.shown(0, [3, 1])
    'the samples [3, 1]'
    """
    if indices is None:
        return f"batch {serial} of its part of the stream"
    if isinstance(indices, list) and len(indices) > 100:
        return f"the samples [{str(indices[:100])[1:-1]}, … and {len(indices) - 100} more]"
    return f"the samples {indices}" if isinstance(indices, list) else f"the sample {indices}"


class Pool:
    """All workers of a loader.

    Args:
        count: how many.
        context: of ``multiprocessing``; how processes are started.
        dataset: the set.
        loading: how to load.
        init: called in each worker at its start.
    """

    def __init__(
        self,
        count: int,
        context: BaseContext,
        dataset: Any,
        loading: Loading,
        init: Callable[[int], Any] | None,
    ) -> None:
        self.workers: list[Worker] = []
        self.owner = os.getpid()
        self.epoch = 0
        self.closed = False
        self._poll = select.poll()
        self._by_file: dict[int, Worker] = {}
        forks = context.get_start_method() == "fork"
        if forks:
            import numpy  # noqa: F401 (here once, rather than in each worker, which seeds it)
        try:
            for number in range(count):
                self._start(number, count, context, forks, dataset, loading, init)
        except BaseException:
            self.close()
            raise

    def _start(
        self,
        number: int,
        count: int,
        context: Any,
        forks: bool,
        dataset: Any,
        loading: Loading,
        init: Callable[[int], Any] | None,
    ) -> None:
        ours, its = socket.socketpair()
        try:
            others = [ours, *(w.channel.socket for w in self.workers)] if forks else []
            process = context.Process(
                target=run,
                args=(its, others, self.owner, number, count, dataset, loading, init),
                name=f"weft-data-worker-{number}",
                daemon=True,
            )
            with warnings.catch_warnings():
                if forks and threading.active_count() == 1:
                    # Python warns of threads after a fork. All there are are weft's, which can be
                    # forked: see csrc/loops/parallel.cpp.
                    warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
                process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            its.close()
        worker = Worker(number, process, Channel(ours))
        self.workers.append(worker)
        for file in (ours.fileno(), process.sentinel):
            self._by_file[file] = worker
            self._poll.register(file, select.POLLIN)

    # ---- work -----------------------------------------------------------------------------------

    def begin(self, base_seed: int, resumed: list[Any] | None) -> None:
        """Begin an epoch: what is left of the last one is forgotten."""
        self.epoch += 1
        for worker in self.workers:
            worker.waiting.clear()
            worker.answers.clear()
            self._post(worker, EPOCH, 0, (base_seed, resumed and resumed[worker.number]))

    def ask(self, worker: Worker, serial: int, indices: Any) -> None:
        """Ask a worker for a batch."""
        worker.waiting.append((serial, indices))
        self._post(worker, TASK, serial, indices)

    def _post(self, worker: Worker, kind: int, serial: int, content: Any) -> None:
        if worker.gone:
            return  # said when its batch is wanted
        try:
            worker.channel.post(kind, self.epoch, serial, content)
        except ConnectionError:
            self._take(worker)  # it is gone; what it sent before that counts

    def wait(self, deadline: float | None) -> None:
        """Wait until something arrives; raise if a worker is gone, or the deadline has passed."""
        self._look_for_faults()
        left = PATIENCE if deadline is None else min(PATIENCE, deadline - time.monotonic())
        for worker in self.workers:
            wanted = select.POLLIN if self._flushed(worker) else select.POLLIN | select.POLLOUT
            if not worker.gone:
                self._poll.modify(worker.channel.fileno(), wanted)
        ready = self._poll.poll(max(0.0, left) * 1000)
        for worker in {
            self._by_file[file].number: self._by_file[file] for file, _ in ready
        }.values():
            self._take(worker)
        if not ready:
            self._look_for_stopped()
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError

    def _flushed(self, worker: Worker) -> bool:
        try:
            return worker.gone or worker.channel.flush()
        except ConnectionError:
            return True  # its end is seen as something to receive

    def _take(self, worker: Worker) -> None:
        """Take what a worker has sent, up to its end."""
        ended = worker.process.exitcode is not None  # if so, all it ever sent is there
        try:
            while messages := worker.channel.receive():
                for message in messages:
                    if message.epoch == self.epoch:
                        worker.answers.append((message, worker.waiting.popleft()[1]))
            if not ended:
                return
        except EOFError:
            worker.process.join(PATIENCE)
        worker.gone = True
        for file in (worker.channel.fileno(), worker.process.sentinel):
            self._poll.unregister(file)

    # ---- faults ---------------------------------------------------------------------------------

    def _look_for_faults(self) -> None:
        for worker in self.workers:
            if worker.gone and worker.waiting:
                code = worker.process.exitcode
                raise RuntimeError(
                    f"{worker} exited unexpectedly: {_ending(code)}, {worker.task()}."
                )

    def _look_for_stopped(self) -> None:
        for worker in self.workers:
            is_stopped = worker.waiting and _state(worker.process.pid) in ("T", "t")
            worker.found_stopped = worker.found_stopped + 1 if is_stopped else 0
            if worker.found_stopped >= STOPPED_LOOKS:
                raise RuntimeError(
                    f"{worker} does not answer: it is stopped (by SIGSTOP or another signal), "
                    f"{worker.task()}."
                )

    # ---- the end --------------------------------------------------------------------------------

    def close(self) -> None:
        """End all workers: idle ones end by themselves, others are killed after a while."""
        if self.closed or os.getpid() != self.owner:
            return  # a fork must not end what is its parent's
        self.closed = True
        for worker in self.workers:
            worker.answers.clear()
            worker.channel.close()
        deadline = time.monotonic() + PATIENCE
        for worker in self.workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
        for worker in self.workers:
            if worker.process.is_alive():
                worker.process.kill()
        for worker in self.workers:
            worker.process.join()
            worker.process.close()


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "it closed its connection"
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = {
        "SIGKILL": " (the system does that when memory runs out: try fewer workers, a smaller "
        "batch or a smaller prefetch_factor)",
        "SIGBUS": " (often a mapped file that became shorter, or no room in /dev/shm)",
        "SIGSEGV": " (a fault in native code that the dataset calls)",
    }.get(name, "")
    return f"it was killed by {name}{hint}"


def _state(process: int) -> str:
    """The letter of a process's state; empty where the system does not tell."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def default_context() -> BaseContext:
    """Return how workers are started: as the program said, else by fork on Linux.

    A fork is quick and needs no pickling of the set. It is safe with weft's threads, and with those
    of NumPy. Where it is not, ``multiprocessing_context="forkserver"`` or ``"spawn"`` helps.

    >>> weft.utils.data.pool.default_context().get_start_method() in ("fork", "spawn")
    True
    """
    chosen = multiprocessing.get_start_method(allow_none=True)
    if chosen is None and sys.platform == "linux":
        chosen = "fork"
    return multiprocessing.get_context(chosen)
