"""``Dataset``: examples and their fields; and those of tables in files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from weft.text.utils import unicode_csv_reader
from weft.utils.download import download_url, extract_archive

from .example import Example
from .utils import RandomShuffler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Dataset", "TabularDataset"]


class Dataset:
    """A list of examples, and the fields that they went through.

    ``dataset.text`` iterates over the values of the field ``text``.

    Args:
        examples: the examples.
        fields: pairs of a name and a field.
        filter_pred: keeps the examples for which it returns True.

    Attributes:
        sort_key: from an example to what iterators sort by.

    >>> from weft.text.data import Dataset, Example, Field
    >>> fields = [("text", Field())]
    >>> rows = Dataset([Example.fromlist([t], fields) for t in ("a b", "c")], fields)
    >>> len(rows), list(rows.text)
    (2, [['a', 'b'], ['c']])
    """

    sort_key: Any = None
    urls: Sequence[Any] = ()
    name: str = ""
    dirname: str = ""

    def __init__(
        self,
        examples: Iterable[Example],
        fields: Any,
        filter_pred: Callable[[Example], bool] | None = None,
    ) -> None:
        self.examples = [x for x in examples if filter_pred is None or filter_pred(x)]
        self.fields: dict[str, Any] = {}
        for name, field in dict(fields).items():
            if isinstance(name, tuple):
                self.fields.update(zip(name, field))
            else:
                self.fields[name] = field

    @classmethod
    def splits(
        cls,
        path: str | None = None,
        root: str = ".data",
        train: str | None = None,
        validation: str | None = None,
        test: str | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Make the data sets of a folder.

        Args:
            path: the folder; by default the one that :meth:`download` gives.
            root: where what is downloaded goes.
            train: what the name of the training file is, or begins with; None for none.
            validation: the same for validation.
            test: the same for tests.
            kwargs: those of the class.

        >>> import os, tempfile
        >>> from weft.text.data import Field, TabularDataset
        >>> folder = tempfile.mkdtemp()
        >>> for name in ("a.csv", "b.csv"):
        ...     with open(os.path.join(folder, name), "w") as file:
        ...         _ = file.write("good,1\\n")
        >>> fields = [("text", Field()), ("label", None)]
        >>> train, test = TabularDataset.splits(
        ...     folder, train="a.csv", test="b.csv", format="csv", fields=fields)
        >>> train[0].text
        ['good']
        """
        folder = cls.download(root) if path is None else path
        named = (name for name in (train, validation, test) if name is not None)
        made: Any = cls  # subclasses are made of a path
        return tuple(made(os.path.join(folder, name), **kwargs) for name in named)

    @classmethod
    def download(cls, root: str, check: str | None = None) -> str:
        """Fetch and unpack the files of ``urls``; return the folder ``root/name/dirname``.

        Args:
            root: the folder of all data sets.
            check: a folder that is there if nothing is to be done.

        >>> weft.text.data.Dataset.download("data")
        Traceback (most recent call last):
        ...
        NotImplementedError: Dataset has no files to download; give path=
        """
        if not cls.urls:
            raise NotImplementedError(f"{cls.__name__} has no files to download; give path=")
        folder = os.path.join(root, cls.name)
        if not os.path.isdir(check or os.path.join(folder, cls.dirname)):
            for url in cls.urls:
                url, name = url if isinstance(url, tuple) else (url, None)
                path = download_url(url, folder, name)
                if path.endswith((".zip", ".gz", ".tgz", ".tar")):
                    extract_archive(path)
        return os.path.join(folder, cls.dirname)

    def split(
        self,
        split_ratio: float | Sequence[float] = 0.7,
        stratified: bool = False,
        strata_field: str = "label",
        random_state: Any = None,
    ) -> tuple[Dataset, ...]:
        """Cut into parts, at random: for training and test, or training, validation and test.

        Args:
            split_ratio: the share for training; or those of training and test; or those of
                training, test and validation.
            stratified: keep the shares of each value of ``strata_field``.
            strata_field: the field of these values.
            random_state: see :class:`RandomShuffler`.

        >>> from weft.text.data import Dataset, Example, RawField
        >>> fields = [("label", RawField())]
        >>> rows = Dataset([Example.fromlist([i % 2], fields) for i in range(10)], fields)
        >>> [len(part) for part in rows.split([0.6, 0.2, 0.2])]
        [6, 2, 2]
        """
        train, _, valid = _ratios(split_ratio)
        shuffle = RandomShuffler(random_state)
        groups = [self.examples]
        if stratified:
            if strata_field not in self.fields:
                raise ValueError(
                    f"split: strata_field {strata_field!r} is none of {list(self.fields)}"
                )
            strata: dict[Any, list[Example]] = {}
            for example in self.examples:
                strata.setdefault(getattr(example, strata_field), []).append(example)
            groups = list(strata.values())
        parts: list[list[Example]] = [[], [], []]
        for group in groups:
            order = shuffle(group)
            begin = round(train * len(order))
            end = len(order) - round(valid * len(order)) if valid else len(order)
            for part, some in zip(parts, (order[:begin], order[begin:end], order[end:])):
                part.extend(some)
        chosen = (parts[0], parts[2], parts[1]) if valid else (parts[0], parts[1])
        made = tuple(Dataset(part, self.fields) for part in chosen)
        for dataset in made:
            dataset.sort_key = self.sort_key
        return made

    def __getitem__(self, index: Any) -> Any:
        """Return an example, or a list of them for a slice."""
        return self.examples[index]

    def __len__(self) -> int:
        """Return how many examples there are."""
        return len(self.examples)

    def __iter__(self) -> Iterator[Example]:
        """Iterate over the examples."""
        return iter(self.examples)

    def __getattr__(self, name: str) -> Iterator[Any]:
        """Iterate over the values of a field."""
        if name in self.__dict__.get("fields", ()):
            return (getattr(x, name) for x in self.examples)
        raise AttributeError(f"{type(self).__name__} has neither an attribute nor a field {name!r}")

    def filter_examples(self, field_names: Sequence[str]) -> None:
        """Take from the examples the tokens that the vocabularies of these fields lack.

        >>> from weft.text.data import Dataset, Example, Field
        >>> text = Field()
        >>> rows = Dataset([Example.fromlist(["a b a"], [("text", text)])], [("text", text)])
        >>> text.build_vocab(rows, min_freq=2)
        >>> rows.filter_examples(["text"])
        >>> rows[0].text
        ['a', 'a']
        """
        for name in field_names:
            vocab = self.fields[name].vocab
            for example in self.examples:
                setattr(example, name, [word for word in getattr(example, name) if word in vocab])


