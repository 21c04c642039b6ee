# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.cpu import current_device as current_device
from weft.compat.modules.cpu import device_count as device_count
from weft.compat.modules.cpu import is_available as is_available
from weft.compat.modules.cpu import set_device as set_device
from weft.compat.modules.cpu import synchronize as synchronize
from . import amp as amp
