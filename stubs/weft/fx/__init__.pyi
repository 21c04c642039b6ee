# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
from weft.compat.modules.fx import Graph as Graph
from weft.compat.modules.fx import GraphModule as GraphModule
from weft.compat.modules.fx import Interpreter as Interpreter
from weft.compat.modules.fx import Node as Node
from weft.compat.modules.fx import PH as PH
from weft.compat.modules.fx import Proxy as Proxy
from weft.compat.modules.fx import Tracer as Tracer
from weft.compat.modules.fx import Transformer as Transformer
from . import code as code
from . import graph as graph
from . import graph_module as graph_module
from weft.compat.modules.fx import has_side_effect as has_side_effect
from . import immutable_collections as immutable_collections
from . import intercept as intercept
from . import interpreter as interpreter
from weft.compat.modules.fx import map_arg as map_arg
from . import namespace as namespace
from . import node as node
from . import proxy as proxy
from weft.compat.modules.fx import replace_pattern as replace_pattern
from . import subgraph_rewriter as subgraph_rewriter
from weft.compat.modules.fx import symbolic_trace as symbolic_trace
from weft.compat.modules.fx import wrap as wrap
from . import calls as calls
from . import passes as passes
from . import tracer as tracer
