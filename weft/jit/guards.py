"""Guards: the conditions on Python's state under which a captured call may be replayed.

Each kind of guard is a class here, which says what must hold, and a struct with the same name in
``csrc/bind/guards.h``, which checks it. "The same value" means: the same object, or an equal number,
text or tuple of them of the same type (``-0.0`` and ``0.0`` differ, NaN equals itself).

Guards on one dict or class are checked together, and only if it has changed since they were last
found to hold: dicts and classes count their changes (``csrc/bind/dict_watcher.h``).
"""

from __future__ import annotations

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Iterable
    from typing import Any

    from weft import Tensor

__all__ = [
    "Absent", "Answer", "AttributeIs", "AttributeMissing", "CellEmpty", "CellIs", "DequeItem",
    "DictItem", "Elements", "FunctionIs", "Guard", "Keys", "Length", "ListItem", "Members", "Mro",
    "NamespaceIs", "NoneOf", "TensorMeta", "TypeIs", "by_kind", "failing",
    "item_or_absent", "native",
]  # fmt: skip

_CONSTANTS = (int, float, complex, str, bytes, bool, tuple, type(None), type(...))


class Guard:
    """A condition that must hold for a replay.

    >>> from weft.jit.guards import DictItem, failing
    >>> options = {"scale": 2.0}
    >>> guard = DictItem(options, "scale", 2.0, "the global 'scale'")
    >>> str(guard), guard.holds()
    ("the global 'scale' is 2.0", True)
    >>> options["scale"] = 3.0
    >>> guard.holds()
    False
    """

    __slots__ = ("name",)
    name: str  # of what it guards, for messages

    def _add_to(self, guards: Any) -> None:
        """Add it to a set of guards that is checked in C++."""
        raise NotImplementedError

    def holds(self) -> bool:
        """Check it alone."""
        return failing([self]) is None

    @property
    def place(self) -> tuple[int, Any]:
        """Which slot of which object it guards: what two guards on the same slot have in common."""
        return self._place()

    def _place(self) -> tuple[int, Any]:
        raise NotImplementedError(f"{type(self).__name__} guards more than one slot")

    def _condition(self) -> str:
        """Return what must be true of what it guards."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return it as text."""
        return f"{self.name} {self._condition()}"

    def __repr__(self) -> str:
        """Return its kind and its text."""
        return f"{type(self).__name__}({self})"


class _Value(Guard):
    """A slot that must have the same value."""

    __slots__ = ("value",)
    value: Any

    def _condition(self) -> str:
        return f"is {_shown(self.value)}"


# ---- dicts and classes: checked only after a change ----------------------------------------------


class DictItem(_Value):
    """A dict, or a class itself (not its bases), has the same value at a key."""

    __slots__ = ("key", "owner")

    def __init__(self, owner: Any, key: Any, value: Any, name: str) -> None:
        self.owner, self.key, self.value, self.name = owner, key, value, name

    def _add_to(self, guards: Any) -> None:
        guards.dict_item(self.owner, self.key, self.value)

    def _place(self) -> tuple[int, Any]:
        return id(self.owner), self.key


class Absent(Guard):
    """A dict has nothing at a key."""

    __slots__ = ("key", "owner")

    def __init__(self, owner: Any, key: Any, name: str) -> None:
        self.owner, self.key, self.name = owner, key, name

    def _add_to(self, guards: Any) -> None:
        guards.absent(self.owner, self.key)

    def _place(self) -> tuple[int, Any]:
        return id(self.owner), self.key

    def _condition(self) -> str:
        return "is absent"


class NoneOf(Guard):
    """A dict, or a class itself, has none of these keys: a lookup goes on past it."""

    __slots__ = ("keys", "owner")

    def __init__(self, owner: Any, keys: tuple[Any, ...], name: str) -> None:
        self.owner, self.keys, self.name = owner, keys, name

    def _add_to(self, guards: Any) -> None:
        guards.none_of(self.owner, self.keys)

    def _condition(self) -> str:
        return f"is absent: {_few(map(str, sorted(self.keys, key=str)))}"


class Keys(Guard):
    """A dict has these keys and no others, in this order."""

    __slots__ = ("keys", "owner")

    def __init__(self, owner: Any, keys: tuple[Any, ...], name: str) -> None:
        self.owner, self.keys, self.name = owner, keys, name

    def _add_to(self, guards: Any) -> None:
        guards.keys(self.owner, self.keys)

    def _condition(self) -> str:
        return f"are {_few(map(_shown, self.keys)) or 'none'}"


