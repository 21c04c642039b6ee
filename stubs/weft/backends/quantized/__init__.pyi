# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.backends.quantized import engine as engine
from weft.compat.modules.backends.quantized import supported_engines as supported_engines
