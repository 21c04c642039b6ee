"""Names of the nodes of a graph: made of what they call, unique, and none that Python needs."""

from __future__ import annotations

import builtins
import keyword
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Namespace", "snake_case"]

# What generated code writes without a definition.
_TAKEN = frozenset("self torch weft device inf nan NoneType fx_pytree pytree".split())


def snake_case(name: str) -> str:
    """Return a name in small letters, with an underscore where a capital followed a small one.

    >>> from weft.fx.namespace import snake_case
    >>> snake_case("Conv2dRelu"), snake_case("Mixed_5b")
    ('conv2d_relu', 'mixed_5b')
    """
    return re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])", "_", name).lower()


class Namespace:
    """Names that are in use, and which object has which.

    >>> from weft.fx.namespace import Namespace
    >>> names = Namespace()
    >>> [names.create_name("add", None) for _ in range(3)], names.create_name("sum", None)
    (['add', 'add_1', 'add_2'], 'sum_1')
    """

    def __init__(self) -> None:
        """Start without names."""
        self._names: dict[Any, str] = {}
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any | None) -> str:
        """Return the name of an object; a new one, like ``candidate``, at the first time."""
        if obj is not None and obj in self._names:
            return self._names[obj]
        candidate = re.sub(r"\W+", "_", candidate, flags=re.ASCII) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = re.fullmatch(r"(.*)_(\d+)", candidate)
        base = numbered[1] if numbered else candidate
        number = int(numbered[2]) if numbered else self._counts.get(base, 0)
        while candidate in self._used or is_reserved(candidate, obj):
            number = max(number, self._counts.get(base, 0)) + 1
            self._counts[base] = number
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._counts[base] = number
        if obj is not None:
            self._names[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Say that an object has a name from now on."""
        self._names.setdefault(obj, name)

    def _rename_object(self, obj: Any, name: str) -> None:
        self._names[obj] = name
        self._used.add(name)


def is_reserved(name: str, obj: Any) -> bool:
    """Say whether a name means something else in generated code."""
    if keyword.iskeyword(name) or name in _TAKEN:
        return True
    return hasattr(builtins, name) and getattr(builtins, name) is not obj