class Members(Guard):
    """A dict, or a class itself, has these very objects at these keys; it may have others."""

    __slots__ = ("members", "owner")

    def __init__(self, owner: Any, members: dict[str, Any], name: str) -> None:
        self.owner, self.members, self.name = owner, members, name

    def _add_to(self, guards: Any) -> None:
        guards.members(self.owner, self.members)

    def _condition(self) -> str:
        return f"is the same: {_few(self.members)}"


class Mro(Guard):
    """A class has the same classes to look for names in, in the same order."""

    __slots__ = ("cls", "mro")

    def __init__(self, cls: type, name: str) -> None:
        self.cls, self.mro, self.name = cls, cls.__mro__, name

    def _add_to(self, guards: Any) -> None:
        guards.mro_is(self.cls, self.mro)

    def _condition(self) -> str:
        return f"are {_few(base.__name__ for base in self.mro[1:])}"


# ---- other containers: compared each time --------------------------------------------------------


class ListItem(_Value):
    """A list has the same value at an index."""

    __slots__ = ("container", "index")

    def __init__(self, container: Any, index: int, value: Any, name: str) -> None:
        self.container, self.index, self.value, self.name = container, index, value, name

    def _add_to(self, guards: Any) -> None:
        guards.list_item(self.container, self.index, self.value)

    def _place(self) -> tuple[int, Any]:
        return id(self.container), self.index


class DequeItem(ListItem):
    """A deque has the same value at an index."""

    __slots__ = ()

    def _add_to(self, guards: Any) -> None:
        guards.deque_item(self.container, self.index, self.value)


class Elements(Guard):
    """A set has these elements, and iterates over them in this order."""

    __slots__ = ("container", "elements")

    def __init__(self, container: Any, name: str) -> None:
        self.container, self.elements, self.name = container, tuple(container), name

    def _add_to(self, guards: Any) -> None:
        guards.elements(self.container, self.elements)

    def _condition(self) -> str:
        return f"are {_few(map(_shown, self.elements)) or 'none'}"


class Length(Guard):
    """A list, dict or deque has this many items."""

    __slots__ = ("container", "size")

    def __init__(self, container: Any, name: str) -> None:
        self.container, self.size, self.name = container, len(container), name

    def _add_to(self, guards: Any) -> None:
        guards.length(self.container, self.size)

    def _place(self) -> tuple[int, Any]:
        return id(self.container), Length

    def _condition(self) -> str:
        return f"is {self.size}"


# ---- closures, objects, functions ----------------------------------------------------------------


class CellIs(_Value):
    """A cell of a closure has the same value."""

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType, name: str) -> None:
        self.cell, self.value, self.name = cell, cell.cell_contents, name

    def _add_to(self, guards: Any) -> None:
        guards.cell_is(self.cell, self.value)

    def _place(self) -> tuple[int, Any]:
        return id(self.cell), None


class CellEmpty(Guard):
    """A cell of a closure has no value yet."""

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType, name: str) -> None:
        self.cell, self.name = cell, name

    def _add_to(self, guards: Any) -> None:
        guards.cell_empty(self.cell)

    def _condition(self) -> str:
        return "is unbound"


class AttributeIs(_Value):
    """An attribute that is no item of a dict (a slot) has the same value, or raises no longer."""

    __slots__ = ("key", "owner")

    def __init__(self, owner: Any, key: str, value: Any, name: str) -> None:
        self.owner, self.key, self.value, self.name = owner, key, value, name

    def _add_to(self, guards: Any) -> None:
        guards.attribute_is(self.owner, self.key, self.value)

    def _place(self) -> tuple[int, Any]:
        return id(self.owner), self.key


class AttributeMissing(Guard):
    """A slot of an object is empty."""

    __slots__ = ("key", "owner")

    def __init__(self, owner: Any, key: str, name: str) -> None:
        self.owner, self.key, self.name = owner, key, name

    def _add_to(self, guards: Any) -> None:
        guards.attribute_missing(self.owner, self.key)

    def _condition(self) -> str:
        return "is absent"


