"""The program of a scripted function: a small tree of our own, which is data.

``GRAMMAR`` defines every node once, as ``Python.asdl`` of CPython does for Python: its fields, what
they may hold, and, where Python's own tree has a node of the same meaning, that node with its
fields in the order of ours. Reading source, checking, printing, running, storing and loading all
derive from these rows. A file names nodes and orders fields as they stand here.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, fields, make_dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias

    Place: TypeAlias = tuple[int, int, int]

    def __getattr__(name: str) -> Any: ...  # the nodes of the grammar


# Plain: a constant. Text: any text. Name: of a variable, a member or a method. Type: a type as text;
# Noted: the same, or nothing. Op: a key of OPERATORS. Target: a variable, item or member, or several
# in a tuple; Bound: variables only. The other names are those of nodes.
GRAMMAR = """
Expr
  Const(value: Plain)  # a number, a truth value, text or None
  Dots()  # ``...``, in an index
  Known(name: Text)  # a constant that has a name: ``weft.float32``, ``math.pi``
  Var(name: Name) = Name(id)  # a local variable, a parameter or ``self``
  Member(of: Expr, name: Name) = Attribute(value, attr)  # an attribute of a value
  Call(name: Text, args: list[Arg], named: list[Named])  # a function of weft, math or Python
  CallFunction(name: Text, args: list[Arg], named: list[Named])  # one of the program
  CallPython(name: Text, args: list[Arg], named: list[Named])  # one that jit.ignore left in Python
  CallMethod(of: Expr, name: Name, args: list[Arg], named: list[Named])  # a method of a value
  CallValue(of: Expr, args: list[Arg], named: list[Named])  # a module that is called
  Fork(call: Expr)  # a call that may run beside what follows it
  Unary(op: Op, value: Expr) = UnaryOp(op, operand)  # ``-x``
  Binary(op: Op, left: Expr, right: Expr) = BinOp(op, left, right)  # ``x + y``
  Compare(left: Expr, ops: list[Op], rights: list[Expr]) = Compare(left, ops, comparators)  # ``a < b <= c``
  Logic(op: Op, values: list[Expr]) = BoolOp(op, values)  # ``a and b and c``
  Conditional(test: Expr, value: Expr, other: Expr) = IfExp(test, body, orelse)  # ``value if test else other``
  Items(kind: Text, items: list[Arg])  # a list or a tuple, written out
  Pairs(keys: list[Expr], values: list[Expr]) = Dict(keys, values)  # a dict, written out
  Made(key: Expr | None, value: Expr, each: list[Each])  # a comprehension: of a dict if it has a key
  Index(of: Expr, index: Expr) = Subscript(value, slice)  # ``of[index]``
  Slice(lower: Expr | None, upper: Expr | None, step: Expr | None) = Slice(lower, upper, step)  # in an index
  Format(value: Expr, conversion: Text, spec: Expr | None) = FormattedValue(value, conversion, format_spec)  # in a Joined
  Joined(parts_: list[Expr]) = JoinedStr(values)  # an f-string
  OfType(value: Expr, types: list[Type])  # ``isinstance(value, types)``
  Typed(type: Type, value: Expr)  # ``jit.annotate(type, value)``
Arg
  Starred(value: Expr) = Starred(value)  # ``*value``, among arguments or targets
Statement
  Assign(targets: list[Target], value: Expr, type: Noted)  # ``a = b = value``; with a type if one was written
  Update(target: Target, op: Op, value: Expr) = AugAssign(target, op, value)  # ``target += value``
  Declare(name: Name, type: Type)  # ``name: type``, without a value
  If(branches: list[Branch], other: list[Statement])  # ``if`` and its ``elif``, then ``else``
  For(target: Bound, items: Expr, body: list[Statement]) = For(target, iter, body)  # ``for target in items``
  While(test: Expr, body: list[Statement]) = While(test, body)  # ``while test``
  With(mode: Text, value: Expr | None, body: list[Statement])  # ``with no_grad():`` or another mode of gradients
  Break() = Break()  # ``break``
  Continue() = Continue()  # ``continue``
  Return(value: Expr | None) = Return(value)  # ``return value``
  Assert(test: Expr, message: Expr | None) = Assert(test, msg)  # ``assert test, message``
  Raise(error: Text, message: Expr | None)  # ``raise ValueError(message)``
  Delete(target: Index)  # ``del items[index]``
  Do(value: Expr) = Expr(value)  # an expression by itself