def _ratios(split_ratio: float | Sequence[float]) -> tuple[float, float, float]:
    """Return the shares of training, test and validation."""
    if isinstance(split_ratio, (int, float)):
        if not 0 < split_ratio < 1:
            raise ValueError(f"split: split_ratio must be between 0 and 1, got {split_ratio}")
        return split_ratio, 1 - split_ratio, 0.0
    shares = [float(share) for share in split_ratio]
    if len(shares) not in (2, 3) or min(shares) < 0 or sum(shares) <= 0:
        raise ValueError(
            f"split: split_ratio must be a number or two or three that are not negative, got "
            f"{split_ratio}"
        )
    whole = sum(shares)
    train, test, valid = (*(share / whole for share in shares), 0.0)[:3]
    return train, test, valid


class TabularDataset(Dataset):
    """The rows of a CSV, TSV or JSON-lines file.

    Args:
        path: the file.
        format: ``"csv"``, ``"tsv"`` or ``"json"`` (an object in each line).
        fields: pairs of a name and a field, in the order of the columns, None for one to leave
            out; or a dictionary from the name of a column to such a pair.
        skip_header: leave out the first line.
        csv_reader_params: options of Python's ``csv.reader``.
        kwargs: those of :class:`Dataset`.

    >>> import os, tempfile
    >>> from weft.text.data import Field, LabelField, TabularDataset
    >>> path = os.path.join(tempfile.mkdtemp(), "reviews.tsv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("good film\\tpos\\nbad\\tneg\\n")
    >>> rows = TabularDataset(path, "tsv", [("text", Field()), ("label", LabelField())])
    >>> rows[1].text, rows[1].label
    (['bad'], 'neg')
    """

    def __init__(
        self,
        path: str,
        format: str,
        fields: Any,
        skip_header: bool = False,
        csv_reader_params: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        kind = format.lower()
        if kind not in ("csv", "tsv", "json"):
            raise ValueError(
                f"TabularDataset: format must be 'csv', 'tsv' or 'json', got {format!r}"
            )
        by_name = isinstance(fields, dict)
        if kind == "json" and not by_name:
            raise ValueError("TabularDataset: for 'json' fields must be a dictionary")
        if by_name and skip_header and kind != "json":
            raise ValueError(
                f"TabularDataset: skip_header=True leaves no names of columns, which fields of a "
                f"{kind} file are found by"
            )
        with open(os.path.expanduser(path), encoding="utf8", newline="") as file:
            if kind == "json":
                lines = (line for line in file if line.strip())
                if skip_header:
                    next(lines, None)
                examples = [Example.fromJSON(line, fields) for line in lines]
            else:
                options = {"delimiter": "," if kind == "csv" else "\t", **(csv_reader_params or {})}
                rows = unicode_csv_reader(file, **options)
                places = None
                if by_name:
                    places = {name: i for i, name in enumerate(next(rows))}
                elif skip_header:
                    next(rows, None)
                examples = [Example.fromCSV(row, fields, places) for row in rows if row]
        pairs = list(fields.values()) if by_name else fields
        flat = [p for pair in pairs for p in (pair if isinstance(pair, list) else [pair])]
        super().__init__(examples, flat, **kwargs)
