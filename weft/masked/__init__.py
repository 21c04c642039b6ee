"""``weft.masked``: reductions and normalisations of the elements that a mask selects.

Each function takes ``mask=``, a tensor of truth values that can be broadcast to the input. Where it
is False the element counts as the value that changes nothing: 0 for a sum, 1 for a product, minus
infinity for a maximum. Without a mask all elements count.
"""

from __future__ import annotations

from .along import cumprod, cumsum, log_softmax, normalize, softmax, softmin
from .reduce import (
    amax,
    amin,
    argmax,
    argmin,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    prod,
    std,
    sum,
    var,
)

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp",
    "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip
