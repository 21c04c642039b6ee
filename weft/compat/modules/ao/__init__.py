"""``weft.ao``: PyTorch's newer name of the place where quantisation is.

>>> weft.ao.quantization.quantize_dynamic is weft.quantization.quantize_dynamic
True
"""

from __future__ import annotations

from weft.quantization import nn

from . import quantization

__all__ = ["nn", "quantization"]
