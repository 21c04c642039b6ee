"""Functions of layers under the names and with the arguments that they have in ``weft`` itself."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.nn import functional as F
from weft.nn.functional.conv import _conv, _conv_transpose
from weft.nn.functional.dropout import _feature_dropout
from weft.nn.functional.norm import (
    _last_dims,
    plain_batch_norm,
    plain_group_norm,
    plain_layer_norm,
)
from weft.nn.functional.recurrent import cell, recurrent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_REDUCTIONS = ("none", "mean", "sum")

# The same arguments as in weft.nn.functional.
adaptive_avg_pool1d = F.adaptive_avg_pool1d
avg_pool1d = F.avg_pool1d
bilinear = F.bilinear
channel_shuffle = native_channel_shuffle = F.channel_shuffle
conv1d, conv2d, conv3d = F.conv1d, F.conv2d, F.conv3d
conv_transpose1d = F.conv_transpose1d
conv_transpose2d = F.conv_transpose2d
conv_transpose3d = F.conv_transpose3d
conv_tbc = F.conv_tbc
cosine_similarity = F.cosine_similarity
hardshrink = F.hardshrink
max_pool1d, max_pool2d, max_pool3d = F.max_pool1d, F.max_pool2d, F.max_pool3d
max_pool1d_with_indices = F.max_pool1d_with_indices
adaptive_max_pool1d = F.adaptive_max_pool1d_with_indices
pairwise_distance, pdist = F.pairwise_distance, F.pdist
pixel_shuffle, pixel_unshuffle = F.pixel_shuffle, F.pixel_unshuffle
rms_norm = F.rms_norm
rrelu, rrelu_ = F.rrelu, F.rrelu_
threshold, threshold_ = F.threshold, F.threshold_


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalise each channel over the batch: see ``nn.functional.batch_norm``."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalise each channel of each example: see ``nn.functional.instance_norm``."""
    return F.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Normalise over the last dimensions: see ``nn.functional.layer_norm``."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalise groups of channels: see ``nn.functional.group_norm``."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the normalised input, and in training the means and inverse deviations."""
    y, mean, var = plain_batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if not training:
        return y, input.new_empty(0), input.new_empty(0)
    return y, mean.reshape(-1), weft.rsqrt(var.reshape(-1) + eps)


def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the normalised input, its means and inverse deviations."""
    dims = _last_dims("native_layer_norm", input, normalized_shape, weight=weight, bias=bias)
    return plain_layer_norm(input, dims, weight, bias, eps)


def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the normalised input, the means and inverse deviations of its groups."""
    grouped = input.reshape(N, group, C // group * HxW)
    var, mean = weft.var_mean(grouped, -1, correction=0)
    y = plain_group_norm(input, group, weight, bias, eps)
    return y, mean, weft.rsqrt(var + eps)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Return the input with elements dropped, and a mask of those that were kept."""
    if train is False or p == 0:
        return input.clone(), weft.ones_like(input, dtype=weft.bool)
    kept = input.new_empty(input.shape).bernoulli_(1 - p)
    return input * (kept / (1 - p) if p < 1 else kept), kept != 0


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Return the gradient behind ``native_dropout``."""
    return grad_output * mask * scale


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Drop elements: see ``nn.functional.dropout``."""
    return F.dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place twin of ``dropout``."""
    return F.dropout(input, p, train, True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Drop channels: see ``nn.functional.dropout2d``."""
    return _feature_dropout(input, 2, p, train, False, False)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place twin of ``feature_dropout``."""
    return _feature_dropout(input, 2, p, train, True, False)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Drop elements, keep mean and variance: see ``nn.functional.alpha_dropout``."""
    return F.alpha_dropout(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place twin of ``alpha_dropout``."""
    return F.alpha_dropout(input, p, train, True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Drop channels, keep mean and variance: see ``nn.functional.feature_alpha_dropout``."""
    return F.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place twin of ``feature_alpha_dropout``."""
    return F.feature_alpha_dropout(input, p, train, True)


def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return rows of weight: see ``nn.functional.embedding``; -1 means no padding."""
    row = None if padding_idx < 0 else padding_idx
    return F.embedding(indices, weight, row, None, 2.0, scale_grad_by_freq, sparse)


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """Convolve as many dimensions as weight has, or apply the adjoint of that."""
    n = weight.ndim - 2
    if transposed:
        return _conv_transpose(
            "convolution", n, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    args = (input, weight, bias, stride, padding, dilation, groups)
    return _conv("convolution", n, *args)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Read images at places: see ``nn.functional.grid_sample``; modes are numbers here."""
    mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    outside = ("zeros", "border", "reflection")[padding_mode]
    return F.grid_sample(input, grid, mode, outside, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """Return a grid of places: see ``nn.functional.affine_grid``."""
    return F.affine_grid(theta, size, align_corners)


# ---- losses: the reduction is a number -----------------------------------------------------------


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    """See ``nn.functional.binary_cross_entropy_with_logits``."""
    how = _REDUCTIONS[reduction]
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=how, pos_weight=pos_weight
    )


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """See ``nn.functional.cosine_embedding_loss``."""
    how = _REDUCTIONS[reduction]
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=how)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """See ``nn.functional.ctc_loss``."""
    how = _REDUCTIONS[reduction]
    args = (log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)
    return F.ctc_loss(*args)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1
) -> Tensor:
    """See ``nn.functional.hinge_embedding_loss``."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_REDUCTIONS[reduction])


def kl_div(
    input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False
) -> Tensor:
    """See ``nn.functional.kl_div``."""
    return F.kl_div(input, target, reduction=_REDUCTIONS[reduction], log_target=log_target)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """See ``nn.functional.margin_ranking_loss``."""
    how = _REDUCTIONS[reduction]
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=how)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """See ``nn.functional.poisson_nll_loss``."""
    how = _REDUCTIONS[reduction]
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=how)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Tensor:
    """See ``nn.functional.triplet_margin_loss``."""
    how = _REDUCTIONS[reduction]
    args = (anchor, positive, negative, margin, p, eps, swap)
    return F.triplet_margin_loss(*args, reduction=how)


# ---- recurrent networks --------------------------------------------------------------------------


def lstm(*args: Any) -> tuple[Tensor, ...]:
    """Run a long short-term memory over sequences: see ``recurrent.recurrent``."""
    return recurrent("LSTM", *args)


def gru(*args: Any) -> tuple[Tensor, ...]:
    """Run a gated recurrent unit over sequences: see ``recurrent.recurrent``."""
    return recurrent("GRU", *args)


def rnn_tanh(*args: Any) -> tuple[Tensor, ...]:
    """Run a recurrent network with tanh over sequences: see ``recurrent.recurrent``."""
    return recurrent("RNN_TANH", *args)


def rnn_relu(*args: Any) -> tuple[Tensor, ...]:
    """Run a recurrent network with relu over sequences: see ``recurrent.recurrent``."""
    return recurrent("RNN_RELU", *args)


def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of a long short-term memory; hx and the result are (hidden, cell)."""
    h, c = cell("LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)
    return h, c


def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a gated recurrent unit."""
    return cell("GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a recurrent network with tanh."""
    return cell("RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a recurrent network with relu."""
    return cell("RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]
