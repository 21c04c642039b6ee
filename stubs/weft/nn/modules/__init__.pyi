# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""Names as PyTorch spells them, for programs that say ``torch.nn.modules.linear.Linear``.

Every file of ``weft.nn`` is found here under PyTorch's name for it."""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft.nn import activation as activation
from weft.nn import loss_linear as _adaptive
adaptive = _adaptive
from weft.nn import batchnorm as batchnorm
from weft.nn import resize as _channelshuffle
channelshuffle = _channelshuffle
from weft.nn import container as container
from weft.nn import conv as conv
from weft.nn import distance as distance
from weft.nn import dropout as dropout
from weft.nn import flatten as flatten
from weft.nn import fold as fold
from weft.nn import batchnorm as _instancenorm
instancenorm = _instancenorm
from weft.nn import lazy as lazy
from weft.nn import linear as linear
from weft.nn import loss_linear as _linear_cross_entropy
linear_cross_entropy = _linear_cross_entropy
from weft.nn import loss_linear as _linear_cross_entropy_options
linear_cross_entropy_options = _linear_cross_entropy_options
from weft.nn import loss as loss
from weft.nn import module as module
from weft.nn import normalization as normalization
from weft.nn import padding as padding
from weft.nn import resize as _pixelshuffle
pixelshuffle = _pixelshuffle
from weft.nn import pooling as pooling
from weft.nn import recurrent as _rnn
rnn = _rnn
from weft.nn import embedding as _sparse
sparse = _sparse
from weft.nn import transformer as transformer
from weft.nn import resize as _upsampling
upsampling = _upsampling
import weft.nn.modules.utils as _utils
utils = _utils
