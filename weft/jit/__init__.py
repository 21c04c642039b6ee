"""Static graphs: traced at the gate while the program runs, or scripted from its source."""

from __future__ import annotations

from weft._setting import is_tracing

from .files import load, save
from .freeze import freeze
from .futures import Future, fork, wait
from .graph import Graph, Node, TracerWarning, Value
from .marks import (
    Attribute,
    annotate,
    export,
    ignore,
    is_scripting,
    script_method,
    unused,
)
from .marks import script_isinstance as isinstance
from .script import ScriptError, ScriptFunction, script
from .trace import TracedFunction, optimize, trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from .script.module import ScriptModule
    from .traced import TracedModule

__all__ = [
    "Attribute",
    "Final",
    "Future",
    "Graph",
    "Node",
    "ScriptError",
    "ScriptFunction",
    "ScriptModule",
    "TracedFunction",
    "TracedModule",
    "TracerWarning",
    "Value",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize",
    "save",
    "script",
    "script_method",
    "trace",
    "unused",
    "wait",
]


def __getattr__(name: str) -> Any:
    """Load what needs ``weft.nn`` on first use."""
    if name == "ScriptModule":
        from .script.module import ScriptModule

        return ScriptModule
    if name == "TracedModule":
        from .traced import TracedModule

        return TracedModule
    if name in ("passes", "emit"):
        import importlib

        return importlib.import_module(f"weft.jit.{name}")
    if name == "Final":
        from typing import Final

        return Final
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
