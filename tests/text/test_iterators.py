"""Batches: order, lengths, resuming, pieces of running text."""

from __future__ import annotations

import random
from typing import Any

import pytest

import weft
from weft.text.data import (
    Batch,
    BPTTIterator,
    BucketIterator,
    Dataset,
    Example,
    Field,
    Iterator,
    LabelField,
    batch,
)


@pytest.fixture
def rows() -> Dataset:
    """500 texts of 1 to 30 words, with labels."""
    text, label = Field(include_lengths=True), LabelField()
    fields: Any = [("text", text), ("label", label)]
    lengths = [random.randint(1, 30) for _ in range(500)]
    made = Dataset(
        [Example.fromlist([f"w{i} " * n, str(n % 2)], fields) for i, n in enumerate(lengths)],
        fields,
    )
    made.sort_key = lambda x: len(x.text)
    text.build_vocab(made)
    label.build_vocab(made)
    return made


def test_every_example_once(rows: Dataset) -> None:
    """Each epoch has every example, in a new order."""
    it = Iterator(rows, 32)
    assert len(it) == 16
    epochs = [[x for b in it for x in b.text[0][0].tolist()] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) and epochs[0] != epochs[1]
    assert len(set(epochs[0])) == 500


def test_buckets_pad_little_and_sort(rows: Dataset) -> None:
    """Batches of like lengths, the longest first within each."""
    it = BucketIterator(rows, 20, sort_within_batch=True)
    padding = 0
    order = []
    for b in it:
        (text, lengths), label = b
        assert lengths.tolist() == sorted(lengths.tolist(), reverse=True)
        assert text.shape == (int(lengths.max()), len(b)) and label.shape == (len(b),)
        padding += int(text.numel() - lengths.sum())
        order.append(int(lengths.max()))
    assert padding < 0.1 * sum(len(x.text) for x in rows)
    assert order != sorted(order)  # batches are shuffled


def test_buckets_without_a_key_or_sorting(rows: Dataset) -> None:
    """Without sort_key batches are as they come; asking to sort is an error that says so."""
    rows.sort_key = None
    assert sum(len(b) for b in BucketIterator(rows, 20)) == 500
    for options in ({"sort": True}, {"sort_within_batch": True}, {"train": False}):
        with pytest.raises(ValueError, match="sort_key"):
            next(iter(BucketIterator(rows, 20, **options)))


def test_buckets_keep_order_within_a_batch(rows: Dataset) -> None:
    """Without sort_within_batch the examples of a batch are not sorted."""
    lengths = [b.text[1].tolist() for b in BucketIterator(rows, 20, sort_within_batch=False)]
    assert any(x != sorted(x) and x != sorted(x, reverse=True) for x in lengths)


def test_splits_and_sizes(rows: Dataset) -> None:
    """The first is for training; sizes may differ."""
    train, test = BucketIterator.splits((rows, rows), batch_sizes=(10, 50), sort_within_batch=True)
    assert train.train and train.shuffle and not test.train and test.sort
    lengths = [x for b in test for x in b.text[1].tolist()[::-1]]
    assert lengths == sorted(lengths) and len(test) == 10
    with pytest.raises(ValueError, match="batch_size must be positive"):
        Iterator(rows, 0)


def test_repeat_goes_on(rows: Dataset) -> None:
    """With repeat an iterator has no end."""
    it = Iterator(rows, 250, repeat=True)
    assert [len(b) for _, b in zip(range(5), it)] == [250] * 5
    assert it.epoch == 2


def test_resume_in_the_middle(rows: Dataset) -> None:
    """A restored position gives the batches that would have come."""
    it = BucketIterator(rows, 50)
    batches = iter(it)
    for _ in range(4):
        next(batches)
    state = it.state_dict()
    rest = [b.text[0].tolist() for b in batches]
    random.seed(99)
    other = BucketIterator(rows, 50)
    other.load_state_dict(state)
    assert [b.text[0].tolist() for b in other] == rest and len(rest) == 6
    assert len(list(other)) == 10


def test_batches_by_number_of_tokens() -> None:
    """batch_size_fn counts what a size is."""
    rows = ["aaa", "bb", "c", "dddd", "eeeeeeee"]
    sizes = list(batch(rows, 5, lambda new, count, sofar: sofar + len(new)))
    assert sizes == [["aaa", "bb"], ["c", "dddd"], ["eeeeeeee"]]


@pytest.mark.parametrize("batch_first", [False, True])
def test_pieces_of_text(batch_first: bool) -> None:
    """Pieces cover the text; targets are one token later."""
    text = Field(batch_first=batch_first)
    words = " ".join(f"w{i:02}" for i in range(23))
    rows = Dataset([Example.fromlist([words], [("text", text)])], [("text", text)])
    text.build_vocab(rows)
    it = BPTTIterator(rows, batch_size=3, bptt_len=3)
    pieces = list(it)
    assert len(pieces) == len(it) == 3
    dim = 1 if batch_first else 0
    inputs = weft.cat([p.text for p in pieces], dim)
    targets = weft.cat([p.target for p in pieces], dim)
    inputs, targets = (inputs, targets) if batch_first else (inputs.T, targets.T)
    assert weft.equal(inputs[:, 1:], targets[:, :-1]) and inputs.shape == (3, 7)
    assert text.vocab.lookup_tokens(inputs[1]) == [f"w{i:02}" for i in range(8, 15)]


def test_batch_shows_itself(rows: Dataset) -> None:
    """The text of a batch names fields, dtypes and shapes."""
    shown = repr(Batch(rows.examples[:2], rows))
    assert "of size 2" in shown and "[.label]:[torch.int64 of size 2]" in shown
