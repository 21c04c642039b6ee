"""The loader in one process: batches, what may be asked for together, whole rows at once."""

from __future__ import annotations

import collections
import warnings
from typing import Any

import numpy as np
import pytest
from data.loading import Count, Numbers, identity

import weft
from weft.utils import data
from weft.utils.data import DataLoader


def test_batches_and_single_samples() -> None:
    assert [b.tolist() for b in DataLoader(Numbers(5), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Numbers(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Numbers(3), batch_size=None)) == [0, 1, 2]
    assert list(DataLoader(Numbers(4), sampler=[3, 1], collate_fn=identity)) == [[3], [1]]
    own = [[0, 3], [1]]
    assert list(DataLoader(Numbers(4), batch_sampler=own, collate_fn=identity)) == own
    assert list(DataLoader([])) == []
    for loader in (DataLoader(Numbers(5), 2), DataLoader(Numbers(5), 2, drop_last=True)):
        assert len(loader) == len(list(loader)) == len(iter(loader))


def test_shuffle() -> None:
    loader = DataLoader(Numbers(40), batch_size=4, shuffle=True)
    first, second = (weft.cat(list(loader)).tolist() for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(40)) and first != second
    orders = []
    for _ in range(2):
        g = weft.Generator().manual_seed(1)
        orders.append(weft.cat(list(DataLoader(Numbers(40), 4, True, generator=g))).tolist())
    assert orders[0] == orders[1]


def test_streams() -> None:
    batches = list(DataLoader(Count(5), batch_size=2))
    assert [b[:, 0].tolist() for b in batches] == [[0, 1], [2, 3], [4]]
    assert len(list(DataLoader(Count(5), batch_size=2, drop_last=True))) == 2
    assert len(list(DataLoader(Count(4), batch_size=2))) == 2
    assert [int(x[0]) for x in DataLoader(Count(3), batch_size=None)] == [0, 1, 2]
    with pytest.raises(TypeError):
        len(DataLoader(Count(3)))


class Liar(Count):
    """Says that it is shorter."""

    def __len__(self) -> int:
        return 2


def test_a_stream_longer_than_it_said_warns() -> None:
    loader = DataLoader(Liar(4))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="2 batches, but 3 have come"):
        assert len(list(loader)) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sum(1 for _ in DataLoader(Liar(4))) == 4  # nobody asked (list() would)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"sampler": [0], "shuffle": True}, ValueError, "sampler .* exclusive with shuffle"),
        ({"batch_sampler": [[0]], "shuffle": True}, ValueError, "batch_sampler .* exclusive"),
        ({"batch_sampler": [[0]], "batch_size": 2}, ValueError, "batch_sampler .* exclusive"),
        ({"batch_sampler": [[0]], "sampler": [0]}, ValueError, "batch_sampler .* exclusive"),
        ({"batch_sampler": [[0]], "drop_last": True}, ValueError, "batch_sampler .* exclusive"),
        ({"batch_size": None, "drop_last": True}, ValueError, "exclusive with drop_last"),
        ({"batch_size": 0}, ValueError, "batch_size=0"),
        ({"num_workers": -1}, ValueError, "non-negative, got -1"),
        ({"timeout": -1}, ValueError, "non-negative, got -1"),
        ({"prefetch_factor": 2}, ValueError, "let num_workers > 0"),
        ({"prefetch_factor": 0, "num_workers": 1}, ValueError, "at least 1, got 0"),
        ({"persistent_workers": True}, ValueError, "needs num_workers > 0"),
        ({"multiprocessing_context": "fork"}, ValueError, "num_workers=0"),
        ({"multiprocessing_context": "knife", "num_workers": 1}, ValueError, "'knife'"),
        ({"multiprocessing_context": 3, "num_workers": 1}, TypeError, "=3"),
    ],
)
def test_what_does_not_go_together(arguments: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        DataLoader(Numbers(3), **arguments)


def test_streams_have_no_indices() -> None:
    for arguments in ({"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}):
        with pytest.raises(ValueError, match="expected unspecified " + next(iter(arguments))):
            DataLoader(Count(3), **arguments)  # type: ignore[arg-type]
    DataLoader(Count(3), shuffle=False)
    with pytest.raises(ValueError, match="batch_size=0"):
        DataLoader(Count(3), batch_size=0)


def test_some_attributes_are_fixed() -> None:
    loader = DataLoader(Numbers(3))
    for name in "batch_size batch_sampler sampler drop_last dataset persistent_workers".split():
        with pytest.raises(ValueError, match=f"{name} attribute should not be set"):
            setattr(loader, name, None)
    loader.timeout = 3
    with pytest.raises(AssertionError, match="timeout=3"):
        iter(loader)


def test_pin_memory_is_accepted() -> None:
    loader = DataLoader(Numbers(2), pin_memory=True, pin_memory_device="cuda")
    assert [b.tolist() for b in loader] == [[0], [1]]


def test_stop_iteration_in_a_set_does_not_end_the_epoch() -> None:
    class Ends(Numbers):
        def __getitem__(self, index: int) -> int:
            raise StopIteration

    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(DataLoader(Ends(3)))


# ---- rows at once -------------------------------------------------------------------------------


class OneByOne(data.TensorDataset):
    """The same, but not taken for a set of tensors."""


@pytest.mark.parametrize(
    "arguments",
    [
        {"batch_size": 4},
        {"batch_size": 4, "shuffle": True},
        {"batch_size": 4, "shuffle": True, "drop_last": True},
        {"batch_size": 3, "sampler": data.WeightedRandomSampler(list(range(1, 11)), 12)},
        {"batch_sampler": [[1, 2], (3,), [-1, 0]]},
        {"batch_size": 2, "sampler": np.array([4, 2, 3])},
    ],
)
@pytest.mark.parametrize("part", [False, True])
def test_rows_at_once_are_the_same_batches(arguments: Any, part: bool) -> None:
    x, y = weft.randn(10, 3, 2), weft.arange(10)
    found = []
    for kind in (data.TensorDataset, OneByOne):
        d: Any = kind(x, y, x.transpose(1, 2))
        if part:
            d = data.Subset(data.Subset(d, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]), range(10))
        weft.manual_seed(2)
        found.append(list(DataLoader(d, **arguments)))
    assert len(found[0]) == len(found[1]) > 0
    for fast, slow in zip(*found):
        assert type(fast) is type(slow) is list
        for a, b in zip(fast, slow):
            assert a.dtype is b.dtype and a.shape == b.shape and a.is_contiguous()
            assert bool((a == b).all())


def test_rows_at_once_are_copies() -> None:
    x = weft.zeros(4)
    for (batch,) in DataLoader(data.TensorDataset(x), batch_size=2):
        batch += 1
    assert x.tolist() == [0, 0, 0, 0]


def test_rows_at_once_keep_errors_and_gradients() -> None:
    d = data.TensorDataset(weft.zeros(3, requires_grad=True))
    for bad in ([[5]], [[]]):
        with pytest.raises(IndexError):
            list(DataLoader(d, batch_sampler=bad))
    assert next(iter(DataLoader(d)))[0].requires_grad


# ---- batches of samples -------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")


class Labels(collections.UserDict):
    """A mapping with more to it than its items."""


def test_collate_keeps_containers() -> None:
    c = data.default_collate
    out = c([Point(1, 2.0), Point(3, 4.0)])
    assert isinstance(out, Point) and out.x.tolist() == [1, 3] and out.y.dtype is weft.float64
    out = c([{"a": [1, "x"]}, {"a": [2, "y"]}])
    assert out["a"][0].tolist() == [1, 2] and out["a"][1] == ("x", "y")
    assert type(c([Labels(a=1), Labels(a=2)])) is Labels
    assert c([np.float32(1), np.float32(2)]).dtype is weft.float32
    assert c([np.ones(2), np.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    assert c([True, False]).dtype is weft.bool
    assert c([b"a", b"b"]) == [b"a", b"b"]


def test_collate_refuses() -> None:
    with pytest.raises(TypeError, match="found <class 'NoneType'>"):
        data.default_collate([None])
    with pytest.raises(TypeError, match="found <U1"):
        data.default_collate([np.array(["a"])])
    with pytest.raises(RuntimeError, match=r"equal size, got sequences of \[2, 1\] items"):
        data.default_collate([[1, 2], [1]])
    with pytest.raises(RuntimeError):
        data.default_collate([weft.zeros(2), weft.zeros(3)])


def test_convert() -> None:
    out = data.default_convert([np.arange(2), (np.float64(1), "a"), {"k": None}, b"x", 3])
    assert out[0].tolist() == [0, 1] and out[1][0].item() == 1 and out[1][1] == "a"
    assert out[2:] == [{"k": None}, b"x", 3]
