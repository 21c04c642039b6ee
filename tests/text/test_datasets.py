"""Published data sets from files of their formats, and how files are fetched."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft
from weft.text import datasets
from weft.text.data import BucketIterator, Field, LabelField
from weft.text.data.functional import numericalize_tokens_from_iterator, to_map_style_dataset
from weft.text.datasets.published import Source
from weft.utils.download import download_url, extract_archive


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server on this machine: its address, and the folder that it shows."""
    folder = tmp_path / "site"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    server.server_close()


def test_download_checks_and_keeps(site: tuple[str, Path], tmp_path: Path) -> None:
    """A file is fetched once; with a wrong checksum nothing stays."""
    url, folder = site
    (folder / "a.bin").write_bytes(b"content")
    md5, sha = hashlib.md5(b"content").hexdigest(), hashlib.sha256(b"content").hexdigest()
    path = download_url(f"{url}/a.bin", tmp_path / "to", md5=md5, progress=False)
    assert Path(path).read_bytes() == b"content"
    (folder / "a.bin").unlink()
    assert download_url(f"{url}/a.bin", tmp_path / "to", sha256=sha, progress=False) == path
    (folder / "a.bin").write_bytes(b"other")
    with pytest.raises(RuntimeError, match=f"expected {md5}"):
        download_url(f"{url}/a.bin", tmp_path / "new", md5=md5, progress=False)
    assert list((tmp_path / "new").iterdir()) == []
    with pytest.raises(RuntimeError, match=r"could not fetch .*put it at .*nothing\.bin"):
        download_url(f"{url}/nothing.bin", tmp_path / "new", progress=False)
    assert list((tmp_path / "new").iterdir()) == []


