"""A program as Python's own tree, and that as text: source, and a listing with lines and types."""

from __future__ import annotations

import ast
import os
import textwrap

from . import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["code_of", "text_of"]

_REQUIRED: dict[str, Any] = {"ctx": ast.Load, "orelse": list, "is_async": int}  # not in our tree
_BARE = {
    ("Assign", "targets"), ("Assign", "value"), ("Update", "value"), ("Return", "value"),
    ("For", "target"), ("Each", "target"), ("Index", "index"),
}  # where a tuple is printed without brackets  # fmt: skip


def stored(target: Any) -> Any:
    """Say of a node that it is assigned to, as Python's compiler wants it."""
    if hasattr(target, "ctx"):
        target.ctx = ast.Store()
    inside = [target.value] if isinstance(target, ast.Starred) else getattr(target, "elts", ())
    for inner in inside:
        stored(inner)
    return target


class Printed:
    """Makes the tree that is printed: of a node by its row in ``table``, or else as in Python."""

    table: dict[str, Callable[[Any, Any], Any]]

    def node(self, x: Any) -> Any:
        """Return Python's node for one of ours; lists of them and plain fields too."""
        if isinstance(x, list):
            return [self.node(item) for item in x]
        if not isinstance(x, tree.Node):
            return x
        row = self.table.get(type(x).__name__)
        made = self.twin(x) if row is None else row(self, x)
        if not hasattr(made, "lineno"):
            self.place(made, x.at)
        return made

    def place(self, made: Any, at: tree.Place) -> None:
        """Give a node the line of the user's file."""
        made.lineno = made.end_lineno = at[0]
        made.col_offset = made.end_col_offset = 0

    def field(self, x: Any, name: str) -> Any:
        """Return a field of a node for Python's."""
        value = getattr(x, name)
        if x.kinds[name] in ("Op", "list[Op]"):
            ops = tree.OPERATORS[type(x).__name__]
            return [ops[op]() for op in value] if isinstance(value, list) else ops[value]()
        if x.kinds[name] == "list[Statement]":
            return self.block(value)
        made = self.bare(value) if (type(x).__name__, name) in _BARE else self.node(value)
        return stored(made) if name == "target" else made

    def twin(self, x: Any) -> Any:
        """Return the node of Python's that means the same."""
        made = {name: _REQUIRED[name]() for name in x.python._fields if name in _REQUIRED}
        made |= {theirs: self.field(x, ours) for ours, theirs in zip([*x.kinds][1:], x.theirs)}
        return x.python(**made)

    def block(self, body: list[Any]) -> list[Any]:
        """Return statements, at least one."""
        return self.node(body) or [ast.Pass(lineno=0, end_lineno=0, col_offset=0, end_col_offset=0)]

    def raw(self, text: str) -> Any:
        """Return a name, which need not be an identifier of Python's."""
        return ast.Name(text, ast.Load())

    def name(self, text: str) -> Any:
        """Return a name of weft's or Python's."""
        return self.raw(text)

    def type(self, text: str) -> Any:
        """Return a type."""
        return self.raw(text)

    def bare(self, x: Any) -> Any:
        """Return a tuple, or several targets, without brackets."""
        if isinstance(x, list):
            return [self.bare(item) for item in x]
        if isinstance(x, tree.Items) and x.kind == "tuple" and len(x.items) > 1:
            return self.raw(", ".join(ast.unparse(self.node(i)) for i in x.items))
        return self.node(x)

    def call(self, function: Any, *args: Any) -> Any:
        """Return a call of a function, which may be given by its name."""
        f = self.name(function) if isinstance(function, str) else function
        return ast.Call(f, list(args), [])

    def call_as(self, function: Any, x: Any) -> Any:
        """Return a call of a function with the arguments of one of our nodes."""
        return ast.Call(function, self.node(x.args), self.node(x.named))

    def piece(self, x: Any) -> str:
        """Return what stands within the quotes of an f-string."""
        if isinstance(x, tree.Joined):
            return "".join(map(self.piece, x.parts_))
        if isinstance(x, tree.Const):
            return str(x.value).replace("{", "{{").replace("}", "}}")
        ending = f"!{x.conversion}" if x.conversion else ""
        ending += "" if x.spec is None else f":{self.piece(x.spec)}"
        return "{" + ast.unparse(self.node(x.value)) + ending + "}"

    def error(self, name: str, message: Any) -> Any:
        """Return what raises an error with a text."""
        return ast.Raise(self.call(name, *self.node([message] if message else [])))


def _const(w: Printed, x: Any) -> Any:
    if isinstance(x.value, (int, float)) and not isinstance(x.value, bool) and x.value < 0:
        return ast.UnaryOp(ast.USub(), w.raw(repr(-x.value)))
    return w.raw(repr(x.value))


