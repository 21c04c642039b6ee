# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.proxy import Attribute as Attribute
from weft.compat.modules.fx.proxy import GraphAppendingTracer as GraphAppendingTracer
from weft.compat.modules.fx.proxy import Proxy as Proxy
from weft.compat.modules.fx.proxy import TraceError as TraceError
from weft.compat.modules.fx.proxy import TracerBase as TracerBase
from weft.compat.modules.fx.proxy import user_line as user_line
