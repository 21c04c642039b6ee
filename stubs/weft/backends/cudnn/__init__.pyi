# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.backends.cudnn import allow_tf32 as allow_tf32
from weft.compat.modules.backends.cudnn import benchmark as benchmark
from weft.compat.modules.backends.cudnn import benchmark_limit as benchmark_limit
from weft.compat.modules.backends.cudnn import deterministic as deterministic
from weft.compat.modules.backends.cudnn import enabled as enabled
from weft.compat.modules.backends.cudnn import flags as flags
from weft.compat.modules.backends.cudnn import is_acceptable as is_acceptable
from weft.compat.modules.backends.cudnn import is_available as is_available
from weft.compat.modules.backends.cudnn import version as version
