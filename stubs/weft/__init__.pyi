# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""weft: a dynamic computation graph without its costs, with PyTorch's API.

>>> x = weft.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])"""
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
from weft._C import Generator as Generator
from weft._C import Size as Size
from weft._C import Tensor as Tensor
from weft.serialization.training import TrainingState as TrainingState
from weft.storage import TypedStorage as TypedStorage
from weft.storage import UntypedStorage as UntypedStorage
from . import accelerator as accelerator
from weft.nn.functional.pooling import adaptive_max_pool1d_with_indices as _adaptive_max_pool1d
adaptive_max_pool1d = _adaptive_max_pool1d
from weft.nn.functional.top_level import affine_grid_generator as affine_grid_generator
from weft.nn.functional.top_level import alpha_dropout as alpha_dropout
from weft.nn.functional.top_level import alpha_dropout_ as alpha_dropout_
import weft.amp as _amp
amp = _amp
from . import ao as ao
from weft.compat.kernel_settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from weft.compat.introspection import as_strided_ as as_strided_
from weft.ops.create import as_tensor as as_tensor
from weft.ops.create import asarray as asarray
from . import audio as audio
from weft.amp.autocast import autocast as autocast
from weft.amp.autocast import autocast_decrement_nesting as autocast_decrement_nesting
from weft.amp.autocast import autocast_increment_nesting as autocast_increment_nesting
import weft.autograd as _autograd
autograd = _autograd
from . import backends as backends
from weft.nn.functional.top_level import batch_norm as batch_norm
from weft.nn.functional.top_level import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from weft.ops.shape import broadcast_shapes as broadcast_shapes
from weft.ops.shape import broadcast_tensors as broadcast_tensors
from weft._environment import can_cast as can_cast
from weft.amp.autocast import clear_autocast_cache as clear_autocast_cache
from weft.ops.memory import clone as clone
import weft.compat as _compat
compat = _compat
from . import compiler as compiler
from weft.ops.control import cond as cond
from weft.nn.functional.top_level import convolution as convolution
from weft.nn.functional.top_level import cosine_embedding_loss as cosine_embedding_loss
from . import cpu as cpu
from weft.nn.functional.top_level import ctc_loss as ctc_loss
from . import cuda as cuda
import weft.debug as _debug
debug = _debug
from weft._C import default_generator as default_generator
from weft.quantization.tensor import dequantize as dequantize
from weft.compat.introspection import detach_ as detach_
from weft._environment import device as device
import weft.distributed as _distributed
distributed = _distributed
import weft.distributions as _distributions
distributions = _distributions
from weft.nn.functional.top_level import dropout as dropout
from weft.nn.functional.top_level import dropout_ as dropout_
from weft.sparse import mm as _dsmm
dsmm = _dsmm
from weft._C import dtype as dtype
from weft.nn.functional.top_level import embedding as embedding
from weft._environment import empty_cache as empty_cache
from weft.autograd.grad_mode import enable_grad as enable_grad
from weft.ops.compare import equal as equal
from weft.nn.functional.top_level import feature_alpha_dropout as feature_alpha_dropout
from weft.nn.functional.top_level import feature_alpha_dropout_ as feature_alpha_dropout_
from weft.nn.functional.top_level import feature_dropout as feature_dropout
from weft.nn.functional.top_level import feature_dropout_ as feature_dropout_
from . import fft as fft
from weft._environment import finfo as finfo
from weft.ops.create import from_dlpack as from_dlpack
from weft.storage import from_file as from_file
from weft.ops.create import from_numpy as from_numpy
from weft.ops.create import frombuffer as frombuffer
import weft.func as _func
func = _func
from . import functional as functional
from . import fx as fx
from weft.amp.autocast import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from weft.amp.autocast import get_autocast_dtype as get_autocast_dtype
from weft._environment import get_default_device as get_default_device
from weft._environment import get_default_dtype as get_default_dtype
from weft.compat.kernel_settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from weft.compat.introspection import get_device as get_device
from weft.compat.devices import get_device_module as get_device_module
from weft.compat.kernel_settings import get_float32_matmul_precision as get_float32_matmul_precision
from weft.compat.kernel_settings import get_num_interop_threads as get_num_interop_threads
from weft._C import get_num_threads as get_num_threads
from weft.printing import get_printoptions as get_printoptions
from weft.random import get_rng_state as get_rng_state
from weft.nn.functional.top_level import grid_sampler as grid_sampler
from weft.nn.functional.top_level import grid_sampler as _grid_sampler_2d
grid_sampler_2d = _grid_sampler_2d
from weft.nn.functional.top_level import grid_sampler as _grid_sampler_3d
grid_sampler_3d = _grid_sampler_3d
from weft.nn.functional.top_level import group_norm as group_norm
from weft.nn.functional.top_level import gru as gru
from weft.nn.functional.top_level import gru_cell as gru_cell
from weft.nn.functional.top_level import hinge_embedding_loss as hinge_embedding_loss
from . import hub as hub
from weft._environment import iinfo as iinfo
from weft.autograd.grad_mode import inference_mode as inference_mode
from weft.random import initial_seed as initial_seed
from weft.nn.functional.top_level import instance_norm as instance_norm
from weft.compat.introspection import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from weft.compat.introspection import is_anomaly_enabled as is_anomaly_enabled
from weft.amp.autocast import is_autocast_available as is_autocast_available
from weft.amp.autocast import is_autocast_cache_enabled as is_autocast_cache_enabled
from weft.amp.autocast import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from weft.amp.autocast import is_autocast_enabled as is_autocast_enabled
from weft.ops.convert import is_complex as is_complex
from weft.compat.introspection import is_conj as is_conj
from weft.compat.kernel_settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from weft.compat.introspection import is_distributed as is_distributed
from weft.ops.convert import is_floating_point as is_floating_point
from weft._environment import is_grad_enabled as is_grad_enabled
from weft.compat.introspection import is_inference as is_inference
from weft._environment import is_inference_mode_enabled as is_inference_mode_enabled
from weft.compat.introspection import is_neg as is_neg
from weft.ops.convert import is_nonzero as is_nonzero
from weft.compat.introspection import is_same_size as is_same_size
from weft.compat.introspection import is_signed as is_signed
from weft.storage import is_storage as is_storage
from weft._environment import is_tensor as is_tensor
from weft.compat.introspection import is_warn_always_enabled as is_warn_always_enabled
import weft.jit as _jit
jit = _jit
from weft.nn.functional.top_level import kl_div as kl_div
from weft.nn.functional.top_level import layer_norm as layer_norm
from weft._environment import layout as layout
from . import linalg as linalg
from weft.serialization.files import load as load
from weft.view.notebook import load_ipython_extension as load_ipython_extension
from weft.nn.functional.top_level import lstm as lstm
from weft.nn.functional.top_level import lstm_cell as lstm_cell
from weft.random import manual_seed as manual_seed
from weft.nn.functional.top_level import margin_ranking_loss as margin_ranking_loss
import weft.masked as _masked
masked = _masked
from weft._environment import max_memory_allocated as max_memory_allocated
from weft.nn.functional.pooling import max_pool1d_with_indices as max_pool1d_with_indices
from weft.debug import memory as memory
from weft._environment import memory_allocated as memory_allocated
from weft._environment import memory_format as memory_format
from . import mps as mps
import weft.multiprocessing as _multiprocessing
multiprocessing = _multiprocessing
from weft.nn.functional.top_level import native_batch_norm as native_batch_norm
from weft.nn.functional.top_level import native_dropout as native_dropout
from weft.nn.functional.top_level import native_dropout_backward as native_dropout_backward
from weft.nn.functional.top_level import native_group_norm as native_group_norm
from weft.nn.functional.top_level import native_layer_norm as native_layer_norm
from . import nn as nn
from weft.autograd.grad_mode import no_grad as no_grad
from weft.ops.convert import numel as numel
import weft.ops as _ops
ops = _ops
import weft.optim as _optim
optim = _optim
from weft.quantization.kinds import per_channel_affine as per_channel_affine
from weft.quantization.kinds import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from weft.quantization.kinds import per_channel_symmetric as per_channel_symmetric
from weft.quantization.kinds import per_tensor_affine as per_tensor_affine
from weft.quantization.kinds import per_tensor_symmetric as per_tensor_symmetric
from weft.nn.functional.top_level import poisson_nll_loss as poisson_nll_loss
import weft.printing as _printing
printing = _printing
import weft.profiler as _profiler
profiler = _profiler
from weft._environment import promote_types as promote_types
from weft.quantization.kinds import qint32 as qint32
from weft.quantization.kinds import qint8 as qint8
from weft.quantization.kinds import qscheme as qscheme
import weft.quantization as _quantization
quantization = _quantization
from weft.quantization.tensor import quantize_per_channel as quantize_per_channel
from weft.quantization.tensor import quantize_per_tensor as quantize_per_tensor
from weft.quantization.tensor import quantize_per_tensor_dynamic as quantize_per_tensor_dynamic
from weft.quantization.kinds import quint8 as quint8
import weft.random as _random
random = _random
from weft._environment import reset_peak_memory_stats as reset_peak_memory_stats
from weft.ops.shape import resize_as_ as resize_as_
from weft.ops.convert import result_type as result_type
from weft.nn.functional.top_level import rnn_relu as rnn_relu
from weft.nn.functional.top_level import rnn_relu_cell as rnn_relu_cell
from weft.nn.functional.top_level import rnn_tanh as rnn_tanh
from weft.nn.functional.top_level import rnn_tanh_cell as rnn_tanh_cell
from weft.nn.functional.activation import rrelu_ as rrelu_
from weft.serialization.files import save as save
from weft.ops.control import scan as scan
from weft.random import seed as seed
import weft.serialization as _serialization
serialization = _serialization
from weft.amp.autocast import set_autocast_cache_enabled as set_autocast_cache_enabled
from weft.amp.autocast import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from weft.amp.autocast import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from weft.amp.autocast import set_autocast_dtype as set_autocast_dtype
from weft.amp.autocast import set_autocast_enabled as set_autocast_enabled
from weft._environment import set_default_device as set_default_device
from weft._environment import set_default_dtype as set_default_dtype
from weft.compat.kernel_settings import set_default_tensor_type as set_default_tensor_type
from weft.compat.kernel_settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from weft.compat.kernel_settings import set_float32_matmul_precision as set_float32_matmul_precision
from weft.compat.introspection import set_flush_denormal as set_flush_denormal
from weft.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from weft.compat.kernel_settings import set_num_interop_threads as set_num_interop_threads
from weft._C import set_num_threads as set_num_threads
from weft.printing import set_printoptions as set_printoptions
from weft.random import set_rng_state as set_rng_state
from weft.compat.introspection import set_warn_always as set_warn_always
from . import signal as signal
from weft.sparse import smm as smm
import weft.sparse as _sparse
sparse = _sparse
from weft.sparse.compressed import sparse_compressed_tensor as sparse_compressed_tensor
from weft.ops.sparse import sparse_coo_tensor as sparse_coo_tensor
from weft.sparse.compressed import sparse_csc_tensor as sparse_csc_tensor
from weft.sparse.compressed import sparse_csr_tensor as sparse_csr_tensor
from . import special as special
from weft.sparse import mm as _spmm
spmm = _spmm
import weft.storage as _storage
storage = _storage
from weft.nn.summary import summary as summary
from weft.compat.introspection import sym_float as sym_float
from weft.compat.introspection import sym_int as sym_int
from weft.compat.introspection import sym_ite as sym_ite
from weft.compat.introspection import sym_max as sym_max
from weft.compat.introspection import sym_min as sym_min
from weft.compat.introspection import sym_not as sym_not
from weft.compat.introspection import sym_sqrt as sym_sqrt
from weft.compat.introspection import sym_sum as sym_sum
from weft.ops.create import tensor as tensor
import weft.testing as _testing
testing = _testing
import weft.text as _text
text = _text
from weft.nn.functional.activation import threshold_ as threshold_
from weft.compat.introspection import to_dlpack as to_dlpack
import weft.train as _train
train = _train
from weft.nn.functional.top_level import triplet_margin_loss as triplet_margin_loss
from weft.compat.introspection import typename as typename
from . import types as types
from weft.compat.kernel_settings import use_deterministic_algorithms as use_deterministic_algorithms
from . import utils as utils
from . import version as version
import weft.view as _view
view = _view
from . import vision as vision
from weft.func.batching import vmap as vmap
from weft.ops.control import while_loop as while_loop
from . import xpu as xpu

class _ATau(NamedTuple):
    a: Tensor
    tau: Tensor

class _HistBin_edges(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class _MantissaExponent(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class _MinMax(NamedTuple):
    min: Tensor
    max: Tensor

class _QR(NamedTuple):
    Q: Tensor
    R: Tensor

class _SignLogabsdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _SolutionCloned_coefficient(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class _USV(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class _ValuesIndices(NamedTuple):
    values: Tensor
    indices: Tensor

class BFloat16Tensor(Tensor): ...  # makes tensors of one dtype
class BoolTensor(Tensor): ...  # makes tensors of one dtype
class ByteTensor(Tensor): ...  # makes tensors of one dtype
class CharTensor(Tensor): ...  # makes tensors of one dtype
class ComplexDoubleTensor(Tensor): ...  # makes tensors of one dtype
class ComplexFloatTensor(Tensor): ...  # makes tensors of one dtype
class DoubleTensor(Tensor): ...  # makes tensors of one dtype
class FloatTensor(Tensor): ...  # makes tensors of one dtype
class HalfTensor(Tensor): ...  # makes tensors of one dtype
class IntTensor(Tensor): ...  # makes tensors of one dtype
class LongTensor(Tensor): ...  # makes tensors of one dtype
class ShortTensor(Tensor): ...  # makes tensors of one dtype
bfloat16: _DType
bool: _DType
cdouble: _DType
cfloat: _DType
channels_last: _MemoryFormat
channels_last_3d: _MemoryFormat
complex128: _DType
complex64: _DType
contiguous_format: _MemoryFormat
double: _DType
e: _float
float: _DType
float16: _DType
float32: _DType
float64: _DType
half: _DType
inf: _float
int: _DType
int16: _DType
int32: _DType
int64: _DType
int8: _DType
legacy_contiguous_format: _MemoryFormat
long: _DType
nan: _float
newaxis: None
pi: _float
preserve_format: _MemoryFormat
short: _DType
sparse_coo: _Layout
sparse_csc: _Layout
sparse_csr: _Layout
strided: _Layout
uint8: _DType
__version__: _str
import builtins
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar, overload

from typing_extensions import ParamSpec, Self
from weft._C import Tensor as Tensor
from weft._C import _bool as _bool
from weft._C import _int as _int
from weft._C import _str as _str

from weft.jit.compile.function import CompiledFunction
from weft.nn.module import Module

_P = ParamSpec("_P")
_R = TypeVar("_R")
_M = TypeVar("_M", bound=Module)

class _Compiled(CompiledFunction, Generic[_P, _R]):
    # A compiled function is called as the function is, and knows more.
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: builtins.type, /) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: builtins.type, /) -> Callable[..., _R]: ...

class _Compiler:
    # What compile returns without a function: a decorator.
    @overload
    def __call__(self, model: _M, /) -> _M: ...
    @overload
    def __call__(self, model: Callable[_P, _R], /) -> _Compiled[_P, _R]: ...

@overload
def compile(
    model: _M,
    *,
    fullgraph: _bool = False,
    dynamic: _bool | None = None,
    backend: _str | Callable[..., Any] = "inductor",
    mode: _str | None = None,
    options: dict[_str, Any] | None = None,
    disable: _bool = False,
    exact: _bool = True,
) -> _M: ...
@overload
def compile(
    model: Callable[_P, _R],
    *,
    fullgraph: _bool = False,
    dynamic: _bool | None = None,
    backend: _str | Callable[..., Any] = "inductor",
    mode: _str | None = None,
    options: dict[_str, Any] | None = None,
    disable: _bool = False,
    exact: _bool = True,
) -> _Compiled[_P, _R]: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: _bool = False,
    dynamic: _bool | None = None,
    backend: _str | Callable[..., Any] = "inductor",
    mode: _str | None = None,
    options: dict[_str, Any] | None = None,
    disable: _bool = False,
    exact: _bool = True,
) -> _Compiler: ...
@overload
def einsum(equation: _str, *operands: Tensor) -> Tensor: ...
@overload
def einsum(equation: _str, operands: Sequence[Tensor], /) -> Tensor: ...
@overload
def einsum(*operands: Tensor | Sequence[_int]) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@overload
def tensordot(a: Tensor, b: Tensor, dims: _int = 2, *, out: Tensor | None = None) -> Tensor: ...
@overload
def tensordot(
    a: Tensor,
    b: Tensor,
    dims: Sequence[Sequence[_int]] | Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> tuple[Tensor, ...]: ...
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value."""
def abs_(input: Tensor) -> Tensor:
    """The absolute value."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value."""
