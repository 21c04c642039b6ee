"""The source of a function: found, parsed by Python, and its names looked up."""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect

from .errors import ScriptError, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["Source"]


class Source:
    """A Python function, the lines it was written in, and the names it sees.

    >>> from weft.jit.script.source import Source
    >>> def twice(x):
    ...     return x + x
    >>> Source(twice, "twice").definition.name
    'twice'
    """

    def __init__(self, function: Any, name: str) -> None:
        """Find and parse the source."""
        self.function, self.name = function, name
        self.file = function.__code__.co_filename
        if function.__name__ == "<lambda>":
            raise ScriptError(f"{name}: a lambda cannot be scripted: write a def")
        if hasattr(function, "__wrapped__"):
            raise ScriptError(
                f"{name}: a decorator stands around this function, and scripting would leave it "
                f"out: script what it decorates, or call it in the function\n  at {self.file}:"
                f"{function.__code__.co_firstlineno}"
            )
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            raise ScriptError(
                f"{name}: its source cannot be found ({self.file}): scripting reads the source, so "
                "the function must be written in a file"
            ) from None
        self.lines, self.first = [line.rstrip("\n") for line in lines], max(first, 1)
        indented = self.lines[0][:1].isspace()
        text = ("if True:\n" if indented else "") + "".join(lines)
        try:
            body: Any = ast.parse(text, type_comments=True).body
        except SyntaxError as e:
            raise ScriptError(f"{name}: its source in {self.file} cannot be read: {e}") from None
        found = body[0].body[0] if indented else body[0]
        if not isinstance(found, ast.FunctionDef):
            kind = "an async def" if isinstance(found, ast.AsyncFunctionDef) else "no def"
            raise ScriptError(f"{name}: is {kind}: only functions written with def can be scripted")
        self.definition = found
        self.shift = self.first - 1 - indented
        self.free: dict[str, Any] = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            with contextlib.suppress(ValueError):  # a variable that has no value yet
                self.free[name] = cell.cell_contents

    @property
    def first_parameter(self) -> str | None:
        """The name of the first parameter: in methods, that of the object."""
        a = self.definition.args
        return next((p.arg for p in (*a.posonlyargs, *a.args)), None)

    def place(self, node: Any) -> tuple[int, int, int]:
        """Return where a node of Python's tree stands in the file."""
        line, begin = node.lineno, node.col_offset
        end = node.end_col_offset if node.end_lineno == line else 10_000
        return line + self.shift, begin, end

    def fail(self, node: Any, text: str) -> NoReturn:
        """Raise the error of a construct."""
        place = self.place(node)
        raise ScriptError(f"{self.name}: {text}\n{shown(self, place)}")

    def lookup(self, name: str, default: Any) -> Any:
        """Return what a name that is no local variable stands for, or a default."""
        for names in (self.free, self.function.__globals__, vars(builtins)):
            if name in names:
                return names[name]
        return default


def assigned_names(definition: ast.FunctionDef) -> set[str]:
    """Return the parameters and local variables of a function.

    >>> import ast
    >>> from weft.jit.script.source import assigned_names
    >>> tree = ast.parse("def f(x):\\n  for i in x: y = [z for z in x]")
    >>> sorted(assigned_names(tree.body[0]))
    ['i', 'x', 'y']
    """
    a = definition.args
    found = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
    waiting: list[Any] = list(definition.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
        if isinstance(node, (ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)):
            continue  # its variables are its own
        waiting.extend(ast.iter_child_nodes(node))
    return found
