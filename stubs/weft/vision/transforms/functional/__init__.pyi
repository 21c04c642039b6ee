# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""What transforms do, as functions of one image: an image of Pillow, or a tensor [..., C, H, W].

>>> image = weft.arange(6.0).reshape(1, 2, 3)
>>> weft.vision.transforms.functional.hflip(image)
tensor([[[2., 1., 0.],
         [5., 4., 3.]]])"""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft.vision.transforms.functional.common import InterpolationMode as InterpolationMode
from weft.vision.transforms.functional.color import adjust_brightness as adjust_brightness
from weft.vision.transforms.functional.color import adjust_contrast as adjust_contrast
from weft.vision.transforms.functional.color import adjust_gamma as adjust_gamma
from weft.vision.transforms.functional.color import adjust_hue as adjust_hue
from weft.vision.transforms.functional.color import adjust_saturation as adjust_saturation
from weft.vision.transforms.functional.filters import adjust_sharpness as adjust_sharpness
from weft.vision.transforms.functional.warp import affine as affine
from weft.vision.transforms.functional.color import autocontrast as autocontrast
from weft.vision.transforms.functional.shape import center_crop as center_crop
import weft.vision.transforms.functional.color as _color
color = _color
import weft.vision.transforms.functional.common as _common
common = _common
import weft.vision.transforms.functional.convert as _convert
convert = _convert
from weft.vision.transforms.functional.convert import convert_image_dtype as convert_image_dtype
from weft.vision.transforms.functional.shape import crop as crop
from weft.vision.transforms.functional.warp import elastic_transform as elastic_transform
from weft.vision.transforms.functional.color import equalize as equalize
from weft.vision.transforms.functional.filters import erase as erase
import weft.vision.transforms.functional.filters as _filters
filters = _filters
from weft.vision.transforms.functional.shape import five_crop as five_crop
from weft.vision.transforms.functional.filters import gaussian_blur as gaussian_blur
from weft.vision.transforms.functional.common import get_dimensions as get_dimensions
from weft.vision.transforms.functional.common import get_image_num_channels as get_image_num_channels
from weft.vision.transforms.functional.common import get_image_size as get_image_size
from weft.vision.transforms.functional.shape import hflip as hflip
from weft.vision.transforms.functional.color import invert as invert
from weft.vision.transforms.functional.convert import normalize as normalize
from weft.vision.transforms.functional.shape import pad as pad
from weft.vision.transforms.functional.warp import perspective as perspective
from weft.vision.transforms.functional.convert import pil_to_tensor as pil_to_tensor
from weft.vision.transforms.functional.color import posterize as posterize
from weft.vision.transforms.functional.shape import resize as resize
from weft.vision.transforms.functional.shape import resized_crop as resized_crop
from weft.vision.transforms.functional.color import rgb_to_grayscale as rgb_to_grayscale
from weft.vision.transforms.functional.warp import rotate as rotate
import weft.vision.transforms.functional.shape as _shape
shape = _shape
from weft.vision.transforms.functional.color import solarize as solarize
from weft.vision.transforms.functional.shape import ten_crop as ten_crop
from weft.vision.transforms.functional.color import to_grayscale as to_grayscale
from weft.vision.transforms.functional.convert import to_pil_image as to_pil_image
from weft.vision.transforms.functional.convert import to_tensor as to_tensor
from weft.vision.transforms.functional.shape import vflip as vflip
import weft.vision.transforms.functional.warp as _warp
warp = _warp
