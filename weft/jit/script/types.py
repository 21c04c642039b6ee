"""Types of scripted code: read from annotations, printed, joined, and held against values."""

from __future__ import annotations

import re
from dataclasses import dataclass

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Type"]

_PLAIN = ("Any", "Tensor", "int", "float", "bool", "str", "complex", "None", "dtype", "device")
_SPELLED = {
    "list": "List", "dict": "Dict", "tuple": "Tuple", "NoneType": "None", "string": "str",
    "number": "Union[int, float]", "Device": "device", "Parameter": "Tensor", "Size": "List[int]",
}  # fmt: skip
_HOLDING = {"List": 1, "Dict": 2, "Tuple": None, "Optional": 1, "Union": None, "Future": 1}
_DEEPEST = 32


@dataclass(frozen=True)
class Type:
    """A type with its parts: ``List[int]`` is ``List`` of ``int``."""

    name: str
    parts: tuple[Type, ...] = ()

    def __str__(self) -> str:
        if not self.parts:
            return "Tuple[()]" if self.name == "Tuple" else self.name
        return f"{self.name}[{', '.join(map(str, self.parts))}]"


def of(name: str, *parts: Type) -> Type:
    """Make a type; ``Union`` is flattened, and ``Optional`` is one."""
    if name == "Optional":
        return of("Union", *parts, NONE)
    if name != "Union":
        return Type(name, parts)
    found = tuple(dict.fromkeys(p for part in parts for p in _members(part)))
    return ANY if ANY in found or not found else found[0] if len(found) == 1 else Type(name, found)


ANY, TENSOR, INT, FLOAT, BOOL, STR, COMPLEX, NONE, DTYPE, DEVICE = map(Type, _PLAIN)
_MORE = Type("...")


def _members(t: Type) -> tuple[Type, ...]:
    return t.parts if t.name == "Union" else (t,)


def read(text: str, depth: int = 0) -> Type:
    """Return the type that a text names; raise ``ValueError`` if it names none.

    >>> from weft.jit.script.types import read
    >>> str(read("Optional[list[int]]"))
    'Union[List[int], None]'
    """
    text = text.strip()
    if depth > _DEEPEST or len(text) > 10_000:
        raise ValueError("a type that is nested too deeply")
    parts = _split(text, "|")
    if len(parts) > 1:
        return of("Union", *(read(p, depth + 1) for p in parts))
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 2:
        return read(text[1:-1], depth + 1)
    match = re.fullmatch(r"(?:\w*\.)*(\w+)\s*(?:\[(.*)\])?", text, re.DOTALL)
    name, inside = match.groups() if match else ("", None)
    name = _SPELLED.get(name, name)
    if "[" in name:
        return read(name)
    if name in _PLAIN and inside is None:
        return Type(name)
    if name not in _HOLDING:
        raise ValueError(f"the type {text!r:.100}")
    if inside is None:
        if name in ("Optional", "Union"):
            raise ValueError(f"{name} without what it holds")
        return of(name, *[ANY] * (_HOLDING[name] or 1), *[_MORE] * (name == "Tuple"))
    items = [] if name == "Tuple" and inside.strip() == "()" else _split(inside, ",")
    if _HOLDING[name] not in (None, len(items)):
        raise ValueError(f"{name} holds {_HOLDING[name]} types, not {len(items)}")
    more = name == "Tuple" and len(items) == 2 and items[1].strip() == "..."
    made = [read(i, depth + 1) for i in (items[:1] if more else items)]
    return of(name, *made, *[_MORE] * more)


def _split(text: str, at: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "[") - (c == "]")
        if c == at and not depth:
            parts.append(text[begin:i])
            begin = i + 1
    return [*parts, text[begin:]]


_CLASSES: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (float, int), "bool": (bool,), "str": (str,),
    "complex": (complex, float, int), "None": (type(None),), "dtype": (weft.dtype,),
    "device": (weft.device,),
}  # fmt: skip


