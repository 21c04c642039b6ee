# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.namespace import Namespace as Namespace
from weft.compat.modules.fx.namespace import is_reserved as is_reserved
from weft.compat.modules.fx.namespace import snake_case as snake_case
