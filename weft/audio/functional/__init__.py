"""What ``weft.audio.transforms`` compute, as functions.

>>> weft.audio.functional.resample(weft.ones(1, 100), 16000, 8000).shape
torch.Size([1, 50])
"""

# ruff: noqa: F403 (what is imported here is what weft.audio.functional offers)
from __future__ import annotations

from weft.audio.functional.filters import *
from weft.audio.functional.frames import *
from weft.audio.functional.levels import *
from weft.audio.functional.resampling import *
from weft.audio.functional.scales import *
from weft.audio.functional.spectrum import *
