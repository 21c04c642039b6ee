"""``weft.ao.quantization``: ``weft.quantization`` under PyTorch's newer name."""

# ruff: noqa: F403 (the same names)
from __future__ import annotations

from weft.quantization import *
from weft.quantization import __all__ as __all__
