"""Types of scripted code: read from annotations, printed, joined, and held against values."""

from __future__ import annotations

import re

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


class Type:
    """A type with its parts: ``List[int]`` is ``List`` of ``int``."""

    __slots__ = ("name", "parts")

    def __init__(self, name: str, parts: tuple[Type, ...] = ()) -> None:
        self.name, self.parts = name, parts

    def __str__(self) -> str:
        if not self.parts:
            return "Tuple[()]" if self.name == "Tuple" else self.name
        return f"{self.name}[{', '.join(map(str, self.parts))}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def of(name: str, *parts: Type) -> Type:
    """Make a type; ``Union`` is flattened, and ``Optional`` is one."""
    if name == "Optional":
        return of("Union", *parts, NONE)
    if name == "Union":
        found: list[Type] = []
        for part in parts:
            for p in part.parts if part.name == "Union" else (part,):
                if p not in found:
                    found.append(p)
        if ANY in found or not found:
            return ANY
        return found[0] if len(found) == 1 else Type("Union", tuple(found))
    return Type(name, parts)


ANY, TENSOR, INT, FLOAT, BOOL, STR, COMPLEX, NONE, DTYPE, DEVICE = map(Type, _PLAIN)


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
    match = re.fullmatch(r"([\w.]+)\s*(?:\[(.*)\])?", text, re.DOTALL)
    if match is None:
        if text[:1] in "'\"" and text[-1:] == text[:1] and len(text) > 2:
            return read(text[1:-1], depth + 1)
        raise ValueError(f"the type {text!r:.100}")
    name = match.group(1).rpartition(".")[2]
    name = _SPELLED.get(name, name)
    if "[" in name:
        return read(name)
    inside = match.group(2)
    if name in _PLAIN and inside is None:
        return Type(name)
    if name not in _HOLDING:
        raise ValueError(f"the type {text!r:.100}")
    if inside is None:
        if name in ("Optional", "Union"):
            raise ValueError(f"{name} without what it holds")
        return (
            of(name, *[ANY] * (_HOLDING[name] or 0))
            if name != "Tuple"
            else Type("Tuple", (ANY, _MORE))
        )
    if name == "Tuple" and inside.strip() == "()":
        return of("Tuple")
    items = _split(inside, ",")
    if name == "Tuple" and len(items) == 2 and items[1].strip() == "...":
        return of("Tuple", read(items[0], depth + 1), _MORE)
    count = _HOLDING[name]
    if count is not None and len(items) != count:
        raise ValueError(f"{name} holds {count} types, not {len(items)}")
    return of(name, *(read(i, depth + 1) for i in items))


_MORE = Type("...")


def _split(text: str, at: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "[") - (c == "]")
        if c == at and not depth:
            parts.append(text[begin:i])
            begin = i + 1
    return [*parts, text[begin:]]


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
        if len(parts) == 2 and parts[1].name == "...":
            return all(fits(v, parts[0]) for v in value)
        return len(value) == len(parts) and all(map(fits, value, parts))
    if name == "Dict":
        return isinstance(value, dict) and all(
            fits(k, parts[0]) and fits(v, parts[1]) for k, v in value.items()
        )
    if name == "Future":
        from weft.jit.futures import Future

        return isinstance(value, Future)
    return type(value) in _CLASSES[name]


_CLASSES: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (float, int), "bool": (bool,), "str": (str,),
    "complex": (complex, float, int), "None": (type(None),), "dtype": (weft.dtype,),
    "device": (weft.device,),
}  # fmt: skip


def is_instance(value: Any, t: Type) -> bool:
    """Say whether ``isinstance(value, t)``: as ``fits``, but a whole number is no float."""
    if t.name == "Union":
        return any(is_instance(value, p) for p in t.parts)
    if t.name in ("float", "complex"):
        return type(value) is {"float": float, "complex": complex}[t.name]
    if t.name == "int":
        return type(value) in (int, bool)
    return fits(value, t)


def converted(value: Any, t: Type) -> Any:
    """Return a value that fits, whole numbers as floats where these are asked for."""
    if t.name == "float" and type(value) is int:
        return float(value)
    return value


def name_of(value: Any, depth: int = 0) -> str:
    """Return the type of a value as text, for messages.

    >>> from weft.jit.script.types import name_of
    >>> name_of([1, 2.0]), name_of({"a": weft.ones(1)})
    ('List[Union[int, float]]', 'Dict[str, Tensor]')
    """
    if value is None:
        return "None"
    if isinstance(value, weft.Tensor):
        return "Tensor"
    if depth < 4 and type(value) in (list, tuple, dict):
        if type(value) is tuple:
            return str(of("Tuple", *(Type(name_of(v, depth + 1)) for v in value)))
        values = value.values() if isinstance(value, dict) else value
        held = of("Union", *(Type(name_of(v, depth + 1)) for v in values))
        if isinstance(value, dict):
            return f"Dict[{of('Union', *(Type(name_of(k)) for k in value))}, {held}]"
        return f"List[{held}]"
    return type(value).__name__


def join(a: Type | None, b: Type | None) -> Type | None:
    """Return the type of what is of either type; None: they do not go together."""
    if a is None or b is None:
        return None
    if a == b or b == ANY:
        return a if a == b else ANY
    if a == ANY:
        return ANY
    if a.name == "None" or b.name == "None":
        return of("Optional", b if a.name == "None" else a)
    if a.name == b.name and a.name != "Union" and len(a.parts) == len(b.parts) and a.parts:
        parts = [join(p, q) for p, q in zip(a.parts, b.parts)]
        return None if None in parts else Type(a.name, tuple(p for p in parts if p))
    for x, y in ((a, b), (b, a)):
        if x.name == "Union" and all(
            p in x.parts for p in (y.parts if y.name == "Union" else (y,))
        ):
            return x
        if x.name == "Union" and NONE in x.parts and y.name != "Union":
            rest = of("Union", *(p for p in x.parts if p != NONE))
            both = join(rest, y)
            return None if both is None else of("Optional", both)
    return None


def accepts(declared: Type, t: Type) -> bool:
    """Say whether a value of type ``t`` may stand where a type is declared, as far as is known.

    >>> from weft.jit.script.types import accepts, read
    >>> accepts(read("Optional[float]"), read("int")), accepts(read("int"), read("str"))
    (True, False)
    """
    if declared == ANY or t == ANY or declared == t:
        return True
    if t.name == "Union":
        return all(accepts(declared, p) for p in t.parts)
    if declared.name == "Union":
        return any(accepts(p, t) for p in declared.parts)
    if declared.name == "float":
        return t.name == "int"
    if declared.name == "complex":
        return t.name in ("int", "float")
    if declared.name != t.name:
        return False
    if "..." in (p.name for p in (*declared.parts, *t.parts)):
        return True
    return len(declared.parts) == len(t.parts) and all(map(accepts, declared.parts, t.parts))
