"""Marks that scripting reads: what to compile, what to leave alone, of which type something is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Attribute", "annotate", "export", "ignore", "is_scripting", "unused"]


def is_scripting() -> bool:
    """Say whether this is scripted code: False in Python, True in what ``jit.script`` compiles.

    >>> def where():
    ...     return weft.jit.is_scripting()
    >>> where(), weft.jit.script(where)()
    (False, True)
    """
    return False


def export(fn: Any) -> Any:
    """Mark a method that ``jit.script`` compiles though ``forward`` does not call it.

    >>> class Net(weft.nn.Module):
    ...     def forward(self, x):
    ...         return x
    ...     @weft.jit.export
    ...     def twice(self, x):
    ...         return x * 2
    >>> weft.jit.script(Net()).twice(weft.ones(1))
    tensor([2.])
    """
    fn._weft_jit = "export"
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a function or method that stays in Python when scripted code calls it.

    A program with such a call cannot be saved. With ``drop=True`` this is ``unused``.

    >>> @weft.jit.ignore
    ... def now(x):
    ...     return x + len(globals()) * 0
    >>> @weft.jit.script
    ... def f(x):
    ...     return now(x) * 2
    >>> f(weft.ones(1))
    tensor([2.])
    """
    if kwargs:
        raise NotImplementedError(f"ignore({next(iter(kwargs))}=...): not in weft")
    if callable(drop):
        drop._weft_jit = "ignore"
        return drop
    return unused if drop else ignore


def unused(fn: Any) -> Any:
    """Mark a function or method that scripted code may name, but that raises when it is called.

    >>> @weft.jit.unused
    ... def odd(x):
    ...     return eval("x")
    >>> @weft.jit.script
    ... def f(x, strange: bool = False):
    ...     if strange:
    ...         x = odd(x)
    ...     return x
    >>> f(weft.ones(1))
    tensor([1.])
    """
    fn._weft_jit = "unused"
    return fn


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value; scripted code checks that it is of the type.

    >>> from typing import List
    >>> weft.jit.annotate(List[int], [1, 2])
    [1, 2]
    """
    return the_value


class Attribute:
    """A value with a type, as an attribute of a module.

    >>> weft.jit.Attribute(2.0, float).value
    2.0
    """

    def __init__(self, value: Any, type: Any) -> None:
        """Hold a value and its type."""
        self.value, self.type = value, type


def script_isinstance(obj: Any, target_type: Any) -> bool:
    """Say whether a value is of a type, containers included, as scripted code would.

    >>> from typing import List
    >>> weft.jit.isinstance([1, 2], List[int]), weft.jit.isinstance([1, "a"], List[int])
    (True, False)
    """
    from .script.types import is_instance, read

    asked = target_type if type(target_type) is tuple else (target_type,)
    return any(is_instance(obj, read(_text(t))) for t in asked)


def _text(t: Any) -> str:
    if t is None:
        return "None"
    if type(t) is type:
        return t.__name__
    return str(t).replace("typing.", "")


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a method of a subclass of ``jit.ScriptModule`` when it is first called.

    >>> class Double(weft.jit.ScriptModule):
    ...     @weft.jit.script_method
    ...     def forward(self, x):
    ...         return x * 2
    >>> Double()(weft.ones(1))
    tensor([2.])
    """

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        methods = self.__dict__.setdefault("_methods", {})
        if fn.__name__ not in methods:
            from .script.compiler import Compiler

            compiler = Compiler()
            compiler.method(self, fn.__name__, None, None)
            methods.update(compiler.build(self).methods)
        return methods[fn.__name__](self, *args, **kwargs)

    run.__name__, run.__doc__ = fn.__name__, fn.__doc__
    run._script_method_of = fn  # type: ignore[attr-defined]
    return run
