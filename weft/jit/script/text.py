"""A program as text: Python-like source, and a listing with lines and types."""

from __future__ import annotations

import os

from . import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["code_of", "text_of"]


def code_of(function: tree.Function) -> str:
    """Return a function as Python-like source."""
    return "\n".join(" " * 4 * depth + line for depth, line, _ in _lines(function))


def text_of(function: tree.Function) -> str:
    """Return a function as source, with the lines of the user's file and the types it knows."""
    file = os.path.basename(function.file)
    rows = [(" " * 4 * depth + line, number) for depth, line, number in _lines(function)]
    width = min(max(len(line) for line, _ in rows), 60)
    text = [f"{line:<{width}}  # {file}:{number}" if number else line for line, number in rows]
    known = [f"{name}: {t}" for name, t in sorted(function.types.items())]
    return "\n".join([*text, *([f"# {', '.join(known)}"] if known else [])])


def _lines(f: tree.Function) -> Iterator[tuple[int, str, int]]:
    parts, starred = (["self"] if f.method else []), False
    for p in f.parameters:
        if p.named_only and not starred:
            parts.append("*")
            starred = True
        default = "" if p.default is None else f" = {text(p.default)}"
        parts.append(f"{p.name}: {p.type}{default}")
    returns = f" -> {f.returns}" if f.returns else ""
    yield 0, f"def {f.name}({', '.join(parts)}){returns}:", f.at[0]
    yield from _block(f.body, 1)


def _block(body: list[tree.Statement], depth: int) -> Iterator[tuple[int, str, int]]:
    if not body:
        yield depth, "pass", 0
    for s in body:
        yield from _statement(s, depth)


def _statement(s: Any, depth: int) -> Iterator[tuple[int, str, int]]:
    line = s.at[0]
    if isinstance(s, tree.If):
        for i, branch in enumerate(s.branches):
            word = "elif" if i else "if"
            yield depth, f"{word} {text(branch.test)}:", branch.at[0]
            yield from _block(branch.body, depth + 1)
        if s.other:
            yield depth, "else:", 0
            yield from _block(s.other, depth + 1)
    elif isinstance(s, tree.For):
        yield depth, f"for {_bare(s.target)} in {text(s.items)}:", line
        yield from _block(s.body, depth + 1)
    elif isinstance(s, tree.While):
        yield depth, f"while {text(s.test)}:", line
        yield from _block(s.body, depth + 1)
    elif isinstance(s, tree.With):
        yield depth, f"with weft.{s.mode}({'' if s.value is None else text(s.value)}):", line
        yield from _block(s.body, depth + 1)
    else:
        yield depth, _simple(s), line


def _simple(s: Any) -> str:
    if isinstance(s, tree.Assign):
        noted = f": {s.type}" if s.type else ""
        return f"{' = '.join(map(_bare, s.targets))}{noted} = {_bare(s.value)}"
    if isinstance(s, tree.Update):
        return f"{text(s.target)} {s.op}= {_bare(s.value)}"
    if isinstance(s, tree.Declare):
        return f"{s.name}: {s.type}"
    if isinstance(s, tree.Return):
        return "return" if s.value is None else f"return {_bare(s.value)}"
    if isinstance(s, tree.Assert):
        return f"assert {text(s.test)}{'' if s.message is None else f', {text(s.message)}'}"
    if isinstance(s, tree.Raise):
        return f"raise {s.error}({'' if s.message is None else text(s.message)})"
    if isinstance(s, tree.Delete):
        return f"del {text(s.target)}"
    if isinstance(s, tree.Do):
        return text(s.value)
    return type(s).__name__.lower()  # break, continue


def _bare(e: Any) -> str:
    """A tuple without brackets, where it may stand so."""
    if isinstance(e, tree.Items) and e.kind == "tuple" and len(e.items) > 1:
        return ", ".join(map(text, e.items))
    return text(e)


_ORDER = {
    "or": 1, "and": 2, "not": 3, "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10,
    "/": 10, "//": 10, "%": 10, "@": 10, "**": 12,
}  # fmt: skip


def text(e: Any, outer: int = 0) -> str:
    """Return an expression as source; ``outer``: how tight what stands around it binds.

    >>> from weft.jit.script.text import text
    >>> from weft.jit.script.tree import Binary, Const
    >>> at = (1, 0, 0)
    >>> text(Binary(at, "*", Binary(at, "+", Const(at, 1), Const(at, 2)), Const(at, 3)))
    '(1 + 2) * 3'
    """
    made, order = _expression(e)
    return f"({made})" if order < outer else made


