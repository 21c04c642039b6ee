# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""What ``weft.audio.transforms`` compute, as functions.

>>> weft.audio.functional.resample(weft.ones(1, 100), 16000, 8000).shape
torch.Size([1, 50])"""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft.audio.functional.levels import DB_to_amplitude as DB_to_amplitude
from weft.audio.functional.levels import amplitude_to_DB as amplitude_to_DB
from weft.audio.functional.filters import bandpass_biquad as bandpass_biquad
from weft.audio.functional.filters import biquad as biquad
from weft.audio.functional.frames import compute_deltas as compute_deltas
from weft.audio.functional.scales import create_dct as create_dct
from weft.audio.functional.filters import deemphasis as deemphasis
import weft.audio.functional.filters as _filters
filters = _filters
import weft.audio.functional.frames as _frames
frames = _frames
from weft.audio.functional.levels import gain as gain
from weft.audio.functional.spectrum import griffinlim as griffinlim
from weft.audio.functional.filters import highpass_biquad as highpass_biquad
from weft.audio.functional.spectrum import inverse_spectrogram as inverse_spectrogram
import weft.audio.functional.levels as _levels
levels = _levels
from weft.audio.functional.filters import lfilter as lfilter
from weft.audio.functional.scales import linear_fbanks as linear_fbanks
from weft.audio.functional.filters import lowpass_biquad as lowpass_biquad
from weft.audio.functional.frames import mask_along_axis as mask_along_axis
from weft.audio.functional.frames import mask_along_axis_iid as mask_along_axis_iid
from weft.audio.functional.scales import melscale_fbanks as melscale_fbanks
from weft.audio.functional.levels import mu_law_decoding as mu_law_decoding
from weft.audio.functional.levels import mu_law_encoding as mu_law_encoding
from weft.audio.functional.spectrum import phase_vocoder as phase_vocoder
from weft.audio.functional.filters import preemphasis as preemphasis
from weft.audio.functional.resampling import resample as resample
import weft.audio.functional.resampling as _resampling
resampling = _resampling
import weft.audio.functional.scales as _scales
scales = _scales
from weft.audio.functional.frames import sliding_window_cmn as sliding_window_cmn
from weft.audio.functional.spectrum import spectrogram as spectrogram
import weft.audio.functional.spectrum as _spectrum
spectrum = _spectrum
