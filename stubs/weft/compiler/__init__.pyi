# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.compiler import OptimizedModule as OptimizedModule
from weft.compat.modules.compiler import allow_in_graph as allow_in_graph
from weft.compat.modules.compiler import compile as compile
from weft.compat.modules.compiler import config as config
from weft.compat.modules.compiler import cudagraph_mark_step_begin as cudagraph_mark_step_begin
from weft.compat.modules.compiler import disable as disable
from weft.compat.modules.compiler import graph_break as graph_break
from weft.compat.modules.compiler import is_compiling as is_compiling
from weft.compat.modules.compiler import is_dynamo_compiling as is_dynamo_compiling
from weft.compat.modules.compiler import is_exporting as is_exporting
from weft.compat.modules.compiler import list_backends as list_backends
from weft.compat.modules.compiler import mark_dynamic as mark_dynamic
from weft.compat.modules.compiler import mark_static as mark_static
from weft.compat.modules.compiler import reset as reset
