"""What a running program does with values: every access that ``allowed.py`` limits goes through here.

Operators, branches, loops and items are Python's own; ``python.py`` calls these functions for the
rest, and nothing else of Python can be reached.
"""

from __future__ import annotations

import string

import weft
from weft import _C

from . import allowed, tree, types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_VALUES = (int, float, bool, str, complex, weft.dtype, weft.device, weft.Size, range)
_VALUES += (weft.layout, weft.memory_format, weft.Generator)  # type: ignore[assignment]


def is_value(x: Any, depth: int = 0) -> bool:
    """Say whether something may be a value in a program.

    >>> from weft.jit.script.values import is_value
    >>> is_value([1, (weft.ones(1), "a")]), is_value(print)
    (True, False)
    """
    if x is None or type(x) in _VALUES or isinstance(x, (weft.Tensor, _C.ModuleBase)):
        return True
    if depth > 32:
        return False
    if type(x) in (list, tuple):
        return all(is_value(item, depth + 1) for item in x)
    if type(x) is dict:
        return all(is_value(k, depth + 1) and is_value(v, depth + 1) for k, v in x.items())
    return False


def constant(e: Any) -> Any:
    """Return a fresh value of an expression made of constants, such as a default.

    >>> from weft.jit.script.tree import Const, Items
    >>> from weft.jit.script.values import constant
    >>> constant(Items((1, 0, 0), "list", [Const((1, 0, 0), 2)]))
    [2]
    """
    if isinstance(e, tree.Items):
        return (list if e.kind == "list" else tuple)(map(constant, e.items))
    return allowed.CONSTANTS[e.name] if isinstance(e, tree.Known) else e.value


def member(value: Any, name: str) -> Any:
    """Return an attribute of a value that a program may read."""
    if isinstance(value, weft.Tensor):
        if allowed.of_tensors().get(name) is False:
            return getattr(value, name)
    elif isinstance(value, _C.ModuleBase):
        if allowed.is_member_name(name) and name in value.__dict__:
            found = value.__dict__[name]
            if is_value(found):
                return found
    elif isinstance(value, tuple) and name in getattr(type(value), "_fields", ()):
        return getattr(value, name)
    elif isinstance(value, tuple) and type(value).__module__ == "weft.return_types":
        if not name.startswith("_") and name in dir(type(value)) and name not in dir(tuple):
            return getattr(value, name)
    elif name in allowed.MEMBERS.get(type(value), ()):
        return getattr(value, name)
    raise AttributeError(
        f"scripted code may not read '{name}' of a {types.name_of(value)}: there is no such "
        "attribute, or it is not data"
    )


def method(value: Any, name: str) -> Callable[..., Any]:
    """Return a method of a value that a program may call."""
    if isinstance(value, weft.Tensor):
        if allowed.of_tensors().get(name):
            return getattr(value, name)
    elif isinstance(value, _C.ModuleBase):
        return _method_of_module(value, name)
    elif isinstance(value, str) and name == "format":
        return lambda *args, **named: _formatted(value, args, named)
    else:
        for cls in type(value).__mro__:
            if name in allowed.METHODS.get(cls, ()):
                return getattr(value, name)
    raise AttributeError(f"a {types.name_of(value)} has no method '{name}' for scripted code")


def _method_of_module(value: Any, name: str) -> Callable[..., Any]:
    found = value.__dict__.get("_methods", {}).get(name)
    if found is not None:
        return lambda *args, **named: found(value, *args, **named)
    if name == "forward":
        return value.forward
    home = value._modules if value.__dict__.get("_container") == "dict" else value
    if name in allowed.OF_MODULES and hasattr(type(home), name):
        return getattr(home, name)
    child = value._modules.get(name)
    if child is not None:
        return child
    raise AttributeError(f"{type(value).__name__} has no scripted method '{name}'")


def _formatted(text: str, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """``str.format`` without the attributes and items of what is formatted."""
    for _, place, spec, _ in string.Formatter().parse(text):
        for part in (place or "", *(p[1] or "" for p in string.Formatter().parse(spec or ""))):
            if "." in part or "[" in part or part.startswith("_"):
                raise ValueError(f"format: {{{part}}} reads a part of a value: pass it instead")
    return text.format(*args, **named)


def module(value: Any) -> Any:
    """Return a value that is called, which must be a module."""
    if not isinstance(value, _C.ModuleBase):
        raise TypeError(f"a {types.name_of(value)} cannot be called")
    return value


class settable:
    """The attributes of ``self`` as items that a program may set."""

    def __init__(self, value: Any) -> None:
        """Take a module, which must be scripted."""
        if not isinstance(value, _C.ModuleBase) or "_methods" not in value.__dict__:
            raise TypeError(
                f"scripted code sets attributes of self, not of a {type(value).__name__}"
            )
        self.module = value

    def __getitem__(self, name: str) -> Any:
        """Return an attribute, for ``self.name += 1``."""
        return member(self.module, name)

    def __setitem__(self, name: str, value: Any) -> None:
        """Set an attribute that is there, and is data."""
        if not allowed.is_data_name(name) or name not in self.module.__dict__:
            raise AttributeError(
                f"{type(self.module).__name__} has no attribute '{name}' to be set"
            )
        if not is_value(value) or isinstance(value, _C.ModuleBase):
            raise TypeError(f"self.{name} cannot be a {types.name_of(value)}")
        setattr(self.module, name, value)


def deletable(items: Any) -> Any:
    """Return a value whose items are deleted, which must be a list or a dict."""
    if type(items) not in (list, dict):
        raise TypeError(f"items of a {types.name_of(items)} cannot be deleted")
    return items


def checked(value: Any, t: types.Type, what: str, hint: str = "") -> Any:
    """Return a value that must be of a type; whole numbers become floats where these are asked for."""
    if not types.fits(value, t):
        raise TypeError(f"{what} must be of type {t}, not {types.name_of(value)}{hint}")
    return float(value) if t.name == "float" and type(value) is int else value


def _fork(call: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """Start a call beside what follows; the names of its arguments are its own."""
    from weft.jit.futures import fork

    return fork(lambda: call(*args, **named))


_NAMED: dict[str, Any] = {
    **{f".{f.__name__}": f for f in (member, method, module, settable, deletable, checked)},
    **{n: lambda text="", e=e: e(str(text)) for n, e in tree.ERRORS.items()},
    ".value": lambda value: value,
    "isinstance": types.is_instance,
    "weft.jit.fork": _fork,
    "weft.jit.annotate": lambda t, value: checked(value, t, "annotate: the value"),
    "weft.no_grad": weft.no_grad,
    "weft.enable_grad": weft.enable_grad,
    "weft.inference_mode": weft.inference_mode,
    "weft.set_grad_enabled": lambda flag: weft.set_grad_enabled(bool(flag)),
}


def named(name: str) -> Any:
    """Return what a name stands for in a program that runs: a guard, a function, a constant."""
    found = _NAMED.get(name) or allowed.function_named(name)
    return allowed.CONSTANTS[name] if found is None else found
