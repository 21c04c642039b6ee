"""Words with tags, from files with a word in each line and columns for its tags."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from weft.text.data.dataset import Dataset
from weft.text.data.example import Example

from .published import Published, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["UDPOS", "SequenceTaggingDataset"]


def _sentences(path: str, encoding: str, separator: str | None) -> Iterator[list[list[str]]]:
    """Iterate over sentences, which empty lines end, as lists of columns."""
    rows: list[list[str]] = []
    with open(path, encoding=encoding) as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line:
                if rows:
                    yield [list(column) for column in zip(*rows)]
                rows = []
                continue
            rows.append(line.split(separator))
            if len(rows[-1]) != len(rows[0]):
                raise ValueError(
                    f"line {number} of {path} has {len(rows[-1])} columns, those before it "
                    f"{len(rows[0])}: {line!r}"
                )
    if rows:
        yield [list(column) for column in zip(*rows)]


class SequenceTaggingDataset(Dataset):
    """Sentences of words and tags: a word and its tags in each line, an empty line between two.

    Args:
        path: the file.
        fields: pairs of a name and a field, in the order of the columns.
        encoding: of the file.
        separator: between columns.
        kwargs: those of :class:`weft.text.data.Dataset`.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "tags")
    >>> with open(path, "w") as file:
    ...     _ = file.write("dogs\\tNOUN\\nbark\\tVERB\\n\\n")
    >>> from weft.text.data import Field
    >>> rows = weft.text.datasets.SequenceTaggingDataset(path, [("w", Field()), ("t", Field())])
    >>> rows[0].w, rows[0].t
    (['dogs', 'bark'], ['NOUN', 'VERB'])
    """

    @staticmethod
    def sort_key(example: Any) -> int:
        """Return the length of the first column.

        >>> from types import SimpleNamespace
        >>> weft.text.datasets.SequenceTaggingDataset.sort_key(SimpleNamespace(w=["a", "b"]))
        2
        """
        return len(next(value for name, value in vars(example).items() if name[0] != "_"))

    def __init__(
        self,
        path: str,
        fields: Sequence[tuple[Any, Any]],
        encoding: str = "utf-8",
        separator: str = "\t",
        **kwargs: Any,
    ) -> None:
        rows = [
            Example.fromlist(columns, fields) for columns in _sentences(path, encoding, separator)
        ]
        super().__init__(rows, fields, **kwargs)


class UDPOS(Published):
    """Universal Dependencies, English: sentences with two kinds of parts of speech.

    Rows are lists of three columns: words, universal tags, Penn Treebank's tags.

    Args:
        root: the folder of data sets; ``root/UDPOS/en-ud-v2/en-ud-tag.v2.train.txt`` is read.
        split: ``"train"``, ``"valid"``, ``"test"``, or several names; by default all.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> os.mkdir(os.path.join(folder, "en-ud-v2"))
    >>> with open(os.path.join(folder, "en-ud-v2", "en-ud-tag.v2.dev.txt"), "w") as file:
    ...     _ = file.write("Dogs\\tNOUN\\tNNS\\nbark\\tVERB\\tVBP\\n")
    >>> weft.text.datasets.UDPOS(folder, split="valid")[0]
    [['Dogs', 'bark'], ['NOUN', 'VERB'], ['NNS', 'VBP']]
    """

    _SOURCE = Source(
        "https://bitbucket.org/sivareddyg/public/downloads/en-ud-v2.zip",
        "bdcac7c52d934656bae1699541424545",
    )
    NAMES = ("train", "valid", "test")
    FILES = {  # noqa: RUF012
        split: (os.path.join("en-ud-v2", f"en-ud-tag.v2.{name}.txt"),)
        for split, name in (("train", "train"), ("valid", "dev"), ("test", "test"))
    }
    SOURCES = dict.fromkeys(NAMES, _SOURCE)

    @classmethod
    def _read(cls, paths: list[str], split: str, **kwargs: Any) -> Iterator[Any]:
        return _sentences(paths[0], "utf-8", "\t")

    @classmethod
    def splits(
        cls, fields: Sequence[tuple[Any, Any]], root: str = ".data", **kwargs: Any
    ) -> tuple[SequenceTaggingDataset, ...]:
        """Return data sets with fields, one for each split.

        Args:
            fields: pairs of a name and a field, for the columns.
            root: the folder of data sets.
            kwargs: those of :class:`SequenceTaggingDataset`.

        >>> weft.text.datasets.UDPOS.NAMES
        ('train', 'valid', 'test')
        """
        return tuple(
            SequenceTaggingDataset(cls._paths(root, split)[0], fields, **kwargs)
            for split in cls.NAMES
        )
