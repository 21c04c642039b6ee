"""One epoch of a loader: batch after batch, in this process or from workers."""

from __future__ import annotations

import itertools
import os
import pickle
import time
import warnings
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from weft import _C
from weft.random import all_states, set_all_states

from .fetch import Rows, Stream, fetcher
from .pool import Worker, shown
from .sampler import BatchSampler, draw_seed
from .worker import END, FAILURE, Loading, resumable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .dataloader import DataLoader


class Iteration:
    """An epoch that is underway. ``delivered`` counts the batches that were given out.

    Args:
        loader: whose epoch it is.
        resumed: what ``state`` returned in an earlier run, to go on from there.
    """

    def __init__(self, loader: DataLoader[Any], resumed: dict[str, Any] | None) -> None:
        self.loader = loader
        self.loading = Loading(loader)
        self.delivered = 0
        self.finished = False
        self.ahead: set[int] = set()  # delivered before batches with a smaller number
        self.start = loader._order_state()
        if resumed is None:
            self._begin(None)
            return
        # As the epoch began then: with the same random numbers, which are put back afterwards.
        now = all_states()
        self.start = resumed["start"]
        loader._set_order_state(self.start)
        try:
            self.delivered, self.ahead = resumed["delivered"], set(resumed["ahead"])
            self._begin(resumed)
        finally:
            set_all_states(now)

    def _begin(self, resumed: dict[str, Any] | None) -> None:
        """Draw the seed, and go to the first batch that is to be delivered."""
        self.base_seed = draw_seed(self.loader.generator)
        self.indices = self._indices()
        if not self.loading.stream:
            for _ in itertools.islice(self.indices, self.delivered):
                pass

    def _indices(self) -> Iterator[Any]:
        """The indices of each batch; of a stream no end of None."""
        if self.loading.stream:
            return itertools.repeat(None)
        return iter(self.loader._index_sampler)

    def __iter__(self) -> Iteration:
        """Return itself."""
        return self

    def __len__(self) -> int:
        """Return the number of batches of a whole epoch."""
        return len(self.loader)

    def __reduce__(self) -> Any:
        """Refuse to be copied: a position is copied by the loader's ``state_dict``."""
        raise TypeError(
            "DataLoader: an iteration cannot be copied or pickled. Copy the loader, or take its "
            "state_dict(), which knows the position"
        )

    def __next__(self) -> Any:
        """Return the next batch; a profiler records how long that takes."""
        if not _C._is_recording():
            return self._next()
        range_ = _C.OpenRange(f"enumerate(DataLoader)#{type(self).__name__}.__next__")
        try:
            return self._next()
        finally:
            range_.close()

    def _next(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no _next")

    def state(self) -> dict[str, Any]:
        """Return how the epoch began, and how far it has come."""
        return {
            "start": self.start,
            "delivered": self.delivered,
            "ahead": sorted(self.ahead),
            "dataset": None,
            "workers": [],
            "turn": 0,
        }

    def _compare_with_length(self) -> None:
        """Warn, once, if a stream gives more than its length promised."""
        announced = self.loader._announced
        if announced is not None and self.delivered > announced:
            self.loader._announced = None
            warnings.warn(
                f"DataLoader: the length of the IterableDataset was reported to be {announced} "
                f"batches, but {self.delivered} have come. With workers, each must give a part of "
                f"its own: see get_worker_info.",
                stacklevel=3,
            )


class Serial(Iteration):
    """Batches that are loaded in this process."""

    def __init__(self, loader: DataLoader[Any], resumed: dict[str, Any] | None) -> None:
        if loader.timeout:
            raise AssertionError(
                f"DataLoader: timeout={loader.timeout} is for workers; with num_workers=0 it must "
                f"be 0"
            )
        super().__init__(loader, resumed)

    def _begin(self, resumed: dict[str, Any] | None) -> None:
        state = resumed and resumed["dataset"]
        if state is not None:
            self.loader.dataset.load_state_dict(state)
        self.fetch = fetcher(self.loader.dataset, self.loading)
        super()._begin(resumed)
        if isinstance(self.fetch, Stream) and state is None:
            self.fetch.skip(self.delivered)

    def _indices(self) -> Iterator[Any]:
        batches = self.loader.batch_sampler
        if isinstance(self.fetch, Rows) and isinstance(batches, BatchSampler):
            return batches.tensors() or super()._indices()
        return super()._indices()

    def _next(self) -> Any:
        try:
            batch = self.fetch(next(self.indices))
        except StopIteration:
            self.finished = True
            raise
        self.delivered += 1
        if self.loader._announced is not None:
            self._compare_with_length()
        return batch

    def state(self) -> dict[str, Any]:
        """Return how far the epoch has come; of a stream that can tell, also where it is."""
        state = super().state()
        dataset = self.loader.dataset
        if self.loading.stream and resumable(dataset):
            state["dataset"] = dataset.state_dict()
        return state


class Parallel(Iteration):
    """Batches that workers load ahead."""

    def __init__(self, loader: DataLoader[Any], resumed: dict[str, Any] | None) -> None:
        self.states: list[dict[str, Any]] = [  # of workers, after what was delivered of them
            {"random": {}, "dataset": None, "delivered": 0, "ended": False}
            for _ in range(loader.num_workers)
        ]
        self.turn = 0  # of a stream: the worker whose batch comes next
        self.asked: deque[Worker] = deque()  # of a set with indices: whose batches come next
        self.serial = 0  # of the next batch to ask for
        self.pool = loader._workers()
        if not loader.persistent_workers:
            weakref.finalize(self, self.pool.close)
        try:
            super().__init__(loader, resumed)
        except BaseException:
            self.pool.close()
            raise

    def _begin(self, resumed: dict[str, Any] | None) -> None:
        super()._begin(resumed)
        if resumed is not None:
            self.states = [dict(state) for state in resumed["workers"]]
            self.turn = resumed["turn"]
        self.serial = self.delivered
        self.pool.begin(self.base_seed, self.states if resumed else None)
        self.epoch = self.pool.epoch
        self._ask()

    # ---- asking ---------------------------------------------------------------------------------

    def _ask(self) -> None:
        """Ask for as many batches as are to be loaded ahead."""
        each = self.loader.prefetch_factor or 1
        if self.loading.stream:
            for worker, state in zip(self.pool.workers, self.states):
                for _ in range(0 if state["ended"] else each - _load_of(worker)):
                    self.pool.ask(worker, state["delivered"] + _load_of(worker), None)
            return
        while len(self.asked) < each * len(self.pool.workers):
            try:
                indices = next(self.indices)
            except StopIteration:
                return
            if self.serial not in self.ahead:
                worker = self._free_worker()
                self.pool.ask(worker, self.serial, indices)
                self.asked.append(worker)
            self.serial += 1

    def _free_worker(self) -> Worker:
        workers = self.pool.workers
        if self.loader.in_order:
            return workers[self.serial % len(workers)]
        return min(workers, key=_load_of)

    # ---- delivering -----------------------------------------------------------------------------

    def _next(self) -> Any:
        """Return the next batch, when its worker has sent it."""
        if self.finished:
            raise StopIteration
        self._check_pool()
        try:
            worker = self._next_worker()
            if worker is None:
                self._finish()
                raise StopIteration
            message, indices = worker.answers.popleft()
            self._count(worker, message.serial)
            self._ask()
        except StopIteration:
            raise
        except BaseException:  # also Ctrl-C: nobody knows what was half done
            self.pool.close()
            raise
        try:
            content = message.load()
        except Exception as e:
            raise RuntimeError(
                f"{worker}: {shown(message.serial, indices)} arrived, but cannot be read: "
                f"{type(e).__name__}: {e}"
            ) from e
        if message.kind == FAILURE:
            raise _as_raised_there(content, worker.number, shown(message.serial, indices))
        batch, state = content
        own = self.states[worker.number]
        own.update(state, random={**own["random"], **state["random"]})
        if self.loader._announced is not None:
            self._compare_with_length()
        return batch

    def _check_pool(self) -> None:
        if os.getpid() != self.pool.owner:
            raise RuntimeError(
                "DataLoader: this iteration belongs to the process that began it, and cannot be "
                "gone on with after a fork"
            )
        if self.epoch != self.pool.epoch:
            raise RuntimeError(
                "DataLoader: with persistent_workers an iteration ends when the next one begins"
            )
        if self.pool.closed:
            raise RuntimeError("DataLoader: the workers have ended after an earlier error")

    def _next_worker(self) -> Worker | None:
        """Wait for the worker whose answer comes next; None at the end of the epoch."""
        timeout = self.loader.timeout
        deadline = time.monotonic() + timeout if timeout else None
        while True:
            candidates = self._candidates()
            if not candidates:
                return None
            for worker in candidates:
                while worker.answers and worker.answers[0][0].kind == END:
                    worker.answers.clear()
                    self.states[worker.number]["ended"] = True
                if worker.answers:
                    return worker
            if all(self.states[w.number]["ended"] for w in candidates):
                continue
            try:
                self.pool.wait(deadline)
            except TimeoutError:
                late = ", ".join(f"{w} {w.task()}" for w in candidates if w.waiting)
                raise RuntimeError(
                    f"DataLoader timed out after {timeout} seconds: waited for {late}."
                ) from None

    def _candidates(self) -> list[Worker]:
        """The workers of which one comes next."""
        workers = self.pool.workers
        if self.loading.stream:
            n = len(workers)
            turns = ((self.turn + i) % n for i in range(n))
            active = [workers[i] for i in turns if not self.states[i]["ended"]]
            return active[:1] if self.loader.in_order else active
        if self.loader.in_order:
            return [self.asked[0]] if self.asked else []
        return list({worker.number: worker for worker in self.asked}.values())

    def _count(self, worker: Worker, serial: int) -> None:
        """Count a batch as delivered."""
        self.states[worker.number]["delivered"] += 1
        if self.loading.stream:
            self.delivered += 1
            self.turn = (worker.number + 1) % len(self.pool.workers)
            return
        self.asked.remove(worker)
        self.ahead.add(serial)
        while self.delivered in self.ahead:
            self.ahead.remove(self.delivered)
            self.delivered += 1

    def _finish(self) -> None:
        self.finished = True
        if not self.loader.persistent_workers:
            self.pool.close()

    def state(self) -> dict[str, Any]:
        """Return how far the epoch has come, and the states of workers at that point."""
        workers = [dict(state) for state in self.states]
        return {**super().state(), "workers": workers, "turn": self.turn}


def _load_of(worker: Worker) -> int:
    """How many batches a worker was asked for that are not delivered."""
    return len(worker.waiting) + len(worker.answers)


class _Verbatim(str):
    """A text that KeyError shows as it is, with its lines."""

    __slots__ = ()
    __repr__ = str.__str__


def _as_raised_there(told: dict[str, Any], number: int, task: str) -> BaseException:
    """The exception of a worker, with its traceback there as the message."""
    text = (
        f"Caught {told['name']} in DataLoader worker process {number}, while it loaded {task}.\n"
        f"Original {told['text']}"
    )
    if told["type"] is not None:
        kind = pickle.loads(told["type"])
        try:
            made = kind(_Verbatim(text) if issubclass(kind, KeyError) else text)
            if text in str(made):
                return made
        except Exception:
            pass  # it is not made of a text
    if told["exception"] is not None:
        original = pickle.loads(told["exception"])
        original.__cause__ = RuntimeError(text)
        return original
    return RuntimeError(text)
