"""A call as a sequence of calls from Python to weft, in SSA form: what a capture for any sizes makes.

Values have numbers: the arguments first, then the results of instructions. A pattern says of what an
argument or a result is made: ``("value", n)``, ``("constant", object)``, ``("tuple", [patterns])`` and so
on; ``csrc/bind/call_sequence.cpp`` has the list, and runs them.
"""

from __future__ import annotations

import types

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from weft.utils.pytree import TreeSpec

__all__ = [
    "PLAIN", "Instruction", "are_equal", "decisions_in", "is_in_place", "key_of",
    "name_of", "names_in", "nested_pattern", "option_of", "ordered", "shown", "values_in",
]  # fmt: skip

PLAIN = (int, float, str, bool, bytes, complex, type(None), weft.dtype)


class Instruction:
    """A call of a function: its arguments and its result, as patterns of values and constants."""

    def __init__(
        self, function: Any, args: list[Any], names: tuple[str, ...] | None, result: Any
    ) -> None:
        """Note what is called, with what, and what it gave; ``names``: of the last arguments."""
        self.function, self.args, self.names, self.result = function, args, names, result
        self.grad = weft.is_grad_enabled()
        self.origin = _C._origin()
        self.keeps = False  # it changes its first argument, and that can be undone
        self.lasts = False  # from it on, not all can be undone
        self.numbers = False  # it only computes numbers: it may be made early, or left out

    def reads(self) -> Iterator[int]:
        """Iterate over the numbers of the values that it takes."""
        for a in self.args:
            yield from values_in(a)

    def makes(self) -> Iterator[int]:
        """Iterate over the numbers of the values that it gives."""
        yield from values_in(self.result)

    def shown(self, makers: dict[int, Instruction]) -> str:
        """Return what it computes as text."""
        name = name_of(self.function)
        args = [shown(a, makers) for a in self.args]
        if name in _SYMBOLS and len(args) == 2:
            return f"({args[0]} {_SYMBOLS[name]} {args[1]})"
        return f"{args[0]}.{name}({', '.join(args[1:])})"

    @property
    def line(self) -> str:
        """File and line of the call in the user's program."""
        code, instruction, _ = self.origin
        if code is None:
            return "?"
        lines = (line for start, end, line in code.co_lines() if start <= instruction < end)
        return f"{code.co_filename}:{next(lines, code.co_firstlineno)}"

    def agrees(self, other: Instruction) -> bool:
        """Say whether another capture has the same call."""
        return (
            self.function == other.function
            and (self.names, self.grad) == (other.names, other.grad)
            and are_equal(self.args, other.args)
            and are_equal(self.result, other.result)
        )


_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">=",
}  # fmt: skip


def shown(pattern: Any, makers: dict[int, Instruction]) -> str:
    """Return a number as text: how it is computed from sizes; ``makers``: of values, by number."""
    if pattern[0] != "value":
        return repr(pattern[1])
    maker = makers.get(pattern[1])
    if maker is None or not maker.numbers:
        return f"v{pattern[1]}"
    return maker.shown(makers)


def names_in(instructions: list[Instruction]) -> list[str]:
    """Return the names of what is called, but for arithmetic of numbers."""
    return [name_of(i.function) for i in instructions if not i.numbers]


def decisions_in(instructions: list[Instruction]) -> list[str]:
    """Return where Python decided by sizes, as text: a replay must decide likewise."""
    makers = {n: i for i in instructions for n in i.makes()}
    checks = [i for i in instructions if i.numbers and i.result[0] == "constant"]
    found = [f"{i.shown(makers)} is {i.result[1]} at {i.line}" for i in checks]
    return list(dict.fromkeys(found))


def name_of(f: Any) -> str:
    """Return the name of a function."""
    return getattr(f, "__name__", type(f).__name__)


_CHANGING = frozenset(
    {"iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor",
     "ilshift", "irshift", "imatmul", "setitem"}
)  # fmt: skip


def is_in_place(name: str) -> bool:
    """Say whether a function of that name changes its first argument."""
    return name in _CHANGING or (name.endswith("_") and not name.startswith("_"))


def option_of(group: dict[str, Any], key: str, place: int) -> Any:
    """Return an option of an optimiser as it is now, or what is at a place in it (-1: all of it)."""
    return group[key] if place < 0 else group[key][place]


def values_in(pattern: Any) -> Iterator[int]:
    """Iterate over the values in a pattern: ("value", n), ("tensor", n, …), ("tuple", [patterns]) …"""
    kind = pattern[0]
    if kind in ("value", "tensor", "number", "same"):
        yield pattern[1]
    elif kind not in ("constant", "otherwise"):
        for part in pattern[1]:
            yield from values_in(part)


def key_of(pattern: Any) -> Any:
    """Return what equal arguments of a computation have in common."""
    x = pattern[1]
    if pattern[0] == "constant":
        return (type(x), repr(x)) if type(x) in (int, float, bool, str) else id(x)
    return pattern


def are_equal(a: Any, b: Any) -> bool:
    """Say whether two patterns are the same; constants are if they are one object, or equal numbers."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(are_equal, a, b))
    if isinstance(a, slice):
        return are_equal((a.start, a.stop, a.step), (b.start, b.prepared, b.step))
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    return isinstance(a, (*PLAIN, types.MethodType)) and a == b


def ordered(instructions: list[Instruction], outputs: list[Any], moves: bool) -> list[Instruction]:
    """Return the instructions that are needed, with what follows from the arguments alone first.

    So a call that cannot be made is left before anything was computed.
    """
    made = {v for i in instructions for v in i.makes()}
    needed = {v for p in outputs for v in values_in(p)}
    kept: list[Instruction] = []
    for i in reversed(instructions):
        if i.numbers and i.result[0] == "number" and i.result[1] not in needed:
            continue
        needed.update(i.reads())
        kept.append(i)
    kept.reverse()
    if moves:
        return kept
    early: list[Instruction] = []
    late: list[Instruction] = []
    for i in kept:
        if i.numbers and not any(v in made for v in i.reads()):
            made.difference_update(i.makes())
            early.append(i)
        else:
            late.append(i)
    return early + late


def nested_pattern(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    """Return the pattern of a structure."""
    if spec.is_leaf():
        return next(leaves)
    parts = [nested_pattern(child, leaves) for child in spec.children()]
    return (spec.type.__name__, parts, *((spec.context,) if spec.type is dict else ()))
