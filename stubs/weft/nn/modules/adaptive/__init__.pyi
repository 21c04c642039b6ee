# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.loss_linear import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from weft.nn.loss_linear import F as F
from weft.nn.loss_linear import Linear as Linear
from weft.nn.loss_linear import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from weft.nn.loss_linear import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from weft.nn.loss_linear import Module as Module
from weft.nn.loss_linear import ModuleList as ModuleList
from weft.nn.loss_linear import Sequential as Sequential
from weft.nn.loss_linear import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.loss_linear import _ASMoutput as _ASMoutput
from weft.nn.loss_linear import _Loss as _Loss
from weft.nn.loss_linear import weft as weft
