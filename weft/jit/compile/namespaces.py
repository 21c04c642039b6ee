"""Where code looks for names: the dicts of modules, objects and classes, closures, slots."""

from __future__ import annotations

import functools
import operator
import sys
import types

from weft.jit.effects import is_library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Remembering", "Space", "content_of", "is_dunder", "is_library_module", "registry_of",
    "slots_of",
]  # fmt: skip

_MAKING = {"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"}
# Methods that weft calls, whoever names them.
_CALLED = {"backward", "forward", "jvp", "setup_context", "vjp", "vmap"}
# Methods that operators call, which a class may get.
_OPERATORS = {name for name in dir(operator) if name.startswith("__")} | {
    "__bool__", "__call__", "__enter__", "__exit__", "__float__", "__format__", "__get__",
    "__getattr__", "__getattribute__", "__hash__", "__int__", "__iter__", "__len__", "__next__",
    "__radd__", "__repr__", "__rmul__", "__rsub__", "__rtruediv__", "__str__",
}  # fmt: skip


_FOUND = _OPERATORS | _CALLED


@functools.lru_cache(maxsize=64)
def _all_but(names: frozenset[str]) -> frozenset[str]:
    """Return the others of the methods that are found without being named: one set for many classes."""
    return frozenset(_FOUND - names)


class Remembering:
    """Tells whether what a cached function remembers was forgotten since."""

    def __init__(self, cached: Any) -> None:
        """Note how often it was called by now."""
        self._cached, self._calls = cached, 0
        self()

    def __call__(self) -> bool:
        """Say whether it still remembers: the number of its calls begins anew when it forgets."""
        hits, misses, *_ = self._cached.cache_info()
        if hits + misses < self._calls:
            self._calls = sys.maxsize
        else:
            self._calls = hits + misses
        return self._calls != sys.maxsize


class Space:
    """Names and what they stand for: the dict of a module, an object or a class."""

    def __init__(
        self, where: Any, members: Any, name: str, cls: type | None = None, *, owner: int = 0,
        closed: bool = False,
    ) -> None:  # fmt: skip
        """Note where it is.

        Args:
            where: what has the names.
            members: the dict of them.
            name: how a message calls it.
            cls: the class, if it is an object's.
            owner: the id of the module or class whose names they are.
            closed: it is a library's: what it has is known, and not looked into.
        """
        self.where, self.members, self.name, self.cls = where, members, name, cls
        self.owner, self.closed = owner, closed
        self.done: set[str] = set()  # what was examined
        self.whole = False  # there is a guard on which names there are
        self.there = False  # a class, of which only objects are seen that are there already

    def is_special(self, key: str) -> bool:
        """Say whether it is used without being named: a method that Python or weft calls."""
        if not isinstance(self.where, type) or (self.there and key in _MAKING):
            return False
        return not self.closed and (key.startswith("__") or key in _CALLED)

    def missing(self, names: set[str]) -> frozenset[str]:
        """Return those of some names that it does not have."""
        return frozenset(names - self.members.keys() - self.done - {"__class__"})

    def missing_operators(self) -> frozenset[str]:
        """Return the methods that would be called without being named, and that a class does not have."""
        if not isinstance(self.where, type):
            return frozenset()
        return _all_but(frozenset(_FOUND & self.members.keys()))

    def functions(self) -> dict[str, Any]:
        """Return the functions that it has, and what is made of them."""
        kinds = (property, staticmethod, classmethod)
        return {k: v for k, v in self.members.items() if callable(v) or isinstance(v, kinds)}


def slots_of(cls: type) -> list[str]:
    """Return the attributes that a class keeps in slots, as they are found."""
    slots = cls.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return [
        f"_{cls.__name__.lstrip('_')}{n}" if n.startswith("__") and not n.endswith("__") else n
        for n in names
        if n not in ("__dict__", "__weakref__")
    ]


def registry_of(f: types.FunctionType) -> Any:
    """Return what ``functools.singledispatch`` chooses from."""
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or ()))
    return content_of(cells["registry"]) if "registry" in cells else None


def content_of(cell: Any) -> Any:
    """Return the value of a cell of a closure, or None if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def is_library_module(x: Any) -> bool:
    """Say whether it is such a module."""
    return isinstance(x, types.ModuleType) and is_library(x.__name__)


def is_dunder(name: str) -> bool:
    """Say whether Python gives a name its meaning."""
    return name.startswith("__") and name.endswith("__")
