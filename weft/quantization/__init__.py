"""``weft.quantization``: networks with int8 weights. docs/quantization.md is the guide.

>>> model = weft.nn.Sequential(weft.nn.Linear(8, 4))
>>> weft.quantization.quantize_dynamic(model)
Sequential(
  (0): DynamicQuantizedLinear(in_features=8, out_features=4, dtype=torch.qint8, qscheme=torch.per_channel_affine)
)
"""

# ruff: noqa: F403 (what is imported here is what weft.quantization offers)
from __future__ import annotations

from weft.quantization import nn
from weft.quantization.convert import *
from weft.quantization.convert import __all__ as _convert
from weft.quantization.fake_quantize import *
from weft.quantization.fake_quantize import __all__ as _fake_quantize
from weft.quantization.fuse import *
from weft.quantization.fuse import __all__ as _fuse
from weft.quantization.histogram import *
from weft.quantization.histogram import __all__ as _histogram
from weft.quantization.observer import *
from weft.quantization.observer import __all__ as _observer
from weft.quantization.prepare import *
from weft.quantization.prepare import __all__ as _prepare
from weft.quantization.qconfig import *
from weft.quantization.qconfig import __all__ as _qconfig
from weft.quantization.stubs import *
from weft.quantization.stubs import __all__ as _stubs

__all__ = [
    "nn",
    *_convert,
    *_fake_quantize,
    *_fuse,
    *_histogram,
    *_observer,
    *_prepare,
    *_qconfig,
    *_stubs,
]
