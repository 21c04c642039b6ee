# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.flatten import Flatten as Flatten
from weft.nn.flatten import Module as Module
from weft.nn.flatten import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.flatten import Unflatten as Unflatten
