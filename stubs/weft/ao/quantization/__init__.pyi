# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft._C import _Device as _Device
from weft._C import _DType as _DType
from weft._C import _Hook as _Hook
from weft._C import _Index as _Index
from weft._C import _Ints as _Ints
from weft._C import _Layout as _Layout
from weft._C import _MemoryFormat as _MemoryFormat
from weft._C import _Number as _Number
from weft._C import _Operand as _Operand
from weft._C import _bool as _bool
from weft._C import _complex as _complex
from weft._C import _float as _float
from weft._C import _int as _int
from weft._C import _str as _str
from weft._C import Generator
from weft._C import Size
from weft._C import Tensor
from weft.quantization.stubs import DeQuantStub as DeQuantStub
from weft.quantization.fake_quantize import FakeQuantize as FakeQuantize
from weft.quantization.fake_quantize import FakeQuantizeBase as FakeQuantizeBase
from weft.quantization.histogram import HistogramObserver as HistogramObserver
from weft.quantization.observer import MinMaxObserver as MinMaxObserver
from weft.quantization.observer import MovingAverageMinMaxObserver as MovingAverageMinMaxObserver
from weft.quantization.observer import MovingAveragePerChannelMinMaxObserver as MovingAveragePerChannelMinMaxObserver
from weft.quantization.observer import NoopObserver as NoopObserver
from weft.quantization.observer import ObserverBase as ObserverBase
from weft.quantization.observer import PerChannelMinMaxObserver as PerChannelMinMaxObserver
from weft.quantization.observer import PlaceholderObserver as PlaceholderObserver
from weft.quantization.qconfig import QConfig as QConfig
from weft.quantization.stubs import QuantStub as QuantStub
from weft.quantization.stubs import QuantWrapper as QuantWrapper
from weft.quantization.observer import UniformQuantizationObserverBase as UniformQuantizationObserverBase
from weft.quantization.stubs import add_quant_dequant as add_quant_dequant
from weft.quantization.convert import convert as convert
from weft.quantization.observer import PlaceholderObserver as _default_placeholder_observer
default_placeholder_observer = _default_placeholder_observer
from weft.quantization.fake_quantize import disable_fake_quant as disable_fake_quant
from weft.quantization.fake_quantize import disable_observer as disable_observer
from weft.quantization.fake_quantize import enable_fake_quant as enable_fake_quant
from weft.quantization.fake_quantize import enable_observer as enable_observer
from weft.quantization.fuse import fuse_modules as fuse_modules
from weft.quantization.fuse import fuse_modules_qat as fuse_modules_qat
from weft.quantization.qconfig import get_default_qat_qconfig as get_default_qat_qconfig
from weft.quantization.qconfig import get_default_qconfig as get_default_qconfig
from weft.quantization.prepare import prepare as prepare
from weft.quantization.prepare import prepare_qat as prepare_qat
from weft.quantization.prepare import propagate_qconfig_ as propagate_qconfig_
from weft.quantization.prepare import quantize as quantize
from weft.quantization.convert import quantize_dynamic as quantize_dynamic
from weft.quantization.prepare import quantize_qat as quantize_qat
from weft.quantization.qconfig import default_dynamic_qconfig as default_dynamic_qconfig
from weft.quantization.observer import default_dynamic_quant_observer as default_dynamic_quant_observer
from weft.quantization.observer import Maker
default_fake_quant: Maker
from weft.quantization.observer import default_float_qparams_observer as default_float_qparams_observer
from weft.quantization.observer import Maker
default_histogram_observer: Maker
from weft.quantization.observer import default_observer as default_observer
from weft.quantization.qconfig import default_per_channel_qconfig as default_per_channel_qconfig
from weft.quantization.observer import Maker
default_per_channel_weight_fake_quant: Maker
from weft.quantization.observer import default_per_channel_weight_observer as default_per_channel_weight_observer
from weft.quantization.qconfig import default_qat_qconfig as default_qat_qconfig
from weft.quantization.qconfig import default_qconfig as default_qconfig
from weft.quantization.observer import Maker
default_weight_fake_quant: Maker
from weft.quantization.observer import default_weight_observer as default_weight_observer
from weft.quantization.qconfig import float_qparams_weight_only_qconfig as float_qparams_weight_only_qconfig
from weft.quantization.qconfig import per_channel_dynamic_qconfig as per_channel_dynamic_qconfig
