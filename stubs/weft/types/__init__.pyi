# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.types import Device as Device
from weft.compat.modules.types import FileLike as FileLike
from weft.compat.modules.types import Number as Number
from weft.compat.modules.types import Size as Size
from weft.compat.modules.types import Storage as Storage
from weft.compat.modules.types import Tensor as Tensor
