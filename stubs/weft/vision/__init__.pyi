# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""Images: datasets, transforms, models, and helpers to read, show and save them.

>>> digits = weft.vision.datasets.Digits(transform=weft.vision.transforms.ToTensor())
>>> image, label = digits[0]
>>> image.shape, label
(torch.Size([1, 8, 8]), 0)"""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

import weft.vision.datasets as _datasets
datasets = _datasets
import weft.vision.files as _files
files = _files
import weft.vision.io as _io
io = _io
from . import models as models
from . import ops as ops
import weft.vision.pillow as _pillow
pillow = _pillow
from . import transforms as transforms
import weft.vision.utils as _utils
utils = _utils
