"""Tokenisers, sort keys, and shuffling that can be repeated."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "RandomShuffler",
    "get_tokenizer",
    "interleave_keys",
    "ngrams_iterator",
    "random_split",
]

_BASIC_ENGLISH = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"'", " '  "),
        (r'"', ""),
        (r"\.", " . "),
        (r"<br />", " "),
        (r",", " , "),
        (r"\(", " ( "),
        (r"\)", " ) "),
        (r"!", " ! "),
        (r"\?", " ? "),
        (r";", " "),
        (r":", " "),
    )
]


def _basic_english(line: str) -> list[str]:
    """Return the words of an English line in small letters, with punctuation apart."""
    line = line.lower()
    for pattern, replacement in _BASIC_ENGLISH:
        line = pattern.sub(replacement, line)
    return line.split()


def _split(line: str) -> list[str]:
    return line.split()


def _library(tokenizer: str, package: str) -> Any:
    """Return the package that a tokeniser comes from."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as e:
        name = package.partition(".")[0]
        raise ImportError(
            f"get_tokenizer: {tokenizer!r} needs the package {name}, which is not installed: "
            f"pip install {name}. Without it there are 'basic_english', None (a split at spaces) "
            "and functions of your own"
        ) from e


def _spacy(language: str) -> Callable[[str], list[str]]:
    spacy = _library("spacy", "spacy")
    # The rules that cut words are the language's own; a trained model is not needed for them.
    nlp = spacy.load(language) if spacy.util.is_package(language) else spacy.blank(language[:2])
    return lambda line: [token.text for token in nlp.tokenizer(line)]


def _moses(language: str) -> Callable[[str], list[str]]:
    return _library("moses", "sacremoses").MosesTokenizer(language).tokenize


def _toktok(language: str) -> Callable[[str], list[str]]:
    if not language.startswith("en"):
        raise ValueError(f"get_tokenizer: 'toktok' is for English, got language={language!r}")
    return _library("toktok", "nltk.tokenize.toktok").ToktokTokenizer().tokenize


_BY_NAME: dict[str, Callable[[str], Callable[[str], list[str]]]] = {
    "spacy": _spacy,
    "moses": _moses,
    "toktok": _toktok,
}


def get_tokenizer(
    tokenizer: str | Callable[[str], list[str]] | None, language: str = "en"
) -> Callable[[str], list[str]]:
    """Return a function from a line to its tokens.

    Args:
        tokenizer: None for a split at spaces, ``"basic_english"``, a function, or ``"spacy"``,
            ``"moses"`` (sacremoses) or ``"toktok"`` (nltk), which use these packages.
        language: the code of the language, or a model of spaCy.

    >>> tokenize = weft.text.data.get_tokenizer("basic_english")
    >>> tokenize("You can, can't you?")
    ['you', 'can', ',', 'can', "'", 't', 'you', '?']
    """
    if tokenizer is None:
        return _split
    if callable(tokenizer):
        return tokenizer
    if tokenizer == "basic_english":
        if language != "en":
            raise ValueError(
                f"get_tokenizer: 'basic_english' is for English, got language={language!r}"
            )
        return _basic_english
    if tokenizer in _BY_NAME:
        return _BY_NAME[tokenizer](language)
    raise NotImplementedError(
        f"get_tokenizer: there is no tokeniser {tokenizer!r}; there are None, 'basic_english', "
        "'spacy', 'moses', 'toktok' and functions of your own"
    )


def interleave_keys(a: int, b: int) -> int:
    """Mix the bits of two numbers, to sort by both at once.

    >>> weft.text.data.interleave_keys(0b11, 0b00)
    10
    """
    mixed = "".join(x + y for x, y in zip(format(a, "016b"), format(b, "016b")))
    return int(mixed, base=2)


def ngrams_iterator(token_list: Sequence[str], ngrams: int) -> Iterator[str]:
    """Iterate over tokens, then over pairs of neighbours, triples, up to ``ngrams``.

    >>> list(weft.text.data.ngrams_iterator(["here", "we", "are"], 2))
    ['here', 'we', 'are', 'here we', 'we are']
    """
    yield from token_list
    for n in range(2, ngrams + 1):
        for start in range(len(token_list) - n + 1):
            yield " ".join(token_list[start : start + n])


class RandomShuffler:
    """Orders at random, from a state of their own.

    Args:
        random_state: a state of Python's ``random``; by default the one at the time.

    >>> shuffle = weft.text.data.RandomShuffler()
    >>> state = shuffle.random_state
    >>> first = shuffle(range(5))
    >>> weft.text.data.RandomShuffler(state)(range(5)) == first
    True
    """

    def __init__(self, random_state: Any = None) -> None:
        self._random = random.Random()
        self._random.setstate(random.getstate() if random_state is None else random_state)

    @property
    def random_state(self) -> Any:
        """The state from which the next order comes.

        >>> shuffle = weft.text.data.RandomShuffler()
        >>> shuffle.random_state[0]
        3
        """
        return self._random.getstate()

    @random_state.setter
    def random_state(self, state: Any) -> None:
        self._random.setstate(state)

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        """Return the elements in a new order."""
        return self._random.sample(list(data), len(data))


def random_split(dataset: Any, lengths: Sequence[int], random_state: Any = None) -> tuple[Any, ...]:
    """Cut a data set into parts of these lengths, taken at random.

    Args:
        dataset: a :class:`Dataset`.
        lengths: how many examples each part has; the sum may not be larger than the data set.
        random_state: see :class:`RandomShuffler`.

    >>> from weft.text.data import Dataset, Example, RawField
    >>> fields = [("text", RawField())]
    >>> whole = Dataset([Example.fromlist([word], fields) for word in "abcde"], fields)
    >>> [len(part) for part in weft.text.data.random_split(whole, [3, 2])]
    [3, 2]
    """
    from .dataset import Dataset

    if any(n < 0 for n in lengths) or sum(lengths) > len(dataset):
        raise ValueError(
            f"random_split: lengths {list(lengths)} must be at least 0 and sum to at most the "
            f"{len(dataset)} examples of the data set"
        )
    order = RandomShuffler(random_state)(range(len(dataset)))
    parts, begin = [], 0
    for n in lengths:
        part = Dataset([dataset[i] for i in order[begin : begin + n]], dataset.fields)
        part.sort_key = dataset.sort_key
        parts.append(part)
        begin += n
    return tuple(parts)
