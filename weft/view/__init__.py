"""Drawings of graphs: how a tensor was computed, or what a module does, as text and pictures.

Everything is drawn here: no Graphviz is needed, and no program but Python. ``watch`` opens a page
that shows a program while it trains (``weft.view.live``).

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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .live import Stop, Watch, watch

__all__ = ["Edge", "Graph", "Node", "Stop", "Watch", "graph", "make_dot", "watch"]


def __getattr__(name: str) -> Any:
    """The live view is imported when it is first asked for: it needs a server, and pictures do not."""
    if name in ("watch", "Watch", "Stop"):
        from . import live

        return getattr(live, name)
    raise AttributeError(f"module 'weft.view' has no attribute {name!r}")
