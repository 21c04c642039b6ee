"""Texts with labels: from CSV files, AG's news, film reviews."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import weft
from weft.text.data.dataset import Dataset
from weft.text.data.example import Example
from weft.text.utils import unicode_csv_reader

from .published import Published, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from weft.text.vocab import Vocab

__all__ = ["AG_NEWS", "IMDB", "TextClassification", "TextClassificationDataset"]


class TextClassificationDataset:
    """Pairs of a label and a tensor of the numbers of tokens.

    Args:
        vocab: the vocabulary that the numbers are from.
        data: the pairs.
        labels: all labels that there are.

    >>> from weft.text.datasets import TextClassificationDataset
    >>> vocab = weft.text.vocab.vocab({"good": 1})
    >>> rows = TextClassificationDataset(vocab, [(1, weft.tensor([0]))], {0, 1})
    >>> rows[0], rows.get_labels()
    ((1, tensor([0])), {0, 1})
    """

    def __init__(self, vocab: Vocab, data: Sequence[tuple[int, weft.Tensor]], labels: set[int]):
        self._data, self._labels, self._vocab = data, labels, vocab

    def __getitem__(self, i: int) -> tuple[int, weft.Tensor]:
        """Return a pair."""
        return self._data[i]

    def __len__(self) -> int:
        """Return how many pairs there are."""
        return len(self._data)

    def __iter__(self) -> Iterator[tuple[int, weft.Tensor]]:
        """Iterate over the pairs."""
        return iter(self._data)

    def get_labels(self) -> set[int]:
        """Return the labels.

        >>> from weft.text.datasets import TextClassificationDataset
        >>> TextClassificationDataset(weft.text.vocab.vocab({}), [], {0, 1}).get_labels()
        {0, 1}
        """
        return self._labels

    def get_vocab(self) -> Vocab:
        """Return the vocabulary.

        >>> from weft.text.datasets import TextClassificationDataset
        >>> len(TextClassificationDataset(weft.text.vocab.vocab({"a": 1}), [], {0}).get_vocab())
        1
        """
        return self._vocab


class TextClassification(Dataset):
    """Texts with labels from a CSV file, as AG's news and similar sets are published.

    The first column is the label, the others are joined to the text. ``TextClassification(root,
    fields)`` with a folder gives a pair: the sets of its ``train.csv`` and ``test.csv``.

    Args:
        root: the folder, or one file.
        fields: pairs of a name and a field, for the text and the label.
        kwargs: those of :class:`weft.text.data.Dataset`.

    >>> import os, tempfile
    >>> from weft.text.data import Field, LabelField
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("train.csv", "test.csv"):
    ...     with open(os.path.join(folder, name), "w") as file:
    ...         _ = file.write('"1","Good","a film"\\n')
    >>> fields = [("text", Field()), ("label", LabelField())]
    >>> train, test = weft.text.datasets.TextClassification(folder, fields)
    >>> train[0].text, train[0].label
    (['Good', 'a', 'film'], '1')
    """

    @staticmethod
    def sort_key(ex: Any) -> int:
        """Return the length of the text.

        >>> from types import SimpleNamespace
        >>> weft.text.datasets.TextClassification.sort_key(SimpleNamespace(text=["a"]))
        1
        """
        return len(ex.text)

    def __new__(cls, root: str, *args: Any, **kwargs: Any) -> Any:
        """Return the set of a file, or the two of a folder."""
        if not os.path.isdir(root) and os.path.splitext(root)[1]:
            return super().__new__(cls)
        paths = [os.path.join(root, name) for name in ("train.csv", "test.csv")]
        missing = [path for path in paths if not os.path.isfile(path)]
        if missing:
            raise FileNotFoundError(
                f"TextClassification: {' and '.join(missing)} not there; expected CSV files with "
                "the label in the first column and the text in the others"
            )
        return tuple(cls(path, *args, **kwargs) for path in paths)

    def __init__(self, root: str, fields: Sequence[tuple[str, Any]], **kwargs: Any) -> None:
        if len(fields) != 2:
            raise ValueError(
                f"TextClassification: needs the fields of text and label, got {len(fields)}"
            )
        rows = [Example.fromlist([text, label], fields) for label, text in _labelled(root)]
        super().__init__(rows, fields, **kwargs)


def _labelled(path: str) -> Iterator[tuple[str, str]]:
    """Iterate over the labels and texts of a CSV file."""
    with open(path, encoding="utf8", newline="") as file:
        for number, row in enumerate(unicode_csv_reader(file), 1):
            if len(row) < 2:
                raise ValueError(f"row {number} of {path} has no label and text: {row}")
            yield row[0], " ".join(row[1:])


class _Labelled(Published):
    """Published pairs of a label and a text, which fields can be made of."""

    @classmethod
    def splits(
        cls, text_field: Any, label_field: Any, root: str = ".data", **kwargs: Any
    ) -> tuple[Dataset, ...]:
        """Return data sets with the fields ``text`` and ``label``, one for each split.

        Args:
            text_field: the field of texts.
            label_field: the field of labels.
            root: the folder of data sets.
            kwargs: those of :class:`weft.text.data.Dataset`.

        >>> from weft.text.datasets import IMDB
        >>> IMDB.NAMES
        ('train', 'test')
        """
        fields = [("text", text_field), ("label", label_field)]
        made = []
        for name in cls.NAMES:
            rows = cls(root, name)
            examples = [Example.fromlist([text, cls._named(y)], fields) for y, text in rows]
            part = Dataset(examples, fields, **kwargs)
            part.sort_key = TextClassification.sort_key
            made.append(part)
        return tuple(made)

    @classmethod
    def iters(
        cls, batch_size: int = 32, device: Any = None, root: str = ".data", vectors: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return iterators over batches, with fields and vocabularies of their own.

        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> for name in ("train.csv", "test.csv"):
        ...     with open(os.path.join(folder, name), "w") as file:
        ...         _ = file.write('"3","Fears","Unions say"\\n')
        >>> train, test = weft.text.datasets.AG_NEWS.iters(root=folder)
        >>> next(iter(train)).text.T
        tensor([[2, 3, 4]])
        """
        from weft.text.data import BucketIterator, Field, LabelField

        text, label = Field(), LabelField()
        parts = cls.splits(text, label, root=root, **kwargs)
        text.build_vocab(parts[0], vectors=vectors)
        label.build_vocab(parts[0])
        return BucketIterator.splits(parts, batch_size=batch_size, device=device)

    @classmethod
    def _named(cls, label: int) -> Any:
        return str(label)


