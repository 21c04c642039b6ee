# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.accelerator import current_accelerator as current_accelerator
from weft.compat.modules.accelerator import current_device_index as current_device_index
from weft.compat.modules.accelerator import device_count as device_count
from weft.compat.modules.accelerator import is_available as is_available
from weft.compat.modules.accelerator import set_device_index as set_device_index
from weft.compat.modules.accelerator import synchronize as synchronize
