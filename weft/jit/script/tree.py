"""The program of a scripted function: a small tree of our own, which is data.

Every node is a frozen dataclass. The annotations of its fields say what they hold, and the reader
of files (``data.py``) holds a file to them: ``Expr``, ``Name``, ``list[Statement]`` and so on.
A node knows its place in the user's source: the line, and the columns where it begins and ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias

    Place: TypeAlias = tuple[int, int, int]
    Name: TypeAlias = str  # a local variable, a member, a method
    Text: TypeAlias = str
    Plain: TypeAlias = bool | int | float | str | complex | None


@dataclass(frozen=True)
class Node:
    """What all nodes share."""

    at: Place

    def parts(self) -> Iterator[Node]:
        """Iterate over the nodes right below this one.

        >>> from weft.jit.script.tree import Const, Unary
        >>> [type(n).__name__ for n in Unary((1, 0, 2), "-", Const((1, 1, 2), 3)).parts()]
        ['Const']
        """
        for f in fields(self):
            yield from _nodes(getattr(self, f.name))

    def walk(self) -> Iterator[Node]:
        """Iterate over this node and all below it."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(list(node.parts())))


def _nodes(x: Any) -> Iterator[Node]:
    if isinstance(x, Node):
        yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from _nodes(item)


class Expr(Node):
    """Has a value."""


class Statement(Node):
    """Does something."""


# ---- expressions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Const(Expr):
    """A number, a truth value, text or None."""

    value: Plain


@dataclass(frozen=True)
class Dots(Expr):
    """``...``, in an index."""


@dataclass(frozen=True)
class Known(Expr):
    """A constant that has a name: ``weft.float32``, ``math.pi``."""

    name: Text


@dataclass(frozen=True)
class Var(Expr):
    """A local variable, a parameter or ``self``."""

    name: Name


@dataclass(frozen=True)
class Member(Expr):
    """An attribute of a value."""

    of: Expr
    name: Name


@dataclass(frozen=True)
class Named(Node):
    """An argument with its name; an empty name stands for ``*value``."""

    name: Text
    value: Expr


@dataclass(frozen=True)
class Call(Expr):
    """One of weft's functions, of ``math`` or of the built-in ones, by its full name."""

    name: Text
    args: list[Expr]
    named: list[Named]


@dataclass(frozen=True)
class CallFunction(Expr):
    """Another function of the program."""

    name: Text
    args: list[Expr]
    named: list[Named]


@dataclass(frozen=True)
class CallPython(Expr):
    """A function that was marked with ``jit.ignore``, and stays in Python."""

    name: Text
    args: list[Expr]
    named: list[Named]


@dataclass(frozen=True)
class CallMethod(Expr):
    """A method of a value: of a tensor, a list, text, a module."""

    of: Expr
    name: Name
    args: list[Expr]
    named: list[Named]


@dataclass(frozen=True)
class CallValue(Expr):
    """A module that is called."""

    of: Expr
    args: list[Expr]
    named: list[Named]


@dataclass(frozen=True)
class Fork(Expr):
    """A call that may run beside what follows it."""

    call: Expr


@dataclass(frozen=True)
class Starred(Expr):
    """``*value`` among arguments."""

    value: Expr


@dataclass(frozen=True)
class Unary(Expr):
    """``-x``, ``+x``, ``~x`` or ``not x``."""

    op: Text
    value: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """``x + y`` and its like."""

    op: Text
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Compare(Expr):
    """``a < b <= c``: as many ops as values on the right."""

    left: Expr
    ops: list[Text]
    rights: list[Expr]


@dataclass(frozen=True)
class Logic(Expr):
    """``a and b and c``, or the same with ``or``."""

    op: Text
    values: list[Expr]


@dataclass(frozen=True)
class Conditional(Expr):
    """``value if test else other``."""

    test: Expr
    value: Expr
    other: Expr


@dataclass(frozen=True)
class Items(Expr):
    """A list or a tuple, written out."""

    kind: Text
    items: list[Expr]


@dataclass(frozen=True)
class Pairs(Expr):
    """A dict, written out."""

    keys: list[Expr]
    values: list[Expr]


@dataclass(frozen=True)
class Each(Node):
    """``for target in items if tests``, of a comprehension."""

    target: Expr
    items: Expr
    tests: list[Expr]


