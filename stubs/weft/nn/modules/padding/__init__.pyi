# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.padding import CircularPad1d as CircularPad1d
from weft.nn.padding import CircularPad2d as CircularPad2d
from weft.nn.padding import CircularPad3d as CircularPad3d
from weft.nn.padding import ConstantPad1d as ConstantPad1d
from weft.nn.padding import ConstantPad2d as ConstantPad2d
from weft.nn.padding import ConstantPad3d as ConstantPad3d
from weft.nn.padding import F as F
from weft.nn.padding import Module as Module
from weft.nn.padding import ReflectionPad1d as ReflectionPad1d
from weft.nn.padding import ReflectionPad2d as ReflectionPad2d
from weft.nn.padding import ReflectionPad3d as ReflectionPad3d
from weft.nn.padding import ReplicationPad1d as ReplicationPad1d
from weft.nn.padding import ReplicationPad2d as ReplicationPad2d
from weft.nn.padding import ReplicationPad3d as ReplicationPad3d
from weft.nn.padding import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.padding import ZeroPad1d as ZeroPad1d
from weft.nn.padding import ZeroPad2d as ZeroPad2d
from weft.nn.padding import ZeroPad3d as ZeroPad3d
from weft.nn.padding import _CircularPadNd as _CircularPadNd
from weft.nn.padding import _ConstantPadNd as _ConstantPadNd
from weft.nn.padding import _PadNd as _PadNd
from weft.nn.padding import _ReflectionPadNd as _ReflectionPadNd
from weft.nn.padding import _ReplicationPadNd as _ReplicationPadNd
from weft.nn.padding import _ZeroPad as _ZeroPad
from weft.nn.padding import _sides as _sides
