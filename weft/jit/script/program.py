"""A program: functions that call each other, each compiled when it is first called."""

from __future__ import annotations

import contextlib

from . import types
from .errors import note_place
from .run import FILE, compiled
from .text import code_of, text_of
from .values import checked, constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Program", "Running", "ScriptFunction"]


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

    def add(self, function: Any) -> Running:
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


class Running:
    """A function of a program, ready to be called."""

    def __init__(self, function: Any, program: Program) -> None:
        """Hold the tree; it is compiled on the first call, so loading a file runs nothing."""
        self.function, self.program = function, program
        self.body: Any = None

    def __deepcopy__(self, memo: Any) -> Running:
        """Functions do not change once they are made: copies of modules share them."""
        return self

    def prepare(self) -> None:
        """Compile the tree."""
        f = self.function
        body, self.places = compiled(f, self.program)
        self.most = f.method + sum(not p.named_only for p in f.parameters)  # without their names
        self.parameters = [("self", types.ANY, "", "", None)] if f.method else []
        for p in f.parameters:
            what, t = f"{f.name}(): argument '{p.name}'", types.read(p.type)
            hint = " (a parameter without an annotation is a Tensor)" if t == types.TENSOR else ""
            self.parameters.append((p.name, t, what, hint, p.default))
        self.returns = types.read(f.returns) if f.returns else None
        self.body = body  # last: another thread may ask whether it is there

    def bind(self, args: Any, named: dict[str, Any]) -> list[Any]:
        """Return the parameters' values in their order; each is of its type."""
        name, values, used = self.function.name, [], 0
        if len(args) > self.most:
            most, count = (n - self.function.method for n in (self.most, len(args)))
            raise TypeError(f"{name}() takes {most} positional arguments but {count} were given")
        for i, (key, t, what, hint, default) in enumerate(self.parameters):
            if i < len(args):
                if key in named:
                    raise TypeError(f"{name}() got multiple values for argument '{key}'")
                values.append(checked(args[i], t, what, hint))
            elif key in named:
                values.append(checked(named[key], t, what, hint))
                used += 1
            elif default is not None:
                values.append(constant(default))
            else:
                raise TypeError(f"{name}() is missing the argument '{key}'")
        if used < len(named):
            odd = next(key for key in named if key not in [p[0] for p in self.parameters])
            raise TypeError(f"{name}() got an unexpected keyword argument '{odd}'")
        return values

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function; an error of its body tells its place in the user's source."""
        if self.body is None:
            self.prepare()
        values = self.bind(args, named)
        try:
            result = self.body(*values)
        except Exception as e:
            with contextlib.suppress(AttributeError, TypeError):
                note_place(e, self.function, self.place_of(e.__traceback__))
            raise
        if self.returns is None:
            return result
        if not types.fits(result, self.returns):
            name, found = self.function.name, types.name_of(result)
            raise TypeError(f"{name}() must return {self.returns}, not {found}")
        return float(result) if self.returns == types.FLOAT and type(result) is int else result

    def place_of(self, trace: Any) -> Any:
        """Return where in this function an error came up: the line is the number of the place."""
        place, trace = None, trace.tb_next
        while trace is not None and trace.tb_frame.f_code.co_filename == FILE:
            place, trace = self.places[trace.tb_lineno - 1], trace.tb_next  # a comprehension's too
        return place


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
