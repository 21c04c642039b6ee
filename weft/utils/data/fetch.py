"""From indices, or from a stream, to batches."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import weft

from .collate import default_collate
from .dataset import Subset, TensorDataset, several

if TYPE_CHECKING:
    from collections.abc import Callable


class ByIndex:
    """Fetches batches of a set with indices.

    Args:
        dataset: the set.
        batched: an index is a list of indices, for a batch.
        collate: makes a batch of samples.
    """

    def __init__(self, dataset: Any, batched: bool, collate: Callable[[Any], Any]) -> None:
        self.dataset = dataset
        self.batched = batched
        self.collate = collate

    def __call__(self, index: Any) -> Any:
        """Return a batch."""
        try:
            samples = several(self.dataset, index) if self.batched else self.dataset[index]
            return self.collate(samples)
        except StopIteration as e:  # which would end the epoch
            raise RuntimeError("DataLoader: the dataset or collate_fn raised StopIteration") from e


class Rows(ByIndex):
    """Fetches batches of a set of tensors: their rows at once, in place of one by one.

    The batches are the same as those of ``ByIndex`` with ``default_collate``.
    """

    @staticmethod
    def fits(dataset: Any, batched: bool, collate: Any) -> bool:
        """Return whether a set is one of tensors, and fetched and collated as usual."""
        while type(dataset) is Subset:
            dataset = dataset.dataset
        return (
            batched
            and collate is default_collate
            and type(dataset) is TensorDataset
            and all(type(t) is weft.Tensor and not t.is_sparse for t in dataset.tensors)
        )

    def __call__(self, index: Any) -> Any:
        """Return a batch. The index may be a tensor."""
        dataset, rows = self.dataset, index
        while type(dataset) is Subset:
            places = dataset.indices
            rows = [places[i] for i in (rows.tolist() if isinstance(rows, weft.Tensor) else rows)]
            dataset = dataset.dataset
        if not isinstance(rows, weft.Tensor):
            rows = weft.tensor(list(rows))
        if rows.dtype is not weft.int64:  # no row, or no numbers of rows
            return super().__call__(index)
        return [tensor[rows] for tensor in dataset.tensors]


class Stream:
    """Fetches batches of a set that is read as a stream.

    Args:
        dataset: the set.
        size: of a batch; None for single samples.
        collate: makes a batch of samples.
        drop_last: leave out a last batch that is not full.
    """

    def __init__(
        self, dataset: Any, size: int | None, collate: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.samples = iter(dataset)
        self.size = size
        self.collate = collate
        self.drop_last = drop_last
        self.ended = False

    def __call__(self, index: Any = None) -> Any:
        """Return the next batch, whatever the index; raise StopIteration at the end."""
        if self.size is None:
            return self.collate(next(self.samples))
        samples = [] if self.ended else list(itertools.islice(self.samples, self.size))
        self.ended = len(samples) < self.size
        if not samples or (self.ended and self.drop_last):
            raise StopIteration
        return self.collate(samples)

    def skip(self, batches: int) -> None:
        """Pass over batches that were delivered in an earlier run."""
        count = batches * (self.size or 1)
        for _ in itertools.islice(self.samples, count):
            pass


def fetcher(dataset: Any, loading: Any) -> Any:
    """Return what fetches the batches of a set, as a loader wants them.

    Args:
        dataset: the set.
        loading: with ``stream``, ``batched``, ``collate_fn``, ``batch_size`` and ``drop_last``.
    """
    if loading.stream:
        return Stream(dataset, loading.batch_size, loading.collate_fn, loading.drop_last)
    kind = Rows if Rows.fits(dataset, loading.batched, loading.collate_fn) else ByIndex
    return kind(dataset, loading.batched, loading.collate_fn)
