"""Slots: places in Python's state that a call reads at its beginning and leaves with another value.

A counter (``self.calls += 1``), a cache of keys and values (``self.cache = new``), a running state in a
closure. Where all that such a place holds is tensors, numbers and containers of these, a call for any sizes
(``dynamic.py``) takes its value as one more argument and gives its next value as one more result.
"""

from __future__ import annotations

import types

from weft.jit import guards
from weft.jit.effects import is_library

from .bytecode import names_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .bytecode import Names

__all__ = ["Slot", "Stores", "restore", "slots_of"]


class Slot:
    """One such place: an item of a dict or list, a slot of an object, a cell of a closure.

    >>> from weft.jit.compile.slots import slots_of
    >>> from weft.jit.guards import DictItem
    >>> state = {"calls": 0}
    >>> guard = DictItem(state, "calls", 0, "calls")
    >>> state["calls"] += 1
    >>> slots_of([guard])[0].get()
    1
    """

    def __init__(
        self, owner: Any, key: Any, name: str, get: Callable[[], Any], put: Callable[[Any], Any]
    ) -> None:
        """Name the object, the key in it (None: a cell), and how to read and write it."""
        self.owner, self.key, self.name, self.get, self.put = owner, key, name, get, put

    @property
    def place(self) -> tuple[int, Any]:
        """What a guard on it says of its place."""
        return id(self.owner), self.key


class Stores:
    """What code may set: the names of attributes, globals and variables, items of containers.

    >>> from weft.jit.compile.bytecode import names_in
    >>> from weft.jit.compile.slots import Stores
    >>> from weft.jit.guards import AttributeIs
    >>> def count(x):
    ...     x.calls += x.step
    >>> stores = Stores()
    >>> stores.note(names_in(count.__code__), {})
    >>> [stores.may_set(AttributeIs(count, name, 1, name)) for name in ("calls", "step")]
    [True, False]
    """

    def __init__(self) -> None:
        """Begin with no code."""
        self._stored: set[str] = set()
        self._named: set[str] = set()
        self._anything = self._items = False
        self._prefixes: set[str] = set()
        self.owners: dict[int, type] = {}  # by the ids of namespaces: of which class the owner is

    def note(self, names: Names, members: dict[str, Any]) -> None:
        """Add the code of a function, and the globals that it sees."""
        self.owners[id(members)] = types.ModuleType
        self._stored |= names.stores
        self._named |= names.every
        self._prefixes |= {prefix for _, prefix in names.prefixes}
        self._anything |= names.looks
        self._items |= names.changes_items

    def may_set(self, guard: Any) -> bool:
        """Say whether the code may set what a guard is on; if not, another thread has set it."""
        if isinstance(guard, guards.CellIs):
            return guard.name.strip("'") in self._stored
        if isinstance(guard, guards.AttributeIs):
            cls: type | None = type(guard.owner)
        elif isinstance(guard, guards.DictItem):
            cls = self.owners.get(id(guard.owner))
        else:
            return self._items
        if cls is None or not isinstance(guard.key, str):
            return self._items or guard.key in self._stored
        found = guard.key in self._stored or guard.key.startswith(tuple(self._prefixes))
        return found or self._anything or guard.key in self._stored_by_library(cls)

    def _stored_by_library(self, cls: type) -> set[str]:
        """Return what methods that a class has from a library set, where code names these methods."""
        methods = {
            name: f.__code__
            for base in reversed(cls.__mro__)
            if is_library(base.__module__)
            for name, f in vars(base).items()
            if isinstance(f, types.FunctionType)
        }
        stored: set[str] = set()
        waiting = self._named | {"__call__", "forward"}
        while called := waiting & methods.keys():
            names = [names_in(methods.pop(name)) for name in called]
            stored = stored.union(*[n.stores for n in names])
            waiting = set().union(*[n.every for n in names])
        return stored


def slots_of(broken: Iterable[guards.Guard], stores: Stores | None = None) -> list[Slot] | None:
    """Return the slots that these guards are on; None if a replay could not, or must not, write to one.

    ``stores``: what the call may set. Another thread may set the rest while the call is captured.
    """
    found = [_slot_of(g) if stores is None or stores.may_set(g) else None for g in broken]
    return None if None in found else [slot for slot in found if slot is not None]


def _slot_of(guard: Any) -> Slot | None:
    kind, name = type(guard), guard.name
    if kind is guards.DictItem and type(guard.owner).__name__ in ("dict", "Members"):
        return _dict_item(guard.owner, guard.key, name)
    if kind is guards.ListItem and type(guard.container) is list:
        items, index = guard.container, guard.index
        return Slot(items, index, name, lambda: items[index], lambda x: items.__setitem__(index, x))
    if kind is guards.CellIs:
        cell = guard.cell

        def put(value: Any) -> None:
            cell.cell_contents = value

        return Slot(cell, None, name, lambda: cell.cell_contents, put)
    if kind is guards.AttributeIs:
        owner, key = guard.owner, guard.key
        read, write = object.__getattribute__, object.__setattr__
        return Slot(owner, key, name, lambda: read(owner, key), lambda x: write(owner, key, x))
    return None


def _dict_item(owner: dict[Any, Any], key: Any, name: str) -> Slot:
    """Return an item of a dict, or of a module's table: its copy in the module is a slot as well."""

    def put(value: Any) -> None:
        dict.__setitem__(owner, key, value)

    return Slot(owner, key, name, lambda: owner[key], put)


def restore(broken: Iterable[guards.Guard]) -> bool:
    """Put back what was there when these guards held; say whether that could be done."""
    broken = list(broken)
    slots = slots_of(broken)
    for slot, guard in zip(slots or (), broken):
        slot.put(guard.value)  # type: ignore[attr-defined]
    return slots is not None
