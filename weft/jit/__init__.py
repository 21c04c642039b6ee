"""Static graphs: traced while the program runs, or scripted from its source."""

from __future__ import annotations

from weft._environment import is_tracing

from .annotations import (
    Attribute,
    annotate,
    export,
    ignore,
    is_scripting,
    script_method,
    unused,
)
from .annotations import script_isinstance as isinstance
from .files import load, save
from .freeze import freeze
from .futures import Future, fork, wait
from .graph import Graph, Node, Value
from .inference import optimize_for_inference
from .recorder import TracerWarning
from .script import ScriptError, ScriptFunction, script
from .trace import TracedFunction, optimize, trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from .display import show
    from .fused_module import FusedModule, fuse
    from .inference_module import InferenceModule
    from .script.module import ScriptModule
    from .traced_module import TracedModule

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
    "FusedModule": "fused_module",
    "InferenceModule": "inference_module",
    "ScriptModule": "script.module",
    "TracedModule": "traced_module",
    "fuse": "fused_module",
    "show": "display",
}


def __getattr__(name: str) -> Any:
    """Load what needs ``weft.nn`` on first use."""
    import importlib

    if name in _WHERE:
        return getattr(importlib.import_module(f"weft.jit.{_WHERE[name]}"), name)
    if name in ("passes", "codegen"):
        return importlib.import_module(f"weft.jit.{name}")
    if name == "Final":
        from typing import Final

        return Final
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
