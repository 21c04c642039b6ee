# Written by `python -m tools.stubs`. Do not edit.
from weft.compat.modules.types import Device as Device
from weft.compat.modules.types import Number as Number
from weft.compat.modules.types import Size as Size
from weft.compat.modules.types import Tensor as Tensor
from weft.compat.modules.types import Union as Union
