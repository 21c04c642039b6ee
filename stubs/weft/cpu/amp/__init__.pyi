# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.cpu.amp import GradScaler as GradScaler
from weft.compat.modules.cpu.amp import autocast as autocast
