"""``weft.text.vocab``: tokens and their numbers, and vectors of words."""

from __future__ import annotations

from .factory import build_vocab_from_iterator, vocab
from .vectors import FastText, GloVe, Vectors, pretrained_aliases
from .words import Vocab

__all__ = [
    "FastText",
    "GloVe",
    "Vectors",
    "Vocab",
    "build_vocab_from_iterator",
    "pretrained_aliases",
    "vocab",
]
