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

from . import checkpoint as checkpoint
from . import data as data
from . import doctor as doctor
from . import tensorboard as tensorboard
from . import download as download
from . import pytree as pytree
