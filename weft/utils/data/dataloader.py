"""``DataLoader``: batches of a set, with worker processes, and a position that can be resumed."""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import weakref
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import weft
from weft.random import all_states, set_all_states

from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset  # noqa: F401 (programs import both from here)
from .iteration import Iteration, Parallel, Serial
from .pool import Pool, default_context
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from .worker import Loading, get_worker_info, resumable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from multiprocessing.context import BaseContext

    from weft import Generator

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
_FIXED = "batch_size batch_sampler sampler drop_last dataset persistent_workers".split()


class DataLoader(Generic[T_co]):
    """Batches of a set: in order or shuffled, in this process or loaded ahead by workers.

    Args:
        dataset: with ``__getitem__`` and ``__len__``, or an ``IterableDataset``.
        batch_size: how many samples make a batch; None for single samples, as the set gives them.
        shuffle: take the samples in a new random order each epoch.
        sampler: gives the indices of samples.
        batch_sampler: gives lists of indices, one per batch.
        num_workers: how many processes load; with 0 this one does.
        collate_fn: makes a batch of a list of samples; ``default_collate`` if not given.
        pin_memory: accepted. There is no other memory to copy to.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a worker; 0 for no limit.
        worker_init_fn: called in each worker with its number, when it starts.
        multiprocessing_context: how workers are started: a name such as ``"spawn"``, or a context.
        generator: of the random numbers for shuffling and for the seeds of workers.
        prefetch_factor: how many batches each worker loads ahead; 2 if not given.
        persistent_workers: keep the workers from one epoch to the next.
        pin_memory_device: accepted, as ``pin_memory``.
        in_order: give batches in the order of the sampler; else each as soon as it is there.

    In an epoch the random numbers of weft, NumPy and Python in worker ``i`` are seeded with a seed
    of that epoch, plus ``i``. A worker computes on one thread.

    >>> loader = weft.utils.data.DataLoader(range(5), batch_size=2)
    >>> list(loader)
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    >>> len(loader)
    3
    """

    _fixed = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: str | BaseContext | None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._stream = isinstance(dataset, IterableDataset)
        if self._stream:
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader: batch_sampler option is mutually exclusive with batch_size, "
                    "shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "DataLoader: batch_size=None gives single samples, which is mutually exclusive "
                "with drop_last"
            )
        if sampler is None and not self._stream:
            sampler = (
                RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        if batch_size is not None:
            order: Any = range(0) if self._stream else sampler
            checked = BatchSampler(order, batch_size, drop_last)
            batch_sampler = None if self._stream else checked
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self._batched = batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or (default_collate if self._batched else default_convert)
        self._announced: int | None = None  # the length of a stream that was given out
        self._pool: Pool | None = None  # of persistent workers
        self._running: weakref.ref[Iteration] | None = None
        self._resumed: dict[str, Any] | None = None  # where the next iteration begins
        self._fixed = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what must stay as it was."""
        if self._fixed and name in _FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy takes over: not the workers and the iteration that are at work."""
        return {**self.__dict__, "_pool": None, "_running": None}

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """How workers are started, if that was asked for.

        >>> weft.utils.data.DataLoader("ab").multiprocessing_context is None
        True
        """
        return self._chosen_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: str | BaseContext | None) -> None:
        self._chosen_context = _context_of(context, self.num_workers)

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        if not self._stream:
            return len(self._index_sampler)
        samples = len(self.dataset)
        if self.batch_size is None:
            length = samples
        else:
            full, rest = divmod(samples, self.batch_size)
            length = full + (rest > 0 and not self.drop_last)
        self._announced = length
        return length

    def __iter__(self) -> Iteration:
        """Begin an epoch; or go on with the one that ``load_state_dict`` was given."""
        resumed, self._resumed = self._resumed, None
        kind = Parallel if self.num_workers else Serial
        try:
            iteration = kind(self, resumed)
        except BaseException:
            self._resumed = resumed
            raise
        self._running = weakref.ref(iteration)
        return iteration

    def _workers(self) -> Pool:
        """New workers, or those that are kept."""
        if self._pool is not None and not self._pool.closed:
            return self._pool
        context = self._chosen_context or default_context()
        pool = Pool(self.num_workers, context, self.dataset, Loading(self), self.worker_init_fn)
        if self.persistent_workers:
            self._pool = pool
            weakref.finalize(self, pool.close)
        return pool

    # ---- resuming -------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the position, so that another run can go on with the batch that comes next.

        It is the position of the newest iteration that still exists: within a loop over the loader,
        after the batch of this turn. Batches that workers have loaded ahead do not count. Without
        an iteration, after a loop, the next epoch begins at its beginning.

        >>> loader = weft.utils.data.DataLoader(range(9), batch_size=3, shuffle=True)
        >>> for first in loader:
        ...     state = loader.state_dict()
        ...     break
        >>> resumed = weft.utils.data.DataLoader(range(9), batch_size=3, shuffle=True)
        >>> resumed.load_state_dict(state)
        >>> sorted(weft.cat([first, *resumed]).tolist())
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
        """
        iteration = self._running() if self._running is not None else None
        state: dict[str, Any] = {**self._shape(), "iteration": self._resumed, "order": None}
        if state["iteration"] is None and iteration is not None and not iteration.finished:
            state["iteration"] = iteration.state()
        if state["iteration"] is None:
            state["order"] = {**self._order_state(), "random": {}}
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Let the next iteration begin at a position that ``state_dict`` returned.

        >>> loader = weft.utils.data.DataLoader("abc", batch_size=2)
        >>> loader.load_state_dict(weft.utils.data.DataLoader("abc", batch_size=1).state_dict())
        Traceback (most recent call last):
        ValueError: DataLoader: the saved position is one with batch_size=1, this loader has 2
        """
        for name, own in self._shape().items():
            if state_dict[name] != own:
                raise ValueError(
                    f"DataLoader: the saved position is one with {name}={state_dict[name]}, this "
                    f"loader has {own}"
                )
        iteration, order = state_dict["iteration"], state_dict["order"]
        self._check_order_state(order if iteration is None else iteration["start"])
        if iteration is None:
            self._set_order_state(order)
        self._resumed = iteration
        self._running = None

    def _shape(self) -> dict[str, Any]:
        """What must be the same where a position is restored."""
        return {
            "samples": None if self._stream else _length(self.dataset),
            "batch_size": self.batch_size,
            "drop_last": self.drop_last,
            "num_workers": self.num_workers,
        }

    def _order_state(self) -> dict[str, Any]:
        """All that the order of an epoch follows from, before it begins."""
        sources = self._sources()
        ours = all(type(s).__module__.startswith("weft.") for s in sources) and not self._stream
        random = {"weft": weft.get_rng_state()} if ours else all_states()
        samplers = [s.state_dict() for s in self._resumable_samplers()]
        generators = [g.get_state() for g in self._generators()]
        return {"random": random, "generators": generators, "samplers": samplers}

    def _check_order_state(self, state: dict[str, Any]) -> None:
        own = {"samplers": self._resumable_samplers(), "generators": self._generators()}
        for name, ours in own.items():
            if len(ours) != len(state[name]):
                raise ValueError(
                    f"DataLoader: the saved position has states of {len(state[name])} {name}, this "
                    f"loader has {len(ours)}"
                )

    def _set_order_state(self, state: dict[str, Any]) -> None:
        set_all_states(state["random"])
        for sampler, saved in zip(self._resumable_samplers(), state["samplers"]):
            sampler.load_state_dict(saved)
        for generator, saved in zip(self._generators(), state["generators"]):
            generator.set_state(saved)

    def _resumable_samplers(self) -> list[Any]:
        return [s for s in self._sources() if resumable(s)]

    def _sources(self) -> list[Any]:
        """What gives the order: the samplers."""
        inner = getattr(self.batch_sampler, "sampler", None)
        found = {id(s): s for s in (self.batch_sampler, self.sampler, inner)}
        return [s for s in found.values() if s is not None and type(s) is not BatchSampler]

    def _generators(self) -> list[Generator]:
        """The generators of random numbers that this loader was given, each once."""
        owners = (self, *self._sources())
        found = {id(g): g for o in owners if (g := getattr(o, "generator", None)) is not None}
        return [g for g in found.values() if isinstance(g, weft.Generator)]


def _length(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except TypeError:
        return None


# ---- what goes together -------------------------------------------------------------------------


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            f"DataLoader: num_workers option should be non-negative, got {num_workers}; use "
            f"num_workers=0 to load in this process"
        )
    if timeout < 0:
        raise ValueError(f"DataLoader: timeout option should be non-negative, got {timeout}")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            f"DataLoader: prefetch_factor option is for workers: let num_workers > 0, or leave it "
            f"None, got {prefetch_factor}"
        )
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError(f"DataLoader: prefetch_factor should be at least 1, got {prefetch_factor}")
    if persistent_workers and num_workers == 0:
        raise ValueError("DataLoader: persistent_workers option needs num_workers > 0")


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )


def _context_of(context: str | BaseContext | None, num_workers: int) -> BaseContext | None:
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError(
            f"DataLoader: multiprocessing_context can only be used with num_workers > 0, but got "
            f"num_workers={num_workers}"
        )
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                f"DataLoader: multiprocessing_context option should specify a valid start method "
                f"in {methods}, but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            f"DataLoader: multiprocessing_context option should be a valid context object or a "
            f"string specifying the start method, but got multiprocessing_context={context!r}"
        )
    return context
