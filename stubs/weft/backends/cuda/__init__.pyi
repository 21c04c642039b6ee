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
from weft.compat.modules.backends.cuda import MatmulSwitches as MatmulSwitches
from weft.compat.modules.backends.cuda import is_built as is_built
from weft.compat.modules.backends.cuda import matmul as matmul
def cudnn_sdp_enabled() -> _bool:
    """Say whether the cudnn attention of GPUs is switched on."""
def enable_cudnn_sdp(enabled: _bool) -> None:
    """Switch the cudnn attention of GPUs; on a CPU see ``nn.attention``."""
def enable_flash_sdp(enabled: _bool) -> None:
    """Switch the flash attention of GPUs; on a CPU see ``nn.attention``."""
def enable_math_sdp(enabled: _bool) -> None:
    """Switch the math attention of GPUs; on a CPU see ``nn.attention``."""
def enable_mem_efficient_sdp(enabled: _bool) -> None:
    """Switch the mem_efficient attention of GPUs; on a CPU see ``nn.attention``."""
def flash_sdp_enabled() -> _bool:
    """Say whether the flash attention of GPUs is switched on."""
def math_sdp_enabled() -> _bool:
    """Say whether the math attention of GPUs is switched on."""
def mem_efficient_sdp_enabled() -> _bool:
    """Say whether the mem_efficient attention of GPUs is switched on."""
