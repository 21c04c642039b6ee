# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx.subgraph_rewriter import Match as Match
from weft.compat.modules.fx.subgraph_rewriter import replace_pattern as replace_pattern
