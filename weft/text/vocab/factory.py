"""Vocabularies as newer programs make them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .words import Vocab

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["build_vocab_from_iterator", "vocab"]


def vocab(
    ordered_dict: dict[str, int],
    min_freq: int = 1,
    specials: Sequence[str] | None = None,
    special_first: bool = True,
) -> Vocab:
    """Make a vocabulary with the order of a dictionary.

    Args:
        ordered_dict: how often each token occurs.
        min_freq: how often a token must occur.
        specials: tokens that are there in any case.
        special_first: whether these have the first numbers, or the last.

    >>> weft.text.vocab.vocab({"b": 3, "a": 1, "c": 2}, min_freq=2, specials=["<unk>"]).get_itos()
    ['<unk>', 'b', 'c']
    """
    special = list(specials or ())
    least = max(min_freq, 1)
    words = [w for w, count in ordered_dict.items() if count >= least and w not in special]
    made = Vocab(Counter(), specials=())
    made._fill(special + words if special_first else words + special, Counter(ordered_dict))
    return made


def build_vocab_from_iterator(
    iterator: Iterable[Iterable[str]],
    min_freq: int = 1,
    specials: Sequence[str] | None = None,
    special_first: bool = True,
    max_tokens: int | None = None,
) -> Vocab:
    """Make a vocabulary of the tokens of an iterator, the most frequent first.

    Args:
        iterator: gives lists of tokens.
        min_freq: how often a token must occur.
        specials: tokens that are there in any case.
        special_first: whether these have the first numbers, or the last.
        max_tokens: the largest number of tokens, special ones counted.

    >>> lines = [["a", "b"], ["b", "c"]]
    >>> weft.text.vocab.build_vocab_from_iterator(lines, specials=["<unk>"]).get_itos()
    ['<unk>', 'b', 'a', 'c']
    """
    counter: Counter[str] = Counter()
    for tokens in iterator:
        counter.update(tokens)
    special = list(specials or ())
    for token in special:
        counter.pop(token, None)
    by_count = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    if max_tokens is not None:
        if len(special) >= max_tokens:
            raise ValueError(
                f"build_vocab_from_iterator: max_tokens={max_tokens} must be larger than the "
                f"number of special tokens, {len(special)}"
            )
        by_count = by_count[: max_tokens - len(special)]
    return vocab(dict(by_count), min_freq, special, special_first)
