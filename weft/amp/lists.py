"""Which ops ``autocast`` casts for, and to what: PyTorch's lists for the CPU, and weft's own ops.

An op that is on no list runs in the dtypes it is given. Ops made of others are cast by their parts,
except where a list names the whole: then its parts run in what the whole was cast to.
"""

from __future__ import annotations

from weft import _C
from weft.ops import _cast_lists
from weft.utils.pytree import find_tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


__all__ = ["AS_GIVEN", "FLOAT", "LOWER", "WIDEST"]

LOWER = frozenset(
    # products: sums are made in float32, and rounded once
    "addbmm addmm baddbmm bmm linalg_vecdot linear matmul matrix_product mm prelu "
    # a linear layer and its activation as one op
    "linear_relu linear_tanh linear_sigmoid linear_gelu linear_gelu_tanh linear_silu linear_mish "
    "linear_hardswish "
    "nn_functional_conv1d nn_functional_conv2d nn_functional_conv3d nn_functional_conv_tbc "
    "nn_functional_conv_transpose1d nn_functional_conv_transpose2d nn_functional_conv_transpose3d "
    "nn_functional_scaled_dot_product_attention".split()
)

_LOSSES = (
    "binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy "
    "ctc_loss hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss "
    "multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss smooth_l1_loss "
    "soft_margin_loss triplet_margin_loss"
).split()
_WINDOWS = (
    "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d fractional_max_pool2d "
    "fractional_max_pool3d grid_sample max_pool3d max_unpool1d max_unpool2d max_unpool3d"
).split()
_LINALG = (
    "cholesky cholesky_ex cond eig eigh eigvals eigvalsh householder_product inv inv_ex lstsq "
    "matrix_rank qr solve svd svdvals tensorinv tensorsolve "
    # on no list of PyTorch, where small dtypes raise: weft goes on in float32
    "det ldl_factor ldl_factor_ex ldl_solve lu lu_factor lu_factor_ex lu_solve matrix_exp pinv "
    "slogdet solve_ex solve_triangular"
).split()
_FFT = "fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn".split()

FLOAT = frozenset(
    [f"nn_functional_{name}" for name in (*_LOSSES, *_WINDOWS)]
    + [f"linalg_{name}" for name in _LINALG]
    + [f"fft_{name}" for name in _FFT]
    + "cdist cholesky cholesky_inverse cholesky_solve det geqrf inverse logdet lu lu_solve "
    "fake_quantize_per_tensor_affine multi_margin_rows multilabel_margin_rows nll_classes "
    "matrix_exp nanquantile orgqr ormqr pinverse polar prod qr quantile slogdet stft svd trace "
    "triangular_solve view_as_complex".split()
)

WIDEST = frozenset(["cat", "index_copy", "stack"])

#: Made of products in weft, but not in PyTorch: they run in the dtypes they are given.
AS_GIVEN = frozenset(["nn_functional_bilinear"])

_NUMBERS = {"lower": 1, "float": 2, "widest": 3, "as given": 4}  # Cast in csrc/ops/op.h


def use_lists() -> None:
    """Tell the dispatcher and the ops written in Python which lists they are on; once."""
    if _cast_lists:
        return
    for names, kind in ((LOWER, "lower"), (FLOAT, "float"), (WIDEST, "widest")):
        for name in names:
            _cast_lists[name] = _NUMBERS[kind]
            _C._put_on_autocast_list(name, _NUMBERS[kind])
    _cast_lists.update(dict.fromkeys(AS_GIVEN, _NUMBERS["as given"]))


def run_cast(which: int, f: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a function that is on a list with its arguments cast; within it nothing is cast."""
    if which != _NUMBERS["as given"]:
        dtype = _C._autocast_type(which, list(find_tensors((*args, *kwargs.values()))))
        args = [_cast(x, dtype) for x in args]
        kwargs = {name: _cast(x, dtype) for name, x in kwargs.items()}
    on, *rest = _C._autocast_state()
    _C._set_autocast(False, *rest)
    try:
        return f(*args, **kwargs)
    finally:
        _C._set_autocast(on, *rest)


def _cast(x: Any, dtype: Any) -> Any:
    if isinstance(x, _C.Tensor):
        return _C._autocast_to(x, dtype)
    if isinstance(x, (list, tuple)) and any(isinstance(v, _C.Tensor) for v in x):
        return [_cast(v, dtype) for v in x]
    return x