def _expression(e: Any) -> tuple[str, int]:
    if isinstance(e, tree.Binary):
        order = _ORDER[e.op]
        left, right = (order + 1, order) if e.op == "**" else (order, order + 1)
        return f"{text(e.left, left)} {e.op} {text(e.right, right)}", order
    if isinstance(e, tree.Unary):
        order = 3 if e.op == "not" else 11
        return f"{e.op}{' ' if e.op == 'not' else ''}{text(e.value, order)}", order
    if isinstance(e, tree.Compare):
        rest = "".join(f" {op} {text(r, 5)}" for op, r in zip(e.ops, e.rights))
        return text(e.left, 5) + rest, 4
    if isinstance(e, tree.Logic):
        order = _ORDER[e.op]
        return f" {e.op} ".join(text(v, order + 1) for v in e.values), order
    if isinstance(e, tree.Conditional):
        return f"{text(e.value, 1)} if {text(e.test, 1)} else {text(e.other)}", 0
    if isinstance(e, tree.Const):
        negative = (
            isinstance(e.value, (int, float)) and not isinstance(e.value, bool) and e.value < 0
        )
        return repr(e.value), 11 if negative else 20
    return _atom(e), 20


def _atom(e: Any) -> str:
    if isinstance(e, (tree.Known, tree.Var)):
        return e.name
    if isinstance(e, tree.Dots):
        return "..."
    if isinstance(e, tree.Member):
        return f"{text(e.of, 20)}.{e.name}"
    if isinstance(e, (tree.Call, tree.CallFunction, tree.CallPython)):
        return f"{e.name}({_arguments(e)})"
    if isinstance(e, tree.CallMethod):
        return f"{text(e.of, 20)}.{e.name}({_arguments(e)})"
    if isinstance(e, tree.CallValue):
        return f"{text(e.of, 20)}({_arguments(e)})"
    if isinstance(e, tree.Fork):
        called, _, rest = text(e.call).partition("(")
        return f"weft.jit.fork({called}{', ' if rest != ')' else ''}{rest}"
    if isinstance(e, tree.Starred):
        return f"*{text(e.value, 5)}"
    if isinstance(e, tree.Items):
        inside = ", ".join(map(text, e.items))
        if e.kind == "list":
            return f"[{inside}]"
        return f"({inside},)" if len(e.items) == 1 else f"({inside})"
    if isinstance(e, tree.Pairs):
        pairs = (f"{text(k)}: {text(v)}" for k, v in zip(e.keys, e.values))
        return "{" + ", ".join(pairs) + "}"
    if isinstance(e, tree.Made):
        each = "".join(
            f" for {_bare(x.target)} in {text(x.items, 1)}"
            + "".join(f" if {text(t, 1)}" for t in x.tests)
            for x in e.each
        )
        if e.key is None:
            return f"[{text(e.value)}{each}]"
        return "{" + f"{text(e.key)}: {text(e.value)}{each}" + "}"
    if isinstance(e, tree.Index):
        return f"{text(e.of, 20)}[{_bare(e.index)}]"
    if isinstance(e, tree.Slice):
        lower, upper, step = ("" if x is None else text(x) for x in (e.lower, e.upper, e.step))
        return f"{lower}:{upper}{f':{step}' if step else ''}"
    if isinstance(e, tree.Joined):
        return "f" + repr("".join(_piece(p) for p in e.parts_))
    if isinstance(e, tree.OfType):
        asked = e.types[0] if len(e.types) == 1 else f"({', '.join(e.types)})"
        return f"isinstance({text(e.value)}, {asked})"
    if isinstance(e, tree.Typed):
        return f"weft.jit.annotate({e.type}, {text(e.value)})"
    return _piece(e)


def _piece(e: Any) -> str:
    if isinstance(e, tree.Const):
        return str(e.value).replace("{", "{{").replace("}", "}}")
    if isinstance(e, tree.Joined):
        return "".join(_piece(p) for p in e.parts_)
    spec = "" if e.spec is None else f":{_piece(e.spec)}"
    return "{" + text(e.value) + (f"!{e.conversion}" if e.conversion else "") + spec + "}"


def _arguments(e: Any) -> str:
    return ", ".join([*map(text, e.args), *(f"{n.name}={text(n.value)}" for n in e.named)])
