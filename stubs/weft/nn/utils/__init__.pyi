# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""Helpers for modules and their parameters: clipping, packing, norms, parametrizations, fusion."""
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
import weft.nn.utils.prune as _prune
prune = _prune
import weft.nn.utils.pruning_utils as _pruning_utils
pruning_utils = _pruning_utils
import weft.nn.utils.clip_grad as _clip_grad
clip_grad = _clip_grad
from weft.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from weft.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from weft.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_
from weft.nn.utils.clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from weft.nn.utils.memory_format import convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format
from weft.nn.utils.memory_format import convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format
import weft.nn.utils.convert_parameters as _convert_parameters
convert_parameters = _convert_parameters
from weft.nn.utils.fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
from weft.nn.utils.fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
from weft.nn.utils.fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
from weft.nn.utils.fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
import weft.nn.utils.fusion as _fusion
fusion = _fusion
from weft.nn.utils.clip_grad import get_total_norm as get_total_norm
import weft.nn.utils.init as _init
init = _init
import weft.nn.utils.memory_format as _memory_format
memory_format = _memory_format
from weft.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
import weft.nn.utils.parametrizations as _parametrizations
parametrizations = _parametrizations
import weft.nn.utils.parametrize as _parametrize
parametrize = _parametrize
from weft.nn.utils.spectral_norm import remove_spectral_norm as remove_spectral_norm
from weft.nn.utils.weight_norm import remove_weight_norm as remove_weight_norm
import weft.nn.utils.rnn as _rnn
rnn = _rnn
from weft.nn.utils.init import skip_init as skip_init
from weft.nn.utils.spectral_norm import spectral_norm as spectral_norm
import weft.nn.utils.stateless as _stateless
stateless = _stateless
from weft.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters
from weft.nn.utils.weight_norm import weight_norm as weight_norm

def no_init() -> Iterator[None]:
    """Within this, the functions of ``nn.init`` leave their tensors as they are.

    Modules are made at once, and hold whatever memory holds. Load their state before use.

    >>> with weft.nn.utils.no_init():
    ...     layer = weft.nn.Linear(2, 1)
    >>> layer.load_state_dict({"weight": weft.ones(1, 2), "bias": weft.ones(1)})
    <All keys matched successfully>
    """
