# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""Tools around training, loaded on first use: ``weft.utils.data`` and others.

>>> weft.utils.data.SequentialSampler(range(3))
SequentialSampler(3 samples)"""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

import weft.utils.benchmark as _benchmark
benchmark = _benchmark
import weft.utils.bottleneck as _bottleneck
bottleneck = _bottleneck
import weft.utils.checkpoint as _checkpoint
checkpoint = _checkpoint
import weft.utils.doctor as _doctor
doctor = _doctor
import weft.utils.flop_counter as _flop_counter
flop_counter = _flop_counter
import weft.utils.gallery as _gallery
gallery = _gallery
import weft.utils.tensorboard as _tensorboard
tensorboard = _tensorboard
import weft.utils.data as _data
data = _data
import weft.utils.download as _download
download = _download
import weft.utils.pytree as _pytree
pytree = _pytree
