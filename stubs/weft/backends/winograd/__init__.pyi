# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.backends.winograd import enable as enable
from weft.compat.modules.backends.winograd import flags as flags
from weft.compat.modules.backends.winograd import is_enabled as is_enabled
