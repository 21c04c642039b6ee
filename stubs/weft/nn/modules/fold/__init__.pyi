# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.fold import F as F
from weft.nn.fold import Fold as Fold
from weft.nn.fold import Module as Module
from weft.nn.fold import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.fold import Unfold as Unfold
