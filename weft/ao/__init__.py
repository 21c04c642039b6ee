"""``weft.ao``: PyTorch's newer name of the place where quantisation is.

>>> weft.ao.quantization.quantize_dynamic is weft.quantization.quantize_dynamic
True
"""

from __future__ import annotations

from weft.ao import quantization
from weft.quantization import nn

__all__ = ["nn", "quantization"]