def _fork(w: Printed, x: Any) -> Any:
    inner = w.node(x.call)
    return ast.Call(w.name("weft.jit.fork"), [inner.func, *inner.args], inner.keywords)


def _comprehension(w: Printed, x: Any) -> Any:
    value, each = w.node(x.value), w.node(x.each)
    return ast.DictComp(w.node(x.key), value, each) if x.key else ast.ListComp(value, each)


def _of_type(w: Printed, x: Any) -> Any:
    asked = x.types[0] if len(x.types) == 1 else f"({', '.join(x.types)})"
    return w.call("isinstance", w.node(x.value), w.type(asked))


def _assign(w: Printed, x: Any) -> Any:
    targets, value = [stored(t) for t in w.field(x, "targets")], w.field(x, "value")
    if x.type and len(targets) == 1:
        return ast.AnnAssign(targets[0], w.type(x.type), value, simple=1)
    whole = w.call("weft.jit.annotate", w.type(x.type), value) if x.type else value
    return ast.Assign(targets, whole)


def _if(w: Printed, x: Any) -> Any:
    rest = w.node(x.other)
    for branch in reversed(x.branches):
        rest = [ast.If(w.node(branch.test), w.block(branch.body), rest)]
        w.place(rest[0], branch.test.at)
    return rest[0]


def _with(w: Printed, x: Any) -> Any:
    mode = w.call(f"weft.{x.mode}", *w.node([x.value] if x.value else []))
    return ast.With([ast.withitem(mode)], w.block(x.body))


# Nodes that Python's tree does not have, or that its versions print in several ways.
Printed.table = {
    "Const": _const,
    "Dots": lambda w, x: ast.Constant(...),
    "Known": lambda w, x: w.name(x.name),
    "Call": lambda w, x: w.call_as(w.name(x.name), x),
    "CallFunction": lambda w, x: w.call_as(w.raw(x.name), x),
    "CallPython": lambda w, x: w.call_as(w.raw(x.name), x),
    "CallMethod": lambda w, x: w.call_as(ast.Attribute(w.node(x.of), x.name, ast.Load()), x),
    "CallValue": lambda w, x: w.call_as(w.node(x.of), x),
    "Fork": _fork,
    "Items": lambda w, x: (ast.List if x.kind == "list" else ast.Tuple)(
        w.node(x.items), ast.Load()
    ),
    "Made": _comprehension,
    "Joined": lambda w, x: w.raw("f" + repr(w.piece(x))),
    "OfType": _of_type,
    "Typed": lambda w, x: w.call("weft.jit.annotate", w.type(x.type), w.node(x.value)),
    "Assign": _assign,
    "Declare": lambda w, x: ast.AnnAssign(w.raw(x.name), w.type(x.type), None, simple=1),
    "If": _if,
    "With": _with,
    "Raise": lambda w, x: w.error(x.error, x.message),
    "Delete": lambda w, x: ast.Delete([w.node(x.target)]),
}


def code_of(function: Any) -> str:
    """Return a function as Python-like source."""
    return "\n".join(line for line, _ in _lines(function))


def text_of(function: Any) -> str:
    """Return a function as source, with the lines of the user's file and the types it knows."""
    file, rows = os.path.basename(function.file), list(_lines(function))
    width = min(max(len(line) for line, _ in rows), 60)
    text = [f"{line:<{width}}  # {file}:{number}" if number else line for line, number in rows]
    known = [f"{name}: {t}" for name, t in sorted(function.types.items())]
    return "\n".join([*text, *([f"# {', '.join(known)}"] if known else [])])


def _lines(f: Any) -> Iterator[tuple[str, int]]:
    """Iterate over the lines of a function, each with its line in the user's file or 0."""
    printed, parts = Printed(), ["self"] if f.method else []
    for p in f.parameters:
        if p.named_only and "*" not in parts:
            parts.append("*")
        default = "" if p.default is None else f" = {ast.unparse(printed.node(p.default))}"
        parts.append(f"{p.name}: {p.type}{default}")
    yield f"def {f.name}({', '.join(parts)}){f' -> {f.returns}' if f.returns else ''}:", f.at[0]
    body = printed.block(f.body)
    text, numbers = ast.unparse(ast.Module(body, [])), _numbers(body)
    for line in textwrap.indent(text, "    ").splitlines():
        yield line, 0 if line.strip() == "else:" else next(numbers)


def _numbers(body: list[Any]) -> Iterator[int]:
    """Iterate over the lines of statements, in the order in which they are printed."""
    for s in body:
        yield s.lineno
        yield from _numbers([*getattr(s, "body", ()), *getattr(s, "orelse", ())])
