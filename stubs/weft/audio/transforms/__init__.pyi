# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""What turns sounds into features, as modules.

>>> weft.audio.transforms.MFCC(n_mfcc=13, melkwargs={"n_mels": 40})(weft.rand(16000)).shape
torch.Size([13, 81])"""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft.audio.transforms.spectrum import AmplitudeToDB as AmplitudeToDB
from weft.audio.transforms.signal import ComputeDeltas as ComputeDeltas
from weft.audio.transforms.signal import Deemphasis as Deemphasis
from weft.audio.transforms.signal import Fade as Fade
from weft.audio.transforms.augment import FrequencyMasking as FrequencyMasking
from weft.audio.transforms.spectrum import GriffinLim as GriffinLim
from weft.audio.transforms.spectrum import InverseSpectrogram as InverseSpectrogram
from weft.audio.transforms.cepstrum import LFCC as LFCC
from weft.audio.transforms.cepstrum import MFCC as MFCC
from weft.audio.transforms.spectrum import MelScale as MelScale
from weft.audio.transforms.spectrum import MelSpectrogram as MelSpectrogram
from weft.audio.transforms.signal import MuLawDecoding as MuLawDecoding
from weft.audio.transforms.signal import MuLawEncoding as MuLawEncoding
from weft.audio.transforms.signal import Preemphasis as Preemphasis
from weft.audio.transforms.signal import Resample as Resample
from weft.audio.transforms.signal import SlidingWindowCmn as SlidingWindowCmn
from weft.audio.transforms.spectrum import Spectrogram as Spectrogram
from weft.audio.transforms.augment import TimeMasking as TimeMasking
from weft.audio.transforms.augment import TimeStretch as TimeStretch
from weft.audio.transforms.signal import Vol as Vol
import weft.audio.transforms.augment as _augment
augment = _augment
import weft.audio.transforms.cepstrum as _cepstrum
cepstrum = _cepstrum
import weft.audio.transforms.signal as _signal
signal = _signal
import weft.audio.transforms.spectrum as _spectrum
spectrum = _spectrum
