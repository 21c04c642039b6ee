"""Static graphs, taken at the gate while the program runs."""

from __future__ import annotations

from .eager import export, ignore, is_scripting, script, unused
from .graph import Graph, Node, TracerWarning, Value
from .trace import TracedFunction, trace

__all__ = [
    "Graph",
    "Node",
    "TracedFunction",
    "TracerWarning",
    "Value",
    "export",
    "ignore",
    "is_scripting",
    "script",
    "trace",
    "unused",
]
