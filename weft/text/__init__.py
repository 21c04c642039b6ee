"""Text: fields, vocabularies, iterators and data sets, as programs for torchtext use them.

>>> from weft.text.vocab import build_vocab_from_iterator
>>> vocab = build_vocab_from_iterator([["a", "b"], ["a"]], specials=["<unk>"])
>>> vocab(["a", "b"])
[1, 2]
"""

from __future__ import annotations

from . import data, datasets, functional, transforms, utils, vocab

__all__ = ["data", "datasets", "functional", "legacy", "transforms", "utils", "vocab"]


def __getattr__(name: str):  # type: ignore[no-untyped-def]  # mypy: in a cycle, Any fails
    """Load the older names on first use."""
    if name == "legacy":
        import importlib

        return importlib.import_module("weft.text.legacy")
    raise AttributeError(f"module 'weft.text' has no attribute '{name}'")
