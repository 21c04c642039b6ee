"""A program: functions that call each other, and what of Python it still needs."""

from __future__ import annotations

from .run import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .tree import Function

__all__ = ["Program"]


class Program:
    """The functions of scripted code, by name.

    >>> @weft.jit.script
    ... def double(x):
    ...     return x * 2
    >>> list(double.program.functions)
    ['double']
    """

    def __init__(self) -> None:
        """Start empty."""
        self.functions: dict[str, Running] = {}
        self.in_python: dict[str, Callable[..., Any]] = {}  # what jit.ignore left there

    def add(self, function: Function) -> Running:
        """Add a function under its name."""
        self.functions[function.name] = made = Running(function, self)
        return made

    def fresh(self, name: str) -> str:
        """Return a name that no function has: this one, or this one with a number."""
        taken, number = {*self.functions, *self.in_python}, 1
        found = name
        while found in taken:
            found, number = f"{name}_{number}", number + 1
        return found

    def __deepcopy__(self, memo: Any) -> Program:
        """A program does not change once it is made: copies of modules share it."""
        return self
