"""Fields, examples, data sets and tokenisers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.text.data import (
    Dataset,
    Example,
    Field,
    LabelField,
    NestedField,
    RawField,
    TabularDataset,
    bleu_score,
    get_tokenizer,
    random_split,
)


def dataset(texts: list[str], field: Any) -> Dataset:
    """A set with one column."""
    fields = [("text", field)]
    return Dataset([Example.fromlist([t], fields) for t in texts], fields)


def test_padding_in_every_way() -> None:
    """Tokens around, fixed lengths, both sides."""
    rows = [["a", "b", "c"], ["d"]]
    assert Field(init_token="<s>", eos_token="</s>").pad(rows) == [
        ["<s>", "a", "b", "c", "</s>"],
        ["<s>", "d", "</s>", "<pad>", "<pad>"],
    ]
    assert Field(fix_length=3, eos_token="</s>", include_lengths=True).pad(rows) == (
        [["a", "b", "</s>"], ["d", "</s>", "<pad>"]],
        [3, 2],
    )
    assert Field(fix_length=2, pad_first=True, truncate_first=True).pad(rows) == [
        ["b", "c"],
        ["<pad>", "d"],
    ]


def test_tensor_lengths_and_dtype() -> None:
    """Time first by default; lengths beside it."""
    text = Field(include_lengths=True)
    rows = dataset(["a b", "a"], text)
    text.build_vocab(rows)
    tensor, lengths = text.process([x.text for x in rows])
    assert tensor.tolist() == [[2, 2], [3, 1]] and lengths.tolist() == [2, 1]
    assert tensor.is_contiguous()
    number = Field(sequential=False, use_vocab=False, dtype=weft.float32)
    assert number.process(["1.5", 2]).tolist() == [1.5, 2.0]
    with pytest.raises(ValueError, match="dtype of numbers"):
        Field(sequential=False, use_vocab=False, dtype=weft.bool).process([1])
    with pytest.raises(RuntimeError, match="build_vocab"):
        Field().process([["a"]])


def test_processing_and_stop_words() -> None:
    """Both hooks are called; stop words go after letters are made small."""
    text = Field(
        lower=True,
        stop_words=["the"],
        preprocessing=lambda x: x[::-1],
        postprocessing=lambda numbers, vocab: [[n + len(vocab) for n in row] for row in numbers],
        batch_first=True,
    )
    assert text.preprocess("The big CAT\n") == ["cat", "big"]
    text.build_vocab([["cat", "big"]], specials=["<extra>"])
    assert text.vocab.itos == ["<unk>", "<pad>", "<extra>", "big", "cat"]
    assert text.process([["cat"]]).tolist() == [[9]]


def test_label_field_has_no_special_tokens() -> None:
    """Labels are numbered from 0; an unknown one is an error."""
    label = LabelField(dtype=weft.float32)
    label.build_vocab(["pos", "neg", "pos"])
    assert label.vocab.itos == ["pos", "neg"] and label.is_target
    assert label.process(["neg"]).dtype == weft.float32
    with pytest.raises(RuntimeError, match="'new'"):
        label.process(["new"])


def test_nested_field_with_ends_and_lengths() -> None:
    """Words of letters, with tokens around both, padded in both."""
    inner = Field(tokenize=list, init_token="<w>", eos_token="</w>")
    nested = NestedField(inner, init_token="<s>", include_lengths=True)
    row = nested.preprocess("ab c")
    assert row == [["a", "b"], ["c"]]
    nested.build_vocab([row])
    padded, lengths, inner_lengths = nested.pad([row, [["d"]]])
    assert padded[0] == [
        ["<w>", "<s>", "</w>", "<pad>"],
        ["<w>", "a", "b", "</w>"],
        ["<w>", "c", "</w>", "<pad>"],
    ]
    assert padded[1][2] == ["<pad>"] * 4
    assert lengths == [3, 2]
    assert inner_lengths == [[3, 4, 3], [3, 3, 0]]
    tensor, *_ = nested.process([row, [["d"]]])
    assert tensor.shape == (2, 3, 4)


def test_tables_of_every_format(tmp_path: Path) -> None:
    """CSV by place and by name, TSV with a header, JSON lines."""
    (tmp_path / "a.csv").write_text('text,label,n\n"good, really",pos,1\nbad,neg,2\n')
    (tmp_path / "a.tsv").write_text("good\tpos\nbad\tneg\n")
    rows = [{"t": {"x": "good"}, "y": "pos"}, {"t": {"x": "bad"}, "y": "neg"}]
    (tmp_path / "a.json").write_text("\n".join(map(json.dumps, rows)) + "\n")
    text, label = Field(), LabelField()
    listed = [("text", text), ("label", label), ("n", None)]
    by_place = TabularDataset(str(tmp_path / "a.csv"), "csv", listed, skip_header=True)
    assert by_place[0].text == ["good,", "really"] and not hasattr(by_place[0], "n")
    named: Any = {"label": ("y", label), "text": [("x", text), ("raw", RawField())]}
    by_name = TabularDataset(str(tmp_path / "a.csv"), "csv", named)
    assert by_name[1].y == "neg" and by_name[0].raw == "good, really"
    assert list(by_name.fields) == ["y", "x", "raw"]
    tsv = TabularDataset(str(tmp_path / "a.tsv"), "tsv", listed[:2])
    assert [x.label for x in tsv] == ["pos", "neg"]
    keys: Any = {"t.x": ("text", text), "y": ("label", label)}
    assert TabularDataset(str(tmp_path / "a.json"), "json", keys)[1].text == ["bad"]
    with pytest.raises(ValueError, match="'xml'"):
        TabularDataset(str(tmp_path / "a.csv"), "xml", listed)
    with pytest.raises(ValueError, match="no columns"):
        TabularDataset(str(tmp_path / "a.csv"), "csv", {"missing": ("x", text)})
    with pytest.raises(ValueError, match="not found"):
        TabularDataset(str(tmp_path / "a.json"), "json", {"t.z": ("x", text)})


def test_split_by_shares_and_strata() -> None:
    """Training, validation and test come in that order; strata keep their shares."""
    fields = [("label", RawField())]
    whole = Dataset([Example.fromlist([i % 10 < 2], fields) for i in range(100)], fields)
    train, valid, test = whole.split([0.5, 0.3, 0.2])
    assert [len(train), len(valid), len(test)] == [50, 20, 30]
    parts = whole.split(0.7, stratified=True)
    assert [sum(p.label) for p in parts] == [14, 6]
    seen = [id(x) for p in parts for x in p]
    assert len(set(seen)) == 100
    a, b = (
        whole.split(0.7, random_state=weft.text.data.RandomShuffler().random_state)[0] for _ in "ab"
    )
    assert [id(x) for x in a] == [id(x) for x in b]
    for ratio in (1.5, [0.1], [-1, 2]):
        with pytest.raises(ValueError, match="split_ratio"):
            whole.split(ratio)
    with pytest.raises(ValueError, match="'nothing'"):
        whole.split(stratified=True, strata_field="nothing")
    assert [len(p) for p in random_split(whole, lengths=[60, 30])] == [60, 30]
    with pytest.raises(ValueError, match="100 examples"):
        random_split(whole, [99, 2])


def test_dataset_attributes() -> None:
    """Fields by name, a filter, and an error for what is neither."""
    text = Field()
    rows = dataset(["a b", "c"], text)
    assert list(rows.text) == [["a", "b"], ["c"]]
    with pytest.raises(AttributeError, match="'label'"):
        rows.label  # noqa: B018
    assert len(Dataset(rows.examples, rows.fields, filter_pred=lambda x: len(x.text) > 1)) == 1


def test_tokenisers(monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, by function; a missing package is named."""
    basic = get_tokenizer("basic_english")
    assert basic('Hello, "World"! It\'s (ok).<br />x;y') == (
        "hello , world ! it ' s ( ok ) . x y".split()
    )
    assert get_tokenizer(None)("a  b") == ["a", "b"] and get_tokenizer(list)("ab") == ["a", "b"]
    for name, package in (("spacy", "spacy"), ("moses", "sacremoses"), ("toktok", "nltk")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=f"'{name}' needs the package {package}"):
            get_tokenizer(name)
    with pytest.raises(NotImplementedError, match="'revtok'"):
        get_tokenizer("revtok")
    with pytest.raises(ValueError, match="'de'"):
        get_tokenizer("basic_english", "de")


def test_bleu() -> None:
    """Against values worked out by hand."""
    hypothesis = [["the", "cat", "sat", "on", "the", "mat"]]
    assert bleu_score(hypothesis, [hypothesis]) == pytest.approx(1.0)
    # 5/6 unigrams, 3/5 bigrams; as long as the reference
    references = [[["the", "cat", "was", "on", "the", "mat"]]]
    assert bleu_score(hypothesis, references, 2, [0.5, 0.5]) == pytest.approx(
        (5 / 6 * 3 / 5) ** 0.5
    )
    # shorter than the reference: exp(1 - 8/6)
    longer = [[[*hypothesis[0], "x", "y"]]]
    assert bleu_score(hypothesis, longer) == pytest.approx(2.718281828 ** (1 - 8 / 6))
    assert bleu_score([["a"]], [[["b"]]]) == 0.0
    with pytest.raises(ValueError, match="weights"):
        bleu_score([["a"]], [[["a"]]], max_n=2)
    with pytest.raises(ValueError, match="references for 0"):
        bleu_score([["a"]], [])
