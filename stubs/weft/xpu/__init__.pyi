# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.xpu import device_count as device_count
from weft.compat.modules.xpu import empty_cache as empty_cache
from weft.compat.modules.xpu import is_available as is_available
from weft.compat.modules.xpu import manual_seed as manual_seed
from weft.compat.modules.xpu import synchronize as synchronize
