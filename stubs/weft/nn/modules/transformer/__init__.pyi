# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.transformer import Dropout as Dropout
from weft.nn.transformer import F as F
from weft.nn.transformer import LayerNorm as LayerNorm
from weft.nn.transformer import Linear as Linear
from weft.nn.transformer import Module as Module
from weft.nn.transformer import ModuleList as ModuleList
from weft.nn.transformer import MultiheadAttention as MultiheadAttention
from weft.nn.transformer import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.transformer import Transformer as Transformer
from weft.nn.transformer import TransformerDecoder as TransformerDecoder
from weft.nn.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from weft.nn.transformer import TransformerEncoder as TransformerEncoder
from weft.nn.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from weft.nn.transformer import _Layer as _Layer
from weft.nn.transformer import _activation as _activation
from weft.nn.transformer import _causal as _causal
from weft.nn.transformer import _clones as _clones
from weft.nn.transformer import _is_causal as _is_causal
from weft.nn.transformer import _linear_then as _linear_then
from weft.nn.transformer import init as init
from weft.nn.transformer import weft as weft
