"""The quality of translations: BLEU."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["bleu_score"]


def _ngrams(tokens: Sequence[str], max_n: int) -> Counter[tuple[str, ...]]:
    return Counter(
        tuple(tokens[i : i + n]) for n in range(1, max_n + 1) for i in range(len(tokens) - n + 1)
    )


def bleu_score(
    candidate_corpus: Sequence[Sequence[str]],
    references_corpus: Sequence[Sequence[Sequence[str]]],
    max_n: int = 4,
    weights: Sequence[float] = (0.25, 0.25, 0.25, 0.25),
) -> float:
    """Return the BLEU score of translations: from 0, to 1 for those that are a reference.

    .. math:: min(1, e^{1 - r/c}) \\\\cdot \\\\exp \\\\sum_n w_n \\\\log p_n

    where ``p_n`` is the share of runs of n tokens that a reference has too, and ``c`` and ``r``
    are the lengths of the translations and of the references that are nearest in length.

    Args:
        candidate_corpus: the translations, each a list of tokens.
        references_corpus: for each of them a list of references.
        max_n: the longest runs that are compared.
        weights: one for each length.

    >>> candidates = [["My", "full", "pytorch", "test"], ["Another", "Sentence"]]
    >>> references = [[["My", "full", "pytorch", "test"], ["Completely", "Different"]],
    ...               [["No", "Match"]]]
    >>> round(weft.text.data.bleu_score(candidates, references), 4)
    0.8409
    """
    if len(weights) != max_n:
        raise ValueError(f"bleu_score: max_n={max_n} needs as many weights, got {len(weights)}")
    if len(candidate_corpus) != len(references_corpus):
        raise ValueError(
            f"bleu_score: {len(candidate_corpus)} translations, but references for "
            f"{len(references_corpus)}"
        )
    shared, total = [0] * max_n, [0] * max_n
    length = reference_length = 0
    for candidate, references in zip(candidate_corpus, references_corpus):
        if not references:
            raise ValueError("bleu_score: every translation needs at least one reference")
        length += len(candidate)
        reference_length += min((len(r) for r in references), key=lambda n: abs(len(candidate) - n))
        allowed: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            allowed |= _ngrams(reference, max_n)
        for ngram, count in (_ngrams(candidate, max_n) & allowed).items():
            shared[len(ngram) - 1] += count
        for n in range(max_n):
            total[n] += max(len(candidate) - n, 0)
    if min(shared) == 0:
        return 0.0
    score = math.exp(sum(w * math.log(s / t) for w, s, t in zip(weights, shared, total)))
    return score * math.exp(min(1 - reference_length / length, 0.0))
