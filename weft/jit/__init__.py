"""Static graphs: traced at the gate while the program runs, or scripted from its source."""

from __future__ import annotations

from weft._setting import is_tracing

from .files import load, save
from .freeze import freeze
from .futures import Future, fork, wait
from .graph import Graph, Node, Value
from .inference import optimize_for_inference
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
from .recorder import TracerWarning
from .script import ScriptError, ScriptFunction, script
from .trace import TracedFunction, optimize, trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from .joined import FusedModule, fuse
    from .script.module import ScriptModule
    from .showing import show
    from .specialized import InferenceModule
    from .traced import TracedModule

__all__ = [
    "Attribute",
    "Final",
    "FusedModule",
    "Future",
    "Graph",
    "InferenceModule",
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
    "fuse",
    "ignore",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize",
    "optimize_for_inference",
    "save",
    "script",
    "script_method",
    "show",
    "trace",
    "unused",
    "wait",
]


_WHERE = {
    "FusedModule": "joined",
    "InferenceModule": "specialized",
    "ScriptModule": "script.module",
    "TracedModule": "traced",
    "fuse": "joined",
    "show": "showing",
}


def __getattr__(name: str) -> Any:
    """Load what needs ``weft.nn`` on first use."""
    import importlib

    if name in _WHERE:
        return getattr(importlib.import_module(f"weft.jit.{_WHERE[name]}"), name)
    if name in ("passes", "emit"):
        return importlib.import_module(f"weft.jit.{name}")
    if name == "Final":
        from typing import Final

        return Final
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
