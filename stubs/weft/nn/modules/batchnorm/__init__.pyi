# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.batchnorm import BatchNorm1d as BatchNorm1d
from weft.nn.batchnorm import BatchNorm2d as BatchNorm2d
from weft.nn.batchnorm import BatchNorm3d as BatchNorm3d
from weft.nn.batchnorm import F as F
from weft.nn.batchnorm import InstanceNorm1d as InstanceNorm1d
from weft.nn.batchnorm import InstanceNorm2d as InstanceNorm2d
from weft.nn.batchnorm import InstanceNorm3d as InstanceNorm3d
from weft.nn.batchnorm import LazyBatchNorm1d as LazyBatchNorm1d
from weft.nn.batchnorm import LazyBatchNorm2d as LazyBatchNorm2d
from weft.nn.batchnorm import LazyBatchNorm3d as LazyBatchNorm3d
from weft.nn.batchnorm import LazyInstanceNorm1d as LazyInstanceNorm1d
from weft.nn.batchnorm import LazyInstanceNorm2d as LazyInstanceNorm2d
from weft.nn.batchnorm import LazyInstanceNorm3d as LazyInstanceNorm3d
from weft.nn.batchnorm import LazyModuleMixin as LazyModuleMixin
from weft.nn.batchnorm import Module as Module
from weft.nn.batchnorm import Parameter as Parameter
from weft.nn.batchnorm import SyncBatchNorm as SyncBatchNorm
from weft.nn.batchnorm import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.batchnorm import UninitializedBuffer as UninitializedBuffer
from weft.nn.batchnorm import UninitializedParameter as UninitializedParameter
from weft.nn.batchnorm import _BatchNorm as _BatchNorm
from weft.nn.batchnorm import _InstanceNorm as _InstanceNorm
from weft.nn.batchnorm import _LazyNormBase as _LazyNormBase
from weft.nn.batchnorm import _NormBase as _NormBase
from weft.nn.batchnorm import init as init
from weft.nn.batchnorm import weft as weft
