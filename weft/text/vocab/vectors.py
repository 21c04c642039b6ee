"""Vectors of words, read from the text files of GloVe, word2vec and fastText."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING, Any

import weft
from weft import Tensor
from weft.utils.download import download_url, extract_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

__all__ = ["FastText", "GloVe", "Vectors", "pretrained", "pretrained_aliases"]


class Vectors:
    """Vectors of words from a text file: in each line a word and its numbers.

    A first line with two numbers, as word2vec and fastText write it, is left out. Of a word that
    is there twice the first line counts.

    Args:
        name: the path of the file, or its name in ``cache``; ``.gz`` files are read as they are.
        cache: the folder; by default ``.vector_cache``.
        url: where to get the file, or an archive with it, if it is not there.
        unk_init: fills the vector of an unknown word; by default with zeros.
        max_vectors: read only so many.

    Attributes:
        itos: the words, by row.
        stoi: the rows, by word.
        vectors: a row for each word.
        dim: how many numbers a row has.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "v.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("the 1 2\\ncat 3 4\\n")
    >>> vectors = weft.text.vocab.Vectors(path)
    >>> vectors["cat"], vectors["dog"]
    (tensor([3., 4.]), tensor([0., 0.]))
    """

    def __init__(
        self,
        name: str,
        cache: str | None = None,
        url: str | None = None,
        unk_init: Callable[[Tensor], Tensor] | None = None,
        max_vectors: int | None = None,
    ) -> None:
        cache = ".vector_cache" if cache is None else cache
        self.unk_init = Tensor.zero_ if unk_init is None else unk_init
        path = name if os.path.isfile(name) else os.path.join(cache, name)
        if not os.path.isfile(path):
            if url is None:
                raise FileNotFoundError(
                    f"Vectors: neither {name} nor {os.path.join(cache, name)} is there, and no "
                    "url is given"
                )
            fetched = download_url(url, cache)
            if fetched.endswith((".zip", ".tar.gz", ".tgz", ".tar")):
                extract_archive(fetched, cache)
            elif os.path.abspath(path) != fetched:
                path = fetched
        if not os.path.isfile(path):
            raise FileNotFoundError(f"Vectors: {url} has no file {name}")
        self.itos, self.vectors = _read(path, max_vectors)
        self.stoi = {word: i for i, word in enumerate(self.itos)}
        self.dim = self.vectors.shape[1]

    def __len__(self) -> int:
        """Return how many words there are."""
        return len(self.itos)

    def __contains__(self, token: object) -> bool:
        """Return whether a word is there."""
        return token in self.stoi

    def __getitem__(self, token: str) -> Tensor:
        """Return the vector of a word."""
        row = self.stoi.get(token)
        return self.unk_init(weft.empty(self.dim)) if row is None else self.vectors[row]

    def get_vecs_by_tokens(
        self, tokens: str | Sequence[str], lower_case_backup: bool = False
    ) -> Tensor:
        """Return the vector of a word, or the vectors of several as rows.

        Args:
            tokens: a word or a list of them.
            lower_case_backup: look for a word in small letters if it is not there as it stands.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "v.txt")
        >>> with open(path, "w") as file:
        ...     _ = file.write("the 1 2\\ncat 3 4\\n")
        >>> weft.text.vocab.Vectors(path).get_vecs_by_tokens(["Cat", "the"], lower_case_backup=True)
        tensor([[3., 4.],
                [1., 2.]])
        """
        if isinstance(tokens, str):
            return self.get_vecs_by_tokens([tokens], lower_case_backup)[0]
        if lower_case_backup:
            tokens = [t if t in self.stoi else t.lower() for t in tokens]
        rows = [self.stoi.get(t, -1) for t in tokens]
        found = weft.tensor(rows, dtype=weft.int64)
        result = self.vectors[found.clamp(min=0)]
        for i, row in enumerate(rows):
            if row < 0:
                result[i] = self.unk_init(weft.empty(self.dim))
        return result


def _read(path: str, max_vectors: int | None) -> tuple[list[str], Tensor]:
    """Return the words of a file and their vectors."""
    import numpy as np

    words: list[str] = []
    seen: set[str] = set()
    rows: list[Any] = []
    dim: int | None = None
    opened: BinaryIO = gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")  # type: ignore[assignment]
    with opened as file:
        for number, line in enumerate(file, 1):
            word, *numbers = line.rstrip().split(b" " if b"\t" not in line else None)
            if len(numbers) <= 1:  # a header, or an empty line
                if rows and numbers:
                    raise ValueError(f"Vectors: line {number} of {path} has no vector")
                continue
            if dim is not None and len(numbers) != dim:
                raise ValueError(
                    f"Vectors: line {number} of {path} has {len(numbers)} numbers, those before "
                    f"it {dim}"
                )
            dim = len(numbers)
            try:
                token = word.decode("utf-8")
            except UnicodeDecodeError:
                continue  # published files have a few words that are no text
            if token not in seen:
                try:
                    rows.append(np.array(numbers, dtype=np.float32))
                except ValueError as e:
                    raise ValueError(f"Vectors: line {number} of {path}: {e}") from None
                seen.add(token)
                words.append(token)
            if max_vectors is not None and len(words) >= max_vectors:
                break
    if not rows:
        raise ValueError(f"Vectors: {path} has no vectors")
    return words, weft.from_numpy(np.stack(rows))


class GloVe(Vectors):
    """The published GloVe vectors, from ``cache`` or the network.

    Args:
        name: ``"42B"``, ``"840B"``, ``"twitter.27B"`` or ``"6B"``.
        dim: how many numbers a vector has.
        kwargs: those of :class:`Vectors`.

    >>> import os, tempfile
    >>> cache = tempfile.mkdtemp()
    >>> with open(os.path.join(cache, "glove.6B.50d.txt"), "w") as file:
    ...     _ = file.write("the" + " 0.5" * 50)
    >>> weft.text.vocab.GloVe("6B", 50, cache=cache).vectors.shape
    torch.Size([1, 50])
    """

    url = {  # noqa: RUF012
        "42B": "http://nlp.stanford.edu/data/glove.42B.300d.zip",
        "840B": "http://nlp.stanford.edu/data/glove.840B.300d.zip",
        "twitter.27B": "http://nlp.stanford.edu/data/glove.twitter.27B.zip",
        "6B": "http://nlp.stanford.edu/data/glove.6B.zip",
    }

    def __init__(self, name: str = "840B", dim: int = 300, **kwargs: Any) -> None:
        if name not in self.url:
            raise ValueError(f"GloVe: name must be one of {list(self.url)}, got {name!r}")
        super().__init__(f"glove.{name}.{dim}d.txt", url=self.url[name], **kwargs)


class FastText(Vectors):
    """The published fastText vectors of a language, from ``cache`` or the network.

    Args:
        language: its code, as in ``"en"``.
        kwargs: those of :class:`Vectors`.

    >>> import os, tempfile
    >>> cache = tempfile.mkdtemp()
    >>> with open(os.path.join(cache, "wiki.simple.vec"), "w") as file:
    ...     _ = file.write("1 3\\nthe 1 2 3")
    >>> weft.text.vocab.FastText("simple", cache=cache)["the"]
    tensor([1., 2., 3.])
    """

    url_base = "https://dl.fbaipublicfiles.com/fasttext/vectors-wiki/wiki.{}.vec"

    def __init__(self, language: str = "en", **kwargs: Any) -> None:
        super().__init__(f"wiki.{language}.vec", url=self.url_base.format(language), **kwargs)


_GLOVES = {
    "42B": (300,),
    "840B": (300,),
    "twitter.27B": (25, 50, 100, 200),
    "6B": (50, 100, 200, 300),
}
pretrained_aliases: dict[str, tuple[type[Vectors], dict[str, Any]]] = {
    "fasttext.en.300d": (FastText, {"language": "en"}),
    "fasttext.simple.300d": (FastText, {"language": "simple"}),
    **{
        f"glove.{name}.{dim}d": (GloVe, {"name": name, "dim": dim})
        for name, dims in _GLOVES.items()
        for dim in dims
    },
}


def pretrained(name: str, **kwargs: Any) -> Vectors:
    """Return published vectors by their short name.

    >>> from weft.text.vocab.vectors import pretrained
    >>> pretrained("glove")
    Traceback (most recent call last):
    ...
    ValueError: there are no vectors 'glove'; there are ['fasttext.en.300d', ...]
    """
    if name not in pretrained_aliases:
        raise ValueError(f"there are no vectors {name!r}; there are {sorted(pretrained_aliases)}")
    made, arguments = pretrained_aliases[name]
    return made(**arguments, **kwargs)
