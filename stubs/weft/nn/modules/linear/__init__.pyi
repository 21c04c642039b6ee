# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.linear import Bilinear as Bilinear
from weft.nn.linear import F as F
from weft.nn.linear import Identity as Identity
from weft.nn.linear import LazyLinear as LazyLinear
from weft.nn.linear import LazyModuleMixin as LazyModuleMixin
from weft.nn.linear import Linear as Linear
from weft.nn.linear import Module as Module
from weft.nn.linear import NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear
from weft.nn.linear import Parameter as Parameter
from weft.nn.linear import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.linear import UninitializedParameter as UninitializedParameter
from weft.nn.linear import init as init
from weft.nn.linear import weft as weft
