"""Compiles functions and modules: reads what they call too, and checks the whole."""

from __future__ import annotations

from types import FunctionType

from . import tree
from .allowed import is_member_name
from .check import check_function
from .errors import ScriptError
from .program import Program, Running
from .source import Source
from .statements import Statements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Compiler"]


class Build:
    """What is compiled of one module."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.methods: dict[str, Running] = {}
        self.parameters: dict[str, list[tree.Parameter]] = {}
        self.needed: set[str] = set()  # attributes of its class that it reads


class Compiler:
    """One program in the making."""

    def __init__(self, program: Program | None = None) -> None:
        """Start with an empty program."""
        self.program = Program() if program is None else program
        self.parameters: dict[str, list[tree.Parameter]] = {}
        self.names: dict[int, tuple[Any, str]] = {}  # Python functions, kept alive: their names
        self.builds: dict[int, Build] = {}

    def function(self, function: FunctionType) -> str:
        """Compile a function unless it is; return its name in the program."""
        if id(function) in self.names:
            return self.names[id(function)][1]
        name = self.program.fresh(function.__name__)
        reader = Statements(Source(function, name), self, None)
        self.names[id(function)] = function, name
        self.parameters[name] = reader.parameters()
        self.program.functions[name] = None  # type: ignore[assignment]  # the name is taken
        try:
            made = reader.function(name, self.parameters[name])
            self.program.add(check_function(made, self))
        except BaseException:
            del self.program.functions[name], self.names[id(function)]
            raise
        return name

    def method(
        self, module: Any, name: str, source: Source | None, node: Any, function: Any = None
    ) -> None:
        """Compile a method of a module unless it is; layers of weft are kept as they are."""
        from .module import is_kept

        kind = type(module).__name__
        if is_kept(module):
            known = name == "forward" or name in module.__dict__.get("_methods", ())
            if not known and source is not None:
                text = f"{name} of weft's {kind} cannot be called in scripted code"
                source.fail(node, f"{text}: call the layer itself")
            return
        build = self.build(module)
        if name in build.parameters:
            return
        found = getattr(type(module), name, None) if function is None else function
        found = getattr(found, "_script_method_of", found)
        found = found.fget if isinstance(found, property) else found
        if name in module.__dict__ and function is None and callable(module.__dict__[name]):
            found = None  # another function stands in the place of the class's own
        if not isinstance(found, FunctionType):
            text = f"{kind} has no method '{name}' written with def in its class"
            if source is not None:
                source.fail(node, text)
            raise ScriptError(f"{text}, so it cannot be scripted")
        reader = Statements(Source(found, name), self, module)
        build.parameters[name] = reader.parameters()
        made = reader.function(name, build.parameters[name])
        build.methods[name] = Running(check_function(made, self), self.program)

    def build(self, module: Any) -> Build:
        """Return what is compiled of a module."""
        return self.builds.setdefault(id(module), Build(module))

    def needs(self, module: Any, name: str) -> None:
        """Note that a module's attribute is read or set."""
        if name not in module.__dict__ and is_member_name(name):
            self.build(module).needed.add(name)

    def keep_in_python(self, function: Callable[..., Any]) -> str:
        """Return the name of a function that stays in Python."""
        if id(function) not in self.names:
            name = self.program.fresh(function.__name__)
            self.names[id(function)] = function, name
            self.program.in_python[name] = function
        return self.names[id(function)][1]

    def unused(self, name: str) -> str:
        """Return the name of a function that raises: what was marked with ``jit.unused``."""
        found = f"unused_{name}"
        if found not in self.program.functions:
            text = f"{name} was marked with jit.unused, and is called in scripted code"
            at = (1, 0, 0)
            body = [tree.Raise(at, "RuntimeError", tree.Const(at, text))]
            made = tree.Function(at, found, False, [], "", body, "<jit.unused>", 1, [], {})
            self.program.add(made)
            self.parameters[found] = []
        return found
