# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""Layers, losses and containers: networks as trees of modules.

>>> net = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.ReLU(), weft.nn.Linear(8, 1))
>>> net(weft.ones(2, 4)).shape
torch.Size([2, 1])"""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft.nn.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from weft.nn.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from weft.nn.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from weft.nn.loss_linear import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from weft.nn.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from weft.nn.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from weft.nn.pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from weft.nn.dropout import AlphaDropout as AlphaDropout
from weft.nn.pooling import AvgPool1d as AvgPool1d
from weft.nn.pooling import AvgPool2d as AvgPool2d
from weft.nn.pooling import AvgPool3d as AvgPool3d
from weft.nn.loss import BCELoss as BCELoss
from weft.nn.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from weft.nn.batchnorm import BatchNorm1d as BatchNorm1d
from weft.nn.batchnorm import BatchNorm2d as BatchNorm2d
from weft.nn.batchnorm import BatchNorm3d as BatchNorm3d
from weft.nn.linear import Bilinear as Bilinear
from weft.nn.parameter import Buffer as Buffer
from weft.nn.activation import CELU as CELU
from weft.nn.loss import CTCLoss as CTCLoss
from weft.nn.resize import ChannelShuffle as ChannelShuffle
from weft.nn.padding import CircularPad1d as CircularPad1d
from weft.nn.padding import CircularPad2d as CircularPad2d
from weft.nn.padding import CircularPad3d as CircularPad3d
from weft.nn.padding import ConstantPad1d as ConstantPad1d
from weft.nn.padding import ConstantPad2d as ConstantPad2d
from weft.nn.padding import ConstantPad3d as ConstantPad3d
from weft.nn.container import Container as Container
from weft.nn.conv import Conv1d as Conv1d
from weft.nn.conv import Conv2d as Conv2d
from weft.nn.conv import Conv3d as Conv3d
from weft.nn.conv import ConvTranspose1d as ConvTranspose1d
from weft.nn.conv import ConvTranspose2d as ConvTranspose2d
from weft.nn.conv import ConvTranspose3d as ConvTranspose3d
from weft.nn.loss import CosineEmbeddingLoss as CosineEmbeddingLoss
from weft.nn.distance import CosineSimilarity as CosineSimilarity
from weft.nn.loss import CrossEntropyLoss as CrossEntropyLoss
from weft.nn.normalization import CrossMapLRN2d as CrossMapLRN2d
from weft.nn.parallel.data_parallel import DataParallel as DataParallel
from weft.nn.dropout import Dropout as Dropout
from weft.nn.dropout import Dropout1d as Dropout1d
from weft.nn.dropout import Dropout2d as Dropout2d
from weft.nn.dropout import Dropout3d as Dropout3d
from weft.nn.activation import ELU as ELU
from weft.nn.embedding import Embedding as Embedding
from weft.nn.embedding import EmbeddingBag as EmbeddingBag
from weft.nn.dropout import FeatureAlphaDropout as FeatureAlphaDropout
from weft.nn.flatten import Flatten as Flatten
from weft.nn.fold import Fold as Fold
from weft.nn.pooling import FractionalMaxPool2d as FractionalMaxPool2d
from weft.nn.pooling import FractionalMaxPool3d as FractionalMaxPool3d
from weft.nn.activation import GELU as GELU
from weft.nn.activation import GLU as GLU
from weft.nn.recurrent import GRU as GRU
from weft.nn.recurrent import GRUCell as GRUCell
from weft.nn.loss import GaussianNLLLoss as GaussianNLLLoss
from weft.nn.normalization import GroupNorm as GroupNorm
from weft.nn.activation import Hardshrink as Hardshrink
from weft.nn.activation import Hardsigmoid as Hardsigmoid
from weft.nn.activation import Hardswish as Hardswish
from weft.nn.activation import Hardtanh as Hardtanh
from weft.nn.loss import HingeEmbeddingLoss as HingeEmbeddingLoss
from weft.nn.loss import HuberLoss as HuberLoss
from weft.nn.linear import Identity as Identity
from weft.nn.batchnorm import InstanceNorm1d as InstanceNorm1d
from weft.nn.batchnorm import InstanceNorm2d as InstanceNorm2d
from weft.nn.batchnorm import InstanceNorm3d as InstanceNorm3d
from weft.nn.loss import KLDivLoss as KLDivLoss
from weft.nn.loss import L1Loss as L1Loss
from weft.nn.pooling import LPPool1d as LPPool1d
from weft.nn.pooling import LPPool2d as LPPool2d
from weft.nn.pooling import LPPool3d as LPPool3d
from weft.nn.recurrent import LSTM as LSTM
from weft.nn.recurrent import LSTMCell as LSTMCell
from weft.nn.normalization import LayerNorm as LayerNorm
from weft.nn.batchnorm import LazyBatchNorm1d as LazyBatchNorm1d
from weft.nn.batchnorm import LazyBatchNorm2d as LazyBatchNorm2d
from weft.nn.batchnorm import LazyBatchNorm3d as LazyBatchNorm3d
from weft.nn.conv import LazyConv1d as LazyConv1d
from weft.nn.conv import LazyConv2d as LazyConv2d
from weft.nn.conv import LazyConv3d as LazyConv3d
from weft.nn.conv import LazyConvTranspose1d as LazyConvTranspose1d
from weft.nn.conv import LazyConvTranspose2d as LazyConvTranspose2d
from weft.nn.conv import LazyConvTranspose3d as LazyConvTranspose3d
from weft.nn.batchnorm import LazyInstanceNorm1d as LazyInstanceNorm1d
from weft.nn.batchnorm import LazyInstanceNorm2d as LazyInstanceNorm2d
from weft.nn.batchnorm import LazyInstanceNorm3d as LazyInstanceNorm3d
from weft.nn.linear import LazyLinear as LazyLinear
from weft.nn.activation import LeakyReLU as LeakyReLU
from weft.nn.linear import Linear as Linear
from weft.nn.loss_linear import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from weft.nn.loss_linear import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from weft.nn.normalization import LocalResponseNorm as LocalResponseNorm
from weft.nn.activation import LogSigmoid as LogSigmoid
from weft.nn.activation import LogSoftmax as LogSoftmax
from weft.nn.loss import MSELoss as MSELoss
from weft.nn.loss import MarginRankingLoss as MarginRankingLoss
from weft.nn.pooling import MaxPool1d as MaxPool1d
from weft.nn.pooling import MaxPool2d as MaxPool2d
from weft.nn.pooling import MaxPool3d as MaxPool3d
from weft.nn.pooling import MaxUnpool1d as MaxUnpool1d
from weft.nn.pooling import MaxUnpool2d as MaxUnpool2d
from weft.nn.pooling import MaxUnpool3d as MaxUnpool3d
from weft.nn.activation import Mish as Mish
from weft.nn.module import Module as Module
from weft.nn.container import ModuleDict as ModuleDict
from weft.nn.container import ModuleList as ModuleList
from weft.nn.loss import MultiLabelMarginLoss as MultiLabelMarginLoss
from weft.nn.loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from weft.nn.loss import MultiMarginLoss as MultiMarginLoss
from weft.nn.attention import MultiheadAttention as MultiheadAttention
from weft.nn.loss import NLLLoss as NLLLoss
from weft.nn.loss import NLLLoss2d as NLLLoss2d
from weft.nn.activation import PReLU as PReLU
from weft.nn.distance import PairwiseDistance as PairwiseDistance
from weft.nn.parameter import Parameter as Parameter
from weft.nn.container import ParameterDict as ParameterDict
from weft.nn.container import ParameterList as ParameterList
from weft.nn.resize import PixelShuffle as PixelShuffle
from weft.nn.resize import PixelUnshuffle as PixelUnshuffle
from weft.nn.loss import PoissonNLLLoss as PoissonNLLLoss
from weft.nn.normalization import RMSNorm as RMSNorm
from weft.nn.recurrent import RNN as RNN
from weft.nn.recurrent import RNNBase as RNNBase
from weft.nn.recurrent import RNNCell as RNNCell
from weft.nn.recurrent import RNNCellBase as RNNCellBase
from weft.nn.activation import RReLU as RReLU
from weft.nn.activation import ReLU as ReLU
from weft.nn.activation import ReLU6 as ReLU6
from weft.nn.padding import ReflectionPad1d as ReflectionPad1d
from weft.nn.padding import ReflectionPad2d as ReflectionPad2d
from weft.nn.padding import ReflectionPad3d as ReflectionPad3d
from weft.nn.padding import ReplicationPad1d as ReplicationPad1d
from weft.nn.padding import ReplicationPad2d as ReplicationPad2d
from weft.nn.padding import ReplicationPad3d as ReplicationPad3d
from weft.nn.activation import SELU as SELU
from weft.nn.container import Sequential as Sequential
from weft.nn.activation import SiLU as SiLU
from weft.nn.activation import Sigmoid as Sigmoid
from weft.nn.loss import SmoothL1Loss as SmoothL1Loss
from weft.nn.loss import SoftMarginLoss as SoftMarginLoss
from weft.nn.activation import Softmax as Softmax
from weft.nn.activation import Softmax2d as Softmax2d
from weft.nn.activation import Softmin as Softmin
from weft.nn.activation import Softplus as Softplus
from weft.nn.activation import Softshrink as Softshrink
from weft.nn.activation import Softsign as Softsign
from weft.nn.batchnorm import SyncBatchNorm as SyncBatchNorm
from weft.nn.activation import Tanh as Tanh
from weft.nn.activation import Tanhshrink as Tanhshrink
from weft.nn.activation import Threshold as Threshold
from weft.nn.transformer import Transformer as Transformer
from weft.nn.transformer import TransformerDecoder as TransformerDecoder
from weft.nn.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from weft.nn.transformer import TransformerEncoder as TransformerEncoder
from weft.nn.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from weft.nn.loss import TripletMarginLoss as TripletMarginLoss
from weft.nn.loss import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from weft.nn.flatten import Unflatten as Unflatten
from weft.nn.fold import Unfold as Unfold
from weft.nn.parameter import UninitializedBuffer as UninitializedBuffer
from weft.nn.parameter import UninitializedParameter as UninitializedParameter
from weft.nn.resize import Upsample as Upsample
from weft.nn.resize import UpsamplingBilinear2d as UpsamplingBilinear2d
from weft.nn.resize import UpsamplingNearest2d as UpsamplingNearest2d
from weft.nn.padding import ZeroPad1d as ZeroPad1d
from weft.nn.padding import ZeroPad2d as ZeroPad2d
from weft.nn.padding import ZeroPad3d as ZeroPad3d
import weft.nn.activation as _activation
activation = _activation
import weft.nn.attention as _attention
attention = _attention
import weft.nn.attention_backend as _attention_backend
attention_backend = _attention_backend
import weft.nn.batchnorm as _batchnorm
batchnorm = _batchnorm
import weft.nn.common_types as _common_types
common_types = _common_types
import weft.nn.container as _container
container = _container
import weft.nn.conv as _conv
conv = _conv
import weft.nn.distance as _distance
distance = _distance
import weft.nn.dropout as _dropout
dropout = _dropout
import weft.nn.embedding as _embedding
embedding = _embedding
from weft.nn.parameter import factory_kwargs as factory_kwargs
import weft.nn.flatten as _flatten
flatten = _flatten
import weft.nn.fold as _fold
fold = _fold
from . import functional as functional
import weft.nn.grad as _grad
grad = _grad
import weft.nn.init as _init
init = _init
import weft.nn.lazy as _lazy
lazy = _lazy
import weft.nn.linear as _linear
linear = _linear
import weft.nn.loss as _loss
loss = _loss
import weft.nn.loss_linear as _loss_linear
loss_linear = _loss_linear
import weft.nn.module as _module
module = _module
import weft.nn.module_arguments as _module_arguments
module_arguments = _module_arguments
import weft.nn.module_backward as _module_backward
module_backward = _module_backward
import weft.nn.module_checkpoint as _module_checkpoint
module_checkpoint = _module_checkpoint
import weft.nn.module_hooks as _module_hooks
module_hooks = _module_hooks
import weft.nn.module_state as _module_state
module_state = _module_state
import weft.nn.module_tree as _module_tree
module_tree = _module_tree
from . import modules as modules
import weft.nn.native_calls as _native_calls
native_calls = _native_calls
import weft.nn.normalization as _normalization
normalization = _normalization
import weft.nn.padding as _padding
padding = _padding
import weft.nn.parallel as _parallel
parallel = _parallel
import weft.nn.parameter as _parameter
parameter = _parameter
import weft.nn.pooling as _pooling
pooling = _pooling
import weft.nn.recurrent as _recurrent
recurrent = _recurrent
import weft.nn.resize as _resize
resize = _resize
import weft.nn.summary as _summary
summary = _summary
import weft.nn.transformer as _transformer
transformer = _transformer
from . import utils as utils
