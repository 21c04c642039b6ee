# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.intercept import find_proxy as find_proxy
from weft.compat.modules.fx.intercept import intercepting as intercepting
from weft.compat.modules.fx.intercept import is_wrapped as is_wrapped
from weft.compat.modules.fx.intercept import kind_of as kind_of
from weft.compat.modules.fx.intercept import original_of as original_of
from weft.compat.modules.fx.intercept import patch_globals as patch_globals
from weft.compat.modules.fx.intercept import patch_name as patch_name
from weft.compat.modules.fx.intercept import report_while_alive as report_while_alive
from weft.compat.modules.fx.intercept import wrap_for_now as wrap_for_now
from weft.compat.modules.fx.intercept import wrapped_functions as wrapped_functions
from weft.compat.modules.fx.intercept import wrapped_names as wrapped_names
from weft.compat.modules.fx.intercept import wrapped_natives as wrapped_natives
