"""``weft.text.datasets``: published sets of text, read from local files or the network."""

from __future__ import annotations

from .classification import AG_NEWS, IMDB, TextClassification, TextClassificationDataset
from .language_modeling import LanguageModelingDataset, PennTreebank, WikiText2
from .sequence_tagging import UDPOS, SequenceTaggingDataset
from .translation import Multi30k, TranslationDataset

__all__ = [
    "AG_NEWS",
    "IMDB",
    "UDPOS",
    "LanguageModelingDataset",
    "Multi30k",
    "PennTreebank",
    "SequenceTaggingDataset",
    "TextClassification",
    "TextClassificationDataset",
    "TranslationDataset",
    "WikiText2",
]
