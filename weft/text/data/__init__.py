"""``weft.text.data``: fields, examples, data sets, batches and iterators."""

from __future__ import annotations

from . import functional, metrics, utils
from .batch import Batch
from .dataset import Dataset, TabularDataset
from .example import Example
from .field import Field, LabelField, RawField
from .iterator import BPTTIterator, BucketIterator, Iterator, batch, pool
from .metrics import bleu_score
from .nested import NestedField
from .utils import RandomShuffler, get_tokenizer, interleave_keys, ngrams_iterator, random_split

__all__ = [
    "BPTTIterator",
    "Batch",
    "BucketIterator",
    "Dataset",
    "Example",
    "Field",
    "Iterator",
    "LabelField",
    "NestedField",
    "RandomShuffler",
    "RawField",
    "TabularDataset",
    "batch",
    "bleu_score",
    "functional",
    "get_tokenizer",
    "interleave_keys",
    "metrics",
    "ngrams_iterator",
    "pool",
    "random_split",
    "utils",
]
