"""Sets of samples: indices, streams, parts, splits."""

from __future__ import annotations

from typing import Any

import pytest
from data.loading import Count, Numbers

import weft
from weft.utils import data


def test_tensor_dataset() -> None:
    x, y = weft.arange(6).reshape(3, 2), weft.arange(3)
    d = data.TensorDataset(x, y)
    assert len(d) == 3
    assert [t.tolist() for t in d[2]] == [[4, 5], 2]
    assert [t.tolist() for t in d[1:]] == [[[2, 3], [4, 5]], [1, 2]]
    with pytest.raises(AssertionError, match=r"got shapes \[3\], \[4\]"):
        data.TensorDataset(weft.zeros(3), weft.zeros(4))


def test_concat_finds_the_set_of_an_index() -> None:
    d = data.ConcatDataset([range(3), [], range(10, 12)])
    assert [d[i] for i in range(5)] == [0, 1, 2, 10, 11]
    assert (d[-1], d[-5], len(d), d.cumulative_sizes) == (11, 0, 5, [3, 3, 5])
    with pytest.raises(IndexError, match="index 5 of 5"):
        d[5]
    with pytest.raises(ValueError, match="-6 of 5"):
        d[-6]
    with pytest.raises(AssertionError, match="empty"):
        data.ConcatDataset([])
    with pytest.raises(AssertionError, match="ChainDataset does"):
        data.ConcatDataset([Count(2)])
    assert len(Numbers(2) + Numbers(3)) == 5


def test_chain_reads_streams_one_after_another() -> None:
    chain = Count(2) + Count(3)
    assert [int(x[0]) for x in chain] == [0, 1, 0, 1, 2]
    with pytest.raises(TypeError):
        len(chain)
    with pytest.raises(AssertionError, match="got range"):
        list(data.ChainDataset([range(3)]))  # type: ignore[list-item]


def test_stack_dataset() -> None:
    assert data.StackDataset([1, 2], "ab")[1] == (2, "b")
    assert data.StackDataset(x=[1, 2], y="ab").__getitems__([1, 0]) == [
        {"x": 2, "y": "b"},
        {"x": 1, "y": "a"},
    ]
    for bad in ((lambda: data.StackDataset([1], [1, 2])), data.StackDataset):
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(ValueError, match="not both ways"):
        data.StackDataset([1], x=[1])


class AtOnce(Numbers):
    """Can fetch several samples in a call."""

    calls = 0

    def __getitems__(self, indices: list[int]) -> list[int]:
        self.calls += 1
        return [10 * i for i in indices]


def test_several_samples_come_in_one_call() -> None:
    d = AtOnce(8)
    part = data.Subset(d, [7, 5, 3])
    assert part.__getitems__([0, 2]) == [70, 30]
    assert [b.tolist() for b in data.DataLoader(part, batch_size=2)] == [[70, 50], [30]]
    assert d.calls == 3
    d.__getitems__ = lambda indices: [1]  # type: ignore[method-assign, assignment]
    with pytest.raises(ValueError, match="given 2 indices and returned 1 samples"):
        next(iter(data.DataLoader(d, batch_size=2)))


def test_random_split() -> None:
    parts = data.random_split(range(10), [7, 3])
    assert sorted(i for part in parts for i in part) == list(range(10))
    parts = data.random_split(range(10), [0.33, 0.33, 0.34])
    assert [len(p) for p in parts] == [4, 3, 3]

    def split() -> list[Any]:
        g = weft.Generator().manual_seed(5)
        return [p.indices for p in data.random_split(range(50), [0.5, 0.5], generator=g)]

    assert split() == split() != [list(range(25)), list(range(25, 50))]
    with pytest.raises(ValueError, match=r"Got \[4, 3\] for 10 samples"):
        data.random_split(range(10), [4, 3])
    with pytest.raises(ValueError, match=r"index 0 is not between 0 and 1: 1\.5"):
        data.random_split(range(10), [1.5, -0.5])
    with pytest.warns(UserWarning, match="index 1 is 0"):
        data.random_split(range(3), [0.9, 0.1])


def test_import_paths() -> None:
    """PyTorch programs import by these."""
    import weft.utils.data as d
    from weft.utils.data.dataloader import DataLoader, default_collate
    from weft.utils.data.dataset import Dataset, random_split
    from weft.utils.data.distributed import DistributedSampler
    from weft.utils.data.sampler import RandomSampler, Sampler

    assert (DataLoader, default_collate) == (d.DataLoader, d.default_collate)
    assert (Dataset, random_split) == (d.Dataset, d.random_split)
    assert (DistributedSampler, RandomSampler) == (d.DistributedSampler, d.RandomSampler)
    assert issubclass(RandomSampler, Sampler)
    assert d.Dataset[int] and d.DataLoader[int] and d.Sampler[int]
    with pytest.raises(AttributeError, match="no attribute 'dat'"):
        weft.utils.dat  # noqa: B018
