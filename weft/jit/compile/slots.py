"""Slots: places in Python's state that a call reads at its beginning and leaves with another value.

A counter (``self.calls += 1``), a cache of keys and values (``self.cache = new``), a running state in a
closure. Where all that such a place holds is tensors, numbers and containers of these, a call for any sizes
(``dynamic.py``) takes its value as one more argument and gives its next value as one more result.
"""

from __future__ import annotations

from weft.jit import guards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["Slot", "restore", "slots_of"]


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


def slots_of(broken: Iterable[guards.Guard]) -> list[Slot] | None:
    """Return the slots that these guards are on; None if a replay could not write to one of them."""
    found = [_slot_of(guard) for guard in broken]
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
