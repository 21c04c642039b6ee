"""Changes of images, to prepare them and to make more of them, on Pillow's images and on tensors.

Random ones draw from weft's generator, so that ``weft.manual_seed`` repeats them.

>>> from weft.vision import transforms
>>> prepare = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
>>> prepare
Compose(
    ToTensor()
    Normalize(mean=(0.5,), std=(0.5,))
)
"""

# ruff: noqa: F401, F403 (what is imported here is what this module offers)
from __future__ import annotations

from . import functional
from .augment import *
from .color import *
from .compose import *
from .convert import *
from .crops import *
from .functional.common import InterpolationMode
from .warp import *