def absolute_(input: Tensor) -> Tensor:
    """The absolute value."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose cosine is input."""
def acos_(input: Tensor) -> Tensor:
    """The angle whose cosine is input."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic cosine is input."""
def acosh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic cosine is input."""
def adaptive_avg_pool1d(
    input: Tensor,
    output_size: _int | Sequence[_int | None] | None,
) -> Tensor:
    """Return means of output_size windows of a sequence.

    >>> weft.nn.functional.adaptive_avg_pool1d(weft.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[2.0000, 2.5000]])
    """
@overload
def add(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Adds other to input, element by element."""
@overload
def add(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: Tensor | _Number,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def add_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Adds other to input, element by element."""
@overload
def add_(input: Tensor, other: Tensor | _Number, *, alpha: Tensor | _Number) -> Tensor: ...
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: Tensor | _Number = 1,
    alpha: Tensor | _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha times the sum of the products of two batches of matrices.

    >>> weft.addbmm(weft.zeros(1), weft.ones(5, 2, 3), weft.ones(5, 3, 2))
    tensor([[15., 15.],
            [15., 15.]])
    """
def addbmm_(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: Tensor | _Number = 1,
    alpha: Tensor | _Number = 1,
) -> Tensor:
    """beta * input + alpha times the sum of the products of two batches of matrices.

    >>> weft.addbmm(weft.zeros(1), weft.ones(5, 2, 3), weft.ones(5, 3, 2))
    tensor([[15., 15.],
            [15., 15.]])
    """
def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: Tensor | _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input + value * tensor1 / tensor2.

    >>> weft.addcdiv(weft.ones(1), weft.ones(1), weft.ones(1), value=2)
    tensor([3.])
    """
def addcdiv_(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: Tensor | _Number = 1,
) -> Tensor:
    """input + value * tensor1 / tensor2.

    >>> weft.addcdiv(weft.ones(1), weft.ones(1), weft.ones(1), value=2)
    tensor([3.])
    """
def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: Tensor | _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input + value * tensor1 * tensor2.

    >>> weft.addcmul(weft.ones(1), weft.ones(1), weft.ones(1), value=2)
    tensor([3.])
    """
def addcmul_(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: Tensor | _Number = 1,
) -> Tensor:
    """input + value * tensor1 * tensor2.

    >>> weft.addcmul(weft.ones(1), weft.ones(1), weft.ones(1), value=2)
    tensor([3.])
    """
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: Tensor | _Number = 1,
    alpha: Tensor | _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2).

    >>> weft.addmm(weft.ones(2), weft.ones(2, 3), weft.ones(3, 2))
    tensor([[4., 4.],
            [4., 4.]])
    """
def addmm_(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: Tensor | _Number = 1,
    alpha: Tensor | _Number = 1,
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2).

    >>> weft.addmm(weft.ones(2), weft.ones(2, 3), weft.ones(3, 2))
    tensor([[4., 4.],
            [4., 4.]])
    """
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: Tensor | _Number = 1,
    alpha: Tensor | _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * (mat @ vec).

    >>> weft.addmv(weft.ones(2), weft.ones(2, 3), weft.ones(3))
    tensor([4., 4.])
    """
def addmv_(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: Tensor | _Number = 1,
    alpha: Tensor | _Number = 1,
) -> Tensor:
    """beta * input + alpha * (mat @ vec).

    >>> weft.addmv(weft.ones(2), weft.ones(2, 3), weft.ones(3))
    tensor([4., 4.])
    """
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: Tensor | _Number = 1,
    alpha: Tensor | _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha times the outer product of two vectors.

    >>> weft.addr(weft.zeros(2, 2), weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
def addr_(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: Tensor | _Number = 1,
    alpha: Tensor | _Number = 1,
) -> Tensor:
    """beta * input + alpha times the outer product of two vectors.

    >>> weft.addr(weft.zeros(2, 2), weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
def adjoint(input: Tensor) -> Any: ...
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of ``input``.

    >>> weft.alias_copy(weft.ones(2))
    tensor([1., 1.])
    """
@overload
def all(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether all elements are nonzero, or all along dim.

    >>> weft.tensor([True, False]).all()
    tensor(False)
    """
@overload
def all(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> _bool:
    """Say whether all elements are close, as ``isclose`` does.

    >>> weft.allclose(weft.ones(2), weft.ones(2))
    True
    """
def amax(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The largest value over dim; equal ones share the gradient.

    >>> weft.tensor([[1.0, 2.0], [4.0, 3.0]]).amax(1)
    tensor([2., 4.])
    """
def amin(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The smallest value over dim; equal ones share the gradient.

    >>> weft.tensor([[1.0, 2.0], [4.0, 3.0]]).amin(1)
    tensor([1., 3.])
    """
def aminmax(
    input: Tensor,
    *,
    dim: _int | None = None,
    keepdim: _bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> _MinMax:
    """The smallest and the largest.

    >>> weft.aminmax(weft.tensor([1.0, 3.0])).max
    tensor(3.)
    """
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of a complex number; of a real one, 0 or pi."""
@overload
def any(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether any element is nonzero, or any along dim.

    >>> weft.tensor([True, False]).any()
    tensor(True)
    """
@overload
def any(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def arange(
    end: Tensor | _Number,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Numbers from start (0) up to end (left out), step (1) apart.

    >>> weft.arange(3)
    tensor([0, 1, 2])
    """
@overload
def arange(
    start: Tensor | _Number,
    end: Tensor | _Number,
    step: Tensor | _Number = 1,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose cosine is input."""
def arccos_(input: Tensor) -> Tensor:
    """The angle whose cosine is input."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic cosine is input."""
def arccosh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic cosine is input."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose sine is input."""
def arcsin_(input: Tensor) -> Tensor:
    """The angle whose sine is input."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic sine is input."""
def arcsinh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine is input."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose tangent is input."""
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input)."""
def arctan2_(input: Tensor, other: Tensor) -> Tensor:
    """The angle of the point (other, input)."""
def arctan_(input: Tensor) -> Tensor:
    """The angle whose tangent is input."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic tangent is input."""
def arctanh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent is input."""
def argmax(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The index of the largest element, along dim or of all.

    >>> weft.tensor([1.0, 3.0, 2.0]).argmax()
    tensor(1)
    """
def argmin(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The index of the smallest element, along dim or of all.

    >>> weft.tensor([1.0, 3.0, 2.0]).argmin()
    tensor(0)
    """
def argsort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    stable: _bool = False,
) -> Tensor:
    """Return the indices that sort along ``dim``.

    >>> weft.argsort(weft.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
def argwhere(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The coordinates of the elements that are not zero, one in each row; with as_tuple=True, one tensor for each dimension.

    >>> weft.nonzero(weft.tensor([[0, 7], [5, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
def as_strided(
    input: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """A view with any sizes, strides and offset that stay inside the storage.

    >>> weft.arange(4).as_strided((2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
def as_strided_copy(
    input: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """Return what ``as_strided`` shows, in memory of its own.

    >>> y = weft.as_strided_copy(weft.ones(2), (2, 2), (0, 1))
    """
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    storage_offset: _int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with src written into the part that as_strided would show.

    >>> weft.as_strided_scatter(weft.zeros(4), weft.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose sine is input."""
def asin_(input: Tensor) -> Tensor:
    """The angle whose sine is input."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic sine is input."""
def asinh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine is input."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose tangent is input."""
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input)."""
def atan2_(input: Tensor, other: Tensor) -> Tensor:
    """The angle of the point (other, input)."""
def atan_(input: Tensor) -> Tensor:
    """The angle whose tangent is input."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose hyperbolic tangent is input."""
def atanh_(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent is input."""
@overload
def atleast_1d(input: Tensor, /) -> Tensor:
    """View 0-d tensors as vectors of one element.

    >>> weft.atleast_1d(weft.tensor(2.0))
    tensor([2.])
    """
@overload
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(input: Tensor, /) -> Tensor:
    """View numbers and vectors as matrices of one row.

    >>> weft.atleast_2d(weft.tensor([1, 2]))
    tensor([[1, 2]])
    """
@overload
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(input: Tensor, /) -> Tensor:
    """View tensors with three dimensions: a vector lies along the second, a matrix in the first two.

    >>> weft.atleast_3d(weft.ones(2)).shape
    torch.Size([1, 2, 1])
    """
@overload
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def avg_pool1d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor:
    """Return the mean of every window of a sequence.

    >>> weft.nn.functional.avg_pool1d(weft.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[2., 3.]])
    """
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: Tensor | _Number = 1,
    alpha: Tensor | _Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), for batches of matrices.

    >>> weft.baddbmm(weft.ones(1), weft.ones(5, 2, 3), weft.ones(5, 3, 4)).shape
    torch.Size([5, 2, 4])
    """
def baddbmm_(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: Tensor | _Number = 1,
    alpha: Tensor | _Number = 1,
) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), for batches of matrices.

    >>> weft.baddbmm(weft.ones(1), weft.ones(5, 2, 3), weft.ones(5, 3, 4)).shape
    torch.Size([5, 2, 4])
    """
def bartlett_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return a triangle from 0 to 1 and back.

    >>> weft.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
@overload
def bernoulli(
    input: Tensor,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Random zeros and ones: each element of input is the probability of a one.

    >>> weft.bernoulli(weft.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
@overload
def bernoulli(
    input: Tensor,
    p: _float,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def bilinear(
    input1: Tensor,
    input2: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    """Return x1^T W x2 + b for every matrix W of weight.

    >>> weft.nn.functional.bilinear(weft.ones(1, 2), weft.ones(1, 2), weft.ones(1, 2, 2))
    tensor([[4.]])
    """
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """How often each whole number occurs, or the sum of the weights there.

    >>> weft.bincount(weft.tensor([0, 1, 1]))
    tensor([1, 2])
    """
def bitwise_and(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The bits that both have."""
def bitwise_and_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The bits that both have."""
def bitwise_left_shift(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Bits moved up by other places."""
def bitwise_left_shift_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Bits moved up by other places."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit turned over."""
def bitwise_not_(input: Tensor) -> Tensor:
    """Every bit turned over."""
def bitwise_or(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The bits that at least one has."""
def bitwise_or_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The bits that at least one has."""
def bitwise_right_shift(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Bits moved down by other places."""
def bitwise_right_shift_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Bits moved down by other places."""
def bitwise_xor(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The bits that exactly one has."""
def bitwise_xor_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The bits that exactly one has."""
def blackman_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return a sum of three cosines, from 0 to 1 and back.

    >>> weft.blackman_window(3).round(decimals=4)
    tensor([-0.0000,  0.6300,  0.6300])
    """
def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Return a matrix with the given matrices along its diagonal, zeros elsewhere.

    Vectors count as rows, single elements as matrices of one.

    >>> weft.block_diag(weft.tensor([[1, 2]]), weft.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two batches of matrices of the same length.

    >>> weft.bmm(weft.ones(5, 2, 3), weft.ones(5, 3, 4)).shape
    torch.Size([5, 2, 4])
    """
def broadcast_to(input: Tensor, *size: _int | Sequence[_int]) -> Tensor:
    """Repeat dimensions of size one without a copy.

    >>> weft.ones(1, 2).broadcast_to((3, 2)).shape
    torch.Size([3, 2])
    """
def bucketize(
    input: Tensor | _Number,
    boundaries: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The bucket between sorted boundaries that each element falls into.

    >>> weft.bucketize(weft.tensor([1.5, 4.0]), weft.tensor([1.0, 2.0, 3.0]))
    tensor([1, 3])
    """
def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Return all choices of one element of each vector, one in each row.

    >>> weft.cartesian_prod(weft.tensor([1, 2]), weft.tensor([4, 5]))
    tensor([[1, 4],
            [1, 5],
            [2, 4],
            [2, 5]])
    """
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along dim, where their sizes may differ.

    >>> weft.cat([weft.tensor([1, 2]), weft.tensor([3])])
    tensor([1, 2, 3])
    """
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: _float = 2.0,
    compute_mode: _str = 'use_mm_for_euclid_dist_if_necessary',
) -> Tensor:
    """Return the distances between all rows of x1 and all rows of x2, in the p-norm.

    >>> weft.cdist(weft.tensor([[0.0, 0.0]]), weft.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounds up."""
def ceil_(input: Tensor) -> Tensor:
    """Rounds up."""
def celu(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """Return x above zero and alpha * (exp(x / alpha) - 1) below: smooth at zero for every alpha.

    >>> weft.celu(weft.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """In-place twin of ``celu``."""
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the product of several matrices, multiplied in the order that costs least.

    >>> weft.chain_matmul(weft.ones(2, 3), weft.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Deal the channels of groups out in turn.

    >>> weft.nn.functional.channel_shuffle(weft.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the Cholesky factor of a positive-definite matrix.

    >>> weft.cholesky(weft.tensor([[4.0]]))
    tensor([[2.]])
    """
def cholesky_inverse(L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of A, given its Cholesky factor.

    >>> weft.cholesky_inverse(weft.tensor([[2.0]]))
    tensor([[0.2500]])
    """
def cholesky_solve(
    B: Tensor,
    L: Tensor,
    upper: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the X of A X = B, given the Cholesky factor of A.

    >>> weft.cholesky_solve(weft.ones(1, 1), weft.tensor([[2.0]]))
    tensor([[0.2500]])
    """
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """input cut along dim into at most that many views of equal size, the last perhaps smaller.

    >>> weft.chunk(weft.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
@overload
def clamp(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input kept between min and max; either may be missing.

    >>> weft.tensor([-1.0, 0.5, 2.0]).clamp(min=0, max=1)
    tensor([0.0000, 0.5000, 1.0000])
    """
@overload
def clamp(
    input: Tensor,
    min: Tensor | _Number,
    max: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def clamp_(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
) -> Tensor:
    """input kept between min and max; either may be missing.

    >>> weft.tensor([-1.0, 0.5, 2.0]).clamp(min=0, max=1)
    tensor([0.0000, 0.5000, 1.0000])
    """
@overload
def clamp_(input: Tensor, min: Tensor | _Number, max: Tensor | _Number) -> Tensor: ...
def clamp_max(input: Tensor, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input, or max where that is smaller."""
def clamp_max_(input: Tensor, max: Tensor | _Number) -> Tensor:
    """input, or max where that is smaller."""
def clamp_min(input: Tensor, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input, or min where that is larger."""
def clamp_min_(input: Tensor, min: Tensor | _Number) -> Tensor:
    """input, or min where that is larger."""
@overload
def clip(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input kept between min and max; either may be missing.

    >>> weft.tensor([-1.0, 0.5, 2.0]).clamp(min=0, max=1)
    tensor([0.0000, 0.5000, 1.0000])
    """
@overload
def clip(
    input: Tensor,
    min: Tensor | _Number,
    max: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def clip_(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
) -> Tensor:
    """input kept between min and max; either may be missing.

    >>> weft.tensor([-1.0, 0.5, 2.0]).clamp(min=0, max=1)
    tensor([0.0000, 0.5000, 1.0000])
    """
@overload
def clip_(input: Tensor, min: Tensor | _Number, max: Tensor | _Number) -> Tensor: ...
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined side by side; vectors count as columns.

    >>> weft.column_stack([weft.tensor([1, 2]), weft.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """Return all choices of ``r`` elements of a vector, in its order, one in each row.

    >>> weft.combinations(weft.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their real and imaginary parts.

    >>> weft.complex(weft.tensor([1.0]), weft.tensor([2.0]))
    tensor([1.+2.j])
    """
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along dim, where their sizes may differ.

    >>> weft.cat([weft.tensor([1, 2]), weft.tensor([3])])
    tensor([1, 2, 3])
    """
def concatenate(
    tensors: Sequence[Tensor],
    dim: _int = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Tensors joined along dim, where their sizes may differ.

    >>> weft.cat([weft.tensor([1, 2]), weft.tensor([3])])
    tensor([1, 2, 3])
    """
def conj(input: Tensor) -> Tensor:
    """The complex conjugates; a real tensor itself.

    >>> weft.conj(weft.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugates, as new memory.

    >>> weft.conj_physical(weft.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
def conj_physical_(input: Tensor) -> Tensor:
    """The complex conjugates, as new memory.

    >>> weft.conj_physical(weft.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
def constant_pad_nd(
    input: Tensor,
    pad: _int | Sequence[_int],
    value: Tensor | _Number = 0,
) -> Tensor:
    """Dimensions widened with value: pad says by how much before and after, the last dimension first. Negative
    numbers cut off.

    >>> weft.constant_pad_nd(weft.ones(2), (1, 2))
    tensor([0., 1., 1., 0., 0.])
    """
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints | _str = 0,
    dilation: _Ints = 1,
    groups: _int = 1,
) -> Tensor:
    """Slide weights over sequences: input (N, C, L), weight (out, C / groups, K).

    >>> weft.nn.functional.conv1d(weft.arange(4.0).reshape(1, 1, 4), weft.ones(1, 1, 2))
    tensor([[[1., 3., 5.]]])
    """
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints | _str = 0,
    dilation: _Ints = 1,
    groups: _int = 1,
) -> Tensor:
    """Slide weights over images: input (N, C, H, W), weight (out, C / groups, KH, KW).

    >>> weft.nn.functional.conv2d(weft.ones(1, 1, 3, 3), weft.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints | _str = 0,
    dilation: _Ints = 1,
    groups: _int = 1,
) -> Tensor:
    """Slide weights over volumes: input (N, C, D, H, W), weight (out, C / groups, KD, KH, KW).

    >>> weft.nn.functional.conv3d(weft.ones(1, 1, 2, 2, 2), weft.ones(1, 1, 2, 2, 2)).item()
    8.0
    """
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor:
    """Slide weights (K, C, out) over sequences laid out as (time, batch, channels).

    >>> weft.nn.functional.conv_tbc(weft.ones(2, 1, 1), weft.ones(2, 1, 1), weft.zeros(1))
    tensor([[[2.]]])
    """
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    output_padding: _Ints = 0,
    groups: _int = 1,
    dilation: _Ints = 1,
) -> Tensor:
    """Add a kernel for every element of a sequence: weight (C, out / groups, K).

    >>> weft.nn.functional.conv_transpose1d(weft.ones(1, 1, 2), weft.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    output_padding: _Ints = 0,
    groups: _int = 1,
    dilation: _Ints = 1,
) -> Tensor:
    """Add a kernel for every element of an image: weight (C, out / groups, KH, KW).

    >>> weft.nn.functional.conv_transpose2d(weft.ones(1, 1, 1, 1), weft.ones(1, 1, 2, 2))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Ints = 1,
    padding: _Ints = 0,
    output_padding: _Ints = 0,
    groups: _int = 1,
    dilation: _Ints = 1,
) -> Tensor:
    """Add a kernel for every element of a volume: weight (C, out / groups, KD, KH, KW).

    >>> weft.nn.functional.conv_transpose3d(weft.ones(1, 1, 1, 1, 1), weft.ones(1, 1, 1, 1, 2))
    tensor([[[[[1., 1.]]]]])
    """
def copysign(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The size of input with the sign of other."""
def copysign_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The size of input with the sign of other."""
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlations of the rows of ``input``: covariances over both standard deviations.

    >>> weft.corrcoef(weft.tensor([[0.0, 2.0], [0.0, 4.0]]))
    tensor([[1., 1.],
            [1., 1.]])
    """
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine."""
def cos_(input: Tensor) -> Tensor:
    """The cosine."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine."""
def cosh_(input: Tensor) -> Tensor:
    """The hyperbolic cosine."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """Return the cosine of the angle between vectors along dim.

    >>> weft.nn.functional.cosine_similarity(weft.tensor([[3.0, 4.0]]), weft.tensor([[4.0, 3.0]]))
    tensor([0.9600])
    """
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """How many elements are not zero.

    >>> weft.count_nonzero(weft.tensor([0, 1, 2]))
    tensor(2)
    """
def cov(
    input: Tensor,
    *,
    correction: _int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Return the covariances of the rows of ``input``, whose columns are observations.

    >>> weft.cov(weft.tensor([[0.0, 2.0], [0.0, 4.0]]))
    tensor([[2., 4.],
            [4., 8.]])
    """
def cross(
    input: Tensor,
    other: Tensor,
    dim: _int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The vector products along a dimension of size 3 (by default the first such).

    >>> weft.cross(weft.tensor([1, 0, 0]), weft.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
def cummax(
    input: Tensor,
    dim: _int,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> _ValuesIndices:
    """The running maximum along dim, and where it was met.

    >>> weft.tensor([1, 3, 2]).cummax(0).values
    tensor([1, 3, 3])
    """
def cummin(
    input: Tensor,
    dim: _int,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> _ValuesIndices:
    """The running minimum along dim, and where it was met.

    >>> weft.tensor([3, 1, 2]).cummin(0).values
    tensor([3, 1, 1])
    """
def cumprod(
    input: Tensor,
    dim: _int,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The running product along dim.

    >>> weft.tensor([1, 2, 3]).cumprod(0)
    tensor([1, 2, 6])
    """
def cumprod_(input: Tensor, dim: _int, *, dtype: _DType | None = None) -> Tensor:
    """The running product along dim.

    >>> weft.tensor([1, 2, 3]).cumprod(0)
    tensor([1, 2, 6])
    """
def cumsum(
    input: Tensor,
    dim: _int,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The running sum along dim.

    >>> weft.tensor([1, 2, 3]).cumsum(0)
    tensor([1, 3, 6])
    """
def cumsum_(input: Tensor, dim: _int, *, dtype: _DType | None = None) -> Tensor:
    """The running sum along dim.

    >>> weft.tensor([1, 2, 3]).cumsum(0)
    tensor([1, 3, 6])
    """
def cumulative_trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: _Number = 1,
    dim: _int = -1,
) -> Tensor:
    """Return the running area under ``y`` along ``dim``, made of trapezoids.

    >>> weft.cumulative_trapezoid(weft.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees to radians."""
def deg2rad_(input: Tensor) -> Tensor:
    """Degrees to radians."""
def det(input: Tensor) -> Tensor:
    """Return the determinant of a square matrix.

    >>> weft.det(weft.eye(2))
    tensor(1.)
    """
def detach(input: Tensor) -> Tensor:
    """The same elements, cut off from the graph.

    >>> weft.ones(2, requires_grad=True).detach().requires_grad
    False
    """
def detach_copy(input: Tensor) -> Tensor:
    """Return what ``detach`` shows, in memory of its own.

    >>> y = weft.detach_copy(weft.ones(2))
    """
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal.

    >>> weft.diag(weft.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Matrices in dim1 and dim2 that have the last dimension of input on a diagonal, zeros elsewhere.

    >>> weft.diag_embed(weft.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """A matrix with all elements of input on its diagonal.

    >>> weft.diagflat(weft.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last one.

    >>> weft.arange(4).view(2, 2).diagonal()
    tensor([0, 3])
    """
def diagonal_copy(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """Return what ``diagonal`` shows, in memory of its own.

    >>> y = weft.diagonal_copy(weft.eye(2))
    """
def diagonal_scatter(
    input: Tensor,
    src: Tensor,
    offset: _int = 0,
    dim1: _int = 0,
    dim2: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with src on the diagonal of two dimensions.

    >>> weft.diagonal_scatter(weft.zeros(2, 2), weft.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
def diff(
    input: Tensor,
    n: _int = 1,
    dim: _int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the ``n``-th differences of neighbours along ``dim``.

    >>> weft.diff(weft.tensor([1, 3, 6]))
    tensor([2, 3])
    """
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
def digamma_(input: Tensor) -> Tensor:
    """The derivative of lgamma."""
def dist(input: Tensor, other: Tensor, p: _float = 2) -> Tensor:
    """Return the ``p``-norm of ``input - other``.

    >>> weft.dist(weft.tensor([3.0]), weft.tensor([1.0]))
    tensor(2.)
    """
@overload
def div(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Divides input by other, element by element."""
@overload
def div(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    rounding_mode: _str | None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def div_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Divides input by other, element by element."""
@overload
def div_(input: Tensor, other: Tensor | _Number, *, rounding_mode: _str | None) -> Tensor: ...
@overload
def divide(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Divides input by other, element by element."""
@overload
def divide(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    rounding_mode: _str | None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def divide_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Divides input by other, element by element."""
@overload
def divide_(input: Tensor, other: Tensor | _Number, *, rounding_mode: _str | None) -> Tensor: ...
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors.

    >>> weft.dot(weft.tensor([2, 3]), weft.tensor([2, 1]))
    tensor(7)
    """
@overload
def dsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """input cut along the third dimension: into equal sections, or at the given indices.

    >>> [part.shape for part in weft.dsplit(weft.ones(1, 2, 4), 2)]
    [torch.Size([1, 2, 2]), torch.Size([1, 2, 2])]
    """
@overload
def dsplit(input: Tensor, indices: _int | Sequence[_int]) -> tuple[Tensor, ...]: ...
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along the third dimension.

    >>> weft.dstack([weft.tensor([1, 2]), weft.tensor([3, 4])]).shape
    torch.Size([1, 2, 2])
    """
@overload
def empty(
    *size: _int,
    dtype: _DType | None = None,
    memory_format: _MemoryFormat | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor whose elements are not set.

    >>> weft.empty(2, 3).shape
    torch.Size([2, 3])
    """
@overload
def empty(
    size: Sequence[_int],
    *,
    dtype: _DType | None = None,
    memory_format: _MemoryFormat | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def empty_like(
    input: Tensor,
    *,
    dtype: _DType | None = None,
    memory_format: _MemoryFormat | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """An unset tensor of input's shape and type.

    >>> weft.empty_like(weft.ones(2, 3)).shape
    torch.Size([2, 3])
    """
def empty_permuted(
    size: Sequence[_int],
    physical_layout: Sequence[_int],
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Make a tensor whose elements are not set, with its dimensions in a given order in memory.

    >>> weft.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
def empty_strided(
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """An unset tensor of the given sizes and strides.

    >>> weft.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
def eq(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input equals other."""
def eq_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input equals other."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""
def erf_(input: Tensor) -> Tensor:
    """The error function."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), exact where that is small."""
def erfc_(input: Tensor) -> Tensor:
    """1 - erf(input), exact where that is small."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose erf is input."""
def erfinv_(input: Tensor) -> Tensor:
    """The number whose erf is input."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power of input."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of input."""
def exp2_(input: Tensor) -> Tensor:
    """2 to the power of input."""
def exp_(input: Tensor) -> Tensor:
    """e to the power of input."""
@overload
def expand_copy(input: Tensor, *size: _int, implicit: _bool = False) -> Tensor:
    """Return what ``expand`` shows, in memory of its own.

    >>> y = weft.expand_copy(weft.ones(1), (2,))
    """
@overload
def expand_copy(input: Tensor, size: Sequence[_int], *, implicit: _bool = False) -> Tensor: ...
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-input))."""
def expit_(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) - 1, exact near zero."""
def expm1_(input: Tensor) -> Tensor:
    """exp(input) - 1, exact near zero."""
@overload
def eye(
    n: _int,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Ones on the diagonal, zeros elsewhere.

    >>> weft.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
@overload
def eye(
    n: _int,
    m: _int,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def fake_quantize_per_channel_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: _int,
    quant_min: _int,
    quant_max: _int,
) -> Tensor:
    """Rounds each channel to its own grid.

    >>> x, s, z = weft.tensor([[0.3], [0.3]]), weft.tensor([0.5, 0.25]), weft.tensor([0, 0])
    >>> weft.fake_quantize_per_channel_affine(x, s, z, 0, -8, 7)
    tensor([[0.5000],
            [0.2500]])
    """
def fake_quantize_per_tensor_affine(
    input: Tensor,
    scale: Any,
    zero_point: Any,
    quant_min: _int,
    quant_max: _int,
) -> Tensor:
    """Rounds to the numbers (i - zero_point) * scale, for i from quant_min to quant_max.

    >>> x = weft.tensor([0.3, 9.0], requires_grad=True)
    >>> y = weft.fake_quantize_per_tensor_affine(x, 0.5, 0, 0, 10)
    >>> y.sum().backward()
    >>> y, x.grad
    (tensor([0.5000, 5.0000], grad_fn=<AddBackward0>), tensor([1., 0.]))
    """
def fft_fft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform along a dimension.

    >>> weft.fft.fft(weft.ones(2))
    tensor([2.+0.j, 0.+0.j])
    """
def fft_fft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform along the last two dimensions.

    >>> weft.fft.fft2(weft.ones(1, 1))
    tensor([[1.+0.j]])
    """
def fft_fftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform along several dimensions.

    >>> weft.fft.fftn(weft.ones(1, 1))
    tensor([[1.+0.j]])
    """
def fft_hfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a signal that mirrors its own conjugate, given its first half, along a dimension.

    >>> weft.fft.hfft(weft.tensor([4.0, 0.0, 0.0]))
    tensor([4., 4., 4., 4.])
    """
def fft_hfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a signal that mirrors its own conjugate, given its first half, along the last two dimensions.

    >>> weft.fft.hfft2(weft.ones(1, 2))
    tensor([[2., 0.]])
    """
def fft_hfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a signal that mirrors its own conjugate, given its first half, along several dimensions.

    >>> weft.fft.hfftn(weft.ones(1, 2))
    tensor([[2., 0.]])
    """
def fft_ifft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform along a dimension.

    >>> weft.fft.ifft(weft.tensor([2 + 0j, 0j]))
    tensor([1.+0.j, 1.+0.j])
    """
def fft_ifft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform along the last two dimensions.

    >>> weft.fft.ifft2(weft.ones(1, 1) + 0j)
    tensor([[1.+0.j]])
    """
def fft_ifftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform along several dimensions.

    >>> weft.fft.ifftn(weft.ones(1, 1) + 0j)
    tensor([[1.+0.j]])
    """
def fft_ihfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of hfft: half the transform of real numbers, the other way round, along a dimension.

    >>> weft.fft.ihfft(weft.tensor([4.0, 4.0]))
    tensor([4.-0.j, 0.-0.j])
    """
def fft_ihfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of hfft: half the transform of real numbers, the other way round, along the last two dimensions.

    >>> weft.fft.ihfft2(weft.ones(1, 1))
    tensor([[1.-0.j]])
    """
def fft_ihfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of hfft: half the transform of real numbers, the other way round, along several dimensions.

    >>> weft.fft.ihfftn(weft.ones(1, 1))
    tensor([[1.-0.j]])
    """
def fft_irfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real numbers whose transform begins with input along a dimension.

    >>> weft.fft.irfft(weft.tensor([4.0, 0.0, 0.0]))
    tensor([1., 1., 1., 1.])
    """
def fft_irfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real numbers whose transform begins with input along the last two dimensions.

    >>> weft.fft.irfft2(weft.ones(1, 2))
    tensor([[1., 0.]])
    """
def fft_irfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real numbers whose transform begins with input along several dimensions.

    >>> weft.fft.irfftn(weft.ones(1, 2))
    tensor([[1., 0.]])
    """
def fft_rfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the transform of real numbers, which the other half mirrors, along a dimension.

    >>> weft.fft.rfft(weft.ones(4))
    tensor([4.+0.j, 0.+0.j, 0.+0.j])
    """
def fft_rfft2(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the transform of real numbers, which the other half mirrors, along the last two dimensions.

    >>> weft.fft.rfft2(weft.ones(1, 1))
    tensor([[1.+0.j]])
    """
def fft_rfftn(
    input: Tensor,
    s: _int | Sequence[_int] | None = None,
    dim: _int | Sequence[_int] | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the transform of real numbers, which the other half mirrors, along several dimensions.

    >>> weft.fft.rfftn(weft.ones(1, 1))
    tensor([[1.+0.j]])
    """
def fill(input: Tensor, value: Tensor | _Number) -> Tensor:
    """A tensor like input with every element set to value.

    >>> weft.fill(weft.zeros(2), 3)
    tensor([3., 3.])
    """
def fill_(input: Tensor, value: Tensor | _Number) -> Tensor:
    """A tensor like input with every element set to value.

    >>> weft.fill(weft.zeros(2), 3)
    tensor([3., 3.])
    """
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounds towards zero."""
def fix_(input: Tensor) -> Tensor:
    """Rounds towards zero."""
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """The dimensions from start_dim to end_dim joined into one.

    >>> weft.ones(2, 3).flatten().shape
    torch.Size([6])
    """
@overload
def flip(input: Tensor, *dims: _int) -> Tensor:
    """A copy in which the given dimensions run backwards.

    >>> weft.flip(weft.tensor([[1, 2], [3, 4]]), (1,))
    tensor([[2, 1],
            [4, 3]])
    """
@overload
def flip(input: Tensor, dims: Sequence[_int]) -> Tensor: ...
def fliplr(input: Tensor) -> Tensor:
    """A copy with the columns in reverse order.

    >>> weft.fliplr(weft.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
def flipud(input: Tensor) -> Tensor:
    """A copy with the rows in reverse order.

    >>> weft.flipud(weft.tensor([1, 2]))
    tensor([2, 1])
    """
def float_power(
    input: Tensor | _Number,
    exponent: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input to the power of exponent, in double precision.

    >>> weft.float_power(weft.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=torch.float64)
    """
def float_power_(input: Tensor, exponent: Tensor | _Number) -> Tensor:
    """input to the power of exponent, in double precision.

    >>> weft.float_power(weft.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=torch.float64)
    """
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounds down."""
def floor_(input: Tensor) -> Tensor:
    """Rounds down."""
def floor_divide(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Divides and rounds down, element by element; the result is piecewise constant, so its gradient is zero."""
def floor_divide_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Divides and rounds down, element by element; the result is piecewise constant, so its gradient is zero."""
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of the two; a number wins over NaN."""
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of the two; a number wins over NaN."""
def fmod(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The remainder with the sign of input, as C's fmod gives."""
def fmod_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The remainder with the sign of input, as C's fmod gives."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What is left of input after trunc."""
def frac_(input: Tensor) -> Tensor:
    """What is left of input after trunc."""
def frexp(input: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> _MantissaExponent:
    """input as mantissa * 2 ** exponent, with 0.5 <= |mantissa| < 1.

    >>> weft.frexp(weft.tensor([8.0])).exponent
    tensor([4], dtype=torch.int32)
    """
def frobenius_norm(
    input: Tensor,
    dim: _Ints | None,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the root of the sum of squares along one or two dimensions, or of all elements.

    >>> weft.frobenius_norm(weft.tensor([[3.0, 4.0]]), 1)
    tensor([5.])
    """
def full(
    size: _int | Sequence[_int],
    fill_value: Tensor | _Number,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor with every element equal to fill_value.

    >>> weft.full((2,), 7)
    tensor([7, 7])
    """
def full_like(
    input: Tensor,
    fill_value: Tensor | _Number,
    *,
    dtype: _DType | None = None,
    memory_format: _MemoryFormat | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """fill_value in input's shape and type.

    >>> weft.full_like(weft.zeros(2), 7)
    tensor([7., 7.])
    """
def gather(
    input: Tensor,
    dim: _int,
    index: Tensor,
    *,
    sparse_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """For every element of index, the element of input that it names along dim.

    >>> weft.gather(weft.tensor([[1, 2], [3, 4]]), 1, weft.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor.

    >>> weft.gcd(weft.tensor([4]), weft.tensor([6]))
    tensor([2])
    """
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor.

    >>> weft.gcd(weft.tensor([4]), weft.tensor([6]))
    tensor([2])
    """
def ge(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is at least other."""
def ge_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is at least other."""
def geqrf(input: Tensor, *, out: Tensor | None = None) -> _ATau:
    """Return a QR decomposition as LAPACK leaves it: R above reflections, and their factors.

    >>> weft.geqrf(weft.tensor([[3.0], [4.0]])).tau
    tensor([1.6000])
    """
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every element of one vector times every element of another.

    >>> weft.outer(weft.tensor([1, 2]), weft.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
def gradient(
    input: Tensor,
    *,
    spacing: Any = None,
    dim: _Ints | None = None,
    edge_order: _int = 1,
) -> tuple[Tensor, ...]:
    """Return the slopes of the values along each dimension, by central differences.

    ``spacing`` is the distance of neighbours (one number, or one for each dimension) or, for each
    dimension, their coordinates; ``edge_order`` the order of the differences at both ends.

    >>> weft.gradient(weft.tensor([1.0, 2.0, 4.0, 8.0]))
    (tensor([1.0000, 1.5000, 3.0000, 4.0000]),)
    """
def greater(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is greater than other."""
def greater_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is greater than other."""
def greater_equal(
    input: Tensor,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Whether input is at least other."""
def greater_equal_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is at least other."""
def gt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is greater than other."""
def gt_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is greater than other."""
def hamming_window(
    window_length: _int,
    periodic: _bool = True,
    alpha: _float = 0.54,
    beta: _float = 0.46,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return alpha - beta * cos, from 0.08 to 1 and back.

    >>> weft.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
def hann_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return one arch of a cosine, from 0 to 1 and back.

    >>> weft.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
def hardshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """Return x, but zero where it is between -lambd and lambd.

    >>> weft.nn.functional.hardshrink(weft.tensor([-1.0, 0.25, 1.0]))
    tensor([-1.,  0.,  1.])
    """
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 below zero, 1 above, values at zero."""
def heaviside_(input: Tensor, values: Tensor) -> Tensor:
    """0 below zero, 1 above, values at zero."""
def histc(
    input: Tensor,
    bins: _int = 100,
    min: _float = 0,
    max: _float = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Count the elements in each of ``bins`` equal parts between ``min`` and ``max``.

    >>> weft.histc(weft.tensor([1.0, 2.0, 1.0]), bins=2, min=0, max=3)
    tensor([2., 1.])
    """
def histogram(
    input: Tensor,
    bins: _int | Tensor | Sequence[_int] | Sequence[Tensor] = 100,
    *,
    range: Sequence[_float] | None = None,
    weight: Tensor | None = None,
    density: _bool = False,
    out: Tensor | None = None,
) -> _HistBin_edges:
    """Count the elements between neighbouring edges: ``bins`` equal steps over ``range``, or given ones.

    >>> weft.histogram(weft.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0)).hist
    tensor([2., 1.])
    """
def histogramdd(
    input: Tensor,
    bins: _int | Tensor | Sequence[_int] | Sequence[Tensor],
    *,
    range: Sequence[_float] | None = None,
    weight: Tensor | None = None,
    density: _bool = False,
) -> Any:
    """Count points, the rows of ``input``, in the cells of a grid.

    >>> weft.histogramdd(weft.tensor([[0.0, 1.0], [1.0, 0.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
@overload
def hsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """input cut into columns: into equal sections, or at the given indices.

    >>> weft.hsplit(weft.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
@overload
def hsplit(input: Tensor, indices: _int | Sequence[_int]) -> tuple[Tensor, ...]: ...
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined side by side: along the second dimension, vectors along their only one.

    >>> weft.hstack([weft.tensor([1, 2]), weft.tensor([3])])
    tensor([1, 2, 3])
    """
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The long side of a right triangle with these two."""
def hypot_(input: Tensor, other: Tensor) -> Tensor:
    """The long side of a right triangle with these two."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0."""
def i0_(input: Tensor) -> Tensor:
    """The modified Bessel function of order 0."""
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The lower incomplete gamma function of order input, over gamma(input)."""
def igamma_(input: Tensor, other: Tensor) -> Tensor:
    """The lower incomplete gamma function of order input, over gamma(input)."""
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The upper incomplete gamma function of order input, over gamma(input)."""
def igammac_(input: Tensor, other: Tensor) -> Tensor:
    """The upper incomplete gamma function of order input, over gamma(input)."""
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a view.

    >>> weft.imag(weft.tensor([1 + 2j, 3 - 1j]))
    tensor([ 2., -1.])
    """
@overload
def index_add(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with the slices of source added to those that index names along dim.

    >>> weft.index_add(weft.zeros(3), 0, weft.tensor([0, 0, 2]), weft.ones(3))
    tensor([2., 0., 1.])
    """
@overload
def index_add(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: Tensor | _Number,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def index_add_(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of input with the slices of source added to those that index names along dim.

    >>> weft.index_add(weft.zeros(3), 0, weft.tensor([0, 0, 2]), weft.ones(3))
    tensor([2., 0., 1.])
    """
@overload
def index_add_(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: Tensor | _Number,
) -> Tensor: ...
def index_copy(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with the slices of source in place of those that index names along dim.

    >>> weft.index_copy(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([1., 2.]))
    tensor([2., 0., 1.])
    """
def index_copy_(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of input with the slices of source in place of those that index names along dim.

    >>> weft.index_copy(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([1., 2.]))
    tensor([2., 0., 1.])
    """
def index_fill(
    input: Tensor,
    dim: _int,
    index: Tensor,
    value: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with value in the slices that index names along dim.

    >>> weft.index_fill(weft.zeros(3), 0, weft.tensor([2, 0]), 7)
    tensor([7., 0., 7.])
    """
def index_fill_(input: Tensor, dim: _int, index: Tensor, value: Tensor | _Number) -> Tensor:
    """A copy of input with value in the slices that index names along dim.

    >>> weft.index_fill(weft.zeros(3), 0, weft.tensor([2, 0]), 7)
    tensor([7., 0., 7.])
    """
def index_put(
    input: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with values written (or added, with accumulate) at the given indices or masks.

    >>> weft.index_put(weft.zeros(3), (weft.tensor([0, 2]),), weft.tensor(1.))
    tensor([1., 0., 1.])
    """
def index_put_(
    input: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: _bool = False,
) -> Tensor:
    """A copy of input with values written (or added, with accumulate) at the given indices or masks.

    >>> weft.index_put(weft.zeros(3), (weft.tensor([0, 2]),), weft.tensor(1.))
    tensor([1., 0., 1.])
    """
def index_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    reduce: _str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input in which the slices of source are reduced ('prod', 'mean', 'amax' or 'amin') into those that index
    names along dim.

    >>> weft.index_reduce(weft.ones(2), 0, weft.tensor([0, 0]), weft.tensor([2., 3.]), "prod")
    tensor([6., 1.])
    """
def index_reduce_(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    reduce: _str,
    *,
    include_self: _bool = True,
) -> Tensor:
    """A copy of input in which the slices of source are reduced ('prod', 'mean', 'amax' or 'amin') into those that index
    names along dim.

    >>> weft.index_reduce(weft.ones(2), 0, weft.tensor([0, 0]), weft.tensor([2., 3.]), "prod")
    tensor([6., 1.])
    """
def index_select(
    input: Tensor,
    dim: _int,
    index: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The slices of input along dim that index names, in its order.

    >>> weft.index_select(weft.arange(6).view(3, 2), 0, weft.tensor([2, 0]))
    tensor([[4, 5],
            [0, 1]])
    """
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inner products along the last dimension of both; a single element scales the other operand.

    >>> weft.inner(weft.tensor([1, 2, 3]), weft.tensor([0, 2, 1]))
    tensor(7)
    """
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of a square matrix.

    >>> weft.inverse(weft.tensor([[2.0]]))
    tensor([[0.5000]])
    """
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> Tensor:
    """Say of each element whether ``|input - other| <= atol + rtol * |other|``.

    >>> weft.isclose(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
def isfinite(input: Tensor) -> Tensor:
    """Whether an element is neither infinite nor NaN."""
def isin(
    elements: _Operand,
    test_elements: _Operand,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Say of each element whether it is among ``test_elements``.

    >>> weft.isin(weft.tensor([1, 2]), weft.tensor([2, 3]))
    tensor([False,  True])
    """
def isinf(input: Tensor) -> Tensor:
    """Whether an element is infinite."""
def isnan(input: Tensor) -> Tensor:
    """Whether an element is not a number."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether an element is infinite and negative."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether an element is infinite and positive."""
def isreal(input: Tensor) -> Tensor:
    """Whether an element has no imaginary part."""
def istft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    normalized: _bool = False,
    onesided: _bool | None = None,
    length: _int | None = None,
    return_complex: _bool = False,
) -> Tensor:
    """Return the signal of short-time spectra: the frames, overlapped, over the squared windows.

    >>> weft.istft(weft.stft(weft.ones(8), 4, return_complex=True), 4)
    tensor([1., 1., 1., 1., 1., 1., 1., 1.])
    """
def kaiser_window(
    window_length: _int,
    periodic: _bool = True,
    beta: _float = 12.0,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return the window of Kaiser, the narrower the larger ``beta`` is.

    >>> weft.kaiser_window(3, periodic=False, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Kronecker product: every element of input times all of other.

    >>> weft.kron(weft.tensor([1, 10]), weft.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
def kthvalue(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> _ValuesIndices:
    """The k-th smallest element along dim (from 1), and where it stood.

    >>> weft.tensor([3, 1, 2]).kthvalue(2).values
    tensor(2)
    """
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple.

    >>> weft.lcm(weft.tensor([4]), weft.tensor([6]))
    tensor([12])
    """
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple.

    >>> weft.lcm(weft.tensor([4]), weft.tensor([6]))
    tensor([12])
    """
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * 2 ** other."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """input * 2 ** other."""
def le(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is at most other."""
def le_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is at most other."""
def lerp(
    input: Tensor,
    end: Tensor,
    weight: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input + weight * (end - input), exact at both ends."""
def lerp_(input: Tensor, end: Tensor, weight: Tensor | _Number) -> Tensor:
    """input + weight * (end - input), exact at both ends."""
def less(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is less than other."""
def less_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is less than other."""
def less_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is at most other."""
def less_equal_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is at most other."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function's size."""
def lgamma_(input: Tensor) -> Tensor:
    """The logarithm of the gamma function's size."""
def linalg_cross(
    input: Tensor,
    other: Tensor,
    *,
    dim: _int = -1,
    out: Tensor | None = None,
) -> Tensor:
    """The vector products along a dimension of size 3.

    >>> weft.linalg.cross(weft.tensor([1, 0, 0]), weft.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
def linalg_matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; vectors and batches of matrices too, with broadcasting.

    >>> weft.matmul(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
def linalg_solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: _bool,
    left: _bool = True,
    unitriangular: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The X of A X = B (X A = B with left=False) for a triangular A, whose other half is not read.

    >>> A = weft.tensor([[2.0, 0.0], [1.0, 1.0]])
    >>> weft.linalg.solve_triangular(A, weft.tensor([[2.0], [3.0]]), upper=False)
    tensor([[1.],
            [2.]])
    """
def linalg_vector_norm(
    input: Tensor,
    ord: Tensor | _Number = 2,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The ord-norm of the elements over dim.

    >>> weft.linalg.vector_norm(weft.tensor([3.0, 4.0]))
    tensor(5.)
    """
def linspace(
    start: Tensor | _Number,
    end: Tensor | _Number,
    steps: _int,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """steps numbers from start to end, both included, evenly spaced.

    >>> weft.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10."""
def log10_(input: Tensor) -> Tensor:
    """The logarithm to base 10."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), exact near zero."""
def log1p_(input: Tensor) -> Tensor:
    """log(1 + input), exact near zero."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2."""
def log2_(input: Tensor) -> Tensor:
    """The logarithm to base 2."""
def log_(input: Tensor) -> Tensor:
    """The natural logarithm."""
def log_softmax(
    input: Tensor,
    dim: _int,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The logarithm of softmax, without overflow.

    >>> weft.log_softmax(weft.tensor([1.0, 1.0]), 0)
    tensor([-0.6931, -0.6931])
    """
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(exp(input) + exp(other)), without overflow."""
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log2(2 ** input + 2 ** other), without overflow."""
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """log(cumsum(exp(input))) along dim, without overflow.

    >>> weft.zeros(2).logcumsumexp(0)
    tensor([0.0000, 0.6931])
    """
def logdet(input: Tensor) -> Tensor:
    """Return the logarithm of the determinant; not a number where that is negative.

    >>> weft.logdet(weft.eye(2))
    tensor(0.)
    """
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether both are nonzero."""
def logical_and_(input: Tensor, other: Tensor) -> Tensor:
    """Whether both are nonzero."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether an element is zero."""
def logical_not_(input: Tensor) -> Tensor:
    """Whether an element is zero."""
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether at least one is nonzero."""
def logical_or_(input: Tensor, other: Tensor) -> Tensor:
    """Whether at least one is nonzero."""
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether exactly one is nonzero."""
def logical_xor_(input: Tensor, other: Tensor) -> Tensor:
    """Whether exactly one is nonzero."""
@overload
def logit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(input / (1 - input)), the inverse of sigmoid; with eps, input is first kept between eps and 1 - eps."""
@overload
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def logit_(input: Tensor) -> Tensor:
    """log(input / (1 - input)), the inverse of sigmoid; with eps, input is first kept between eps and 1 - eps."""
@overload
def logit_(input: Tensor, eps: _float | None = None) -> Tensor: ...
def logspace(
    start: _Operand,
    end: _Operand,
    steps: _int,
    base: _float = 10.0,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return ``base`` to the powers of ``steps`` numbers from ``start`` to ``end``.

    >>> weft.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
def logsumexp(
    input: Tensor,
    dim: _int | Sequence[_int],
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """log(sum(exp(input))) over dim, without overflow.

    >>> weft.logsumexp(weft.zeros(2), 0)
    tensor(0.6931)
    """
def lt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is less than other."""
def lt_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is less than other."""
def lu(
    A: Tensor,
    pivot: _bool = True,
    get_infos: _bool = False,
    *,
    out: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Return the factors L and U in one matrix and the exchanged rows, as ``linalg.lu_factor`` does.

    >>> weft.lu(weft.tensor([[0.0, 2.0], [4.0, 8.0]]))[1]
    tensor([2, 2], dtype=torch.int32)
    """
def lu_solve(
    b: Tensor,
    LU_data: Tensor,
    LU_pivots: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the x with A x = b, from the factors of A.

    >>> weft.lu_solve(weft.ones(2, 1), *weft.lu(2 * weft.eye(2)))
    tensor([[0.5000],
            [0.5000]])
    """
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: _bool = True,
    unpack_pivots: _bool = True,
    *,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return P, L and U from the factors in one matrix; what is not asked for is empty.

    >>> weft.lu_unpack(*weft.lu(weft.tensor([[0.0, 2.0], [4.0, 8.0]]))).U
    tensor([[4., 8.],
            [0., 2.]])
    """
def masked_fill(
    input: Tensor,
    mask: Tensor,
    value: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with value where mask is true.

    >>> weft.masked_fill(weft.zeros(3), weft.tensor([True, False, True]), 1)
    tensor([1., 0., 1.])
    """
def masked_fill_(input: Tensor, mask: Tensor, value: Tensor | _Number) -> Tensor:
    """A copy of input with value where mask is true.

    >>> weft.masked_fill(weft.zeros(3), weft.tensor([True, False, True]), 1)
    tensor([1., 0., 1.])
    """
def masked_scatter(
    input: Tensor,
    mask: Tensor,
    source: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with the elements of source, in order, where mask is true.

    >>> weft.masked_scatter(weft.zeros(3), weft.tensor([True, False, True]), weft.tensor([5., 6.]))
    tensor([5., 0., 6.])
    """
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of input with the elements of source, in order, where mask is true.

    >>> weft.masked_scatter(weft.zeros(3), weft.tensor([True, False, True]), weft.tensor([5., 6.]))
    tensor([5., 0., 6.])
    """
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of input where mask is true, in one dimension.

    >>> weft.masked_select(weft.arange(3), weft.tensor([True, False, True]))
    tensor([0, 2])
    """
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; vectors and batches of matrices too, with broadcasting.

    >>> weft.matmul(weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
def matrix_exp(input: Tensor) -> Tensor:
    """Return the exponential of a square matrix.

    >>> weft.matrix_exp(weft.zeros(1, 1))
    tensor([[1.]])
    """
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Return a square matrix multiplied n times with itself; its inverse, where n is negative.

    >>> weft.matrix_power(weft.tensor([[2.0]]), 3)
    tensor([[8.]])
    """
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest element; with dim, the largest along it and where; with other, the larger of the two.

    >>> weft.tensor([1.0, 3.0, 2.0]).max()
    tensor(3.)
    >>> weft.tensor([1.0, 3.0, 2.0]).max(0).indices
    tensor(1)
    """
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> _ValuesIndices: ...
def max_pool1d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Any:
    """Return the largest element of every window of a sequence; with its place if asked.

    >>> weft.nn.functional.max_pool1d(weft.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[3., 4.]])
    """
def max_pool2d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Any:
    """Return the largest element of every window of an image; with its place if asked.

    >>> weft.nn.functional.max_pool2d(weft.tensor([[[1.0, 3.0], [2.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """
def max_pool3d(
    input: Tensor,
    kernel_size: _Ints,
    stride: _Ints | None = None,
    padding: _Ints = 0,
    dilation: _Ints = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> Any:
    """Return the largest element of every window of a volume; with its place if asked.

    >>> weft.nn.functional.max_pool3d(weft.arange(8.0).reshape(1, 2, 2, 2), 2).item()
    7.0
    """
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of the two, element by element; NaN wins."""
@overload
def mean(input: Tensor, *, dtype: _DType | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of all elements, or over dim.

    >>> weft.tensor([1.0, 3.0]).mean()
    tensor(2.)
    """
@overload
def mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None,
    keepdim: _bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The lower median of all elements, or along dim with where it stood.

    >>> weft.tensor([3, 1, 2]).median()
    tensor(2)
    """
@overload
def median(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> _ValuesIndices: ...
def meshgrid(
    *tensors: Tensor | Sequence[Tensor],
    indexing: _str | None = None,
) -> tuple[Tensor, ...]:
    """Return a grid of coordinates for each vector: all have the shape that the vectors span.

    With ``indexing="ij"`` (the default) the first vector runs along the first dimension; with
    ``"xy"`` along the second, as in a picture.

    >>> x, y = weft.meshgrid(weft.tensor([1, 2]), weft.tensor([3, 4, 5]), indexing="ij")
    >>> x
    tensor([[1, 1, 1],
            [2, 2, 2]])
    >>> y
    tensor([[3, 4, 5],
            [3, 4, 5]])
    """
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest element; with dim, the smallest along it and where; with other, the smaller of the two.

    >>> weft.tensor([1.0, 3.0, 2.0]).min()
    tensor(1.)
    """
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> _ValuesIndices: ...
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of the two, element by element; NaN wins."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices.

    >>> weft.mm(weft.ones(2, 3), weft.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
def mode(
    input: Tensor,
    dim: _int = -1,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> _ValuesIndices:
    """The most frequent element along dim, the smallest of several, and its last place.

    >>> weft.tensor([1, 2, 2]).mode().values
    tensor(2)
    """
def moveaxis(
    input: Tensor,
    source: _int | Sequence[_int],
    destination: _int | Sequence[_int],
) -> Tensor:
    """Dimensions at other places; the rest keep their order.

    >>> weft.ones(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2])
    """
def movedim(
    input: Tensor,
    source: _int | Sequence[_int],
    destination: _int | Sequence[_int],
) -> Tensor:
    """Dimensions at other places; the rest keep their order.

    >>> weft.ones(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2])
    """
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sort along the first dimension.

    >>> weft.msort(weft.tensor([3, 1, 2]))
    tensor([1, 2, 3])
    """
def mul(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Multiplies input by other, element by element."""
def mul_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Multiplies input by other, element by element."""
def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn at random from each row of input, which holds their weights.

    >>> weft.multinomial(weft.tensor([0.0, 3.0]), 2, replacement=True)
    tensor([1, 1])
    """
def multiply(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Multiplies input by other, element by element."""
def multiply_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Multiplies input by other, element by element."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector.

    >>> weft.mv(weft.ones(2, 3), weft.ones(3))
    tensor([3., 3.])
    """
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function of p dimensions.

    >>> weft.mvlgamma(weft.tensor([1.0]), 1)
    tensor([0.])
    """
def mvlgamma_(input: Tensor, p: _int) -> Tensor:
    """The logarithm of the gamma function of p dimensions.

    >>> weft.mvlgamma(weft.tensor([1.0]), 1)
    tensor([0.])
    """
def nan_to_num(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """NaN and infinities replaced: by nan (0), and by the largest and smallest finite numbers unless given.

    >>> weft.nan_to_num(weft.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """
def nan_to_num_(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
) -> Tensor:
    """NaN and infinities replaced: by nan (0), and by the largest and smallest finite numbers unless given.

    >>> weft.nan_to_num(weft.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """
def nanmean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that are numbers.

    >>> weft.nanmean(weft.tensor([1.0, float("nan")]))
    tensor(1.)
    """
@overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The lower median of all elements that are numbers.

    >>> weft.tensor([3.0, float("nan"), 2.0]).nanmedian()
    tensor(2.)
    """
@overload
def nanmedian(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> _ValuesIndices: ...
def nanquantile(
    input: Tensor,
    q: Tensor | _float | Sequence[_float],
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: _str = 'linear',
    out: Tensor | None = None,
) -> Tensor:
    """Return the quantiles of the elements that are numbers.

    >>> weft.nanquantile(weft.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
def nansum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that are numbers.

    >>> weft.nansum(weft.tensor([1.0, float("nan")]))
    tensor(1.)
    """
@overload
def narrow(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor:
    """length elements along dim from start on, as a view.

    >>> weft.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
@overload
def narrow(input: Tensor, dim: _int, start: Tensor, length: _int) -> Tensor: ...
def narrow_copy(
    input: Tensor,
    dim: _int,
    start: _int,
    length: _int,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of length elements along dim from start on.

    >>> weft.narrow_copy(weft.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Deal the channels of groups out in turn.

    >>> weft.nn.functional.channel_shuffle(weft.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
def ne(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input differs from other."""
def ne_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input differs from other."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative."""
def neg_(input: Tensor) -> Tensor:
    """The negative."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative."""
def negative_(input: Tensor) -> Tensor:
    """The negative."""
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next number that the type can hold, towards other."""
def nextafter_(input: Tensor, other: Tensor) -> Tensor:
    """The next number that the type can hold, towards other."""
def nonzero_static(
    input: Tensor,
    *,
    size: _int,
    fill_value: _int = -1,
    out: Tensor | None = None,
) -> Tensor:
    """Return the coordinates of the first ``size`` elements that are not zero, then rows of ``fill_value``.

    >>> weft.nonzero_static(weft.tensor([0, 7]), size=2)
    tensor([[ 1],
            [-1]])
    """
def norm(
    input: Tensor,
    p: _float | _str | None = 'fro',
    dim: _Ints | None = None,
    keepdim: _bool = False,
    dtype: _DType | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the vector norm of order ``p``, or the matrix norms 'fro' and 'nuc'.

    >>> weft.norm(weft.tensor([3.0, 4.0]))
    tensor(5.)
    """
def norm_except_dim(v: Tensor, pow: _int = 2, dim: _int = 0) -> Tensor:
    """Return the norm over all dimensions but one; with ``dim=-1``, over all.

    >>> weft.norm_except_dim(weft.ones(2, 4))
    tensor([[2.],
            [2.]])
    """
@overload
def normal(
    mean: _float,
    std: _float,
    size: _int | Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Random numbers of the normal distribution; mean and std are numbers or tensors of them.

    >>> weft.normal(5.0, 0.0, (2,))
    tensor([5., 5.])
    """
@overload
def normal(
    mean: Tensor,
    std: Tensor,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def normal(
    mean: Tensor,
    std: _float = 1.0,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def normal(
    mean: _float,
    std: Tensor,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def not_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input differs from other."""
def not_equal_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input differs from other."""
def nuclear_norm(
    input: Tensor,
    dim: _Ints | None = (-2, -1),
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the sum of the singular values of matrices.

    >>> weft.nuclear_norm(weft.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)
    """
@overload
def ones(
    *size: _int,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor of ones.

    >>> weft.ones(2)
    tensor([1., 1.])
    """
@overload
def ones(
    size: Sequence[_int],
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def ones_like(
    input: Tensor,
    *,
    dtype: _DType | None = None,
    memory_format: _MemoryFormat | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Ones in input's shape and type.

    >>> weft.ones_like(weft.zeros(2))
    tensor([1., 1.])
    """
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the first columns of the product of reflections: ``linalg.householder_product``.

    >>> weft.orgqr(weft.ones(1, 1), weft.tensor([2.0]))
    tensor([[-1.]])
    """
def ormqr(
    input: Tensor,
    tau: Tensor,
    other: Tensor,
    left: _bool = True,
    transpose: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return ``Q @ other``, where Q is the square product of reflections.

    Args:
        input: the reflections, as ``geqrf`` gives them.
        tau: their factors.
        other: the matrix.
        left: multiply from the left; else from the right.
        transpose: multiply with the adjoint of Q.

    >>> a, tau = weft.geqrf(weft.tensor([[3.0], [4.0]]))
    >>> weft.ormqr(a, tau, weft.tensor([[3.0], [4.0]]), transpose=True)
    tensor([[-5.],
            [ 0.]])
    """
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every element of one vector times every element of another.

    >>> weft.outer(weft.tensor([1, 2]), weft.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
def pairwise_distance(
    x1: Tensor,
    x2: Tensor,
    p: _float = 2.0,
    eps: _float = 1e-06,
    keepdim: _bool = False,
) -> Tensor:
    """Return the p-norm of x1 - x2 + eps along the last dimension.

    >>> weft.nn.functional.pairwise_distance(weft.tensor([3.0, 4.0]), weft.zeros(2))
    tensor(5.0000)
    """
def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2) -> Any:
    """Return the principal components of the rows of A: ``svd_lowrank`` of the centred matrix.

    Args:
        A: one row for each sample.
        q: how many components to find (default: 6, or as many as there can be).
        center: subtract the mean of the rows.
        niter: how many times to improve the basis.

    >>> x = weft.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 10.0]])
    >>> U, S, V = weft.pca_lowrank(x)
    >>> S[1] < 1e-4
    tensor(True)
    """
def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """Return the distances of all pairs of rows.

    >>> weft.nn.functional.pdist(weft.tensor([[0.0], [1.0], [3.0]]))
    tensor([1., 3., 2.])
    """
@overload
def permute(input: Tensor, *dims: _int) -> Tensor:
    """The dimensions in another order.

    >>> weft.ones(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
@overload
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor: ...
@overload
def permute_copy(input: Tensor, *dims: _int) -> Tensor:
    """Return what ``permute`` shows, in memory of its own.

    >>> y = weft.permute_copy(weft.ones(2, 3), (1, 0))
    """
@overload
def permute_copy(input: Tensor, dims: Sequence[_int]) -> Tensor: ...
def pinverse(input: Tensor, rcond: _float = 1e-15, *, out: Tensor | None = None) -> Tensor:
    """Return the pseudo-inverse of a matrix.

    >>> weft.pinverse(weft.tensor([[2.0]]))
    tensor([[0.5000]])
    """
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Make images larger with elements of their channels: (C r^2, H, W) becomes (C, H r, W r).

    >>> weft.nn.functional.pixel_shuffle(weft.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Make images smaller by moving elements to channels: the inverse of ``pixel_shuffle``.

    >>> weft.nn.functional.pixel_unshuffle(weft.arange(4.0).reshape(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
def poisson(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Random counts of the Poisson distribution: each element of input is the mean.

    >>> weft.poisson(weft.zeros(2))
    tensor([0., 0.])
    """
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their absolute values and angles.

    >>> weft.polar(weft.tensor([2.0]), weft.tensor([0.0]))
    tensor([2.+0.j])
    """
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma.

    >>> weft.polygamma(1, weft.tensor([1.0]))
    tensor([1.6449])
    """
def polygamma_(input: Tensor, n: _int) -> Tensor:
    """The n-th derivative of digamma."""
def positive(input: Tensor) -> Tensor:
    """input itself, as +input.

    >>> weft.positive(weft.tensor([-1.0]))
    tensor([-1.])
    """
def pow(
    input: Tensor | _Number,
    exponent: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input to the power of exponent."""
def pow_(input: Tensor, exponent: Tensor | _Number) -> Tensor:
    """input to the power of exponent."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return x above zero, and weight times x below; one weight, or one for each channel.

    >>> weft.prelu(weft.tensor([-1.0, 2.0]), weft.tensor(0.25))
    tensor([-0.2500,  2.0000])
    """
@overload
def prod(input: Tensor, *, dtype: _DType | None = None, out: Tensor | None = None) -> Tensor:
    """The product of all elements, or over dim.

    >>> weft.tensor([2.0, 3.0]).prod()
    tensor(6.)
    """
@overload
def prod(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def put(
    input: Tensor,
    index: Tensor,
    source: Tensor,
    accumulate: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with source written (or added) at index, which counts the elements as if there were one dimension.

    >>> weft.put(weft.zeros(2, 2), weft.tensor([3]), weft.tensor([5.]))
    tensor([[0., 0.],
            [0., 5.]])
    """
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """A copy of input with source written (or added) at index, which counts the elements as if there were one dimension.

    >>> weft.put(weft.zeros(2, 2), weft.tensor([3]), weft.tensor([5.]))
    tensor([[0., 0.],
            [0., 5.]])
    """
def qr(input: Tensor, some: _bool = True, *, out: Tensor | None = None) -> _QR:
    """Return Q and R with input = Q R.

    >>> weft.qr(weft.eye(2)).R.abs()
    tensor([[1., 0.],
            [0., 1.]])
    """
def quantile(
    input: Tensor,
    q: Tensor | _float | Sequence[_float],
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: _str = 'linear',
    out: Tensor | None = None,
) -> Tensor:
    """Return the ``q``-th quantiles over ``dim``, between elements as ``interpolation`` says.

    >>> weft.quantile(weft.tensor([1.0, 2.0, 3.0]), 0.5)
    tensor(2.)
    """
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians to degrees."""
def rad2deg_(input: Tensor) -> Tensor:
    """Radians to degrees."""
@overload
def rand(
    *size: _int,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Uniform random numbers in [0, 1).

    >>> x = weft.rand(2, 3)
    >>> bool((x >= 0).all() and (x < 1).all())
    True
    """
@overload
def rand(
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    memory_format: _MemoryFormat | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Uniform random numbers in [0, 1), in the shape and type of input.

    >>> weft.rand_like(weft.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
@overload
def randint(
    high: _int,
    size: _int | Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Random integers from low (0) up to high, which is left out.

    >>> x = weft.randint(3, 6, (100,))
    >>> int(x.min()), int(x.max())
    (3, 5)
    """
@overload
def randint(
    low: _int,
    high: _int,
    size: _int | Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    high: _int,
    *,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    memory_format: _MemoryFormat | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Random integers from low (0) up to high, in the shape and type of input.

    >>> weft.randint_like(weft.zeros(2), 1)
    tensor([0., 0.])
    """
@overload
def randint_like(
    input: Tensor,
    low: _int,
    high: _int,
    *,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    memory_format: _MemoryFormat | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
@overload
def randn(
    *size: _int,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Random numbers of the normal distribution with mean 0 and standard deviation 1.

    >>> weft.randn(2, 3).shape
    torch.Size([2, 3])
    """
@overload
def randn(
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    memory_format: _MemoryFormat | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Random numbers of the standard normal distribution, in the shape and type of input.

    >>> weft.randn_like(weft.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
def randperm(
    n: _int,
    *,
    generator: Generator | None = None,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """The integers from 0 to n - 1 in random order.

    >>> weft.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
def range(
    start: _Operand,
    end: _Operand,
    step: _Operand = 1,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Return the numbers from ``start`` to ``end``, both included, ``step`` apart.

    >>> weft.range(0, 2)
    tensor([0., 1., 2.])
    """
def ravel(input: Tensor) -> Tensor:
    """All dimensions joined into one.

    >>> weft.ones(2, 3).ravel().shape
    torch.Size([6])
    """
def real(input: Tensor) -> Tensor:
    """The real parts: a view of a complex tensor, a real one itself.

    >>> weft.real(weft.tensor([1 + 2j, 3 - 1j]))
    tensor([1., 3.])
    """
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over input."""
def reciprocal_(input: Tensor) -> Tensor:
    """One over input."""
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input where positive, else zero."""
def relu_(input: Tensor) -> Tensor:
    """input where positive, else zero."""
def remainder(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The remainder with the sign of other, as Python's % gives."""
def remainder_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The remainder with the sign of other, as Python's % gives."""
def renorm(
    input: Tensor,
    p: Tensor | _Number,
    dim: _int,
    maxnorm: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Scales the slices along dim whose p-norm is above maxnorm down to it.

    >>> weft.renorm(weft.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
def renorm_(input: Tensor, p: Tensor | _Number, dim: _int, maxnorm: Tensor | _Number) -> Tensor:
    """Scales the slices along dim whose p-norm is above maxnorm down to it.

    >>> weft.renorm(weft.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
@overload
def repeat_interleave(repeats: Tensor, *, output_size: _int | None = None) -> Tensor:
    """Every element of input repeated, one after the other; of repeats alone, its positions.

    >>> weft.repeat_interleave(weft.tensor([5, 6]), 2)
    tensor([5, 5, 6, 6])
    """
@overload
def repeat_interleave(
    input: Tensor,
    repeats: _int,
    dim: _int | None = None,
    *,
    output_size: _int | None = None,
) -> Tensor: ...
@overload
def repeat_interleave(
    input: Tensor,
    repeats: Tensor,
    dim: _int | None = None,
    *,
    output_size: _int | None = None,
) -> Tensor: ...
@overload
def reshape(input: Tensor, *shape: _int) -> Tensor:
    """The same elements in another shape: a view where possible, else a copy.

    >>> weft.arange(4).reshape(2, -1)
    tensor([[0, 1],
            [2, 3]])
    """
@overload
def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor: ...
def resolve_conj(input: Tensor) -> Tensor:
    """input itself: weft never puts a conjugation off.

    >>> weft.resolve_conj(weft.tensor([1.0]))
    tensor([1.])
    """
def resolve_neg(input: Tensor) -> Tensor:
    """input itself: weft never puts a negation off.

    >>> weft.resolve_neg(weft.tensor([1.0]))
    tensor([1.])
    """
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    eps: _float | None = None,
) -> Tensor:
    """Divide by the root of the mean square over the last dimensions.

    >>> weft.nn.functional.rms_norm(weft.tensor([3.0, -3.0]), (2,), eps=0.0)
    tensor([ 1., -1.])
    """
def roll(
    input: Tensor,
    shifts: _int | Sequence[_int],
    dims: _int | Sequence[_int] = ...,
) -> Tensor:
    """A copy with the elements moved by shifts along dims, around the end; without dims, in the order of the elements.

    >>> weft.roll(weft.arange(4), 1)
    tensor([3, 0, 1, 2])
    """
def rot90(input: Tensor, k: _int = 1, dims: _int | Sequence[_int] = ...) -> Tensor:
    """A copy turned k times by 90 degrees, from the first of dims towards the second.

    >>> weft.rot90(weft.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
@overload
def round(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounds to the nearest integer, halves to the even one."""
@overload
def round(input: Tensor, *, decimals: _int, out: Tensor | None = None) -> Tensor: ...
@overload
def round_(input: Tensor) -> Tensor:
    """Rounds to the nearest integer, halves to the even one."""
@overload
def round_(input: Tensor, *, decimals: _int) -> Tensor: ...
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined one below the other; vectors count as rows.

    >>> weft.vstack([weft.tensor([1, 2]), weft.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
def rrelu(
    input: Tensor,
    lower: _float = 0.125,
    upper: _float = 0.3333333333333333,
    training: _bool = False,
    inplace: _bool = False,
) -> Tensor:
    """Return x above zero, and a random multiple of x below; without training, the mean multiple.

    >>> weft.nn.functional.rrelu(weft.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over the square root."""
def rsqrt_(input: Tensor) -> Tensor:
    """One over the square root."""
def rsub(input: Tensor, other: Tensor | _Number, *, alpha: Tensor | _Number = 1) -> Tensor:
    """other - alpha * input.

    >>> weft.rsub(weft.ones(2), 3)
    tensor([2., 2.])
    """
def scalar_tensor(
    s: Any,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Make a 0-d tensor of a number, of the default dtype.

    >>> weft.scalar_tensor(2)
    tensor(2.)
    """
@overload
def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with the elements of src (or one value) written to the places that index names along dim.

    >>> weft.scatter(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([1., 2.]))
    tensor([2., 0., 1.])
    """
@overload
def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    value: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    *,
    reduce: _str,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    value: Tensor | _Number,
    *,
    reduce: _str,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def scatter_(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of input with the elements of src (or one value) written to the places that index names along dim.

    >>> weft.scatter(weft.zeros(3), 0, weft.tensor([2, 0]), weft.tensor([1., 2.]))
    tensor([2., 0., 1.])
    """
@overload
def scatter_(input: Tensor, dim: _int, index: Tensor, value: Tensor | _Number) -> Tensor: ...
@overload
def scatter_(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: _str) -> Tensor: ...
@overload
def scatter_(
    input: Tensor,
    dim: _int,
    index: Tensor,
    value: Tensor | _Number,
    *,
    reduce: _str,
) -> Tensor: ...
def scatter_add(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with the elements of src added at the places that index names along dim.

    >>> weft.scatter_add(weft.zeros(2), 0, weft.tensor([1, 1]), weft.tensor([1., 2.]))
    tensor([0., 3.])
    """
def scatter_add_(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of input with the elements of src added at the places that index names along dim.

    >>> weft.scatter_add(weft.zeros(2), 0, weft.tensor([1, 1]), weft.tensor([1., 2.]))
    tensor([0., 3.])
    """
def scatter_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: _str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input in which the elements of src are reduced ('sum', 'prod', 'mean', 'amax' or 'amin') into the places
    that index names along dim, together with what was there unless include_self is False.

    >>> weft.scatter_reduce(weft.ones(2), 0, weft.tensor([0, 0, 1]), weft.tensor([3., 5., 2.]), "amax")
    tensor([5., 2.])
    """
def scatter_reduce_(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: _str,
    *,
    include_self: _bool = True,
) -> Tensor:
    """A copy of input in which the elements of src are reduced ('sum', 'prod', 'mean', 'amax' or 'amin') into the places
    that index names along dim, together with what was there unless include_self is False.

    >>> weft.scatter_reduce(weft.ones(2), 0, weft.tensor([0, 0, 1]), weft.tensor([3., 5., 2.]), "amax")
    tensor([5., 2.])
    """
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | _Number,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: _str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where each element of input would go in the sorted rows so that they stay sorted.

    >>> weft.searchsorted(weft.tensor([1, 3, 5]), weft.tensor([3, 4]))
    tensor([1, 2])
    """
def segment_reduce(
    data: Tensor,
    reduce: _str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: _int = 0,
    unsafe: _bool = False,
    initial: _float | None = None,
) -> Tensor:
    """Return the sum, mean, maximum, minimum or product of each segment along an axis.

    Args:
        data: what is cut into segments.
        reduce: ``"sum"``, ``"mean"``, ``"max"``, ``"min"`` or ``"prod"``.
        lengths: how long each segment is; dimensions before the last are those before ``axis``.
        indices: not in weft.
        offsets: in the place of ``lengths``: where each segment begins, and where the last ends.
        axis: the dimension that is cut.
        unsafe: do not check the lengths.
        initial: what each segment begins with; that is also what one without elements gives.

    >>> weft.segment_reduce(weft.arange(4.0), "sum", lengths=weft.tensor([1, 3]))
    tensor([0., 6.])
    """
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """The slice at index along dim, which goes away.

    >>> weft.arange(4).view(2, 2).select(0, 1)
    tensor([2, 3])
    """
def select_copy(input: Tensor, dim: _int, index: _int) -> Tensor:
    """Return what ``select`` shows, in memory of its own.

    >>> y = weft.select_copy(weft.eye(2), 0, 1)
    """
def select_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int,
    index: _int,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with src as its slice at index along dim.

    >>> weft.select_scatter(weft.zeros(2, 2), weft.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
def selu(input: Tensor) -> Tensor:
    """Return an exponential linear unit that keeps mean 0 and variance 1 from layer to layer.

    scale * x above zero, scale * alpha * (exp(x) - 1) below, with scale = 1.0507… and
    alpha = 1.6732….

    >>> weft.selu(weft.tensor([0.0, 1.0]))
    tensor([0.0000, 1.0507])
    """
def selu_(input: Tensor) -> Tensor:
    """In-place twin of ``selu``."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1; of a complex number, its direction."""
def sgn_(input: Tensor) -> Tensor:
    """-1, 0 or 1; of a complex number, its direction."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-input))."""
def sigmoid_(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1."""
def sign_(input: Tensor) -> Tensor:
    """-1, 0 or 1."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether an element is negative, or -0."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine."""
def sin_(input: Tensor) -> Tensor:
    """The sine."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi input) / (pi input), 1 at zero."""
def sinc_(input: Tensor) -> Tensor:
    """sin(pi input) / (pi input), 1 at zero."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine."""
def sinh_(input: Tensor) -> Tensor:
    """The hyperbolic sine."""
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with src as its slice from start to end along dim.

    >>> weft.slice_scatter(weft.zeros(3), weft.ones(2), 0, 1)
    tensor([0., 1., 1.])
    """
def slogdet(input: Tensor, *, out: Tensor | None = None) -> _SignLogabsdet:
    """Return the sign of the determinant and the logarithm of its absolute value.

    >>> weft.slogdet(weft.eye(2)).logabsdet
    tensor(0.)
    """
def softmax(
    input: Tensor,
    dim: _int,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Exponentials along dim, scaled to sum to one.

    >>> weft.softmax(weft.tensor([1.0, 1.0]), 0)
    tensor([0.5000, 0.5000])
    """
def softmin(input: Tensor, dim: _int, dtype: _DType | None = None) -> Tensor:
    """Softmax of the negative.

    >>> weft.softmin(weft.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
def sort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    *,
    stable: _bool | None = None,
    out: tuple[Tensor, Tensor] | None = None,
) -> _ValuesIndices:
    """The elements in order along dim, and where they stood. Equal ones keep their order.

    >>> weft.tensor([3, 1, 2]).sort().indices
    tensor([1, 2, 0])
    """
def special_airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Airy function Ai."""
def special_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind, order 0."""
def special_bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind, order 1."""
def special_bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind, order 0."""
def special_bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind, order 1."""
def special_chebyshev_polynomial_t(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree n."""
def special_chebyshev_polynomial_u(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree n."""
def special_chebyshev_polynomial_v(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree n."""
def special_chebyshev_polynomial_w(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree n."""
def special_entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-input * log(input), the term of an entropy."""
def special_erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input ** 2) * erfc(input)."""
def special_hermite_polynomial_h(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The physicists' Hermite polynomial of degree n."""
def special_hermite_polynomial_he(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The probabilists' Hermite polynomial of degree n."""
def special_i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|input|) times the modified Bessel function of order 0."""
def special_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 1."""
def special_i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|input|) times the modified Bessel function of order 1."""
def special_laguerre_polynomial_l(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Laguerre polynomial of degree n."""
def special_legendre_polynomial_p(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Legendre polynomial of degree n."""
def special_log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the share of the normal distribution below input."""
def special_modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, order 0."""
def special_modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, order 1."""
def special_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind, order 0."""
def special_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind, order 1."""
def special_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The share of the normal distribution below input."""
def special_ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where the normal distribution has the share input below it."""
def special_scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) times the modified Bessel function of the second kind, order 0."""
def special_scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) times the modified Bessel function of the second kind, order 1."""
def special_shifted_chebyshev_polynomial_t(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The same of 2 * input - 1, first kind."""
def special_shifted_chebyshev_polynomial_u(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The same of 2 * input - 1, second kind."""
def special_shifted_chebyshev_polynomial_v(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The same of 2 * input - 1, third kind."""
def special_shifted_chebyshev_polynomial_w(
    input: Tensor | _Number,
    n: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The same of 2 * input - 1, fourth kind."""
def special_spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(input) / input."""
def special_xlog1py(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input * log1p(other), zero where input is zero."""
def special_zeta(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of (other + k) ** -input over all k >= 0 (Hurwitz)."""
@overload
def split(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """input cut along dim into views of split_size (the last may be smaller), or of the sizes in a list.

    >>> weft.split(weft.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
@overload
def split(
    input: Tensor,
    split_size: _int | Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]: ...
@overload
def split(tensor: Tensor, split_size_or_sections: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
@overload
def split(
    tensor: Tensor,
    split_size_or_sections: _int | Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]: ...
@overload
def split_copy(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Return what ``split`` shows, in memory of its own.

    >>> y = weft.split_copy(weft.ones(4), 2)
    """
@overload
def split_copy(
    input: Tensor,
    split_size: _int | Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]: ...
@overload
def split_copy(
    tensor: Tensor,
    split_size_or_sections: _int,
    dim: _int = 0,
) -> tuple[Tensor, ...]: ...
@overload
def split_copy(
    tensor: Tensor,
    split_size_or_sections: _int | Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]: ...
def split_with_sizes(
    input: Tensor,
    split_sizes: _int | Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]:
    """input cut along dim into views of the given sizes.

    >>> weft.split_with_sizes(weft.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
def split_with_sizes_copy(
    input: Tensor,
    split_sizes: _int | Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]:
    """Return what ``split_with_sizes`` shows, in memory of its own.

    >>> y = weft.split_with_sizes_copy(weft.ones(3), [1, 2])
    """
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root."""
def sqrt_(input: Tensor) -> Tensor:
    """The square root."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input times itself."""
def square_(input: Tensor) -> Tensor:
    """input times itself."""
@overload
def squeeze(input: Tensor) -> Tensor:
    """Without the dimensions of size one (or those among dim).

    >>> weft.ones(1, 2, 1).squeeze().shape
    torch.Size([2])
    """
@overload
def squeeze(input: Tensor, dim: _int | Sequence[_int]) -> Tensor: ...
@overload
def squeeze_copy(input: Tensor) -> Tensor:
    """Return what ``squeeze`` shows, in memory of its own.

    >>> y = weft.squeeze_copy(weft.ones(2, 1))
    """
@overload
def squeeze_copy(input: Tensor, dim: _int | Sequence[_int]) -> Tensor: ...
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape joined along a new dimension.

    >>> weft.stack([weft.tensor([1, 2]), weft.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
@overload
def std(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: Tensor | _Number | None = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The standard deviation over dim: the root of the variance.

    >>> weft.tensor([1.0, 3.0]).std(correction=0)
    tensor(1.)
    """
@overload
def std(input: Tensor, unbiased: _bool, *, out: Tensor | None = None) -> Tensor: ...
@overload
def std(
    input: Tensor,
    dim: _int | Sequence[_int] | None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def std_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: Tensor | _Number | None = None,
    keepdim: _bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Both std and mean over dim.

    >>> weft.std_mean(weft.tensor([1.0, 3.0]))[1]
    tensor(2.)
    """
@overload
def std_mean(
    input: Tensor,
    unbiased: _bool,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]: ...
def stft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    pad_mode: _str = 'reflect',
    normalized: _bool = False,
    onesided: _bool | None = None,
    return_complex: _bool | None = None,
    align_to_window: _bool | None = None,
) -> Tensor:
    """Return the spectra of overlapping frames: (…, frequencies, frames).

    >>> weft.stft(weft.ones(8), 4, return_complex=True).shape
    torch.Size([3, 9])
    """
@overload
def sub(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Subtracts other from input, element by element."""
@overload
def sub(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: Tensor | _Number,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def sub_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Subtracts other from input, element by element."""
@overload
def sub_(input: Tensor, other: Tensor | _Number, *, alpha: Tensor | _Number) -> Tensor: ...
@overload
def subtract(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Subtracts other from input, element by element."""
@overload
def subtract(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    alpha: Tensor | _Number,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def subtract_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Subtracts other from input, element by element."""
@overload
def subtract_(input: Tensor, other: Tensor | _Number, *, alpha: Tensor | _Number) -> Tensor: ...
@overload
def sum(input: Tensor, *, dtype: _DType | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of all elements, or over dim.

    >>> weft.ones(2, 3).sum()
    tensor(6.)
    >>> weft.ones(2, 3).sum(0)
    tensor([2., 2., 2.])
    """
@overload
def sum(
    input: Tensor,
    dim: _int | Sequence[_int] | None,
    keepdim: _bool = False,
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def svd(
    input: Tensor,
    some: _bool = True,
    compute_uv: _bool = True,
    *,
    out: Tensor | None = None,
) -> _USV:
    """Return U, the singular values S, and V, with input = U diag(S) Vᴴ.

    >>> weft.svd(weft.tensor([[3.0]])).S
    tensor([3.])
    """
def svd_lowrank(
    A: Tensor,
    q: _int | None = 6,
    niter: _int | None = 2,
    M: Tensor | None = None,
) -> Any:
    """Return U, S and V with ``A - M`` nearly ``U diag(S) V^H``, for matrices of rank below q.

    Args:
        A: matrices.
        q: how many singular values to find, somewhat more than the rank.
        niter: how many times to improve the basis.
        M: subtracted from A; its rows may be broadcast.

    >>> U, S, V = weft.svd_lowrank(weft.ones(4, 3), 2)
    >>> weft.allclose(U * S @ V.mH, weft.ones(4, 3), atol=1e-5)
    True
    """
def swapaxes(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions swapped.

    >>> weft.ones(2, 3).transpose(0, 1).shape
    torch.Size([3, 2])
    """
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions swapped.

    >>> weft.ones(2, 3).transpose(0, 1).shape
    torch.Size([3, 2])
    """
def t(input: Tensor) -> Tensor:
    """A matrix transposed; vectors and single elements stay as they are.

    >>> weft.ones(2, 3).t().shape
    torch.Size([3, 2])
    """
def t_copy(input: Tensor) -> Tensor:
    """Return what ``t`` shows, in memory of its own.

    >>> y = weft.t_copy(weft.ones(2, 3))
    """
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of input, counted in order as if it had one dimension, that index names.

    >>> weft.take(weft.tensor([[4, 3], [5, 6]]), weft.tensor([0, -1]))
    tensor([4, 6])
    """
def take_along_dim(
    input: Tensor,
    indices: Tensor,
    dim: _int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Like gather, with input and indices broadcast against each other; without dim, on the flattened input.

    >>> weft.take_along_dim(weft.tensor([[30, 10], [20, 40]]), weft.tensor([[1], [0]]), 1)
    tensor([[10],
            [20]])
    """
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent."""
def tan_(input: Tensor) -> Tensor:
    """The tangent."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent."""
def tanh_(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
@overload
def tensor_split(input: Tensor, sections: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """input cut along dim into that many views, as equal as possible, or at the given indices.

    >>> weft.tensor_split(weft.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
@overload
def tensor_split(
    input: Tensor,
    tensor_indices_or_sections: Tensor,
    dim: _int = 0,
) -> tuple[Tensor, ...]: ...
@overload
def tensor_split(
    input: Tensor,
    indices: _int | Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]: ...
def threshold(
    input: Tensor,
    threshold: _float,
    value: _float,
    inplace: _bool = False,
) -> Tensor:
    """Return x where it is larger than threshold, and value elsewhere.

    >>> weft.nn.functional.threshold(weft.tensor([0.5, 2.0]), 1.0, 9.0)
    tensor([9., 2.])
    """
@overload
def tile(input: Tensor, *dims: _int) -> Tensor:
    """Like repeat, with ones for the dimensions that dims does not name.

    >>> weft.tile(weft.tensor([[1], [2]]), (2,))
    tensor([[1, 1],
            [2, 2]])
    """
@overload
def tile(input: Tensor, dims: Sequence[_int]) -> Tensor: ...
def topk(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    largest: _bool = True,
    sorted: _bool = True,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> _ValuesIndices:
    """The k largest (or smallest) elements along dim, in order, and where they stood.

    >>> weft.tensor([3, 1, 2]).topk(2).values
    tensor([3, 2])
    """
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix.

    >>> weft.trace(weft.tensor([[1., 2.], [3., 4.]]))
    tensor(5.)
    """
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions swapped.

    >>> weft.ones(2, 3).transpose(0, 1).shape
    torch.Size([3, 2])
    """
def transpose_copy(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Return what ``transpose`` shows, in memory of its own.

    >>> y = weft.transpose_copy(weft.ones(2, 3), 0, 1)
    """
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Number = 1, dim: _int = -1) -> Tensor:
    """Return the area under ``y`` along ``dim``, made of trapezoids.

    >>> weft.trapezoid(weft.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
def trapz(y: Tensor, x: Tensor | None = None, *, dx: _Number = 1, dim: _int = -1) -> Tensor:
    """Return the area under ``y`` along ``dim``, made of trapezoids.

    >>> weft.trapezoid(weft.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
def triangular_solve(
    b: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
    *,
    out: Tensor | None = None,
) -> _SolutionCloned_coefficient:
    """Return the X of A X = b for a triangular A, and A.

    >>> weft.triangular_solve(weft.ones(1, 1), weft.tensor([[2.0]])).solution
    tensor([[0.5000]])
    """
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of matrices: zeros above the given diagonal.

    >>> weft.tril(weft.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
def tril_(input: Tensor, diagonal: _int = 0) -> Tensor:
    """The lower triangle of matrices: zeros above the given diagonal.

    >>> weft.tril(weft.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
def tril_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """The rows and columns of the lower triangle of a matrix.

    >>> weft.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of matrices: zeros below the given diagonal.

    >>> weft.triu(weft.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
def triu_(input: Tensor, diagonal: _int = 0) -> Tensor:
    """The upper triangle of matrices: zeros below the given diagonal.

    >>> weft.triu(weft.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
def triu_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: _DType | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """The rows and columns of the upper triangle of a matrix.

    >>> weft.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
def true_divide(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Divides input by other, element by element."""
def true_divide_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Divides input by other, element by element."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Rounds towards zero."""
def trunc_(input: Tensor) -> Tensor:
    """Rounds towards zero."""
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """The slices of input along dim, which goes away.

    >>> weft.unbind(weft.tensor([1, 2]))
    (tensor(1), tensor(2))
    """
def unbind_copy(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """Return what ``unbind`` shows, in memory of its own.

    >>> y = weft.unbind_copy(weft.eye(2))
    """
def unflatten(input: Tensor, dim: _int, sizes: _int | Sequence[_int]) -> Tensor:
    """Dimension dim split into sizes, of which one may be -1.

    >>> weft.ones(6).unflatten(0, (2, 3)).shape
    torch.Size([2, 3])
    """
def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int) -> Tensor:
    """Return what ``unfold`` shows, in memory of its own.

    >>> y = weft.unfold_copy(weft.ones(4), 0, 2, 2)
    """
def unravel_index(indices: Tensor, shape: _Ints) -> tuple[Tensor, ...]:
    """Return the coordinates, one tensor for each dimension of ``shape``, of elements counted in order.

    >>> weft.unravel_index(weft.tensor([3, 5]), (2, 3))
    (tensor([1, 1]), tensor([0, 2]))
    """
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """input cut along dim into at most that many views of equal size, the last perhaps smaller.

    >>> weft.chunk(weft.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
def unsafe_split(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """input cut along dim into views of split_size (the last may be smaller), or of the sizes in a list.

    >>> weft.split(weft.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
def unsafe_split_with_sizes(
    input: Tensor,
    split_sizes: _int | Sequence[_int],
    dim: _int = 0,
) -> tuple[Tensor, ...]:
    """input cut along dim into views of the given sizes.

    >>> weft.split_with_sizes(weft.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """With a new dimension of size one at dim.

    >>> weft.ones(2).unsqueeze(0).shape
    torch.Size([1, 2])
    """
def unsqueeze_copy(input: Tensor, dim: _int) -> Tensor:
    """Return what ``unsqueeze`` shows, in memory of its own.

    >>> y = weft.unsqueeze_copy(weft.ones(2), 0)
    """
def vander(
    x: Tensor,
    N: _int | None = None,
    increasing: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the powers of each element of a vector, in its row: the highest first.

    >>> weft.vander(weft.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
@overload
def var(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: Tensor | _Number | None = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The variance over dim: squared distances from the mean, divided by their number less correction (1).

    >>> weft.tensor([1.0, 3.0]).var()
    tensor(2.)
    """
@overload
def var(input: Tensor, unbiased: _bool, *, out: Tensor | None = None) -> Tensor: ...
@overload
def var(
    input: Tensor,
    dim: _int | Sequence[_int] | None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def var_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: Tensor | _Number | None = None,
    keepdim: _bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Both var and mean over dim.

    >>> weft.var_mean(weft.tensor([1.0, 3.0]))[1]
    tensor(2.)
    """
@overload
def var_mean(
    input: Tensor,
    unbiased: _bool,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]: ...
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors, the first one conjugated.

    >>> weft.vdot(weft.tensor([2, 3]), weft.tensor([2, 1]))
    tensor(7)
    """
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers in the last dimension seen as complex numbers.

    >>> weft.view_as_complex(weft.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
def view_as_complex_copy(input: Tensor) -> Tensor:
    """Return what ``view_as_complex`` shows, in memory of its own.

    >>> y = weft.view_as_complex_copy(weft.ones(1, 2))
    """
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor seen as pairs of real numbers, in a new last dimension.

    >>> weft.view_as_real(weft.complex(weft.tensor([1.0]), weft.tensor([2.0])))
    tensor([[1., 2.]])
    """
def view_as_real_copy(input: Tensor) -> Tensor:
    """Return what ``view_as_real`` shows, in memory of its own.

    >>> y = weft.view_as_real_copy(weft.ones(1) + 0j)
    """
@overload
def view_copy(input: Tensor, *size: _int) -> Tensor:
    """Return what ``view`` shows, in memory of its own.

    >>> y = weft.view_copy(weft.ones(4), (2, 2))
    """
@overload
def view_copy(input: Tensor, size: Sequence[_int]) -> Tensor: ...
@overload
def view_copy(input: Tensor, dtype: _DType) -> Tensor: ...
@overload
def vsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """input cut into rows: into equal sections, or at the given indices.

    >>> weft.vsplit(weft.arange(4).view(2, 2), 2)
    (tensor([[0, 1]]), tensor([[2, 3]]))
    """
@overload
def vsplit(input: Tensor, indices: _int | Sequence[_int]) -> tuple[Tensor, ...]: ...
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined one below the other; vectors count as rows.

    >>> weft.vstack([weft.tensor([1, 2]), weft.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
@overload
def where(
    condition: Tensor,
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input where condition holds, else other."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
def xlogy(
    input: Tensor | _Number,
    other: Tensor | _Number,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input * log(other), zero where input is zero."""
def xlogy_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """input * log(other), zero where input is zero."""
def zero_(input: Tensor) -> Tensor:
    """Sets every element to zero.

    >>> weft.ones(2).zero_()
    tensor([0., 0.])
    """
@overload
def zeros(
    *size: _int,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A tensor of zeros.

    >>> weft.zeros(2)
    tensor([0., 0.])
    """
@overload
def zeros(
    size: Sequence[_int],
    *,
    dtype: _DType | None = None,
    out: Tensor | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor: ...
def zeros_like(
    input: Tensor,
    *,
    dtype: _DType | None = None,
    memory_format: _MemoryFormat | None = None,
    device: _Device | None = None,
    layout: _Layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Zeros in input's shape and type.

    >>> weft.zeros_like(weft.ones(2))
    tensor([0., 0.])
    """
def _foreach_abs(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``abs`` of each tensor of a list."""
def _foreach_abs_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``abs_`` of each tensor of a list, in place."""
def _foreach_acos(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``acos`` of each tensor of a list."""
def _foreach_acos_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``acos_`` of each tensor of a list, in place."""
def _foreach_add(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``add`` of each tensor of a list."""
def _foreach_add_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``add_`` of each tensor of a list, in place."""
def _foreach_addcdiv(
    self: Sequence[Tensor],
    *given: Any,
    **settings: Any,
) -> tuple[Tensor, ...]:
    """``addcdiv`` of each tensor of a list."""
def _foreach_addcdiv_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``addcdiv_`` of each tensor of a list, in place."""
def _foreach_addcmul(
    self: Sequence[Tensor],
    *given: Any,
    **settings: Any,
) -> tuple[Tensor, ...]:
    """``addcmul`` of each tensor of a list."""
def _foreach_addcmul_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``addcmul_`` of each tensor of a list, in place."""
def _foreach_asin(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``asin`` of each tensor of a list."""
def _foreach_asin_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``asin_`` of each tensor of a list, in place."""
def _foreach_atan(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``atan`` of each tensor of a list."""
def _foreach_atan_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``atan_`` of each tensor of a list, in place."""
def _foreach_ceil(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``ceil`` of each tensor of a list."""
def _foreach_ceil_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``ceil_`` of each tensor of a list, in place."""
def _foreach_clamp_max(
    self: Sequence[Tensor],
    *given: Any,
    **settings: Any,
) -> tuple[Tensor, ...]:
    """``clamp_max`` of each tensor of a list."""
def _foreach_clamp_max_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``clamp_max_`` of each tensor of a list, in place."""
def _foreach_clamp_min(
    self: Sequence[Tensor],
    *given: Any,
    **settings: Any,
) -> tuple[Tensor, ...]:
    """``clamp_min`` of each tensor of a list."""
def _foreach_clamp_min_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``clamp_min_`` of each tensor of a list, in place."""
def _foreach_copy_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``copy_`` of each tensor of a list, in place."""
def _foreach_cos(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``cos`` of each tensor of a list."""
def _foreach_cos_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``cos_`` of each tensor of a list, in place."""
def _foreach_cosh(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``cosh`` of each tensor of a list."""
def _foreach_cosh_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``cosh_`` of each tensor of a list, in place."""
def _foreach_div(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``div`` of each tensor of a list."""
def _foreach_div_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``div_`` of each tensor of a list, in place."""
def _foreach_erf(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``erf`` of each tensor of a list."""
def _foreach_erf_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``erf_`` of each tensor of a list, in place."""
def _foreach_erfc(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``erfc`` of each tensor of a list."""
def _foreach_erfc_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``erfc_`` of each tensor of a list, in place."""
def _foreach_exp(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``exp`` of each tensor of a list."""
def _foreach_exp_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``exp_`` of each tensor of a list, in place."""
def _foreach_expm1(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``expm1`` of each tensor of a list."""
def _foreach_expm1_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``expm1_`` of each tensor of a list, in place."""
def _foreach_floor(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``floor`` of each tensor of a list."""
def _foreach_floor_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``floor_`` of each tensor of a list, in place."""
def _foreach_frac(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``frac`` of each tensor of a list."""
def _foreach_frac_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``frac_`` of each tensor of a list, in place."""
def _foreach_lerp(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``lerp`` of each tensor of a list."""
def _foreach_lerp_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``lerp_`` of each tensor of a list, in place."""
def _foreach_lgamma(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``lgamma`` of each tensor of a list."""
def _foreach_lgamma_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``lgamma_`` of each tensor of a list, in place."""
def _foreach_log(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``log`` of each tensor of a list."""
def _foreach_log10(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``log10`` of each tensor of a list."""
def _foreach_log10_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``log10_`` of each tensor of a list, in place."""
def _foreach_log1p(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``log1p`` of each tensor of a list."""
def _foreach_log1p_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``log1p_`` of each tensor of a list, in place."""
def _foreach_log2(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``log2`` of each tensor of a list."""
def _foreach_log2_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``log2_`` of each tensor of a list, in place."""
def _foreach_log_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``log_`` of each tensor of a list, in place."""
def _foreach_maximum(
    self: Sequence[Tensor],
    *given: Any,
    **settings: Any,
) -> tuple[Tensor, ...]:
    """``maximum`` of each tensor of a list."""
def _foreach_maximum_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``maximum_`` of each tensor of a list, in place."""
def _foreach_minimum(
    self: Sequence[Tensor],
    *given: Any,
    **settings: Any,
) -> tuple[Tensor, ...]:
    """``minimum`` of each tensor of a list."""
def _foreach_minimum_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``minimum_`` of each tensor of a list, in place."""
def _foreach_mul(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``mul`` of each tensor of a list."""
def _foreach_mul_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``mul_`` of each tensor of a list, in place."""
def _foreach_neg(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``neg`` of each tensor of a list."""
def _foreach_neg_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``neg_`` of each tensor of a list, in place."""
def _foreach_norm(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """Return the norm of each tensor.

    >>> from weft.ops.foreach import _foreach_norm
    >>> _foreach_norm([weft.ones(4), weft.zeros(1)])
    (tensor(2.), tensor(0.))
    """
def _foreach_pow(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``pow`` of each tensor of a list."""
def _foreach_pow_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``pow_`` of each tensor of a list, in place."""
def _foreach_reciprocal(
    self: Sequence[Tensor],
    *given: Any,
    **settings: Any,
) -> tuple[Tensor, ...]:
    """``reciprocal`` of each tensor of a list."""
def _foreach_reciprocal_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``reciprocal_`` of each tensor of a list, in place."""
def _foreach_round(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``round`` of each tensor of a list."""
def _foreach_round_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``round_`` of each tensor of a list, in place."""
def _foreach_rsqrt(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``rsqrt`` of each tensor of a list."""
def _foreach_rsqrt_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``rsqrt_`` of each tensor of a list, in place."""
def _foreach_sigmoid(
    self: Sequence[Tensor],
    *given: Any,
    **settings: Any,
) -> tuple[Tensor, ...]:
    """``sigmoid`` of each tensor of a list."""
def _foreach_sigmoid_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``sigmoid_`` of each tensor of a list, in place."""
def _foreach_sign(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``sign`` of each tensor of a list."""
def _foreach_sign_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``sign_`` of each tensor of a list, in place."""
def _foreach_sin(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``sin`` of each tensor of a list."""
def _foreach_sin_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``sin_`` of each tensor of a list, in place."""
def _foreach_sinh(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``sinh`` of each tensor of a list."""
def _foreach_sinh_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``sinh_`` of each tensor of a list, in place."""
def _foreach_sqrt(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``sqrt`` of each tensor of a list."""
def _foreach_sqrt_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``sqrt_`` of each tensor of a list, in place."""
def _foreach_sub(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``sub`` of each tensor of a list."""
def _foreach_sub_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``sub_`` of each tensor of a list, in place."""
def _foreach_tan(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``tan`` of each tensor of a list."""
def _foreach_tan_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``tan_`` of each tensor of a list, in place."""
def _foreach_tanh(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``tanh`` of each tensor of a list."""
def _foreach_tanh_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``tanh_`` of each tensor of a list, in place."""
def _foreach_trunc(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...]:
    """``trunc`` of each tensor of a list."""
def _foreach_trunc_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``trunc_`` of each tensor of a list, in place."""
def _foreach_zero_(self: Sequence[Tensor], *given: Any, **settings: Any) -> None:
    """``zero_`` of each tensor of a list, in place."""
