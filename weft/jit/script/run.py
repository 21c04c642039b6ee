"""A program as a function of Python's: its tree is compiled, and Python runs it.

The tree that runs names no attribute and no name of Python's: what is not an operator, a branch, a
loop or an item is a call of a function that ``allowed.py`` lists, or of one of ``values.py``, which
checks what it is given. So a file can reach nothing else, and Python needs no second interpreter.
"""

from __future__ import annotations

import ast
import builtins
import os
from types import CodeType, FunctionType

from . import tree, types
from .errors import ScriptError
from .text import Printed, stored
from .values import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .program import Program

__all__ = ["compiled"]

# Errors of weft's ops name the user's line; frames of this folder are passed over.
FILE = os.path.join(os.path.dirname(__file__), "<scripted>")


class Runnable(Printed):
    """Makes the tree that runs, and the names that it sees; the line of a node is its place's number.

    Variables begin with a sign, so none can be taken for one of those names, or for one of Python's.
    """

    def __init__(self, program: Program) -> None:
        """Start without names."""
        self.program = program
        self.space: dict[str, Any] = {"__builtins__": builtins}  # where C code that imports looks
        self.places: dict[tree.Place, int] = {}

    def place(self, made: Any, at: tree.Place) -> None:
        """Give a node, and those below it that have none, the number of its place."""
        made.lineno = made.end_lineno = self.places.setdefault(at, len(self.places) + 1)
        made.col_offset = made.end_col_offset = 0
        for name in made._fields:
            value = getattr(made, name, None)
            for inner in value if type(value) is list else (value,):
                if isinstance(inner, ast.AST) and inner._fields and not hasattr(inner, "lineno"):
                    self.place(inner, at)

    def given(self, name: str, value: Any) -> Any:
        """Return a name that stands for a value."""
        self.space[name] = value
        return self.raw(name)

    def name(self, text: str) -> Any:
        """Return a name of weft's or Python's, which must be allowed."""
        return self.given(text, named(text))

    def type(self, text: str) -> Any:
        """Return a name that stands for a type, or for several in brackets."""
        asked = f"Union[{text[1:-1]}]" if text.startswith("(") else text
        return self.given(f":{text}", types.read(asked))

    def bare(self, x: Any) -> Any:
        """Return the node: brackets are for readers."""
        return self.node(x)

    def hidden(self, made: Any) -> Any:
        """Hide a value that is written out: Python's compiler warns of ``x is 1`` and ``1[0]``."""
        plain = (ast.Name, ast.Call, ast.Subscript)
        return made if isinstance(made, plain) else self.call(".value", made)

    def target(self, x: Any) -> Any:
        """Return what is assigned to; attributes are set through ``settable``."""
        if isinstance(x, tree.Items):
            made: Any = ast.Tuple([self.target(i) for i in x.items], ast.Store())
        elif isinstance(x, tree.Starred):
            made = ast.Starred(self.target(x.value), ast.Store())
        elif isinstance(x, tree.Member):
            of = self.call(".settable", self.node(x.of))
            made = ast.Subscript(of, ast.Constant(x.name), ast.Store())
        else:
            made = stored(self.node(x))
        self.place(made, x.at)
        return made


def _compare(w: Runnable, x: Any) -> Any:
    made = w.twin(x)
    if {"is", "is not"} & {*x.ops}:
        sides = [made.left, *made.comparators]
        none = [isinstance(s, ast.Constant) and s.value is None for s in sides]
        made.left, *made.comparators = (s if n else w.hidden(s) for s, n in zip(sides, none))
    return made


def _index(w: Runnable, x: Any) -> Any:
    made = w.twin(x)
    made.value = w.hidden(made.value)
    return made


def _format(w: Runnable, x: Any) -> Any:
    conversion = ord(x.conversion) if x.conversion else -1
    return ast.FormattedValue(w.node(x.value), conversion, w.node(x.spec))


def _assign(w: Runnable, x: Any) -> Any:
    value = w.node(x.value)
    if x.type:
        what = ast.Constant(getattr(x.targets[0], "name", "the value"))
        value = w.call(".checked", value, w.type(x.type), what)
        w.place(value, x.at)
    return ast.Assign([w.target(t) for t in x.targets], value)


def _update(w: Runnable, x: Any) -> Any:
    op = tree.OPERATORS["Update"][x.op]()
    return ast.AugAssign(w.target(x.target), op, w.node(x.value))


def _loop(w: Runnable, x: Any) -> Any:
    made = w.twin(x)
    w.place(made, (x.items if isinstance(x, tree.For) else x.test).at)
    return made


def _assert(w: Runnable, x: Any) -> Any:
    failed = w.error("AssertionError", x.message)
    return ast.If(ast.UnaryOp(ast.Not(), w.node(x.test)), [failed], [])


def _delete(w: Runnable, x: Any) -> Any:
    of = w.call(".deletable", w.node(x.target.of))
    return ast.Delete([ast.Subscript(of, w.node(x.target.index), ast.Del())])


def _function(w: Runnable, x: Any) -> Any:
    inside = isinstance(x, tree.CallFunction)
    table: Any = w.program.functions if inside else w.program.in_python
    return w.call_as(w.given(f"{'def' if inside else 'ignored'} {x.name}", table[x.name]), x)


Runnable.table = {
    **Printed.table,
    "Const": lambda w, x: ast.Constant(x.value),
    "Var": lambda w, x: w.raw(f"${x.name}"),
    "Member": lambda w, x: w.call(".member", w.node(x.of), ast.Constant(x.name)),
    "Compare": _compare,
    "Index": _index,
    "CallFunction": _function,
    "CallPython": _function,
    "CallMethod": lambda w, x: w.call_as(w.call(".method", w.node(x.of), ast.Constant(x.name)), x),
    "CallValue": lambda w, x: w.call_as(w.call(".module", w.node(x.of)), x),
    "Joined": Printed.twin,
    "Format": _format,
    "Assign": _assign,
    "Update": _update,
    "Declare": lambda w, x: ast.Pass(),
    "For": _loop,
    "While": _loop,
    "Assert": _assert,
    "Delete": _delete,
}


def compiled(function: Any, program: Program) -> tuple[Any, list[tree.Place]]:
    """Return a function of Python's that takes the parameters in their order, and its places.

    The place of a line of its traceback is the item of that number, less one.
    """
    maker = Runnable(program)
    names = [*(["self"] if function.method else []), *(p.name for p in function.parameters)]
    args = ast.arguments([], [ast.arg(f"${n}") for n in names], None, [], [], None, [])
    body = maker.block(function.body)
    define: Any = ast.FunctionDef  # Python 3.12 and newer want its last argument
    made = define(function.name, args, body, [], type_params=[])
    maker.place(made, function.at)
    try:
        code = compile(ast.Module([made], []), FILE, "exec")
    except (SyntaxError, ValueError, RecursionError) as e:  # of a file: such as 30 loops in a row
        raise ScriptError(f"{function.name}: cannot be run: {e}") from None
    inner = next(c for c in code.co_consts if isinstance(c, CodeType))
    return FunctionType(inner, maker.space), list(maker.places)
