"""The order in which samples are taken, and how they are put into batches."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import weft

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Sized

    from weft import Generator, Tensor

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)
DRAWN_AT_ONCE = 1024  # samples with replacement: as many as wanted, without a list of all


class Sampler(Generic[T_co]):
    """An order of indices. Subclasses define ``__iter__``, and ``__len__`` if the length is known.

    >>> class Backwards(weft.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(weft.utils.data.DataLoader("abc", sampler=Backwards()))
    [['c'], ['b'], ['a']]
    """

    def __iter__(self) -> Iterator[T_co]:
        """Return the indices of an epoch, one after another."""
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def __repr__(self) -> str:
        """Return the class and, where it is known, the number of samples."""
        try:
            return f"{type(self).__name__}({len(self)} samples)"  # type: ignore[arg-type]
        except TypeError:
            return f"{type(self).__name__}()"


class SequentialSampler(Sampler[int]):
    """All indices in order.

    >>> list(weft.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        """Return 0, 1, 2 and so on."""
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        """Return the length of the set."""
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All indices in a new random order each epoch, or random ones with replacement.

    Args:
        data_source: the set.
        replacement: an index may come again.
        num_samples: how many to draw; by default as many as the set has.
        generator: of random numbers. By default a new one each epoch, seeded from weft's.

    >>> sorted(weft.utils.data.RandomSampler("abc"))
    [0, 1, 2]
    >>> len(list(weft.utils.data.RandomSampler("abc", replacement=True, num_samples=7)))
    7
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(
                f"RandomSampler: replacement should be a boolean value, but got "
                f"replacement={replacement!r}"
            )
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _check_count("RandomSampler", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices an epoch has: also the length of a set that grows.

        >>> weft.utils.data.RandomSampler("abc").num_samples
        3
        """
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def parts(self) -> Iterator[Tensor]:
        """Return the order of an epoch as tensors of indices; without replacement mostly one.

        >>> [len(part) for part in weft.utils.data.RandomSampler("abc", num_samples=5).parts()]
        [3, 2]
        """
        n, left, generator = len(self.data_source), self.num_samples, self.generator
        if generator is None:
            generator = weft.Generator().manual_seed(draw_seed(None))
        while left > 0:
            if self.replacement:
                part = weft.randint(n, (min(left, DRAWN_AT_ONCE),), generator=generator)
            else:
                part = weft.randperm(n, generator=generator)[:left]
            left -= len(part)
            yield part

    def __iter__(self) -> Iterator[int]:
        """Return the indices of an epoch."""
        return itertools.chain.from_iterable(part.tolist() for part in self.parts())

    def __len__(self) -> int:
        """Return ``num_samples``."""
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in a new random order each epoch.

    >>> sorted(weft.utils.data.SubsetRandomSampler([7, 3]))
    [3, 7]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        """Return the indices in a random order."""
        for i in weft.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        """Return the number of indices."""
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with the given probabilities.

    Args:
        weights: one per sample; they need not add up to 1.
        num_samples: how many to draw.
        replacement: an index may come again.
        generator: of random numbers; the default one if not given.

    >>> list(weft.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_count("WeightedRandomSampler", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"WeightedRandomSampler: replacement should be a boolean value, but got "
                f"replacement={replacement!r}"
            )
        self.weights = weft.as_tensor(weights, dtype=weft.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"WeightedRandomSampler: weights should be a 1d sequence, but given weights have "
                f"shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        """Return the indices of an epoch."""
        yield from weft.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        ).tolist()

    def __len__(self) -> int:
        """Return ``num_samples``."""
        return self.num_samples


class BatchSampler(Sampler["list[int]"]):
    """Indices of another sampler, put into batches.

    Args:
        sampler: gives the indices.
        batch_size: how many make a batch.
        drop_last: leave out a last batch that is not full.

    >>> list(weft.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_count("BatchSampler", batch_size, "batch_size")
        if not isinstance(drop_last, bool):
            raise ValueError(
                f"BatchSampler: drop_last should be a boolean value, but got drop_last={drop_last!r}"
            )
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        """Return lists of indices."""
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        """Return the number of batches."""
        full, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return full + (rest > 0 and not self.drop_last)

    def tensors(self) -> Iterator[Tensor] | None:
        """Return the batches as tensors of indices, if the order is one tensor, else None.

        >>> list(weft.utils.data.BatchSampler(
        ...     weft.utils.data.SequentialSampler("abc"), 2, False).tensors())
        [tensor([0, 1]), tensor([2])]
        """
        sampler = self.sampler
        if type(self) is not BatchSampler:
            return None
        if type(sampler) is RandomSampler and not sampler.replacement:
            if sampler.num_samples > len(sampler.data_source):
                return None
            return self._cut(sampler.parts())
        if type(sampler) is SequentialSampler:
            return self._cut(weft.arange(n) for n in (len(sampler),) if n)
        return None

    def _cut(self, order: Iterator[Tensor]) -> Iterator[Tensor]:
        for part in order:  # drawn when the first batch is asked for, as by __iter__
            size = self.batch_size
            end = len(part) // size * size if self.drop_last else len(part)
            for begin in range(0, end, size):
                yield part[begin : begin + size]


def draw_seed(generator: Generator | None) -> int:
    """Return a seed from a generator, or from weft's if there is none.

    >>> isinstance(weft.utils.data.sampler.draw_seed(None), int)
    True
    """
    return int(weft.randint(2**62, (), generator=generator))


def _check_count(what: str, n: Any, name: str = "num_samples") -> None:
    if not isinstance(n, int) or isinstance(n, bool) or n <= 0:
        raise ValueError(f"{what}: {name} should be a positive integer value, but got {name}={n!r}")
