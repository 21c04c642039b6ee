"""``ScriptFunction``: a scripted function as users hold it."""

from __future__ import annotations

from .program import Program
from .text import code_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .run import Running

__all__ = ["ScriptFunction"]


class ScriptFunction:
    """A function as a program: what ``weft.jit.script`` gives for a function.

    >>> @weft.jit.script
    ... def steps(x, n: int):
    ...     for _ in range(n):
    ...         x = x * 2
    ...     return x
    >>> steps(weft.ones(2), 3)
    tensor([8., 8.])
    >>> print(steps.code)
    def steps(x: Tensor, n: int) -> Tensor:
        for _ in range(n):
            x = x * 2
        return x
    """

    def __init__(self, program: Program, name: str, python: Any = None) -> None:
        """Hold the function of a program; ``python`` is what it was made of."""
        self.program, self.python = program, python
        self.name = self.__name__ = name
        self.__qualname__ = name
        self.__doc__ = getattr(python, "__doc__", None)
        self.__module__ = getattr(python, "__module__", __name__)
        self.running: Running = program.functions[name]

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the program."""
        return self.running(*args, **named)

    @property
    def graph(self) -> Any:
        """The program as readable text, with its source lines; ``.function`` is its tree."""
        return Listing([self.running.function])

    @property
    def code(self) -> str:
        """The program as Python-like source."""
        return code_of(self.running.function)

    @property
    def schema(self) -> str:
        """Parameters and result, with their types."""
        return self.code.splitlines()[0].removeprefix("def ").removesuffix(":")

    def save(self, f: Any) -> None:
        """Write the program to a file, as ``weft.jit.save`` does."""
        from weft.jit.files import save

        save(self, f)

    def __repr__(self) -> str:
        """Return the name and the parameters."""
        return f"<scripted {self.schema}>"

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self.name}: scripted functions are saved by weft.jit.save, not by pickle"
        )


class Listing:
    """Functions of a program, printed with their source lines."""

    def __init__(self, functions: list[Any], notes: list[str] | None = None) -> None:
        """Take the trees of the functions, and lines that stand below them."""
        self.functions, self.notes = functions, notes or []

    def __str__(self) -> str:
        """Return the text."""
        return "\n".join(["\n\n".join(text_of(f) for f in self.functions), *self.notes])

    __repr__ = __str__
