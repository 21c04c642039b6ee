"""What transforms do, as functions of one image: an image of Pillow, or a tensor [..., C, H, W].

>>> image = weft.arange(6.0).reshape(1, 2, 3)
>>> weft.vision.transforms.functional.hflip(image)
tensor([[[2., 1., 0.],
         [5., 4., 3.]]])
"""

# ruff: noqa: F401, F403 (what is imported here is what this module offers)
from __future__ import annotations

from .color import *
from .common import InterpolationMode, get_dimensions, get_image_num_channels, get_image_size
from .convert import *
from .filters import *
from .shape import *
from .warp import *
