# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""``weft.nn.functional``: the functions that layers are made of."""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

import weft.nn.functional.activation as _activation
activation = _activation
from weft.nn.functional.pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from weft.nn.functional.pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from weft.nn.functional.pooling import adaptive_avg_pool3d as adaptive_avg_pool3d
from weft.nn.functional.pooling import adaptive_max_pool1d as adaptive_max_pool1d
from weft.nn.functional.pooling import adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices
from weft.nn.functional.pooling import adaptive_max_pool2d as adaptive_max_pool2d
from weft.nn.functional.pooling import adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices
from weft.nn.functional.pooling import adaptive_max_pool3d as adaptive_max_pool3d
from weft.nn.functional.pooling import adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices
from weft.nn.functional.grid import affine_grid as affine_grid
from weft.nn.functional.dropout import alpha_dropout as alpha_dropout
import weft.nn.functional.attention as _attention
attention = _attention
from weft.nn.functional.pooling import avg_pool1d as avg_pool1d
from weft.nn.functional.pooling import avg_pool2d as avg_pool2d
from weft.nn.functional.pooling import avg_pool3d as avg_pool3d
from weft.nn.functional.norm import batch_norm as batch_norm
from weft.nn.functional.linear import bilinear as bilinear
from weft.nn.functional.loss import binary_cross_entropy as binary_cross_entropy
from weft.nn.functional.loss import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from weft.nn.functional.activation import celu as celu
from weft.nn.functional.activation import celu_ as celu_
from weft.nn.functional.fold import channel_shuffle as channel_shuffle
import weft.nn.functional.common as _common
common = _common
import weft.nn.functional.conv as _conv
conv = _conv
from weft.nn.functional.conv import conv1d as conv1d
from weft.nn.functional.conv import conv2d as conv2d
from weft.nn.functional.conv import conv3d as conv3d
from weft.nn.functional.conv import conv_tbc as conv_tbc
from weft.nn.functional.conv import conv_transpose1d as conv_transpose1d
from weft.nn.functional.conv import conv_transpose2d as conv_transpose2d
from weft.nn.functional.conv import conv_transpose3d as conv_transpose3d
from weft.nn.functional.loss import cosine_embedding_loss as cosine_embedding_loss
from weft.nn.functional.distance import cosine_similarity as cosine_similarity
from weft.nn.functional.cross_entropy import cross_entropy as cross_entropy
from weft.nn.functional.cross_entropy import ctc_loss as ctc_loss
import weft.nn.functional.distance as _distance
distance = _distance
from weft.nn.functional.dropout import dropout as dropout
from weft.nn.functional.dropout import dropout1d as dropout1d
from weft.nn.functional.dropout import dropout2d as dropout2d
from weft.nn.functional.dropout import dropout3d as dropout3d
from weft.nn.functional.activation import elu as elu
from weft.nn.functional.activation import elu_ as elu_
from weft.nn.functional.embedding import embedding as embedding
from weft.nn.functional.embedding import embedding_bag as embedding_bag
from weft.nn.functional.dropout import feature_alpha_dropout as feature_alpha_dropout
from weft.nn.functional.fold import fold as fold
from weft.nn.functional.pooling_variants import fractional_max_pool2d as fractional_max_pool2d
from weft.nn.functional.pooling_variants import fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices
from weft.nn.functional.pooling_variants import fractional_max_pool3d as fractional_max_pool3d
from weft.nn.functional.pooling_variants import fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices
from weft.nn.functional.loss import gaussian_nll_loss as gaussian_nll_loss
from weft.nn.functional.activation import gelu as gelu
from weft.nn.functional.activation import glu as glu
import weft.nn.functional.grid as _grid
grid = _grid
from weft.nn.functional.grid import grid_sample as grid_sample
from weft.nn.functional.norm import group_norm as group_norm
import weft.nn.functional.grouped as _grouped
grouped = _grouped
from weft.nn.functional.grouped import grouped_mm as grouped_mm
from weft.nn.functional.activation import gumbel_softmax as gumbel_softmax
from weft.nn.functional.activation import hardshrink as hardshrink
from weft.nn.functional.activation import hardsigmoid as hardsigmoid
from weft.nn.functional.activation import hardswish as hardswish
from weft.nn.functional.activation import hardtanh as hardtanh
from weft.nn.functional.activation import hardtanh_ as hardtanh_
from weft.nn.functional.loss import hinge_embedding_loss as hinge_embedding_loss
from weft.nn.functional.loss import huber_loss as huber_loss
from weft.nn.functional.norm import instance_norm as instance_norm
from weft.nn.functional.resize import interpolate as interpolate
from weft.nn.functional.loss import kl_div as kl_div
from weft.nn.functional.loss import l1_loss as l1_loss
from weft.nn.functional.norm import layer_norm as layer_norm
from weft.nn.functional.activation import leaky_relu as leaky_relu
from weft.nn.functional.activation import leaky_relu_ as leaky_relu_
from weft.nn.functional.linear import linear as linear
from weft.nn.functional.cross_entropy import linear_cross_entropy as linear_cross_entropy
from weft.nn.functional.norm import local_response_norm as local_response_norm
from weft.nn.functional.activation import log_softmax as log_softmax
from weft.nn.functional.activation import logsigmoid as logsigmoid
import weft.nn.functional.loss as _loss
loss = _loss
from weft.nn.functional.pooling_variants import lp_pool1d as lp_pool1d
from weft.nn.functional.pooling_variants import lp_pool2d as lp_pool2d
from weft.nn.functional.pooling_variants import lp_pool3d as lp_pool3d
from weft.nn.functional.loss import margin_ranking_loss as margin_ranking_loss
from weft.nn.functional.pooling import max_pool1d as max_pool1d
from weft.nn.functional.pooling import max_pool1d_with_indices as max_pool1d_with_indices
from weft.nn.functional.pooling import max_pool2d as max_pool2d
from weft.nn.functional.pooling import max_pool2d_with_indices as max_pool2d_with_indices
from weft.nn.functional.pooling import max_pool3d as max_pool3d
from weft.nn.functional.pooling import max_pool3d_with_indices as max_pool3d_with_indices
from weft.nn.functional.pooling_variants import max_unpool1d as max_unpool1d
from weft.nn.functional.pooling_variants import max_unpool2d as max_unpool2d
from weft.nn.functional.pooling_variants import max_unpool3d as max_unpool3d
from weft.nn.functional.activation import mish as mish
from weft.nn.functional.loss import mse_loss as mse_loss
from weft.nn.functional.attention import multi_head_attention_forward as multi_head_attention_forward
from weft.nn.functional.cross_entropy import multi_margin_loss as multi_margin_loss
from weft.nn.functional.cross_entropy import multilabel_margin_loss as multilabel_margin_loss
from weft.nn.functional.cross_entropy import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from weft.nn.functional.fold import channel_shuffle as _native_channel_shuffle
native_channel_shuffle = _native_channel_shuffle
from weft.nn.functional.cross_entropy import nll_loss as nll_loss
import weft.nn.functional.norm as _norm
norm = _norm
from weft.nn.functional.norm import normalize as normalize
from weft.nn.functional.embedding import one_hot as one_hot
from weft.nn.functional.padding import pad as pad
import weft.nn.functional.padding as _padding
padding = _padding
from weft.nn.functional.distance import pairwise_distance as pairwise_distance
from weft.nn.functional.distance import pdist as pdist
from weft.nn.functional.fold import pixel_shuffle as pixel_shuffle
from weft.nn.functional.fold import pixel_unshuffle as pixel_unshuffle
from weft.nn.functional.loss import poisson_nll_loss as poisson_nll_loss
import weft.nn.functional.pooling as _pooling
pooling = _pooling
import weft.nn.functional.pooling_variants as _pooling_variants
pooling_variants = _pooling_variants
from weft.ops.activation import prelu as prelu
import weft.nn.functional.recurrent as _recurrent
recurrent = _recurrent
from weft.nn.functional.activation import relu as relu
from weft.nn.functional.activation import relu6 as relu6
from weft.nn.functional.activation import relu_ as relu_
import weft.nn.functional.resize as _resize
resize = _resize
from weft.nn.functional.norm import rms_norm as rms_norm
from weft.nn.functional.activation import rrelu as rrelu
from weft.nn.functional.activation import rrelu_ as rrelu_
from weft.nn.functional.attention import scaled_dot_product_attention as scaled_dot_product_attention
from weft.nn.functional.grouped import scaled_grouped_mm as scaled_grouped_mm
from weft.nn.functional.grouped import scaled_mm as scaled_mm
from weft.nn.functional.activation import selu as selu
from weft.nn.functional.activation import selu_ as selu_
import weft.nn.functional.sequence as _sequence
sequence = _sequence
from weft.nn.functional.activation import sigmoid as sigmoid
from weft.nn.functional.activation import silu as silu
import weft.nn.functional.sliding as _sliding
sliding = _sliding
from weft.nn.functional.loss import smooth_l1_loss as smooth_l1_loss
from weft.nn.functional.loss import soft_margin_loss as soft_margin_loss
from weft.nn.functional.activation import softmax as softmax
from weft.nn.functional.activation import softmin as softmin
from weft.nn.functional.activation import softplus as softplus
from weft.nn.functional.activation import softshrink as softshrink
from weft.nn.functional.activation import softsign as softsign
from weft.nn.functional.activation import tanh as tanh
from weft.nn.functional.activation import tanhshrink as tanhshrink
from weft.nn.functional.activation import threshold as threshold
from weft.nn.functional.activation import threshold_ as threshold_
import weft.nn.functional.top_level as _top_level
top_level = _top_level
from weft.nn.functional.loss import triplet_margin_loss as triplet_margin_loss
from weft.nn.functional.loss import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from weft.nn.functional.fold import unfold as unfold
from weft.nn.functional.resize import upsample as upsample
from weft.nn.functional.resize import upsample_bilinear as upsample_bilinear
from weft.nn.functional.resize import upsample_nearest as upsample_nearest
