"""Programs as graphs that Python can read and change: PyTorch's ``torch.fx``.

>>> import weft
>>> traced = weft.fx.symbolic_trace(lambda x: weft.relu(x))
>>> for node in traced.graph.nodes:
...     if node.target is weft.relu:
...         node.target = weft.tanh
>>> _ = traced.recompile()
>>> traced(weft.zeros(2))
tensor([0., 0.])
"""

from __future__ import annotations

from . import calls as calls
from . import immutable_collections, tracer
from . import passes as passes
from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern
from .tracer import PH, Tracer, symbolic_trace, wrap

_symbolic_trace = tracer  # where PyTorch has it

__all__ = [
    "PH",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "immutable_collections",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
