"""Static graphs, taken at the gate while the program runs."""

from __future__ import annotations

from .eager import export, ignore, is_scripting, script, unused
from .graph import Graph, Node, TracerWarning, Value
from .trace import TracedFunction, optimize, trace

__all__ = [
    "Graph",
    "Node",
    "TracedFunction",
    "TracerWarning",
    "Value",
    "export",
    "ignore",
    "is_scripting",
    "optimize",
    "script",
    "trace",
    "unused",
]


def __getattr__(name: str):  # type: ignore[no-untyped-def]  # the type depends on the name
    """Load ``passes`` on first use: most programs take no static graph."""
    if name == "passes":
        import importlib

        return importlib.import_module("weft.jit.passes")
    raise AttributeError(f"module 'weft.jit' has no attribute '{name}'")
