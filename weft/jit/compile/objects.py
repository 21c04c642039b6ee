"""Results that are dataclasses or ordered dicts: what they hold is kept, and each call makes a new one."""

from __future__ import annotations

import functools
from collections import OrderedDict

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Made", "taken_apart"]

_HEAP = 1 << 9  # the flag of classes that Python code has made


class Made(tuple[object, ...]):
    """Stands in a result for an object: what its dict holds, then what it has as an attribute."""

    kind: type
    keys: tuple[str, ...]
    names: tuple[str, ...]
    _fields = ()  # it is made anew as named tuples are

    def __new__(cls, *parts: object) -> Made:
        """Take the parts in their order."""
        return tuple.__new__(cls, parts)

    def filled(self, parts: list[Any]) -> Any:
        """Return such an object with these parts."""
        values = iter(parts)
        base: Any = OrderedDict if issubclass(self.kind, OrderedDict) else object
        made = base.__new__(self.kind)
        for key in self.keys:
            base.__setitem__(made, key, next(values))
        made.__dict__.update(zip(self.names, values))
        return made

    def parts_of(self, x: Any) -> tuple[Any, ...]:
        """Return the parts of another object of this kind, or nothing if it is of another."""
        other = taken_apart(x)
        return other if other is not None and type(other) is type(self) else ()


def taken_apart(x: Any) -> Made | None:
    """Return what stands for a dataclass or an ordered dict, or nothing if ``x`` is none.

    >>> import collections
    >>> taken = weft.jit.compile.objects.taken_apart(collections.OrderedDict(a=1, b=2))
    >>> taken, taken.filled([3, 4])
    ((1, 2), OrderedDict([('a', 3), ('b', 4)]))
    """
    kind: Any = type(x)
    if not _can_be_made(kind):
        return None
    own = vars(x)
    keys = tuple(OrderedDict.keys(x)) if isinstance(x, OrderedDict) else ()
    if any(type(key) is not str for key in keys):
        return None
    held = [OrderedDict.__getitem__(x, key) for key in keys]
    return _standing_for(kind, keys, tuple(own))(*held, *own.values())


@functools.lru_cache(maxsize=256)
def _can_be_made(kind: Any) -> bool:
    """Say whether its dict and its attributes are all there is to an object of a class."""
    if kind is OrderedDict:
        return True
    base: Any = OrderedDict if issubclass(kind, OrderedDict) else object
    mine = kind.__mro__[: kind.__mro__.index(base)]
    return (
        hasattr(kind, "__dataclass_fields__")
        and "__dict__" in dir(kind)
        and not hasattr(kind, "__del__")
        and not issubclass(kind, _C.ModuleBase)
        and all(c.__flags__ & _HEAP and not c.__dict__.get("__slots__") for c in mine)
    )


@functools.lru_cache(maxsize=256)
def _standing_for(kind: Any, keys: tuple[str, ...], names: tuple[str, ...]) -> type[Made]:
    """Return the class of what stands for such objects: one for two captures of the same."""
    return type("Made", (Made,), {"kind": kind, "keys": keys, "names": names})
