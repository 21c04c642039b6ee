# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.distance import CosineSimilarity as CosineSimilarity
from weft.nn.distance import F as F
from weft.nn.distance import Module as Module
from weft.nn.distance import PairwiseDistance as PairwiseDistance
from weft.nn.distance import TYPE_CHECKING as TYPE_CHECKING
