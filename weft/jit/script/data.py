"""Functions of a program as JSON, and back; what comes from a file is held to every rule.

A node is a list: the name of its class, then its fields in their order. ``tree.GRAMMAR`` says what
each field may hold; ``_RULES`` has what the grammar cannot say.
"""

from __future__ import annotations

import json
import math

from weft.serialization.common import FileError, parse_json

from . import allowed, tree, types
from .check import check_reads
from .errors import ScriptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .program import Program

__all__ = ["from_json", "to_json"]

_DEEPEST = 220  # nodes within nodes; the parser's own limits are below that
_PLAIN_INT = 2**53


def to_json(function: Any) -> str:
    """Return a function as JSON.

    >>> from weft.jit.script.data import from_json, to_json
    >>> @weft.jit.script
    ... def double(x):
    ...     return x * 2
    >>> tree = double.running.function
    >>> from_json(to_json(tree), "a file") == tree
    True
    """
    return json.dumps(_encode(function, ""), allow_nan=False)


def _encode(x: Any, kind: str) -> Any:
    if isinstance(x, tree.Node):
        return [type(x).__name__, *(_encode(getattr(x, f), k) for f, k in x.kinds.items())]
    if isinstance(x, (list, tuple)):
        return [_encode(item, "") for item in x]
    if isinstance(x, complex):
        return ["complex", x.real.hex(), x.imag.hex()]
    if type(x) is float and not math.isfinite(x):
        return ["float", x.hex()]
    if kind == "Plain" and type(x) is int and abs(x) >= _PLAIN_INT:
        return ["int", hex(x)]
    return x


# ---- back ---------------------------------------------------------------------------------------


def from_json(text: Any, what: str) -> Any:
    """Return the function that a text holds; raise ``FileError`` if it is not a right one."""
    if not isinstance(text, str):
        raise FileError(f"{what}: expected the text of a function, got {text!r:.100}")
    reader = _Reader(what)
    try:
        function = reader.node(parse_json(text.encode("utf-8", "replace"), what), "Function", 0)
        check_reads(function)
    except RecursionError:
        raise FileError(f"{what}: nested too deeply") from None
    except ScriptError as e:
        raise FileError(f"{what}: {e}") from None
    return function


def check_calls(function: Any, program: Program, what: str) -> None:
    """Check that the functions that a function calls are there."""
    for node in function.walk():
        if isinstance(node, tree.CallFunction) and node.name not in program.functions:
            raise FileError(f"{what}: {node.name!r:.100}: is no function of this program")


class _Reader:
    """Makes nodes of lists that it does not trust."""

    def __init__(self, what: str) -> None:
        self.what = what

    def fail(self, x: Any, rule: str) -> NoReturn:
        raise FileError(f"{self.what}: {x!r:.100}: {rule}")

    def node(self, x: Any, asked: str, depth: int) -> Any:
        """Return a node of the class that is asked for."""
        if depth > _DEEPEST:
            raise FileError(f"{self.what}: nested too deeply")
        if not isinstance(x, list) or not x or not isinstance(x[0], str):
            self.fail(x, "expected a node")
        cls = tree.NODES.get(x[0])
        if cls is None or asked not in [c.__name__ for c in cls.__mro__]:
            self.fail(x[0], f"is no {asked}")
        if len(x) != len(cls.kinds) + 1:
            self.fail(x[0], f"has {len(x) - 1} fields, expected {len(cls.kinds)}")
        node: Any = cls(*(self.field(v, k, depth + 1) for v, k in zip(x[1:], cls.kinds.values())))
        ops = getattr(node, "ops", [getattr(node, "op", None)])
        rule = _RULES.get(x[0], lambda n: True)
        if set(ops) - {None, *tree.OPERATORS.get(x[0], ())} or not rule(node):
            what = getattr(node, "name", getattr(node, "error", ops))
            self.fail(what, f"is nothing that a {x[0]} of a program may hold")
        return node

    def field(self, x: Any, kind: str, depth: int) -> Any:
        """Return a field of the kind that the grammar states."""
        if kind.endswith(" | None"):
            return None if x is None else self.field(x, kind.removesuffix(" | None"), depth)
        if kind.startswith("list[") and isinstance(x, list):
            return [self.field(item, kind[5:-1], depth) for item in x]
        if kind == "Plain":
            return self.plain(x)
        held = _FIELDS.get(kind)
        if held is None:
            made = self.node(x, "Expr" if kind in ("Target", "Bound") else kind, depth)
            if kind in ("Target", "Bound") and not _is_target(made, kind):
                self.fail(x[0], "cannot be assigned to")
            return made
        if not held(x):
            self.fail(x, f"is no {kind.lower()}")
        return tuple(x) if kind == "Place" else x

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


