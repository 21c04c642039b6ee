"""Drawings of graphs: how a tensor was computed, or what a module does, as text and pictures.

Everything is drawn here: no Graphviz is needed, and no program but Python.

>>> x = weft.ones(2, requires_grad=True)
>>> g = weft.view.make_dot((x * 3).sum(), params={"x": x})
>>> for node in g:
...     print(node.kind, node.label, list(node.shape))
leaf x [2]
op MulBackward0 [2]
op SumBackward0 []
output output []
"""

from __future__ import annotations

from .graph import Edge, Graph, Node
from .tape import make_dot
from .traced import graph

__all__ = ["Edge", "Graph", "Node", "graph", "make_dot"]
