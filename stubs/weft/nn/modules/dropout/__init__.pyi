# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.dropout import AlphaDropout as AlphaDropout
from weft.nn.dropout import Dropout as Dropout
from weft.nn.dropout import Dropout1d as Dropout1d
from weft.nn.dropout import Dropout2d as Dropout2d
from weft.nn.dropout import Dropout3d as Dropout3d
from weft.nn.dropout import F as F
from weft.nn.dropout import FeatureAlphaDropout as FeatureAlphaDropout
from weft.nn.dropout import Module as Module
from weft.nn.dropout import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.dropout import _DropoutNd as _DropoutNd
from weft.nn.dropout import at_line as at_line
