# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.graph_module import GraphModule as GraphModule
from weft.compat.modules.fx.graph_module import reduce_graph_module as reduce_graph_module
