"""``weft.jit.script``: functions and modules as programs, read from their source.

A program is a small tree of our own (``tree.py``), read from Python's (``source.py``,
``statements.py``, ``expressions.py``, ``calls.py``), checked (``check.py``), printed (``text.py``),
stored (``data.py``) and run (``run.py``, ``values.py``, ``program.py``). What it may call is in
``allowed.py``. ``docs/script.md`` shows the language.
"""

from __future__ import annotations

from types import FunctionType

from weft._C import ModuleBase

from .errors import ScriptError
from .program import Program, ScriptFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Program", "ScriptError", "ScriptFunction", "script"]


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """Compile a function or a module, and all that it calls, from the source.

    The language is a typed part of Python with its loops, branches and containers; parameters
    without an annotation are tensors. What is outside of it raises ``ScriptError``, with the line.
    Results carry gradients, as in Python.

    Args:
        obj: a function, or a module (an object, not a class).
        optimize: not supported.
        example_inputs: not supported; annotate the parameters.

    >>> @weft.jit.script
    ... def relu_sum(x, n: int):
    ...     total = weft.zeros(())
    ...     for i in range(n):
    ...         if i % 2 == 0:
    ...             total = total + weft.relu(x[i])
    ...     return total
    >>> relu_sum(weft.tensor([1.0, 2.0, 3.0]), 3)
    tensor(4.)
    """
    refused = {"optimize": optimize, "_frames_up": _frames_up or None, "_rcb": _rcb}
    for name, value in {**refused, "example_inputs": example_inputs}.items():
        if value is not None:
            raise NotImplementedError(f"script({name}=...): not in weft")
    if isinstance(obj, ScriptFunction):
        return obj
    if isinstance(obj, type):
        raise NotImplementedError(
            f"script({obj.__name__}): classes cannot be scripted: script a module (an object of the "
            "class) or its functions"
        )
    from .compiler import Compiler

    if isinstance(obj, FunctionType):
        compiler = Compiler()
        return ScriptFunction(compiler.program, compiler.function(obj), obj)
    if isinstance(obj, ModuleBase):
        from .module import script_module

        return script_module(obj, Compiler())
    raise TypeError(f"script: takes a function or a module, not a {type(obj).__name__}")
