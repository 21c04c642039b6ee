# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.embedding import Embedding as Embedding
from weft.nn.embedding import EmbeddingBag as EmbeddingBag
from weft.nn.embedding import F as F
from weft.nn.embedding import Module as Module
from weft.nn.embedding import Parameter as Parameter
from weft.nn.embedding import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.embedding import _Table as _Table
from weft.nn.embedding import _row as _row
from weft.nn.embedding import init as init
from weft.nn.embedding import weft as weft
