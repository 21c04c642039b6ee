"""Layers with int8 weights, layers that learn to have them, and layers that become one.

>>> weft.quantization.nn.dynamic.Linear(2, 3)(weft.ones(1, 2))
tensor([[0., 0., 0.]])
"""

from __future__ import annotations

from weft.quantization.nn import dynamic, intrinsic, qat, quantized, static

__all__ = ["dynamic", "intrinsic", "qat", "quantized", "static"]
