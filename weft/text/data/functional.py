"""Functions on iterators of text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = [
    "custom_replace",
    "numericalize_tokens_from_iterator",
    "simple_space_split",
    "to_map_style_dataset",
]


def numericalize_tokens_from_iterator(
    vocab: Any,
    iterator: Iterable[Sequence[str]],
    removed_tokens: Sequence[str] | None = None,
) -> Iterator[Iterator[int]]:
    """Iterate over lists of tokens as iterators of their numbers.

    Args:
        vocab: gives the number of a token for ``vocab[token]``.
        iterator: gives lists of tokens.
        removed_tokens: tokens to leave out.

    >>> from weft.text.data.functional import numericalize_tokens_from_iterator
    >>> ids = numericalize_tokens_from_iterator({"a": 0, "b": 1}, [["b", "a"], ["a"]])
    >>> [list(row) for row in ids]
    [[1, 0], [0]]
    """
    removed = set(removed_tokens or ())
    for tokens in iterator:
        yield iter([vocab[token] for token in tokens if token not in removed])


def custom_replace(
    replace_pattern: Sequence[tuple[str, str]],
) -> Callable[[Iterable[str]], Iterator[str]]:
    """Return a function that replaces by regular expressions in every line.

    >>> from weft.text.data.functional import custom_replace
    >>> list(custom_replace([("S", "s"), (r"\\s+", " ")])(["Sentencepiece   encode"]))
    ['sentencepiece encode']
    """
    patterns = [(re.compile(pattern), replacement) for pattern, replacement in replace_pattern]

    def replace(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            for pattern, replacement in patterns:
                line = pattern.sub(replacement, line)
            yield line

    return replace


def simple_space_split(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Iterate over lines, split at spaces.

    >>> from weft.text.data.functional import simple_space_split
    >>> list(simple_space_split(["a b", "c"]))
    [['a', 'b'], ['c']]
    """
    for line in iterator:
        yield line.split()


class _MapStyle:
    """What an iterator gave, by number."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self._rows = list(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        return self._rows[index]


def to_map_style_dataset(iter_data: Iterable[Any]) -> _MapStyle:
    """Keep what an iterator gives, to be asked for by number.

    >>> from weft.text.data.functional import to_map_style_dataset
    >>> rows = to_map_style_dataset(iter([("pos", "good"), ("neg", "bad")]))
    >>> len(rows), rows[1]
    (2, ('neg', 'bad'))
    """
    return _MapStyle(iter_data)