def fits(value: Any, t: Type) -> bool:
    """Say whether a value is of a type.

    >>> from weft.jit.script.types import fits, read
    >>> fits([1, 2], read("List[int]")), fits([1, "a"], read("List[int]"))
    (True, False)
    """
    name, parts = t.name, t.parts
    if name == "Any":
        return True
    if name == "Tensor":
        return isinstance(value, weft.Tensor)
    if name == "Union":
        return any(fits(value, p) for p in parts)
    if name == "List":
        return isinstance(value, (list, weft.Size)) and all(fits(v, parts[0]) for v in value)
    if name == "Tuple":
        if not isinstance(value, tuple):
            return False
        whole = (parts[0],) * len(value) if parts and parts[-1] is _MORE else parts
        return len(value) == len(whole) and all(map(fits, value, whole))
    if name == "Dict":
        key, held = parts
        return isinstance(value, dict) and all(
            fits(k, key) and fits(v, held) for k, v in value.items()
        )
    if name == "Future":
        return isinstance(value, weft.jit.Future)
    return type(value) in _CLASSES[name]


def is_instance(value: Any, t: Type) -> bool:
    """Say whether ``isinstance(value, t)``: as ``fits``, but a whole number is no float."""
    exact = {"float": (float,), "complex": (complex,), "int": (int, bool)}
    if t.name == "Union":
        return any(is_instance(value, p) for p in t.parts)
    return type(value) in exact[t.name] if t.name in exact else fits(value, t)


def name_of(value: Any, depth: int = 0) -> str:
    """Return the type of a value as text, for messages.

    >>> from weft.jit.script.types import name_of
    >>> name_of([1, 2.0]), name_of({"a": weft.ones(1)})
    ('List[Union[int, float]]', 'Dict[str, Tensor]')
    """
    if value is None or isinstance(value, weft.Tensor):
        return "None" if value is None else "Tensor"
    if depth > 3 or type(value) not in (list, tuple, dict):
        return type(value).__name__
    inside = value.values() if isinstance(value, dict) else value
    parts = [Type(name_of(v, depth + 1)) for v in inside]
    if isinstance(value, tuple):
        return str(of("Tuple", *parts))
    if isinstance(value, list):
        return f"List[{of('Union', *parts)}]"
    return f"Dict[{of('Union', *(Type(name_of(k)) for k in value))}, {of('Union', *parts)}]"


def join(a: Type | None, b: Type | None) -> Type | None:
    """Return the type of what is of either type; None: they do not go together."""
    if a is None or b is None:
        return None
    if a == b or ANY in (a, b):
        return a if a == b else ANY
    if NONE in (a, b):
        return of("Optional", b if a == NONE else a)
    if a.name == b.name and a.name != "Union" and len(a.parts) == len(b.parts) and a.parts:
        parts = [join(p, q) for p, q in zip(a.parts, b.parts)]
        return None if None in parts else Type(a.name, tuple(p for p in parts if p))
    for x, y in ((a, b), (b, a)):
        if x.name == "Union" and all(p in x.parts for p in _members(y)):
            return x
        if x.name == "Union" and NONE in x.parts and y.name != "Union":
            both = join(of("Union", *(p for p in x.parts if p != NONE)), y)
            return None if both is None else of("Optional", both)
    return None


def accepts(declared: Type, t: Type) -> bool:
    """Say whether a value of type ``t`` may stand where a type is declared, as far as is known.

    >>> from weft.jit.script.types import accepts, read
    >>> accepts(read("Optional[float]"), read("int")), accepts(read("int"), read("str"))
    (True, False)
    """
    if ANY in (declared, t) or declared == t:
        return True
    if t.name == "Union":
        return all(accepts(declared, p) for p in t.parts)
    if declared.name == "Union":
        return any(accepts(p, t) for p in declared.parts)
    if declared.name in ("float", "complex"):
        return t.name == "int" or (declared.name == "complex" and t.name == "float")
    if declared.name != t.name:
        return False
    if _MORE in (*declared.parts, *t.parts):
        return True
    return len(declared.parts) == len(t.parts) and all(map(accepts, declared.parts, t.parts))
