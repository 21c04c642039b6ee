# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.graph import Graph as Graph
from weft.compat.modules.fx.graph import PythonCode as PythonCode
