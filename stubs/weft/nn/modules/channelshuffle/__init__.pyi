# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.nn.resize import ChannelShuffle as ChannelShuffle
from weft.nn.resize import F as F
from weft.nn.resize import Module as Module
from weft.nn.resize import PixelShuffle as PixelShuffle
from weft.nn.resize import PixelUnshuffle as PixelUnshuffle
from weft.nn.resize import TYPE_CHECKING as TYPE_CHECKING
from weft.nn.resize import Upsample as Upsample
from weft.nn.resize import UpsamplingBilinear2d as UpsamplingBilinear2d
from weft.nn.resize import UpsamplingNearest2d as UpsamplingNearest2d
