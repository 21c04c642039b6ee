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
from weft.compat.modules.cuda import Event as Event
from weft.compat.modules.cuda import Stream as Stream
from . import amp as amp
from weft.compat.modules.cuda import device as device
from weft.compat.modules.cuda import device_count as device_count
from weft.compat.modules.cuda import device_of as device_of
from weft.compat.modules.cuda import empty_cache as empty_cache
from weft.compat.modules.cuda import get_arch_list as get_arch_list
from weft.compat.modules.cuda import get_rng_state_all as get_rng_state_all
from weft.compat.modules.cuda import is_available as is_available
from weft.compat.modules.cuda import is_bf16_supported as is_bf16_supported
from weft.compat.modules.cuda import is_initialized as is_initialized
from weft.compat.modules.cuda import manual_seed as manual_seed
from weft.compat.modules.cuda import manual_seed_all as manual_seed_all
from weft.compat.modules.cuda import max_memory_allocated as max_memory_allocated
from weft.compat.modules.cuda import max_memory_reserved as max_memory_reserved
from weft.compat.modules.cuda import memory_allocated as memory_allocated
from weft.compat.modules.cuda import memory_reserved as memory_reserved
from weft.compat.modules.cuda import memory_stats as memory_stats
from weft.compat.modules.cuda import seed as seed
from weft.compat.modules.cuda import seed_all as seed_all
from weft.compat.modules.cuda import set_rng_state_all as set_rng_state_all
from weft.compat.modules.cuda import stream as stream
class BFloat16Tensor(Tensor): ...
class BoolTensor(Tensor): ...
class ByteTensor(Tensor): ...
class CharTensor(Tensor): ...
class ComplexDoubleTensor(Tensor): ...
class ComplexFloatTensor(Tensor): ...
class DoubleTensor(Tensor): ...
class FloatTensor(Tensor): ...
class HalfTensor(Tensor): ...
class IntTensor(Tensor): ...
class LongTensor(Tensor): ...
class ShortTensor(Tensor): ...
def can_device_access_peer(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def current_blas_handle(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def current_device(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def current_stream(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def default_stream(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def get_device_capability(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def get_device_name(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def get_device_properties(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def get_rng_state(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def init(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def initial_seed(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def ipc_collect(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def list_gpu_processes(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def mem_get_info(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def memory_snapshot(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def memory_summary(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def reset_accumulated_memory_stats(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def reset_max_memory_allocated(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def reset_max_memory_cached(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def reset_peak_memory_stats(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def set_device(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def set_per_process_memory_fraction(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def set_rng_state(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def set_stream(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def synchronize(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
def utilization(*args: Any, **kwargs: Any) -> Any:
    """Raise: weft has no GPU."""