@dataclass(frozen=True)
class Made(Expr):
    """A comprehension: of a list, or of a dict, which has keys."""

    key: Expr | None
    value: Expr
    each: list[Each]


@dataclass(frozen=True)
class Index(Expr):
    """``of[index]``."""

    of: Expr
    index: Expr


@dataclass(frozen=True)
class Slice(Expr):
    """``lower:upper:step``, in an index."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True)
class Format(Expr):
    """``{value!r:spec}``, in an f-string."""

    value: Expr
    conversion: Text
    spec: Expr | None


@dataclass(frozen=True)
class Joined(Expr):
    """An f-string."""

    parts_: list[Expr]


@dataclass(frozen=True)
class OfType(Expr):
    """``isinstance(value, types)``."""

    value: Expr
    types: list[Text]


@dataclass(frozen=True)
class Typed(Expr):
    """``jit.annotate(type, value)``."""

    type: Text
    value: Expr


# ---- statements ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assign(Statement):
    """``a = b = value``; with a type if one was written."""

    targets: list[Expr]
    value: Expr
    type: Text


@dataclass(frozen=True)
class Update(Statement):
    """``target += value`` and its like."""

    target: Expr
    op: Text
    value: Expr


@dataclass(frozen=True)
class Declare(Statement):
    """``name: type``, without a value."""

    name: Name
    type: Text


@dataclass(frozen=True)
class Branch(Node):
    """A condition, and what is done where it holds."""

    test: Expr
    body: list[Statement]


@dataclass(frozen=True)
class If(Statement):
    """``if`` and its ``elif``, then ``else``."""

    branches: list[Branch]
    other: list[Statement]


@dataclass(frozen=True)
class For(Statement):
    """``for target in items``."""

    target: Expr
    items: Expr
    body: list[Statement]


@dataclass(frozen=True)
class While(Statement):
    """``while test``."""

    test: Expr
    body: list[Statement]


@dataclass(frozen=True)
class With(Statement):
    """``with no_grad():`` or another mode of gradients, which may have an argument."""

    mode: Text
    value: Expr | None
    body: list[Statement]


@dataclass(frozen=True)
class Break(Statement):
    """``break``."""


@dataclass(frozen=True)
class Continue(Statement):
    """``continue``."""


@dataclass(frozen=True)
class Return(Statement):
    """``return value``."""

    value: Expr | None


@dataclass(frozen=True)
class Assert(Statement):
    """``assert test, message``."""

    test: Expr
    message: Expr | None


@dataclass(frozen=True)
class Raise(Statement):
    """``raise ValueError(message)``."""

    error: Text
    message: Expr | None


@dataclass(frozen=True)
class Delete(Statement):
    """``del items[index]``."""

    target: Index


@dataclass(frozen=True)
class Do(Statement):
    """An expression by itself."""

    value: Expr


# ---- functions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter(Node):
    """A parameter of a function; whether it can be given by its name only."""

    name: Name
    type: Text
    default: Expr | None
    named_only: bool


@dataclass(frozen=True)
class Function(Node):
    """A function or a method, with the lines of its source."""

    name: Text
    method: bool
    parameters: list[Parameter]
    returns: Text  # a type, or nothing if none was written and none is known
    body: list[Statement]
    file: Text
    first: int
    lines: list[Text]
    types: dict[Text, Text] = field(default_factory=dict)  # of variables, as far as they are known

    def line(self, place: Place) -> str:
        """Return the line of source at a place, or nothing."""
        number = place[0] - self.first
        return self.lines[number] if 0 <= number < len(self.lines) else ""


NODES: dict[str, type[Node]] = {
    cls.__name__: cls
    for cls in list(globals().values())
    if isinstance(cls, type) and issubclass(cls, Node) and cls not in (Node, Expr, Statement)
}
BINARY = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>")
UNARY = ("-", "+", "~", "not")
COMPARE = ("<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in")
MODES = ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled")
ERRORS: dict[str, type[Exception]] = {
    cls.__name__: cls
    for cls in (
        ArithmeticError, AssertionError, AttributeError, Exception, IndexError, KeyError,
        LookupError, NotImplementedError, OverflowError, RuntimeError, StopIteration, TypeError,
        ValueError, ZeroDivisionError,
    )
}  # fmt: skip
