"""``weft.debug``: tools that say why a program does what it should not."""

from __future__ import annotations

from .nan import NanError, explain, nan_origin
from .nan_report import Birth

__all__ = ["Birth", "NanError", "explain", "nan_origin"]
