"""Sentences in two languages."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from weft.text.data.dataset import Dataset
from weft.text.data.example import Example
from weft.text.data.utils import interleave_keys

from .published import Published, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Multi30k", "TranslationDataset"]


class TranslationDataset(Dataset):
    """Sentences in two languages, from two files whose lines belong together.

    Args:
        path: what the names of both files begin with.
        exts: what they end with.
        fields: the two fields, which become ``src`` and ``trg``; or pairs of a name and a field.
        kwargs: those of :class:`weft.text.data.Dataset`.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train")
    >>> for ext, line in ((".de", "ein Hund"), (".en", "a dog")):
    ...     with open(path + ext, "w") as file:
    ...         _ = file.write(line)
    >>> from weft.text.data import Field
    >>> rows = weft.text.datasets.TranslationDataset(path, (".de", ".en"), (Field(), Field()))
    >>> rows[0].src, rows[0].trg
    (['ein', 'Hund'], ['a', 'dog'])
    """

    @staticmethod
    def sort_key(ex: Any) -> int:
        """Return a number to sort by, made of both lengths.

        >>> from types import SimpleNamespace
        >>> weft.text.datasets.TranslationDataset.sort_key(SimpleNamespace(src=["a"], trg=[]))
        2
        """
        return interleave_keys(len(ex.src), len(ex.trg))

    def __init__(self, path: str, exts: Sequence[str], fields: Sequence[Any], **kwargs: Any):
        if not isinstance(fields[0], (tuple, list)):
            fields = [("src", fields[0]), ("trg", fields[1])]
        lines = _lines_together(*(os.path.expanduser(path + ext) for ext in exts))
        rows = [Example.fromlist(pair, fields) for pair in lines if pair[0] and pair[1]]
        super().__init__(rows, fields, **kwargs)

    @classmethod
    def splits(  # type: ignore[override]  # torchtext's order
        cls,
        exts: Sequence[str],
        fields: Sequence[Any],
        path: str | None = None,
        root: str = ".data",
        train: str | None = "train",
        validation: str | None = "val",
        test: str | None = "test",
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Make the data sets of a folder.

        Args:
            exts: what the names of the files of both languages end with.
            fields: their fields.
            path: the folder.
            root: where what is downloaded goes, if there is no path.
            train: what the names of the training files begin with; None for none.
            validation: the same for validation.
            test: the same for tests.
            kwargs: those of the class.

        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> for name in ("train.a", "train.b"):
        ...     with open(os.path.join(folder, name), "w") as file:
        ...         _ = file.write("x")
        >>> from weft.text.data import Field
        >>> (train,) = weft.text.datasets.TranslationDataset.splits(
        ...     (".a", ".b"), (Field(), Field()), path=folder, validation=None, test=None)
        >>> len(train)
        1
        """
        return super().splits(
            path, root, train, validation, test, exts=exts, fields=fields, **kwargs
        )


def _lines_together(*paths: str) -> list[tuple[str, ...]]:
    """Return the lines of files that have as many of them, without spaces around."""
    columns = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            columns.append([line.strip() for line in file])
    if len({len(column) for column in columns}) > 1:
        told = ", ".join(f"{path} has {len(column)}" for path, column in zip(paths, columns))
        raise ValueError(f"files of parallel text must have as many lines: {told}")
    return list(zip(*columns))


class Multi30k(Published):
    """Descriptions of pictures in English and German (the small task 1 of WMT 2016).

    Rows are pairs of sentences. Older programs use ``Multi30k.splits``.

    Args:
        root: the folder of data sets; ``root/Multi30k/train.de`` and so on are read.
        split: ``"train"``, ``"valid"``, ``"test"``, or several names; by default all.
        language_pair: of ``"de"`` and ``"en"``, from and to.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name, line in (("val.de", "ein Hund"), ("val.en", "a dog")):
    ...     with open(os.path.join(folder, name), "w") as file:
    ...         _ = file.write(line)
    >>> weft.text.datasets.Multi30k(folder, "valid", ("en", "de"))[0]
    ('a dog', 'ein Hund')
    """

    _URL = "http://www.quest.dcs.shef.ac.uk/wmt16_files_mmt/"
    NAMES = ("train", "valid", "test")
    FILES = {  # noqa: RUF012
        "train": ("train.de", "train.en"),
        "valid": ("val.de", "val.en"),
        "test": ("test2016.de", "test2016.en"),
    }
    SOURCES = {  # noqa: RUF012
        "train": Source(
            _URL + "training.tar.gz",
            sha256="20140d013d05dd9a72dfde46478663ba05737ce983f478f960c1123c6671be5e",
        ),
        "valid": Source(
            _URL + "validation.tar.gz",
            sha256="a7aa20e9ebd5ba5adce7909498b94410996040857154dab029851af3a866da8c",
        ),
        "test": Source(_URL + "mmt16_task1_test.tar.gz"),
    }

    def __new__(
        cls, root: str = ".data", split: Any = None, language_pair: Sequence[str] = ("de", "en")
    ) -> Any:
        """Return one split, or a tuple for several."""
        return super().__new__(cls, root, split, language_pair=language_pair)

    def __init__(
        self, root: str = ".data", split: Any = None, language_pair: Sequence[str] = ("de", "en")
    ) -> None:
        if sorted(language_pair) != ["de", "en"]:
            raise ValueError(
                f"Multi30k: language_pair must be of 'de' and 'en', got {language_pair}"
            )
        super().__init__(root, split, language_pair=language_pair)

    @classmethod
    def _read(cls, paths: list[str], split: str, **kwargs: Any) -> Iterator[Any]:
        ordered = paths if kwargs["language_pair"][0] == "de" else paths[::-1]
        return (pair for pair in _lines_together(*ordered) if all(pair))

    @classmethod
    def splits(
        cls,
        exts: Sequence[str],
        fields: Sequence[Any],
        root: str = ".data",
        train: str | None = "train",
        validation: str | None = "val",
        test: str | None = "test2016",
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Return data sets with the fields ``src`` and ``trg``, one for each split.

        The arguments are those of :meth:`TranslationDataset.splits`.

        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> for name in ("val.de", "val.en"):
        ...     with open(os.path.join(folder, name), "w") as file:
        ...         _ = file.write("a b")
        >>> from weft.text.data import Field
        >>> (valid,) = weft.text.datasets.Multi30k.splits(
        ...     (".de", ".en"), (Field(), Field()), root=folder, train=None, test=None)
        >>> valid[0].src
        ['a', 'b']
        """
        files = {"train": train, "valid": validation, "test": test}
        made = []
        for split, start in files.items():
            if start is not None:
                folder = os.path.dirname(cls._paths(root, split)[0])
                path = os.path.join(folder, start)
                made.append(TranslationDataset(path, exts, fields, **kwargs))
        return tuple(made)
