# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.mps import device_count as device_count
from weft.compat.modules.mps import empty_cache as empty_cache
from weft.compat.modules.mps import is_available as is_available
from weft.compat.modules.mps import manual_seed as manual_seed
from weft.compat.modules.mps import synchronize as synchronize
