"""``torchtext.legacy``: the same modules under their older path."""

from __future__ import annotations

import sys

from weft.text import data, datasets, vocab

__all__ = ["data", "datasets", "vocab"]

for _module in (data, datasets, vocab):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