def _is_target(t: Any, kind: str) -> bool:
    if isinstance(t, tree.Items):
        inner = [i.value if isinstance(i, tree.Starred) else i for i in t.items]
        stars = sum(isinstance(i, tree.Starred) for i in t.items)
        return stars < 2 and all(_is_target(i, kind) for i in inner)
    return isinstance(t, tree.Var) or (
        kind == "Target" and isinstance(t, (tree.Index, tree.Member))
    )


def _is_type(text: Any) -> bool:
    try:
        return isinstance(text, str) and types.read(text) is not None
    except ValueError:
        return False


def _is_default(e: Any) -> bool:
    """Say whether an expression is made of constants, as ``values.constant`` wants it."""
    if isinstance(e, tree.Items):
        return all(map(_is_default, e.items))
    return e is None or isinstance(e, (tree.Const, tree.Known))


_FIELDS: dict[str, Any] = {
    "Place": lambda x: isinstance(x, list) and len(x) == 3 and all(type(n) is int for n in x),
    "Name": lambda x: isinstance(x, str) and x.isidentifier() and not x.startswith("__"),
    "Text": lambda x: isinstance(x, str),
    "Op": lambda x: isinstance(x, str),
    "Type": _is_type,
    "Noted": lambda x: x == "" or _is_type(x),
    "bool": lambda x: type(x) is bool,
    "int": lambda x: type(x) is int,
    "dict[Text, Text]": lambda x: (
        isinstance(x, dict) and all(isinstance(v, str) for v in x.values())
    ),
}
_RULES: dict[str, Any] = {
    "Call": lambda n: allowed.function_named(n.name) is not None,
    "CallPython": lambda n: False,  # a file cannot hold it
    "Known": lambda n: n.name in allowed.CONSTANTS,
    "Compare": lambda n: len(n.ops) == len(n.rights) > 0,
    "Logic": lambda n: len(n.values) > 1,
    "Items": lambda n: n.kind in ("list", "tuple"),
    "Pairs": lambda n: len(n.keys) == len(n.values),
    "Made": lambda n: bool(n.each),
    "Format": lambda n: (
        n.conversion in ("", "s", "r", "a") and isinstance(n.spec, (tree.Joined, type(None)))
    ),
    "Joined": lambda n: all(
        isinstance(p, tree.Format) or (isinstance(p, tree.Const) and type(p.value) is str)
        for p in n.parts_
    ),
    "Fork": lambda n: isinstance(n.call, tree.FORKED),
    "Assign": lambda n: bool(n.targets),
    "Update": lambda n: not isinstance(n.target, tree.Items),
    "If": lambda n: bool(n.branches),
    "Raise": lambda n: n.error in tree.ERRORS,
    "With": lambda n: (
        n.mode in tree.MODES and (n.value is not None) == (n.mode == "set_grad_enabled")
    ),
    "Named": lambda n: n.name.isidentifier(),
    "Parameter": lambda n: _is_default(n.default),
    "Function": lambda n: n.name.isidentifier(),
}