Node
  Named(name: Text, value: Expr) = keyword(arg, value)  # an argument with its name
  Each(target: Bound, items: Expr, tests: list[Expr]) = comprehension(target, iter, ifs)  # of a Made
  Branch(test: Expr, body: list[Statement])  # a condition, and what is done where it holds
  Parameter(name: Name, type: Type, default: Expr | None, named_only: bool)  # of a function
  Function(name: Text, method: bool, parameters: list[Parameter], returns: Noted, body: list[Statement], file: Text, first: int, lines: list[Text], types: dict[Text, Text])  # a function or method, its source, the types of its variables
"""  # noqa: E501

_BINARY = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod,
    "**": ast.Pow, "@": ast.MatMult, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor,
    "<<": ast.LShift, ">>": ast.RShift,
}  # fmt: skip
OPERATORS: dict[str, dict[str, Any]] = {
    "Unary": {"-": ast.USub, "+": ast.UAdd, "~": ast.Invert, "not": ast.Not},
    "Binary": _BINARY,
    "Update": _BINARY,
    "Compare": {
        "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "==": ast.Eq, "!=": ast.NotEq,
        "is": ast.Is, "is not": ast.IsNot, "in": ast.In, "not in": ast.NotIn,
    },
    "Logic": {"and": ast.And, "or": ast.Or},
}  # fmt: skip
SYMBOLS: dict[type, str] = {cls: op for row in OPERATORS.values() for op, cls in row.items()}
MODES = ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled")
ERRORS: dict[str, type[Exception]] = {
    cls.__name__: cls
    for cls in (
        ArithmeticError, AssertionError, AttributeError, Exception, IndexError, KeyError,
        LookupError, NotImplementedError, OverflowError, RuntimeError, StopIteration, TypeError,
        ValueError, ZeroDivisionError,
    )
}  # fmt: skip


@dataclass(frozen=True)
class Node:
    """What all nodes share: the line in the user's file, and the columns of begin and end."""

    at: Place
    kinds = {"at": "Place"}  # noqa: RUF012  # what each field holds; these three are no fields
    python = None  # the class of Python's tree that means the same
    theirs = ()  # its fields in the order of ours, without ``at``

    def parts(self) -> Iterator[Node]:
        """Iterate over the nodes right below this one.

        >>> from weft.jit.script.tree import Const, Unary
        >>> [type(n).__name__ for n in Unary((1, 0, 2), "-", Const((1, 1, 2), 3)).parts()]
        ['Const']
        """
        for f in fields(self):
            value = getattr(self, f.name)
            yield from (
                n for n in (value if type(value) is list else (value,)) if isinstance(n, Node)
            )

    def walk(self) -> Iterator[Node]:
        """Iterate over this node and all below it, in the order of the source."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(list(node.parts())))


class Arg(Node):
    """An argument of a call, or one of the items of a list."""


class Expr(Arg):
    """Has a value."""


class Statement(Node):
    """Does something."""


BASES: dict[str, type[Node]] = {c.__name__: c for c in (Node, Arg, Expr, Statement)}
NODES: dict[str, type[Node]] = {}
_ROW = re.compile(r"  (\w+)\((.*?)\)(?: = (\w+)\((.*?)\))?  # (.*)")


def _declare(rows: list[str]) -> None:
    """Make a frozen dataclass of each row: equality and the constructor follow from the fields."""
    base: type[Node] = Node
    for row in rows:
        found = _ROW.fullmatch(row)
        if found is None:
            base = BASES[row]
            continue
        name, held, python, theirs, doc = found.groups()
        kinds = dict(f.split(": ") for f in re.split(r", (?=\w+: )", held) if f)
        members = {
            "__doc__": doc,
            "__module__": __name__,
            "kinds": Node.kinds | kinds,
            "python": python and getattr(ast, python),
            "theirs": tuple(theirs.split(", ")) if theirs else (),
        }
        NODES[name] = make_dataclass(
            name, kinds.items(), bases=(base,), namespace=members, frozen=True
        )


_declare(GRAMMAR.strip().splitlines())
globals().update(NODES)
OF_PYTHON: dict[Any, Any] = {c.python: c for c in NODES.values() if c.python is not None}
FORKED = tuple(NODES[name] for name in ("Call", "CallFunction", "CallMethod", "CallValue"))
