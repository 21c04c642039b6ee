# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.container import Container as Container
from weft.nn.container import Module as Module
from weft.nn.container import ModuleDict as ModuleDict
from weft.nn.container import ModuleList as ModuleList
from weft.nn.container import Parameter as Parameter
from weft.nn.container import ParameterDict as ParameterDict
from weft.nn.container import ParameterList as ParameterList
from weft.nn.container import Sequential as Sequential
from weft.nn.container import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.container import _Numbered as _Numbered
from weft.nn.container import _addindent as _addindent
from weft.nn.container import _as_parameter as _as_parameter
from weft.nn.container import _describe as _describe
from weft.nn.container import _pairs as _pairs
from weft.nn.container import _place as _place
from weft.nn.container import weft as weft
