"""Functions and transforms on tokens and ids."""

from __future__ import annotations

import pytest

import weft
from weft.text import functional as F
from weft.text import transforms as T
from weft.text.data.functional import custom_replace, simple_space_split
from weft.text.vocab import vocab


def test_pipeline_of_a_classifier() -> None:
    """From words to a padded tensor, as newer tutorials do."""
    words = vocab({"a": 1, "b": 1}, specials=["<pad>", "<bos>", "<eos>", "<unk>"])
    words.set_default_index(3)
    pipeline = T.Sequential(
        T.VocabTransform(words),
        T.Truncate(2),
        T.AddToken(words["<bos>"]),
        T.AddToken(words["<eos>"], begin=False),
        T.ToTensor(padding_value=0),
        T.PadTransform(6, 0),
    )
    out = pipeline([["a", "b", "a"], ["zebra"]])
    assert out.tolist() == [[1, 4, 5, 2, 0, 0], [1, 3, 2, 0, 0, 0]]
    assert out.dtype == weft.int64


def test_errors_name_the_row() -> None:
    """Rows of different lengths and wrong kinds are told."""
    with pytest.raises(ValueError, match="row 1 has 1 ids, the longest has 2"):
        F.to_tensor([[1, 2], [3]])
    with pytest.raises(TypeError, match="list of int"):
        F.to_tensor(["a"])
    with pytest.raises(ValueError, match="'x'"):
        T.LabelToIndex(["a"])("x")
    with pytest.raises(ValueError, match="either"):
        T.LabelToIndex()


def test_small_ones(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Labels from a file, numbers from texts, replacements."""
    (tmp_path / "labels").write_text("pos\nneg\n")
    assert T.LabelToIndex(label_path=str(tmp_path / "labels"), sort_names=True)("pos") == 1
    assert F.str_to_int(["1", "2"]) == [1, 2] and F.truncate([1, 2, 3], 1) == [1]
    assert F.to_tensor([1, 2], dtype=weft.int32).dtype == weft.int32
    assert F.add_token([], 5) == [5]
    assert T.RegexTokenizer([(r"([.,])", r" \1 ")])("a,b. c") == ["a", ",", "b", ".", "c"]
    assert list(simple_space_split(custom_replace([("x", "y")])(["x z"]))) == [["y", "z"]]
