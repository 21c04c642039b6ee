"""``weft.backends.quantized``: which library multiplies bytes. weft's own loops do, whatever is set.

>>> weft.backends.quantized.engine
'x86'
"""

from __future__ import annotations

engine: str = "x86"
supported_engines: list[str] = ["qnnpack", "onednn", "x86", "fbgemm"]
