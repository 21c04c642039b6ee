"""Iterators: examples in batches, of like lengths, or cut from one long text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .batch import Batch
from .dataset import Dataset
from .utils import RandomShuffler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Iterator as Iter

    from .example import Example

__all__ = ["BPTTIterator", "BucketIterator", "Iterator", "batch", "pool"]

_POOL = 100  # how many batches are sorted together


def batch(
    data: Iterable[Any],
    batch_size: int,
    batch_size_fn: Callable[[Any, int, int], int] | None = None,
) -> Iter[list[Any]]:
    """Iterate over lists of elements, as many as fit a size.

    Args:
        data: the elements.
        batch_size: the size.
        batch_size_fn: from the newest element, their number and the size before it, to the size
            with it; by default their number.

    >>> list(weft.text.data.batch([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    rows: list[Any] = []
    size = 0
    for row in data:
        rows.append(row)
        size = len(rows) if batch_size_fn is None else batch_size_fn(row, len(rows), size)
        if size == batch_size:
            yield rows
            rows, size = [], 0
        elif size > batch_size and len(rows) > 1:
            yield rows[:-1]
            rows = rows[-1:]
            size = 1 if batch_size_fn is None else batch_size_fn(row, 1, 0)
    if rows:
        yield rows


def pool(
    data: Iterable[Any],
    batch_size: int,
    key: Callable[[Any], Any],
    batch_size_fn: Callable[[Any, int, int], int] | None = None,
    random_shuffler: Callable[[list[Any]], list[Any]] | None = None,
    shuffle: bool = False,
    sort_within_batch: bool = False,
) -> Iter[list[Any]]:
    """Iterate over batches of elements with like keys: chunks of 100 batches are sorted each.

    Args:
        data: the elements.
        batch_size: how large a batch is.
        key: what they are sorted by.
        batch_size_fn: see :func:`batch`.
        random_shuffler: gives the order of the batches of a chunk.
        shuffle: whether to use it.
        sort_within_batch: whether elements of a batch stay sorted; else they come as in ``data``.

    >>> list(weft.text.data.pool([3, 1, 4, 2], 2, key=lambda x: x, sort_within_batch=True))
    [[1, 2], [3, 4]]
    """
    shuffler = random_shuffler or RandomShuffler()
    for chunk in batch(data, batch_size * _POOL, batch_size_fn):
        order = sorted(range(len(chunk)), key=lambda i: key(chunk[i]))
        places = {id(chunk[i]): i for i in order}
        batches = list(batch((chunk[i] for i in order), batch_size, batch_size_fn))
        if not sort_within_batch:
            batches = [sorted(rows, key=lambda row: places[id(row)]) for rows in batches]
        yield from shuffler(batches) if shuffle else batches


class Iterator:
    """Batches of a data set.

    Args:
        dataset: the data set.
        batch_size: how large a batch is.
        sort_key: from an example to what is sorted by; by default that of the data set.
        device: where tensors go.
        batch_size_fn: see :func:`batch`.
        train: whether this is for training; gives the defaults of ``shuffle`` and ``sort``.
        repeat: begin again at the end, for ever.
        shuffle: a new order each epoch; by default ``train``.
        sort: sort by ``sort_key``; by default not ``train``.
        sort_within_batch: within a batch, the largest first; by default ``sort``.

    >>> from weft.text.data import Dataset, Example, Field, Iterator
    >>> text = Field()
    >>> rows = Dataset([Example.fromlist([t], [("text", text)]) for t in ("a b", "c")],
    ...                [("text", text)])
    >>> text.build_vocab(rows)
    >>> [b.text.shape for b in Iterator(rows, 1, train=False, sort=False)]
    [torch.Size([2, 1]), torch.Size([1, 1])]
    """

    batches: Iter[list[Any]]

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        sort_key: Callable[[Example], Any] | None = None,
        device: Any = None,
        batch_size_fn: Callable[[Any, int, int], int] | None = None,
        train: bool = True,
        repeat: bool = False,
        shuffle: bool | None = None,
        sort: bool | None = None,
        sort_within_batch: bool | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(
                f"{type(self).__name__}: batch_size must be positive, got {batch_size}"
            )
        self.batch_size, self.batch_size_fn = batch_size, batch_size_fn
        self.dataset, self.device = dataset, None if device == -1 else device
        self.train, self.repeat = train, repeat
        self.shuffle = train if shuffle is None else shuffle
        self.sort = not train if sort is None else sort
        self.sort_within_batch = self.sort if sort_within_batch is None else sort_within_batch
        self.sort_key = dataset.sort_key if sort_key is None else sort_key
        self.iterations = 0
        self._iterations_this_epoch = 0
        self.random_shuffler = RandomShuffler()
        self._state_of_epoch: Any = None
        self._restored = False

    @classmethod
    def splits(
        cls,
        datasets: Iterable[Dataset],
        batch_sizes: Iterable[int] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Make iterators of several data sets; the first is for training.

        Args:
            datasets: the data sets.
            batch_sizes: one for each; by default ``batch_size`` for all.
            kwargs: those of the class.

        >>> from weft.text.data import Dataset, Iterator, RawField
        >>> parts = Dataset([], [("x", RawField())]), Dataset([], [("x", RawField())])
        >>> [i.train for i in Iterator.splits(parts, batch_size=2)]
        [True, False]
        """
        datasets = list(datasets)
        sizes = [kwargs.pop("batch_size")] * len(datasets) if batch_sizes is None else batch_sizes
        return tuple(
            cls(dataset, size, train=i == 0, **kwargs)
            for i, (dataset, size) in enumerate(zip(datasets, sizes))
        )

    def _key(self) -> Callable[[Any], Any]:
        if self.sort_key is None:
            raise ValueError(
                f"{type(self).__name__}: sorting needs a sort_key, and neither the iterator nor "
                "its data set has one; give sort_key=lambda x: len(x.text), or sort=False and "
                "sort_within_batch=False"
            )
        return self.sort_key

    def data(self) -> list[Any]:
        """Return the examples in the order of this epoch.

        >>> from weft.text.data import Dataset, Iterator, RawField
        >>> Iterator(Dataset([], [("x", RawField())]), 2).data()
        []
        """
        if self.sort:
            return sorted(self.dataset, key=self._key())
        if self.shuffle:
            return [self.dataset[i] for i in self.random_shuffler(range(len(self.dataset)))]
        return list(self.dataset)

    def create_batches(self) -> None:
        """Set ``batches`` to the lists of examples of this epoch; subclasses may do it otherwise.

        >>> from weft.text.data import Dataset, Iterator, RawField
        >>> batches = Iterator(Dataset([], [("x", RawField())]), 2)
        >>> batches.create_batches()
        >>> list(batches.batches)
        []
        """
        self.batches = batch(self.data(), self.batch_size, self.batch_size_fn)

    def init_epoch(self) -> None:
        """Begin an epoch, or go on with the one that was restored.

        >>> from weft.text.data import Dataset, Iterator, RawField
        >>> batches = Iterator(Dataset([], [("x", RawField())]), 2)
        >>> batches.init_epoch()
        >>> batches.iterations
        0
        """
        if self._restored:
            self.random_shuffler.random_state = self._state_of_epoch
        else:
            self._state_of_epoch = self.random_shuffler.random_state
            self._iterations_this_epoch = 0
        self._restored = False
        self.create_batches()
        if not self.repeat and self._iterations_this_epoch == 0:
            self.iterations = 0

    @property
    def epoch(self) -> int:
        """How many times the data set has been gone through.

        >>> from weft.text.data import Dataset, Iterator, RawField
        >>> Iterator(Dataset([], [("x", RawField())]), 2).epoch
        0
        """
        return self.iterations // max(len(self), 1)

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        if self.batch_size_fn is not None:
            return sum(1 for _ in batch(self.dataset, self.batch_size, self.batch_size_fn))
        return math.ceil(len(self.dataset) / self.batch_size)

    def __iter__(self) -> Iter[Batch]:
        """Iterate over the batches of an epoch, or for ever with ``repeat``."""
        while True:
            self.init_epoch()
            done = self._iterations_this_epoch
            for number, rows in enumerate(self.batches):
                if number < done:
                    continue  # before the position that was restored
                self.iterations += 1
                self._iterations_this_epoch += 1
                if self.sort_within_batch:
                    if self.sort:
                        rows.reverse()
                    else:
                        rows.sort(key=self._key(), reverse=True)
                yield Batch(rows, self.dataset, self.device)
            if not self.repeat:
                return

    def state_dict(self) -> dict[str, Any]:
        """Return the position.

        >>> from weft.text.data import Dataset, Iterator, RawField
        >>> Iterator(Dataset([], [("x", RawField())]), 2).state_dict()["iterations"]
        0
        """
        return {
            "iterations": self.iterations,
            "iterations_this_epoch": self._iterations_this_epoch,
            "random_state_this_epoch": self._state_of_epoch or self.random_shuffler.random_state,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to a position that :meth:`state_dict` returned; the next epoch goes on from there.

        >>> from weft.text.data import Dataset, Iterator, RawField
        >>> batches = Iterator(Dataset([], [("x", RawField())]), 2)
        >>> batches.load_state_dict(batches.state_dict())
        """
        self.iterations = state_dict["iterations"]
        self._iterations_this_epoch = state_dict["iterations_this_epoch"]
        state = state_dict["random_state_this_epoch"]
        self._state_of_epoch = (state[0], tuple(state[1]), state[2])  # files hold lists
        self._restored = True


class BucketIterator(Iterator):
    """Batches of examples of like lengths, so that little is padded.

    The arguments are those of :class:`Iterator`. In training, chunks of 100 batches are sorted
    by ``sort_key`` and cut, and the batches of a chunk come in an order at random.

    >>> from weft.text.data import BucketIterator, Dataset, Example, Field
    >>> text = Field()
    >>> rows = Dataset([Example.fromlist([t], [("text", text)]) for t in ("a b", "c", "d e")],
    ...                [("text", text)])
    >>> text.build_vocab(rows)
    >>> batches = BucketIterator(rows, 2, sort_key=lambda x: len(x.text), sort=True)
    >>> [b.text.shape for b in batches]
    [torch.Size([2, 2]), torch.Size([2, 1])]
    """

    def create_batches(self) -> None:
        """Set ``batches`` to lists of examples of like lengths.

        >>> from weft.text.data import BucketIterator, Dataset, RawField
        >>> batches = BucketIterator(Dataset([], [("x", RawField())]), 2, sort=False)
        >>> batches.create_batches()
        >>> list(batches.batches)
        []
        """
        if self.sort or (self.sort_key is None and not self.sort_within_batch):
            super().create_batches()
            return
        self.batches = pool(
            self.data(),
            self.batch_size,
            self._key(),
            self.batch_size_fn,
            self.random_shuffler,
            self.shuffle,
            self.sort_within_batch,
        )


class BPTTIterator(Iterator):
    """Pieces of one long text for language models, each with the same piece one token later.

    The text is laid out in ``batch_size`` columns. Batches have ``text`` and ``target``.

    Args:
        dataset: its only example has the text, in the field ``text``.
        batch_size: how many columns.
        bptt_len: how many tokens a piece has.
        kwargs: those of :class:`Iterator`.

    >>> from weft.text.data import BPTTIterator, Dataset, Example, Field
    >>> text = Field()
    >>> rows = Dataset([Example.fromlist(["a b c d e f"], [("text", text)])], [("text", text)])
    >>> text.build_vocab(rows)
    >>> piece = next(iter(BPTTIterator(rows, batch_size=2, bptt_len=2)))
    >>> piece.text.T, piece.target.T
    (tensor([[2, 3],
            [5, 6]]), tensor([[3, 4],
            [6, 7]]))
    """

    def __init__(self, dataset: Dataset, batch_size: int, bptt_len: int, **kwargs: Any) -> None:
        if bptt_len < 1:
            raise ValueError(f"BPTTIterator: bptt_len must be positive, got {bptt_len}")
        if len(dataset) != 1 or "text" not in dataset.fields:
            raise ValueError(
                f"BPTTIterator: needs one example with a field 'text', got {len(dataset)} with "
                f"{list(dataset.fields)}"
            )
        self.bptt_len = bptt_len
        super().__init__(dataset, batch_size, **kwargs)

    def __len__(self) -> int:
        """Return how many pieces there are."""
        rows = math.ceil(len(self.dataset[0].text) / self.batch_size)
        return math.ceil(max(rows - 1, 0) / self.bptt_len)

    def __iter__(self) -> Iter[Batch]:
        """Iterate over the pieces, or for ever with ``repeat``."""
        field, tokens = self.dataset.fields["text"], list(self.dataset[0].text)
        fill = -len(tokens) % self.batch_size
        lengths_too, field.include_lengths = field.include_lengths, False
        try:
            ids = field.numericalize([tokens + [field.pad_token] * fill], device=self.device)
        finally:
            field.include_lengths = lengths_too
        columns = ids.reshape(self.batch_size, -1).t().contiguous()
        pieces = Dataset(self.dataset.examples, [("text", field), ("target", field)])
        while True:
            for begin in range(0, len(columns) - 1, self.bptt_len):
                end = min(begin + self.bptt_len, len(columns) - 1)
                text, target = columns[begin:end], columns[begin + 1 : end + 1]
                if field.batch_first:
                    text, target = text.t().contiguous(), target.t().contiguous()
                self.iterations += 1
                yield Batch.fromvars(
                    pieces, self.batch_size, train=self.train, text=text, target=target
                )
            if not self.repeat:
                return
