"""Functions of a program as JSON, and back; what comes from a file is held to every rule.

A node is a list: the name of its class, then its fields in their order. The annotations of the
fields in ``tree.py`` say what each may hold.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields

from weft.serialization.common import FileError, parse_json

from . import allowed, tree, types
from .check import _Flow
from .errors import ScriptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .program import Program

__all__ = ["from_json", "to_json"]

_DEEPEST = 220  # nodes within nodes; the parser's own limits are below that
_PLAIN_INT = 2**53


def to_json(function: tree.Function) -> str:
    """Return a function as JSON.

    >>> from weft.jit.script.data import from_json, to_json
    >>> @weft.jit.script
    ... def double(x):
    ...     return x * 2
    >>> tree = double.running.function
    >>> from_json(to_json(tree), "a file") == tree
    True
    """
    return json.dumps(_encode(function), allow_nan=False)


def _encode(x: Any) -> Any:
    if isinstance(x, tree.Node):
        return [type(x).__name__, *(_field(x, f.name, str(f.type)) for f in fields(x))]
    if isinstance(x, (list, tuple)):
        return [_encode(item) for item in x]
    return x


def _field(node: tree.Node, name: str, kind: str) -> Any:
    value = getattr(node, name)
    if kind != "Plain":
        return _encode(value)
    if isinstance(value, complex):
        return ["complex", value.real.hex(), value.imag.hex()]
    if type(value) is float and not math.isfinite(value):
        return ["float", value.hex()]
    if type(value) is int and abs(value) >= _PLAIN_INT:
        return ["int", hex(value)]
    return value


# ---- back ---------------------------------------------------------------------------------------


def from_json(text: Any, what: str) -> tree.Function:
    """Return the function that a text holds; raise ``FileError`` if it is not a right one."""
    if not isinstance(text, str):
        raise FileError(f"{what}: expected the text of a function, got {text!r:.100}")
    reader = _Reader(what)
    try:
        function = reader.node(parse_json(text.encode("utf-8", "replace"), what), "Function", 0)
        assert isinstance(function, tree.Function)
        _Loops(reader).check(function.body, 0)
        _Flow(function).run()
    except RecursionError:
        raise FileError(f"{what}: nested too deeply") from None
    except ScriptError as e:
        raise FileError(f"{what}: {e}") from None
    return function


class _Reader:
    """Makes nodes of lists that it does not trust."""

    def __init__(self, what: str) -> None:
        self.what = what

    def fail(self, x: Any, rule: str) -> NoReturn:
        raise FileError(f"{self.what}: {x!r:.100}: {rule}")

    def node(self, x: Any, asked: str, depth: int) -> tree.Node:
        """Return a node of the class that is asked for."""
        if depth > _DEEPEST:
            raise FileError(f"{self.what}: nested too deeply")
        if not isinstance(x, list) or not x or not isinstance(x[0], str):
            self.fail(x, "expected a node")
        cls: Any = tree.NODES.get(x[0])
        base = {"Expr": tree.Expr, "Statement": tree.Statement}.get(asked, tree.NODES.get(asked))
        if cls is None or base is None or not issubclass(cls, base):
            self.fail(x[0], f"is no {asked}")
        kinds = fields(cls)
        if len(x) != len(kinds) + 1:
            self.fail(x[0], f"has {len(x) - 1} fields, expected {len(kinds)}")
        made = [self.field(v, str(f.type), depth + 1) for v, f in zip(x[1:], kinds)]
        node = cls(*made)
        self.check(node)
        return node

    def field(self, x: Any, kind: str, depth: int) -> Any:
        """Return a field of the kind that its annotation names."""
        if kind.endswith(" | None"):
            return None if x is None else self.field(x, kind.removesuffix(" | None"), depth)
        if kind.startswith("list["):
            if not isinstance(x, list):
                self.fail(x, "expected a list")
            return [self.field(item, kind[5:-1], depth) for item in x]
        if kind == "Place":
            if not isinstance(x, list) or len(x) != 3 or any(type(n) is not int for n in x):
                self.fail(x, "expected a place in the source")
            return tuple(x)
        if kind == "Name":
            if not isinstance(x, str) or not x.isidentifier() or x.startswith("__"):
                self.fail(x, "is no name that a program may use")
            return x
        if kind == "Text":
            return x if isinstance(x, str) else self.fail(x, "expected text")
        if kind in ("bool", "int"):
            return x if type(x).__name__ == kind else self.fail(x, f"expected {kind}")
        if kind == "Plain":
            return self.plain(x)
        if kind.startswith("dict["):
            if not isinstance(x, dict) or not all(isinstance(v, str) for v in x.values()):
                self.fail(x, "expected types by name")
            return x
        return self.node(x, kind, depth)

    def plain(self, x: Any) -> Any:
        """Return a constant."""
        if x is None or type(x) in (bool, int, float, str):
            return x
        try:
            kind, *values = x
            if kind == "complex":
                return complex(*map(float.fromhex, values))
            if kind == "float":
                return float.fromhex(*values)
            if kind == "int":
                return int(values[0], 16)
        except (TypeError, ValueError, OverflowError):
            pass
        self.fail(x, "expected a constant")

    def check(self, node: Any) -> None:
        """Hold a node to what its annotations do not say."""
        rules = {
            tree.Call: lambda n: allowed.function_named(n.name) is not None,
            tree.Known: lambda n: n.name in allowed._CONSTANTS,
            tree.Unary: lambda n: n.op in tree.UNARY,
            tree.Binary: lambda n: n.op in tree.BINARY,
            tree.Update: lambda n: n.op in tree.BINARY and _is_target(n.target, False),
            tree.Compare: lambda n: (
                len(n.ops) == len(n.rights) > 0 and all(op in tree.COMPARE for op in n.ops)
            ),
            tree.Logic: lambda n: n.op in ("and", "or") and n.values,
            tree.Items: lambda n: n.kind in ("list", "tuple"),
            tree.Pairs: lambda n: len(n.keys) == len(n.values),
            tree.Format: lambda n: n.conversion in ("", "s", "r", "a"),
            tree.Fork: lambda n: isinstance(
                n.call, (tree.CallFunction, tree.CallMethod, tree.CallValue, tree.Call)
            ),
            tree.Assign: lambda n: n.targets and all(_is_target(t) for t in n.targets),
            tree.For: lambda n: _is_target(n.target),
            tree.Each: lambda n: _is_target(n.target),
            tree.Made: lambda n: bool(n.each),
            tree.If: lambda n: bool(n.branches),
            tree.Raise: lambda n: n.error in tree.ERRORS,
            tree.With: lambda n: (
                n.mode in tree.MODES and (n.value is not None) == (n.mode == "set_grad_enabled")
            ),
            tree.Named: lambda n: n.name.isidentifier(),
            tree.Function: lambda n: n.name.isidentifier(),
        }
        rule = rules.get(type(node))
        if rule is not None and not rule(node):
            what = getattr(node, "name", getattr(node, "op", getattr(node, "error", "")))
            self.fail(what, f"is nothing that a {type(node).__name__} of a program may hold")
        if isinstance(node, tree.CallPython):
            self.fail(node.name, "is a Python function, which a file cannot hold")
        written = [getattr(node, name, "") for name in ("type", "returns")]
        required = isinstance(node, (tree.Typed, tree.Declare, tree.Parameter))
        texts = node.types if isinstance(node, tree.OfType) else [t for t in written if t]
        for text in texts or ([""] if required else []):
            try:
                types.read(text)
            except ValueError as e:
                self.fail(text, f"{e} is not known")


def _is_target(t: Any, several: bool = True) -> bool:
    if isinstance(t, tree.Items):
        stars = sum(isinstance(i, tree.Starred) for i in t.items)
        inner = [i.value if isinstance(i, tree.Starred) else i for i in t.items]
        return several and stars < 2 and all(_is_target(i) for i in inner)
    return isinstance(t, (tree.Var, tree.Index, tree.Member))


class _Loops:
    """Checks that break and continue stand in loops."""

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader

    def check(self, body: list[tree.Statement], loops: int) -> None:
        for s in body:
            if isinstance(s, (tree.Break, tree.Continue)) and not loops:
                self.reader.fail(type(s).__name__.lower(), "outside of a loop")
            if isinstance(s, (tree.For, tree.While)):
                self.check(s.body, loops + 1)
            elif isinstance(s, tree.With):
                self.check(s.body, loops)
            elif isinstance(s, tree.If):
                for branch in s.branches:
                    self.check(branch.body, loops)
                self.check(s.other, loops)


def check_calls(function: tree.Function, program: Program, what: str) -> None:
    """Check that the functions that a function calls are there."""
    for node in function.walk():
        if isinstance(node, tree.CallFunction) and node.name not in program.functions:
            raise FileError(f"{what}: {node.name!r:.100}: is no function of this program")
