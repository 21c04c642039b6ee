# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""Sounds: reading and writing files, resampling, spectra and features, under torchaudio's names.

>>> wave = weft.sin(weft.arange(16000) * (2 * 3.14159 * 440 / 16000))
>>> weft.audio.transforms.MelSpectrogram(n_mels=40)(wave).shape
torch.Size([40, 81])"""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from . import functional as functional
from . import transforms as transforms
from weft.audio.files import AudioMetaData as AudioMetaData
from weft.audio.files import info as info
from weft.audio.files import load as load
from weft.audio.files import save as save
