# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.cuda.amp import GradScaler as GradScaler
from weft.compat.modules.cuda.amp import autocast as autocast
from weft.compat.modules.cuda.amp import custom_bwd as custom_bwd
from weft.compat.modules.cuda.amp import custom_fwd as custom_fwd
