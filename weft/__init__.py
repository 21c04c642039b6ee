"""weft: a dynamic computation graph without its costs, with PyTorch's API.

>>> x = weft.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

# ruff: noqa: F401 (what is imported here is what weft offers)
from __future__ import annotations

import os as _os
from math import e, inf, nan, pi

from . import _C
from ._C import (
    Generator,
    Size,
    Tensor,
    bfloat16,
    bool,
    complex64,
    complex128,
    default_generator,
    dtype,
    float16,
    float32,
    float64,
    get_num_threads,
    int8,
    int16,
    int32,
    int64,
    set_num_threads,
    uint8,
)

__version__ = "0.2.0"

# Modules that weft has so that programs for PyTorch find them lie together: `weft.cuda` and others.
__path__.append(_os.path.join(_os.path.dirname(__file__), "compat", "modules"))

_C._set_dirs(
    _os.path.dirname(_os.path.abspath(__file__)) + _os.sep, _os.path.dirname(_os.__file__) + _os.sep
)

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
newaxis = None

# Native ops, then the rest of the body, which builds on them.
_methods: dict = {}
_C._collect_ops(globals(), _methods)
for _name, _method in _methods.items():
    setattr(Tensor, _name, _method)
del _name, _method, _methods

from . import _environment, autograd, ops, printing  # noqa: E402
from ._environment import (  # noqa: E402
    can_cast,
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    empty_cache,
    finfo,
    get_default_device,
    get_default_dtype,
    iinfo,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_tensor,
    layout,
    legacy_contiguous_format,
    max_memory_allocated,
    memory_allocated,
    memory_format,
    preserve_format,
    promote_types,
    reset_peak_memory_stats,
    set_default_device,
    set_default_dtype,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from .autograd import (  # noqa: E402
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from .ops import *  # noqa: E402, F403
from .printing import get_printoptions, set_printoptions  # noqa: E402
from .random import (  # noqa: E402
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .tensor import _TYPE_NAMES  # noqa: E402
from .tensor import install as _install  # noqa: E402
from .tensor import legacy_type as _legacy_type  # noqa: E402

_install(Tensor)
from .ops.create import tensor  # noqa: E402
from .ops.sparse import sparse_coo_tensor  # noqa: E402

_LAZY = (
    "accelerator amp ao audio backends compat compiler cpu cuda debug distributed distributions fft func functional fx "
    "hub jit linalg masked mps multiprocessing nn optim profiler quantization serialization signal sparse special "
    "testing text train types utils version view vision xpu"
).split()
_LAZY_FROM = {
    **dict.fromkeys(("TrainingState", "load", "save"), "serialization"),
    **dict.fromkeys(("dsmm", "smm", "spmm"), "sparse"),
    **dict.fromkeys(
        ("sparse_compressed_tensor", "sparse_csc_tensor", "sparse_csr_tensor"), "sparse.compressed"
    ),
    **dict.fromkeys(("pca_lowrank", "svd_lowrank"), "linalg.lowrank"),
    **dict.fromkeys(("TypedStorage", "UntypedStorage", "from_file", "is_storage"), "storage"),
    **dict.fromkeys(("cond", "scan", "while_loop"), "ops.control"),
    "compile": "jit.compile",
    "get_device_module": "compat.devices",
    "load_ipython_extension": "view.notebook",
    "memory": "debug",
    "segment_reduce": "ops.segments",
    "summary": "nn.summary",
    "vmap": "func",
}
_KERNEL_SETTINGS = """
are_deterministic_algorithms_enabled get_deterministic_debug_mode get_float32_matmul_precision
get_num_interop_threads is_deterministic_algorithms_warn_only_enabled set_default_tensor_type
set_deterministic_debug_mode set_float32_matmul_precision set_num_interop_threads
use_deterministic_algorithms
""".split()
_AUTOCAST = """
autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache
get_autocast_cpu_dtype get_autocast_dtype is_autocast_available is_autocast_cache_enabled
is_autocast_cpu_enabled is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype
set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled
""".split()
_LAZY_FROM.update(
    dict.fromkeys(_KERNEL_SETTINGS, "compat.kernel_settings") | dict.fromkeys(_AUTOCAST, "amp")
)
_LAYERS = """
adaptive_avg_pool1d adaptive_max_pool1d affine_grid_generator alpha_dropout alpha_dropout_
avg_pool1d batch_norm bilinear binary_cross_entropy_with_logits channel_shuffle conv1d conv2d conv3d
conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution cosine_embedding_loss
cosine_similarity ctc_loss dropout dropout_ embedding feature_alpha_dropout feature_alpha_dropout_
feature_dropout feature_dropout_ grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru
gru_cell hardshrink hinge_embedding_loss instance_norm kl_div layer_norm lstm lstm_cell
margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d max_pool3d native_batch_norm
native_channel_shuffle native_dropout native_dropout_backward native_group_norm native_layer_norm
pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss rms_norm rnn_relu
rnn_relu_cell rnn_tanh rnn_tanh_cell rrelu rrelu_ threshold threshold_ triplet_margin_loss
""".split()
_INTROSPECTION = """
_assert as_strided_ detach_ get_device is_anomaly_check_nan_enabled is_anomaly_enabled is_conj
is_distributed is_inference is_neg is_same_size is_signed is_warn_always_enabled
set_flush_denormal set_warn_always sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt
sym_sum to_dlpack typename
""".split()
_LAZY_FROM.update(dict.fromkeys(_INTROSPECTION, "compat.introspection"))
_QUANTIZED = "dequantize quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic"
_KINDS = """
per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine
per_tensor_symmetric qint8 qint32 qscheme quint8
"""
_LAZY_FROM.update(dict.fromkeys(_QUANTIZED.split(), "quantization.tensor"))
_LAZY_FROM.update(dict.fromkeys(_KINDS.split(), "quantization.kinds"))
_LAZY_FROM.update(dict.fromkeys(_LAYERS, "nn.functional.top_level"))
_ATEN = """
_batch_norm_with_update _chunk_cat _native_batch_norm_legit _safe_softmax _segment_reduce
_softmax_backward_data
_unsafe_masked_index _unsafe_masked_index_put_accumulate _upsample_bilinear2d_aa
""".split()
_LAZY_FROM.update(dict.fromkeys(_ATEN, "ops.aten"))


def __getattr__(name: str):  # type: ignore[no-untyped-def]  # mypy: in a cycle, Any fails
    """Load the larger parts of weft on first use."""
    import importlib

    if name in _LAZY:
        try:
            return importlib.import_module(f"weft.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"weft.{name}":
                raise
            raise AttributeError(f"module 'weft' has no attribute '{name}' yet") from None
    if name in _LAZY_FROM:
        return getattr(importlib.import_module(f"weft.{_LAZY_FROM[name]}"), name)
    if name.startswith("_foreach_"):
        return getattr(importlib.import_module("weft.ops.foreach"), name)
    if name in _TYPE_NAMES:
        globals()[name] = _legacy_type(name)
        return globals()[name]
    raise AttributeError(f"module 'weft' has no attribute '{name}'")


def __dir__() -> list[str]:
    """List what is loaded, and what would be on first use."""
    return sorted({*globals(), *_LAZY, *_LAZY_FROM, *_TYPE_NAMES})


if _os.environ.get("WEFT_NAN", "0") not in ("", "0"):
    from .debug.nan import nan_origin as _nan_origin

    _nan_origin()
