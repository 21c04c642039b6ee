"""What turns sounds into features, as modules.

>>> weft.audio.transforms.MFCC(n_mfcc=13, melkwargs={"n_mels": 40})(weft.rand(16000)).shape
torch.Size([13, 81])
"""

# ruff: noqa: F403 (what is imported here is what weft.audio.transforms offers)
from __future__ import annotations

from weft.audio.transforms.augment import *
from weft.audio.transforms.cepstrum import *
from weft.audio.transforms.signal import *
from weft.audio.transforms.spectrum import *
