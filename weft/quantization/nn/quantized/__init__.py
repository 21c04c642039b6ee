"""``torch.ao.nn.quantized`` by weft's files: layers on grids, and ``dynamic``.

>>> weft.quantization.nn.quantized.dynamic.Linear is weft.quantization.nn.dynamic.Linear
True
"""

# ruff: noqa: F403 (the same names)
from __future__ import annotations

from weft.quantization.nn import dynamic
from weft.quantization.nn.static import *
from weft.quantization.nn.static import __all__ as _static

__all__ = ["dynamic", *_static]
