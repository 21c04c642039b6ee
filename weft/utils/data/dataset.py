"""Sets of samples: found by index, or read as a stream."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import weft
from weft._environment import at_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from weft import Generator, Tensor

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A set whose samples are found by an index. Subclasses define ``__getitem__``, ``__len__``.

    A subclass may also define ``__getitems__``, which is given a list of indices and returns a list
    of samples: loaders then fetch a batch in one call.

    >>> class Squares(weft.utils.data.Dataset):
    ...     def __getitem__(self, index):
    ...         return index * index
    ...     def __len__(self):
    ...         return 5
    >>> both = Squares() + Squares()
    >>> len(both), both[6]
    (10, 1)
    """

    def __getitem__(self, index: Any) -> T_co:
        """Return one sample."""
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        """Return a set of the samples of both."""
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """A set that is read as a stream. Subclasses define ``__iter__``.

    With workers, each has a copy of the set: ``get_worker_info`` tells a copy which part is its
    own. A set with ``state_dict`` and ``load_state_dict`` is resumed by them (``docs/data.md``).

    >>> class Count(weft.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(Count() + Count())
    [0, 1, 2, 0, 1, 2]
    """

    def __iter__(self) -> Iterator[T_co]:
        """Return the samples, one after another."""
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def __add__(self, other: Dataset[T_co]) -> ChainDataset:  # type: ignore[override]
        """Return a stream of this set, then the other."""
        return ChainDataset([self, other])


class TensorDataset(Dataset["tuple[Tensor, ...]"]):
    """Tensors with the same first dimension: a sample is one row of each.

    >>> weft.utils.data.TensorDataset(weft.arange(3), weft.zeros(3, 2))[1]
    (tensor(1), tensor([0., 0.]))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if len({t.size(0) for t in tensors}) > 1:
            sizes = ", ".join(str(list(t.shape)) for t in tensors)
            raise AssertionError(
                at_line(
                    "TensorDataset: Size mismatch between tensors: the first dimensions must be "
                    f"equal, got shapes {sizes}"
                )
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        """Return a row of each tensor."""
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Several sets of the same length side by side: a sample has one of each.

    Args:
        args: sets; a sample is a tuple.
        kwargs: sets by name; a sample is a dict.

    >>> weft.utils.data.StackDataset(x=[1, 2], y=["a", "b"])[1]
    {'x': 2, 'y': 'b'}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("StackDataset: sets are given by place or by name, not both ways")
        if not args and not kwargs:
            raise ValueError("StackDataset: at least one set is needed")
        self.datasets: tuple[Any, ...] | dict[str, Any] = args or kwargs
        lengths = [len(d) for d in self._parts()]
        if len(set(lengths)) > 1:
            raise ValueError(
                f"StackDataset: Size mismatch between datasets: the lengths must be equal, "
                f"got {lengths}"
            )

    def _parts(self) -> tuple[Any, ...]:
        d = self.datasets
        return tuple(d.values()) if isinstance(d, dict) else d

    def _dressed(self, parts: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, parts)) if isinstance(self.datasets, dict) else tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        """Return the samples of all sets at an index."""
        return self._dressed(d[index] for d in self._parts())

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """Return several samples, with one call of each set that can do that."""
        columns = [several(d, indices) for d in self._parts()]
        return [self._dressed(row) for row in zip(*columns)]

    def __len__(self) -> int:
        """Return the length that all sets have."""
        return len(self._parts()[0])


def several(dataset: Any, indices: list[int]) -> list[Any]:
    """Return the samples of a set at some indices, with one call if the set can do that.

    >>> weft.utils.data.dataset.several("abc", [2, 0])
    ['c', 'a']
    """
    fetch = getattr(dataset, "__getitems__", None)
    if not callable(fetch):
        return [dataset[i] for i in indices]
    samples = fetch(indices)
    if len(samples) != len(indices):
        raise ValueError(
            f"{type(dataset).__name__}.__getitems__ was given {len(indices)} indices and returned "
            f"{len(samples)} samples"
        )
    return samples


class ConcatDataset(Dataset[T_co]):
    """Sets one after another, as one.

    >>> weft.utils.data.ConcatDataset([range(3), range(10, 12)])[-1]
    11
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return where each set ends.

        >>> weft.utils.data.ConcatDataset.cumsum([range(3), range(2)])
        [3, 5]
        """
        return list(itertools.accumulate(len(d) for d in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset: datasets should not be an empty iterable")
        for d in self.datasets:
            if isinstance(d, IterableDataset):
                raise AssertionError(
                    "ConcatDataset does not support IterableDataset: ChainDataset does"
                )
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        """Return the number of samples of all sets."""
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        """Return a sample of the set that the index falls into."""
        if idx < 0:
            if -idx > len(self):
                raise ValueError(
                    f"ConcatDataset: absolute value of index should not exceed dataset length, got "
                    f"{idx} of {len(self)}"
                )
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        if which == len(self.datasets):
            raise IndexError(f"ConcatDataset: index {idx} of {len(self)} samples")
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset[Any]):
    """Streams one after another, as one.

    >>> class Count(weft.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(weft.utils.data.ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        """Return the samples of the first stream, then those of the next."""
        for d in self.datasets:
            _must_be_stream(d)
            yield from d  # type: ignore[misc]

    def __len__(self) -> int:
        """Return the number of samples, if all streams know theirs."""
        for d in self.datasets:
            _must_be_stream(d)
        return sum(len(d) for d in self.datasets)  # type: ignore[arg-type, misc]


def _must_be_stream(d: Any) -> None:
    if not isinstance(d, IterableDataset):
        raise AssertionError(
            f"ChainDataset only supports IterableDataset, got {type(d).__name__}: ConcatDataset "
            f"takes sets with indices"
        )


class Subset(Dataset[T_co]):
    """The samples of a set at some indices.

    >>> list(weft.utils.data.Subset("abcde", [4, 0]))
    ['e', 'a']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> T_co:
        """Return the sample at an index of this subset, or those at several."""
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        """Return several samples, with one call of the set if it can do that."""
        return several(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        """Return the number of indices."""
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[Any]]:
    """Return subsets without common samples, at random.

    Args:
        dataset: what to split.
        lengths: of the subsets: numbers that add up to the length of the set, or fractions that add
            up to 1. What fractions leave over goes to the first subsets, one sample each.
        generator: of random numbers; the default one if not given.

    >>> a, b = weft.utils.data.random_split(range(10), [0.7, 0.3])
    >>> len(a), len(b), sorted([*a, *b]) == list(range(10))
    (7, 3, True)
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(
                    f"random_split: Fraction at index {i} is not between 0 and 1: {fraction}"
                )
        counts = [math.floor(total * fraction) for fraction in lengths]
        for i in range(total - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if count == 0:
                warnings.warn(
                    f"random_split: Length of split at index {i} is 0. This might result in an "
                    f"empty dataset.",
                    stacklevel=2,
                )
    else:
        counts = list(lengths)  # type: ignore[arg-type]
    if sum(counts) != total:
        raise ValueError(
            f"random_split: Sum of input lengths does not equal the length of the input dataset! "
            f"Got {counts} for {total} samples"
        )
    order = weft.randperm(total, generator=generator).tolist()
    ends = itertools.accumulate(counts)
    return [Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts)]
