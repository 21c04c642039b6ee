# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""Changes of images, to prepare them and to make more of them, on Pillow's images and on tensors.

Random ones draw from weft's generator, so that ``weft.manual_seed`` repeats them.

>>> from weft.vision import transforms
>>> prepare = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
>>> prepare
Compose(
    ToTensor()
    Normalize(mean=(0.5,), std=(0.5,))
)"""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft.vision.transforms.augment import AugMix as AugMix
from weft.vision.transforms.augment import AutoAugment as AutoAugment
from weft.vision.transforms.augment import AutoAugmentPolicy as AutoAugmentPolicy
from weft.vision.transforms.crops import CenterCrop as CenterCrop
from weft.vision.transforms.color import ColorJitter as ColorJitter
from weft.vision.transforms.compose import Compose as Compose
from weft.vision.transforms.convert import ConvertImageDtype as ConvertImageDtype
from weft.vision.transforms.warp import ElasticTransform as ElasticTransform
from weft.vision.transforms.crops import FiveCrop as FiveCrop
from weft.vision.transforms.color import GaussianBlur as GaussianBlur
from weft.vision.transforms.color import Grayscale as Grayscale
from weft.vision.transforms.functional.common import InterpolationMode as InterpolationMode
from weft.vision.transforms.compose import Lambda as Lambda
from weft.vision.transforms.convert import LinearTransformation as LinearTransformation
from weft.vision.transforms.convert import Normalize as Normalize
from weft.vision.transforms.convert import PILToTensor as PILToTensor
from weft.vision.transforms.crops import Pad as Pad
from weft.vision.transforms.augment import RandAugment as RandAugment
from weft.vision.transforms.color import RandomAdjustSharpness as RandomAdjustSharpness
from weft.vision.transforms.warp import RandomAffine as RandomAffine
from weft.vision.transforms.compose import RandomApply as RandomApply
from weft.vision.transforms.color import RandomAutocontrast as RandomAutocontrast
from weft.vision.transforms.compose import RandomChoice as RandomChoice
from weft.vision.transforms.crops import RandomCrop as RandomCrop
from weft.vision.transforms.color import RandomEqualize as RandomEqualize
from weft.vision.transforms.convert import RandomErasing as RandomErasing
from weft.vision.transforms.color import RandomGrayscale as RandomGrayscale
from weft.vision.transforms.crops import RandomHorizontalFlip as RandomHorizontalFlip
from weft.vision.transforms.color import RandomInvert as RandomInvert
from weft.vision.transforms.compose import RandomOrder as RandomOrder
from weft.vision.transforms.warp import RandomPerspective as RandomPerspective
from weft.vision.transforms.color import RandomPosterize as RandomPosterize
from weft.vision.transforms.crops import RandomResizedCrop as RandomResizedCrop
from weft.vision.transforms.warp import RandomRotation as RandomRotation
from weft.vision.transforms.color import RandomSolarize as RandomSolarize
from weft.vision.transforms.crops import RandomVerticalFlip as RandomVerticalFlip
from weft.vision.transforms.crops import Resize as Resize
from weft.vision.transforms.crops import TenCrop as TenCrop
from weft.vision.transforms.convert import ToPILImage as ToPILImage
from weft.vision.transforms.convert import ToTensor as ToTensor
from weft.vision.transforms.augment import TrivialAugmentWide as TrivialAugmentWide
import weft.vision.transforms.augment as _augment
augment = _augment
import weft.vision.transforms.color as _color
color = _color
import weft.vision.transforms.common as _common
common = _common
import weft.vision.transforms.compose as _compose
compose = _compose
import weft.vision.transforms.convert as _convert
convert = _convert
import weft.vision.transforms.crops as _crops
crops = _crops
from . import functional as functional
import weft.vision.transforms.warp as _warp
warp = _warp
