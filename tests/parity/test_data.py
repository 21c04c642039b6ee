"""``utils.data`` of weft and PyTorch: the same samples, batches, lengths and types of errors.

Random streams are not compared: an order is only checked where it is not random.
"""

from __future__ import annotations

import collections
import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.data

import weft
import weft.utils.data

Point = collections.namedtuple("Point", "x y")


class Labels(dict):
    """A dict of one's own."""


def streams(d: Any, length: int = 5) -> Any:
    """A stream of numbers in one of the libraries."""

    class Count(d.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            return iter(range(length))

    return Count()


# t: the library, d: its utils.data, np: NumPy, Count: a stream of 0 to 4
ROWS = [
    # ---- samples
    "d.TensorDataset(t.arange(6).reshape(3, 2), t.arange(3))[1]",
    "len(d.TensorDataset(t.zeros(3, 2)))",
    "d.TensorDataset(t.zeros(3), t.zeros(2))",
    *(f"d.ConcatDataset([range(3), range(5, 7)])[{i}]" for i in (0, 3, 4, 5, -1, -5, -6)),
    "d.ConcatDataset([])",
    "d.ConcatDataset([Count])",
    "list(d.ChainDataset([Count, Count]))",
    "list(d.ChainDataset([[1]]))",
    "d.StackDataset([1, 2], 'ab')[1]",
    "d.StackDataset(a=[1, 2], b='ab')[0]",
    "d.StackDataset(a=[1, 2], b='ab').__getitems__([1, 0])",
    "d.StackDataset([1], [1, 2])",
    "d.StackDataset()",
    "d.StackDataset([1], a=[1])",
    "d.Subset('abcd', [3, 1])[0]",
    "d.Subset('abcd', [3, 1]).__getitems__([1, 0])",
    "d.Subset(t.arange(4), [3, 1])[[0, 1]]",
    "len(d.Subset('abcd', [3, 1]))",
    "d.Dataset()[0]",
    *(
        f"[len(p) for p in d.random_split(range({n}), {lengths})]"
        for n in (10, 3, 0)
        for lengths in ([7, 3], [0.5, 0.5], [0.33, 0.33, 0.34], [0.9, 0.1], [1.5, -0.5], [1], [0])
    ),
    "sorted(i for p in d.random_split(range(10), [0.3, 0.7]) for i in p)",
    # ---- orders
    "list(d.SequentialSampler('abc'))",
    "len(d.RandomSampler('abc')), sorted(d.RandomSampler('abc'))",
    "sorted(list(d.RandomSampler('abc', num_samples=7))[:6])",
    "len(list(d.RandomSampler('abc', True, 7)))",
    *(f"d.RandomSampler('abc', num_samples={n})" for n in (0, -1, 1.5)),
    "d.RandomSampler('')",
    "d.RandomSampler('abc', replacement=1)",
    "sorted(d.SubsetRandomSampler([5, 2])), len(d.SubsetRandomSampler([5, 2]))",
    "list(d.WeightedRandomSampler([0, 0, 1], 3))",
    "sorted(d.WeightedRandomSampler([1, 1, 1], 3, replacement=False))",
    "list(d.WeightedRandomSampler([1, 1], 3, replacement=False))",
    *(f"d.WeightedRandomSampler([1.0], {n})" for n in (0, 1.5, True)),
    "d.WeightedRandomSampler([1.0], 1, 1)",
    "d.WeightedRandomSampler([[1.0]], 1)",
    *(f"list(d.BatchSampler(range({n}), 2, {drop}))" for n in (0, 3, 4) for drop in (True, False)),
    *(f"len(d.BatchSampler(range({n}), 2, {drop}))" for n in (0, 3, 4) for drop in (True, False)),
    *(f"d.BatchSampler([1], {size}, False)" for size in (0, True, 1.5, None)),
    "d.BatchSampler([1], 1, 1)",
    *(
        f"list(d.DistributedSampler(range({n}), 3, {rank}, shuffle=False, drop_last={drop}))"
        for n in (1, 2, 7, 9)
        for rank in (0, 2)
        for drop in (True, False)
    ),
    *(f"len(d.DistributedSampler(range({n}), 3, 1, drop_last=True))" for n in (2, 3, 7)),
    "d.DistributedSampler(range(3), 2, 2)",
    # ---- batches
    "d.default_collate([1, 2])",
    "d.default_collate([1.5, 2])",
    "d.default_collate([True, False])",
    "d.default_collate(['a', 'b'])",
    "d.default_collate([b'a', b'b'])",
    "d.default_collate([(1, 'a'), (2, 'b')])",
    "d.default_collate([[1, 2.0], [3, 4.0]])",
    "d.default_collate([{'a': 1, 'b': [2]}, {'a': 3, 'b': [4]}])",
    "d.default_collate([Labels(a=1), Labels(a=2)])",
    "d.default_collate([Point(1, 2), Point(3, 4)])",
    "d.default_collate([t.ones(2), t.zeros(2)])",
    "d.default_collate([np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)])",
    "d.default_collate([np.float32(1), np.float32(2)])",
    "d.default_collate([np.int16(1), np.int16(2)])",
    "d.default_collate([np.array(3), np.array(4)])",
    "d.default_collate([np.array('a'), np.array('b')])",
    "d.default_collate([np.array(['a'])])",
    "d.default_collate([None])",
    "d.default_collate([1j])",
    "d.default_collate([[1], [1, 2]])",
    "d.default_collate([t.ones(2), t.ones(3)])",
    "d.default_collate([{'a': 1}, {'b': 1}])",
    "d.default_collate([])",
    "d.default_convert([np.arange(2), (1, 'a'), {'k': np.ones(1)}, Point(np.ones(1), 2), b'a'])",
    "d.default_convert(np.float64(2))",
    "d.default_convert(np.array(['a']))",
    # ---- loaders
    *(
        f"list(d.DataLoader(range(5), {arguments}))"
        for arguments in (
            "2",
            "2, drop_last=True",
            "5",
            "9",
            "None",
            "2, sampler=[4, 0, 1]",
            "batch_sampler=[[4], [0, 1]]",
            "None, sampler=[4, 0, 1]",
            "3, collate_fn=list",
            "None, collate_fn=str",
            "2, num_workers=2",
            "2, num_workers=2, in_order=True, prefetch_factor=3, persistent_workers=True",
            "None, num_workers=1",
        )
    ),
    *(
        f"list(d.DataLoader(Count, {arguments}))"
        for arguments in ("2", "2, drop_last=True", "None", "5", "9, drop_last=True")
    ),
    "list(d.DataLoader(Count, 2, num_workers=1))",
    "list(d.DataLoader(d.TensorDataset(t.arange(5), t.ones(5, 2)), 2))",
    "list(d.DataLoader(d.Subset(d.TensorDataset(t.arange(5)), [3, 1]), 2))",
    "len(d.DataLoader(range(5), 2)), len(d.DataLoader(range(5), 2, drop_last=True))",
    "len(d.DataLoader(Count))",
    "list(d.DataLoader([]))",
    *(
        f"d.DataLoader(range(5), {arguments})"
        for arguments in (
            "0",
            "shuffle=True, sampler=[1]",
            "2, batch_sampler=[[1]]",
            "shuffle=True, batch_sampler=[[1]]",
            "sampler=[1], batch_sampler=[[1]]",
            "drop_last=True, batch_sampler=[[1]]",
            "None, drop_last=True",
            "num_workers=-1",
            "timeout=-1",
            "prefetch_factor=2",
            "prefetch_factor=-1, num_workers=1",
            "persistent_workers=True",
            "multiprocessing_context='fork'",
            "multiprocessing_context='f', num_workers=1",
            "multiprocessing_context=3, num_workers=1",
        )
    ),
    "list(d.DataLoader(range(5), timeout=1))",
    *(f"d.DataLoader(Count, {a})" for a in ("shuffle=True", "sampler=[1]", "batch_sampler=[[1]]")),
    "d.DataLoader([], shuffle=True)",
    "setattr(d.DataLoader('ab'), 'batch_size', 3)",
    "setattr(d.DataLoader('ab'), 'sampler', None)",
    "[getattr(d.DataLoader('ab', num_workers=1), n) for n in ('prefetch_factor', 'timeout', "
    "'batch_size', 'drop_last', 'num_workers', 'persistent_workers', 'pin_memory', 'in_order')]",
    "d.DataLoader('ab').prefetch_factor",
    "[type(d.DataLoader('ab', shuffle=s).sampler).__name__ for s in (True, False)]",
    "d.DataLoader('ab', batch_sampler=[[0]]).batch_size",
    "d.get_worker_info()",
]


def plain(x: Any) -> Any:
    """A result of either library in words of neither."""
    if isinstance(x, (weft.Tensor, torch.Tensor)):
        return ("tensor", str(x.dtype).rpartition(".")[2], tuple(x.shape), x.tolist())
    if isinstance(x, np.ndarray):
        return ("array", x.tolist())
    if isinstance(x, dict):
        return (type(x).__name__, {key: plain(value) for key, value in x.items()})
    if isinstance(x, (list, tuple)):
        return (type(x).__name__, [plain(item) for item in x])
    return x if isinstance(x, (int, float, str, bytes, type(None))) else type(x).__name__


def result(row: str, t: Any) -> Any:
    """What a row gives in a library, or the type of its error."""
    d = t.utils.data
    names = {"t": t, "d": d, "np": np, "Point": Point, "Labels": Labels, "Count": streams(d)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(eval(row, names))
        except Exception as e:
            return f"raises {type(e).__name__}"


@pytest.mark.parametrize("row", ROWS)
def test_same(row: str) -> None:
    """Value, or type of the error."""
    assert result(row, weft) == result(row, torch)


def test_same_arguments() -> None:
    """Every argument of PyTorch's, at its place and with its default."""
    for name in (
        "DataLoader RandomSampler SubsetRandomSampler WeightedRandomSampler BatchSampler "
        "SequentialSampler DistributedSampler TensorDataset ConcatDataset ChainDataset "
        "StackDataset Subset random_split default_collate default_convert get_worker_info"
    ).split():
        ours, theirs = (getattr(t.utils.data, name) for t in (weft, torch))
        if inspect.isclass(ours):
            ours, theirs = ours.__init__, theirs.__init__

        def arguments(f: Any) -> list[Any]:
            return [(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values()]

        if name == "random_split":  # PyTorch's default is its default generator
            assert [a[:2] for a in arguments(ours)] == [a[:2] for a in arguments(theirs)]
        else:
            assert arguments(ours) == arguments(theirs), name
