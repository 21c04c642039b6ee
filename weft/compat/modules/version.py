"""``weft.version``: what this weft was built with, under PyTorch's names. There are no GPUs in it.

>>> weft.version.cuda is None
True
"""

from __future__ import annotations

from weft import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

cuda: str | None = None
hip: str | None = None
xpu: str | None = None
debug = False
git_version = "unknown"
