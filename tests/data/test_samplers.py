"""Orders of samples."""

from __future__ import annotations

import pytest

import weft
from weft.utils import data


def test_random_sampler_is_a_new_order_each_time() -> None:
    sampler = data.RandomSampler(range(50))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second and len(sampler) == 50


def test_random_sampler_follows_the_seed() -> None:
    def order(generator: weft.Generator | None) -> list[int]:
        return list(data.RandomSampler(range(50), generator=generator))

    weft.manual_seed(3)
    first = order(None)
    weft.manual_seed(3)
    assert order(None) == first
    a, b = (order(weft.Generator().manual_seed(4)) for _ in range(2))
    assert a == b != first


def test_random_sampler_draws_as_many_as_asked() -> None:
    few = list(data.RandomSampler(range(10), num_samples=4))
    assert len(set(few)) == 4
    many = list(data.RandomSampler(range(10), num_samples=25))
    assert sorted(many[:10]) == sorted(many[10:20]) == list(range(10)) and len(many) == 25
    drawn = list(data.RandomSampler(range(10), replacement=True, num_samples=3000))
    assert len(drawn) == 3000 and set(drawn) == set(range(10))


def test_bad_arguments() -> None:
    for count in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match=f"num_samples={count}"):
            data.RandomSampler(range(3), num_samples=count)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=f"num_samples={count}"):
            data.WeightedRandomSampler([1.0], count)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=f"batch_size={count}"):
            data.BatchSampler(range(3), count, False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="num_samples=0"):
        data.RandomSampler([])
    with pytest.raises(TypeError, match="replacement=1"):
        data.RandomSampler(range(3), replacement=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        data.WeightedRandomSampler([[1.0, 2.0]], 1)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="drop_last=1"):
        data.BatchSampler(range(3), 1, 1)  # type: ignore[arg-type]


def test_subset_and_weights() -> None:
    assert sorted(data.SubsetRandomSampler([4, 9, 2])) == [2, 4, 9]
    drawn = list(data.WeightedRandomSampler([0, 1, 3], 4000))
    assert drawn.count(0) == 0 and 0.2 < drawn.count(1) / 4000 < 0.3
    assert sorted(data.WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("length", [0, 1, 4, 7])
def test_batches(length: int, drop_last: bool) -> None:
    sampler = data.BatchSampler(data.SequentialSampler(range(length)), 2, drop_last)
    batches = list(sampler)
    assert len(batches) == len(sampler)
    assert [i for batch in batches for i in batch] == list(
        range(length - length % 2 if drop_last else length)
    )
    tensors = sampler.tensors()
    assert tensors is not None and [t.tolist() for t in tensors] == batches


def test_batches_as_tensors_are_those_of_the_lists() -> None:
    for sampler in (data.RandomSampler(range(9)), data.RandomSampler(range(9), num_samples=5)):
        batches = data.BatchSampler(sampler, 2, False)
        weft.manual_seed(1)
        lists = list(batches)
        weft.manual_seed(1)
        tensors = batches.tensors()
        assert tensors is not None and [t.tolist() for t in tensors] == lists
    twice = data.RandomSampler(range(9), num_samples=10)
    assert data.BatchSampler(twice, 2, False).tensors() is None
    assert data.BatchSampler([1, 2], 2, False).tensors() is None


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("length", [1, 7, 8, 2])
def test_distributed_sampler_shares_all(length: int, drop_last: bool) -> None:
    def shares(epoch: int) -> list[list[int]]:
        samplers = [
            data.DistributedSampler(range(length), 3, r, drop_last=drop_last, seed=1)
            for r in range(3)
        ]
        for sampler in samplers:
            sampler.set_epoch(epoch)
        assert [len(s) for s in samplers] == [len(list(s)) for s in samplers]
        return [list(s) for s in samplers]

    taken = [i for share in shares(0) for i in share]
    assert len(taken) == (length // 3 * 3 if drop_last else -(-length // 3) * 3)
    assert len(set(taken)) == (len(taken) if drop_last else length)
    assert shares(0) == shares(0)
    if length > 6:
        assert shares(0) != shares(1)


def test_distributed_sampler_needs_to_know_its_rank() -> None:
    with pytest.raises(ValueError, match="get_world_size: there is no process group"):
        data.DistributedSampler(range(4))
    with pytest.raises(ValueError, match="get_rank: there is no process group"):
        data.DistributedSampler(range(4), num_replicas=2)
    with pytest.raises(ValueError, match=r"Invalid rank 2, .* \[0, 1\]"):
        data.DistributedSampler(range(4), num_replicas=2, rank=2)
