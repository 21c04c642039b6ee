"""Vocabularies in both styles, and vectors of words from files."""

from __future__ import annotations

import copy
import gzip
import pickle
from collections import Counter
from pathlib import Path

import pytest

import weft
from weft.text.vocab import GloVe, Vectors, Vocab, build_vocab_from_iterator, vocab

COUNTS = Counter({"hello": 4, "world": 3, "b": 2, "a": 2, "rare": 1})


def test_legacy_order_limits_and_unknown() -> None:
    """By frequency, then by the alphabet; special tokens do not count to max_size."""
    v = Vocab(COUNTS, max_size=3, min_freq=2, specials=["<unk>", "<pad>", "hello"])
    assert v.itos == ["<unk>", "<pad>", "hello", "world", "a", "b"]
    assert v.stoi["zebra"] == 0 and v["zebra"] == 0 and "zebra" not in v.stoi
    assert v.freqs["hello"] == 4 and len(v) == 6
    last = Vocab(COUNTS, min_freq=3, specials=["<pad>"], specials_first=False)
    assert last.itos == ["hello", "world", "<pad>"]
    with pytest.raises(KeyError):
        last.stoi["zebra"]


def test_newer_methods() -> None:
    """Lookups both ways, a default index, tokens added."""
    v = vocab({"b": 2, "a": 5, "rare": 1}, min_freq=2, specials=["<unk>"])
    assert v.get_itos() == ["<unk>", "b", "a"]
    with pytest.raises(RuntimeError, match="'zebra' is not there"):
        v["zebra"]
    v.set_default_index(v["<unk>"])
    assert v(["a", "zebra"]) == [2, 0] and "zebra" not in v and "a" in v
    v.insert_token("c", 1)
    v.append_token("d")
    assert v.get_itos() == ["<unk>", "c", "b", "a", "d"]
    assert [v[t] for t in v.get_itos()] == list(range(5))
    assert v.lookup_tokens(weft.tensor([4, 1])) == ["d", "c"]
    with pytest.raises(RuntimeError, match="'c' is there already"):
        v.append_token("c")
    with pytest.raises(RuntimeError, match="from 0 to 4, got 7"):
        v.lookup_token(7)


def test_from_iterator() -> None:
    """max_tokens counts the special ones."""
    lines = [["a", "b", "<unk>"], ["b", "c"]]
    assert build_vocab_from_iterator(lines, specials=["<unk>"], special_first=False).itos == [
        "b", "a", "c", "<unk>",
    ]  # fmt: skip
    assert build_vocab_from_iterator(lines, specials=["<unk>"], max_tokens=2).itos == ["<unk>", "b"]
    with pytest.raises(ValueError, match="max_tokens=1"):
        build_vocab_from_iterator(lines, specials=["<unk>"], max_tokens=1)


def test_copies_are_equal_and_apart() -> None:
    """Pickled and deep-copied vocabularies keep their default, and share nothing."""
    v = Vocab(COUNTS)
    for twin in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert twin == v and twin["zebra"] == 0
        twin.append_token("new")
        assert twin != v and "new" not in v


def test_vectors_of_word2vec_glove_and_gzip(tmp_path: Path) -> None:
    """A header is left out, the first of two lines counts, unknown words are filled."""
    text = "3 2\nthe 1 2\ncat 3 -4e-1\nthe 9 9\n"
    (tmp_path / "w2v.txt").write_text(text)
    with gzip.open(tmp_path / "w2v.txt.gz", "wt") as file:
        file.write(text)
    for name in ("w2v.txt", "w2v.txt.gz"):
        v = Vectors(name, cache=str(tmp_path), unk_init=lambda t: t.fill_(7.0))
        assert v.itos == ["the", "cat"] and v.dim == 2
        assert v.get_vecs_by_tokens(["cat", "dog"]).tolist() == [
            [3.0, pytest.approx(-0.4)],
            [7.0, 7.0],
        ]
    assert len(Vectors(str(tmp_path / "w2v.txt"), max_vectors=1)) == 1
    words = Vocab(Counter(["cat", "emu"]), specials=["<unk>"], vectors=v)
    assert words.vectors is not None and words.vectors[words["cat"], 0] == 3
    words.load_vectors([v, v])
    assert words.vectors.shape == (3, 4)


def test_vectors_say_what_is_wrong(tmp_path: Path) -> None:
    """The line of a file, or where it was looked for."""
    (tmp_path / "bad.txt").write_text("the 1 2\ncat 3\n")
    with pytest.raises(ValueError, match=r"line 2 of .*bad.txt"):
        Vectors(str(tmp_path / "bad.txt"))
    (tmp_path / "bad.txt").write_text("the 1 2\ncat 3 4 5\n")
    with pytest.raises(ValueError, match=r"line 2 .* 3 numbers"):
        Vectors(str(tmp_path / "bad.txt"))
    with pytest.raises(FileNotFoundError, match="no url"):
        Vectors("nothing.txt", cache=str(tmp_path))
    with pytest.raises(ValueError, match="7B"):
        GloVe("7B")
    with pytest.raises(ValueError, match=r"'glove\.9B'"):
        Vocab(COUNTS, vectors="glove.9B")