def test_archives_stay_in_their_folder(tmp_path: Path) -> None:
    """Members outside are refused, in zip and tar files."""
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("../evil.txt", "x")
    with tarfile.open(tmp_path / "bad.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("/tmp/../evil.txt")
        info.size = 1
        tar.addfile(info, io.BytesIO(b"x"))
    for name in ("bad.zip", "bad.tar.gz"):
        with pytest.raises(ValueError, match="outside"):
            extract_archive(str(tmp_path / name), str(tmp_path / "inner"))
    assert not (tmp_path / "evil.txt").exists()
    (tmp_path / "plain").write_text("x")
    with pytest.raises(ValueError, match="neither"):
        extract_archive(str(tmp_path / "plain"))


def test_fetched_unpacked_and_read(
    site: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A data set that is not there is fetched; where that fails, the error says what to do."""
    url, folder = site
    with zipfile.ZipFile(folder / "w.zip", "w") as archive:
        for split in ("train", "valid", "test"):
            archive.writestr(f"wikitext-2/wiki.{split}.tokens", f" = {split} = \n \n")
    source = Source(f"{url}/w.zip")
    monkeypatch.setattr(
        datasets.WikiText2, "SOURCES", dict.fromkeys(("train", "valid", "test"), source)
    )
    train, _, test = datasets.WikiText2(root=str(tmp_path / "root"))
    assert list(train) == [" = train = \n", " \n"] and len(test) == 2
    gone = dict.fromkeys(("train", "test"), Source(f"{url}/gone.csv"))
    monkeypatch.setattr(datasets.AG_NEWS, "SOURCES", gone)
    with pytest.raises(RuntimeError, match=r"AG_NEWS.train\.csv is not there.*gone\.csv"):
        datasets.AG_NEWS(root=str(tmp_path / "root"), split="train")
    with pytest.raises(ValueError, match="'dev'"):
        datasets.AG_NEWS(root=str(tmp_path), split="dev")


def test_news(tmp_path: Path) -> None:
    """AG's news, raw and with fields, and the seeds' TextClassification."""
    (tmp_path / "AG_NEWS").mkdir()
    for name in ("train", "test"):
        rows = '"3","Oil ""up""","Prices rise"\n"2","Cup","final, won"\n'
        (tmp_path / "AG_NEWS" / f"{name}.csv").write_text(rows)
    train, test = datasets.AG_NEWS(root=str(tmp_path))
    assert train[0] == (3, 'Oil "up" Prices rise') and next(test)[0] == 3 and len(test) == 2
    assert to_map_style_dataset(train)[1][0] == 2
    text, label = Field(tokenize="basic_english"), LabelField(dtype=weft.int64)
    fields = [("text", text), ("label", label)]
    train, test = datasets.TextClassification(root=str(tmp_path / "AG_NEWS"), fields=fields)
    text.build_vocab(train, max_size=10000)
    label.build_vocab(train)
    assert train[0].text == ["oil", "up", "prices", "rise"] and set(label.vocab.itos) == {"2", "3"}
    batch = next(iter(BucketIterator(train, 2, train=False)))
    assert batch.text.shape == (4, 2) and batch.label.shape == (2,)
    (older, _) = datasets.AG_NEWS.splits(text, label, root=str(tmp_path))
    assert older[1].label == "2"
    with pytest.raises(FileNotFoundError, match="label in the first column"):
        datasets.TextClassification(str(tmp_path), fields)


def test_reviews(tmp_path: Path) -> None:
    """Folders of texts, as the reviews are published."""
    for split in ("train", "test"):
        for kind in ("pos", "neg"):
            folder = tmp_path / "IMDB" / "aclImdb" / split / kind
            folder.mkdir(parents=True)
            (folder / "0_9.txt").write_text(f"a {kind} film<br />indeed", encoding="utf8")
    assert list(datasets.IMDB(str(tmp_path), "test")) == [
        (1, "a neg film<br />indeed"),
        (2, "a pos film<br />indeed"),
    ]
    text, label = Field(), LabelField()
    train, _ = datasets.IMDB.splits(text, label, root=str(tmp_path))
    assert [x.label for x in train] == ["neg", "pos"] and train.sort_key(train[0]) == 4


def test_translation(tmp_path: Path) -> None:
    """The program of the seeds: files with two endings, fields with lengths."""
    for split, n in (("train", 3), ("val", 1), ("test", 1)):
        (tmp_path / f"{split}.src").write_text("Ein Hund läuft\n" * n + "\n", encoding="utf8")
        (tmp_path / f"{split}.trg").write_text("A dog runs .\n" * n + "\n", encoding="utf8")
    options = {"lower": True, "init_token": "<sos>", "eos_token": "<eos>", "include_lengths": True}
    src, trg = Field(**options), Field(**options)
    train, valid, test = datasets.TranslationDataset.splits(
        path=str(tmp_path), exts=(".src", ".trg"), fields=(src, trg)
    )
    assert (len(train), len(valid), len(test)) == (3, 1, 1)
    src.build_vocab(train, min_freq=2)
    trg.build_vocab(train, min_freq=2)
    batch = next(iter(BucketIterator(train, 2, train=False)))
    tokens, lengths = batch.trg
    assert trg.vocab.lookup_tokens(tokens[:, 0]) == ["<sos>", "a", "dog", "runs", ".", "<eos>"]
    assert lengths.tolist() == [6, 6]
    (tmp_path / "val.trg").write_text("one\ntwo\nthree\n")
    with pytest.raises(ValueError, match=r"val\.src has 2, .*val\.trg has 3"):
        datasets.TranslationDataset(str(tmp_path / "val"), (".src", ".trg"), (src, trg))


def test_multi30k(tmp_path: Path) -> None:
    """Raw pairs in either direction, and data sets with fields."""
    for start in ("train", "val", "test2016"):
        (tmp_path / f"{start}.de").write_text("Zwei Männer.\n", encoding="utf8")
        (tmp_path / f"{start}.en").write_text("Two men.\n", encoding="utf8")
    train, _, _ = datasets.Multi30k(str(tmp_path), language_pair=("en", "de"))
    assert list(train) == [("Two men.", "Zwei Männer.")]
    parts = datasets.Multi30k.splits((".de", ".en"), (Field(), Field()), root=str(tmp_path))
    assert [x.src for part in parts for x in part] == [["Zwei", "Männer."]] * 3
    with pytest.raises(ValueError, match="'fr'"):
        datasets.Multi30k(str(tmp_path), "train", ("en", "fr"))


def test_running_text(tmp_path: Path) -> None:
    """Lines, one long text, and pieces of it."""
    for split in ("train", "valid", "test"):
        (tmp_path / f"ptb.{split}.txt").write_text(" the cat sat \n on it \n" * 5)
    lines = datasets.PennTreebank(str(tmp_path), "train")
    assert len(lines) == 10 and lines[1] == " on it \n"
    vocab = weft.text.vocab.build_vocab_from_iterator(map(str.split, lines))
    ids = numericalize_tokens_from_iterator(vocab, map(str.split, lines), removed_tokens=["on"])
    assert [len(list(row)) for row in ids] == [3, 1] * 5
    text = Field()
    train, _, test = datasets.PennTreebank.splits(text, root=str(tmp_path))
    assert train[0].text[:4] == ["the", "cat", "sat", "<eos>"] and len(test[0].text) == 35
    plain = datasets.LanguageModelingDataset(
        str(tmp_path / "ptb.test.txt"), Field(), newline_eos=False
    )
    assert len(plain[0].text) == 25


def test_tags(tmp_path: Path) -> None:
    """Columns of words and tags; a line with another number of columns is named."""
    folder = tmp_path / "UDPOS" / "en-ud-v2"
    folder.mkdir(parents=True)
    for name in ("train", "dev", "test"):
        sentence = "Dogs\tNOUN\tNNS\nbark\tVERB\tVBP\n\n"
        (folder / f"en-ud-tag.v2.{name}.txt").write_text(sentence * 2)
    word, tag = Field(), Field(unk_token=None)
    fields = (("word", word), ("udtag", tag), (None, None))
    train, valid, _ = datasets.UDPOS.splits(fields, root=str(tmp_path))
    assert len(train) == 2 and train[0].udtag == ["NOUN", "VERB"]
    tag.build_vocab(train)
    assert tag.vocab.itos == ["<pad>", "NOUN", "VERB"]
    assert valid.sort_key(valid[0]) == 2
    (tmp_path / "bad.txt").write_text("a\tX\nb\n")
    with pytest.raises(ValueError, match=r"line 2 of .*bad\.txt has 1 columns"):
        datasets.SequenceTaggingDataset(str(tmp_path / "bad.txt"), fields)


def test_older_paths() -> None:
    """torchtext.legacy's modules are the same ones."""
    import weft.text.legacy.data
    from weft.text.legacy.datasets import Multi30k

    assert weft.text.legacy.data is weft.text.data and Multi30k is datasets.Multi30k