class NamespaceIs(Guard):
    """An object keeps its attributes in the same dict: guards on that dict are guards on it."""

    __slots__ = ("members", "owner")

    def __init__(self, owner: Any, members: dict[str, Any], name: str) -> None:
        self.owner, self.members, self.name = owner, members, name

    def _add_to(self, guards: Any) -> None:
        guards.namespace_is(self.owner, self.members)

    def _condition(self) -> str:
        return "is the same dict"


class FunctionIs(Guard):
    """A function has the same code and the same values of omitted arguments."""

    __slots__ = ("code", "defaults", "function", "kwdefaults")

    def __init__(self, function: types.FunctionType, name: str) -> None:
        self.function, self.code, self.name = function, function.__code__, name
        self.defaults, self.kwdefaults = function.__defaults__, function.__kwdefaults__

    def _add_to(self, guards: Any) -> None:
        guards.function_is(self.function, self.code, self.defaults, self.kwdefaults)

    def _condition(self) -> str:
        return "are the same"


class TypeIs(Guard):
    """An object is of the same class."""

    __slots__ = ("object", "type")

    def __init__(self, object: Any, name: str) -> None:
        self.object, self.type, self.name = object, type(object), name

    def _add_to(self, guards: Any) -> None:
        guards.type_is(self.object, self.type)

    def _condition(self) -> str:
        return f"is {self.type.__name__}"


class Answer(_Value):
    """A function without arguments returns the same value: for what is kept outside of Python."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[], Any], value: Any, name: str) -> None:
        self.function, self.value, self.name = function, value, name

    def _add_to(self, guards: Any) -> None:
        guards.answer(self.function, self.value)


class TensorMeta(Guard):
    """A tensor has the same shape, strides, dtype, role in gradients and number of attributes."""

    __slots__ = ("_meta", "tensor")

    def __init__(self, tensor: Tensor, name: str) -> None:
        self.tensor, self.name, self._meta = tensor, name, _C._TensorMeta(tensor)

    def _add_to(self, guards: Any) -> None:
        guards.tensor_meta(self._meta)

    def _condition(self) -> str:
        return "is the same"


# ---- sets of guards ------------------------------------------------------------------------------


def native(guards: Iterable[Guard]) -> Any:
    """Return a set of guards as C++ checks it; its ``failing()`` gives the number of one, or -1."""
    made = _C.Guards()
    for guard in guards:
        guard._add_to(made)
    return made


def item_or_absent(owner: Any, key: Any, name: str) -> Guard:
    """Return the guard on what a dict has at a key, or on that it has nothing there."""
    return DictItem(owner, key, owner[key], name) if key in owner else Absent(owner, key, name)


def by_kind(guards: Iterable[Guard]) -> dict[str, list[str]]:
    """Return the texts of guards by the names of their kinds, the most frequent kind first."""
    kinds: dict[str, list[str]] = {}
    for guard in guards:
        kinds.setdefault(type(guard).__name__, []).append(str(guard))
    return dict(sorted(kinds.items(), key=lambda item: -len(item[1])))


def failing(guards: list[Guard]) -> Guard | None:
    """Return a guard that does not hold, or None."""
    number = native(guards).failing()
    return guards[number] if number >= 0 else None


def _shown(value: Any) -> str:
    """Return a constant as it is written, and of other objects what they are."""
    if isinstance(value, _CONSTANTS) and len(text := repr(value)) <= 60:
        return text
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return f"the same {type(value).__name__} {value.__qualname__}"
    return f"the same {type(value).__name__}"


def _few(texts: Iterable[str], most: int = 4) -> str:
    texts = list(texts)
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


# ---- whether the interpreter reports changes -----------------------------------------------------


def _reports_instance_dicts() -> bool:
    """Try whether storing an attribute of an object is reported as a change of its dict.

    In 3.13.0 it is not: that is tried, because no version number says which builds have the repair.
    """

    class Plain:
        pass

    x: Any = Plain()

    def store(value: int) -> None:
        x.a = value

    for i in range(64):  # until the interpreter has specialised the instruction
        store(i)
    counted = _C._dict_changes(x.__dict__, lambda: store(-1))
    return counted is not None and counted[0] != counted[1]


def _decide() -> None:
    _C._believe_instance_dicts(True)
    _C._believe_instance_dicts(_reports_instance_dicts())


_decide()
