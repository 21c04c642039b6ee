# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.tracer import PH as PH
from weft.compat.modules.fx.tracer import Tracer as Tracer
from weft.compat.modules.fx.tracer import assert_is_none as assert_is_none
from weft.compat.modules.fx.tracer import symbolic_trace as symbolic_trace
from weft.compat.modules.fx.tracer import wrap as wrap
