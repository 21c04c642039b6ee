"""Names for annotations, as PyTorch has them in ``torch.types``."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, Union

import weft
from weft import Size, Tensor

__all__ = ["Device", "FileLike", "Number", "Size", "Storage", "Tensor"]

_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_dtype, _device, _layout = weft.dtype, weft.device, weft.layout
_size = Union[Size, list[int], tuple[int, ...]]  # noqa: UP007  (X | Y is no type before 3.10)
_TensorOrTensors = Union[Tensor, Sequence[Tensor]]  # noqa: UP007
Number = Union[int, float, bool]  # noqa: UP007
Device = Union[weft.device, str, int, None]  # noqa: UP007
FileLike = Any
Storage = Any
