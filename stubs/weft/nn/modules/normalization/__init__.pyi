# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.normalization import BatchNorm1d as BatchNorm1d
from weft.nn.normalization import BatchNorm2d as BatchNorm2d
from weft.nn.normalization import BatchNorm3d as BatchNorm3d
from weft.nn.normalization import CrossMapLRN2d as CrossMapLRN2d
from weft.nn.normalization import F as F
from weft.nn.normalization import GroupNorm as GroupNorm
from weft.nn.normalization import InstanceNorm1d as InstanceNorm1d
from weft.nn.normalization import InstanceNorm2d as InstanceNorm2d
from weft.nn.normalization import InstanceNorm3d as InstanceNorm3d
from weft.nn.normalization import LayerNorm as LayerNorm
from weft.nn.normalization import LazyBatchNorm1d as LazyBatchNorm1d
from weft.nn.normalization import LazyBatchNorm2d as LazyBatchNorm2d
from weft.nn.normalization import LazyBatchNorm3d as LazyBatchNorm3d
from weft.nn.normalization import LazyInstanceNorm1d as LazyInstanceNorm1d
from weft.nn.normalization import LazyInstanceNorm2d as LazyInstanceNorm2d
from weft.nn.normalization import LazyInstanceNorm3d as LazyInstanceNorm3d
from weft.nn.normalization import LocalResponseNorm as LocalResponseNorm
from weft.nn.normalization import Module as Module
from weft.nn.normalization import Parameter as Parameter
from weft.nn.normalization import RMSNorm as RMSNorm
from weft.nn.normalization import ScaleAndShift as ScaleAndShift
from weft.nn.normalization import SyncBatchNorm as SyncBatchNorm
from weft.nn.normalization import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.normalization import _shape as _shape
from weft.nn.normalization import init as init
from weft.nn.normalization import weft as weft