class AG_NEWS(_Labelled):
    """AG's news: titles and first sentences, in four classes.

    Rows are pairs of the class, 1 (world), 2 (sports), 3 (business) or 4 (science), and the text.

    Args:
        root: the folder of data sets; ``root/AG_NEWS/train.csv`` and ``test.csv`` are read.
        split: ``"train"``, ``"test"``, or several names; by default both.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "test.csv"), "w") as file:
    ...     _ = file.write('"3","Fears for T N pension","Unions say"\\n')
    >>> weft.text.datasets.AG_NEWS(folder, split="test")[0]
    (3, 'Fears for T N pension Unions say')
    """

    _URL = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/"
    NAMES = ("train", "test")
    FILES = {"train": ("train.csv",), "test": ("test.csv",)}  # noqa: RUF012
    SOURCES = {  # noqa: RUF012
        "train": Source(_URL + "train.csv", "b1a00f826fdfbd249f79597b59e1dc12"),
        "test": Source(_URL + "test.csv", "d52ea96a97a2d943681189a97654912d"),
    }

    @classmethod
    def _read(cls, paths: list[str], split: str, **kwargs: Any) -> Iterator[Any]:
        return ((int(label), text) for label, text in _labelled(paths[0]))


class IMDB(_Labelled):
    """Film reviews of IMDB by Maas et al., bad (1) and good (2) ones.

    Older programs, which use ``IMDB.splits``, get the labels ``"neg"`` and ``"pos"``.

    Args:
        root: the folder of data sets; the texts are in ``root/IMDB/aclImdb/train/pos`` and so on.
        split: ``"train"``, ``"test"``, or several names; by default both.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for kind in ("neg", "pos"):
    ...     os.makedirs(os.path.join(folder, "aclImdb", "test", kind))
    ...     with open(os.path.join(folder, "aclImdb", "test", kind, "0_9.txt"), "w") as file:
    ...         _ = file.write("a film")
    >>> list(weft.text.datasets.IMDB(folder, split="test"))
    [(1, 'a film'), (2, 'a film')]
    """

    _SOURCE = Source(
        "http://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
        "7c2ac02c03563afcf9b574c7e56c153a",
    )
    NAMES = ("train", "test")
    FILES = {  # noqa: RUF012
        split: tuple(os.path.join("aclImdb", split, kind) for kind in ("neg", "pos"))
        for split in ("train", "test")
    }
    SOURCES = {"train": _SOURCE, "test": _SOURCE}  # noqa: RUF012

    @classmethod
    def _read(cls, paths: list[str], split: str, **kwargs: Any) -> Iterator[Any]:
        for label, folder in enumerate(paths, 1):
            for name in sorted(os.listdir(folder)):
                if name.endswith(".txt"):
                    with open(os.path.join(folder, name), encoding="utf8") as file:
                        yield label, file.read()

    @classmethod
    def _named(cls, label: int) -> Any:
        return ("neg", "pos")[label - 1]
