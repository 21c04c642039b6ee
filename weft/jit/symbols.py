"""Numbers that stand for sizes while a call is captured for inputs of any sizes.

Such a number knows its value in this call and which value of the captured program it is. Arithmetic gives
another one, and an instruction. Wherever Python needs the plain number (an index of a list, ``range``, text,
a key of a dict) or decides by it (``if``, ``<``, ``min``), the capture gets a check: the program holds only
where the outcome is the same. They are no subclasses of int and float: those let C code read the number
without a word.
"""

from __future__ import annotations

import collections
import contextlib
import gc
import numbers
import operator
import sys
import types

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "SymbolicFloat", "SymbolicInt", "SymbolicNumber", "elsewhere", "is_same_float", "plain", "put_plain",
]  # fmt: skip


def is_same_float(a: float, b: float) -> bool:
    """Say whether two floats are the same, zeros with their sign.

    >>> weft.jit.symbols.is_same_float(0.0, -0.0), 0.0 == -0.0
    (False, True)
    """
    return a.hex() == b.hex()


class SymbolicNumber:
    """What integers and floats have in common."""

    __slots__ = ("capture", "number", "value")
    is_same: Any = staticmethod(operator.eq)  # with a number of the same type

    def __init__(self, capture: Any, number: int, value: Any) -> None:
        """Stand for a value of a captured program, by its number there, which is ``value`` now."""
        self.capture, self.number, self.value = capture, number, value

    def escape(self) -> Any:
        """Return the plain number; the program holds only where it is the same."""
        self.capture.require_equal(self)
        return self.value

    def __bool__(self) -> bool:
        return bool(self.capture.check(operator.truth, self))

    def __hash__(self) -> int:
        return hash(self.escape())

    def __int__(self) -> int:
        return int(self.escape())

    def __float__(self) -> float:
        return float(self.escape())

    def __complex__(self) -> complex:
        return complex(self.escape())

    def __repr__(self) -> str:
        return repr(self.escape())

    def __str__(self) -> str:
        return str(self.escape())

    def __format__(self, spec: str) -> str:
        return format(self.escape(), spec)

    def __reduce__(self) -> Any:
        return type(self.value), (self.escape(),)

    def __copy__(self) -> SymbolicNumber:
        return self

    def __deepcopy__(self, memo: Any) -> SymbolicNumber:
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy

        return numpy.array(self.escape(), dtype)

    def __round__(self, digits: Any = None) -> Any:
        return round(self.escape(), digits)

    def __trunc__(self) -> Any:
        return int(self.escape())

    def __floor__(self) -> Any:
        return self.escape().__floor__()

    def __ceil__(self) -> Any:
        return self.escape().__ceil__()

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __getattr__(self, name: str) -> Any:
        """Find what int and float have and this class does not define, of the plain number."""
        if name.startswith("__"):
            raise AttributeError(f"'{type(self.value).__name__}' object has no attribute '{name}'")
        return getattr(self.escape(), name)


def _unary(f: Callable[[Any], Any]) -> Any:
    def method(self: SymbolicNumber) -> Any:
        return self.capture.compute(f, self)

    return method


def _binary(f: Callable[[Any, Any], Any]) -> Any:
    def method(self: SymbolicNumber, other: Any) -> Any:
        if _is_number(other):
            return self.capture.compute(f, self, other)
        return f(self.value, other) if self.capture.is_deaf() else NotImplemented

    return method


def _reflected(f: Callable[[Any, Any], Any]) -> Any:
    def method(self: SymbolicNumber, other: Any) -> Any:
        if _is_number(other):
            return self.capture.compute(f, other, self)
        return f(other, self.value) if self.capture.is_deaf() else NotImplemented

    return method


def _comparison(f: Callable[[Any, Any], Any]) -> Any:
    def method(self: SymbolicNumber, other: Any) -> Any:
        return self.capture.check(f, self, other) if _is_number(other) else NotImplemented

    return method


def _is_number(x: Any) -> bool:
    return type(x) in (int, float, bool) or isinstance(x, SymbolicNumber)


for _name in ("neg", "pos", "abs"):
    setattr(SymbolicNumber, f"__{_name}__", _unary(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "floordiv", "mod", "truediv", "pow"):
    setattr(SymbolicNumber, f"__{_name}__", _binary(getattr(operator, _name)))
    setattr(SymbolicNumber, f"__r{_name}__", _reflected(getattr(operator, _name)))
for _name in ("lt", "le", "eq", "ne", "gt", "ge"):
    setattr(SymbolicNumber, f"__{_name}__", _comparison(getattr(operator, _name)))


class SymbolicInt(SymbolicNumber):
    """An integer.

    >>> issubclass(weft.jit.symbols.SymbolicInt, int)  # C code would read the number unseen
    False
    """

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Programs ask whether it is an int, and it takes the place of one."""
        return int

    def __index__(self) -> int:
        return int(self.escape())

    def __invert__(self) -> Any:
        return self.capture.compute(operator.invert, self)


for _name in ("lshift", "rshift", "and", "or", "xor"):
    _function = getattr(operator, _name if _name.endswith("shift") else f"__{_name}__")
    setattr(SymbolicInt, f"__{_name}__", _binary(_function))
    setattr(SymbolicInt, f"__r{_name}__", _reflected(_function))


class SymbolicFloat(SymbolicNumber):
    """A float.

    >>> issubclass(weft.jit.symbols.SymbolicFloat, float)
    False
    """

    __slots__ = ()
    is_same = staticmethod(is_same_float)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Programs ask whether it is a float, and it takes the place of one."""
        return float


numbers.Integral.register(SymbolicInt)
numbers.Real.register(SymbolicFloat)


def plain(x: Any) -> Any:
    """Return arguments with plain numbers in the place of symbolic ones, which is no escape.

    >>> weft.jit.symbols.plain([1, (2, slice(3))])
    [1, (2, slice(None, 3, None))]
    """
    kind = type(x)
    if kind is SymbolicInt or kind is SymbolicFloat:
        return x.value
    if kind is slice:
        parts = (plain(x.start), plain(x.stop), plain(x.step))
        return slice(*parts)
    if kind is dict:
        return {key: plain(value) for key, value in x.items()}
    if kind is list:
        return [plain(value) for value in x]
    if isinstance(x, tuple) and any(plain(v) is not v for v in x):
        return tuple([plain(v) for v in x])
    return x


def put_plain(symbols: list[SymbolicNumber]) -> bool:
    """Put plain numbers where symbols are left, which are taken from the list; say whether some were."""
    found = False
    while symbols:
        x = symbols.pop()
        if sys.getrefcount(x) == 2:
            continue
        found = True
        for holder in gc.get_referrers(x):
            _put_plain_in(holder, x)
    return found


def _put_plain_in(holder: Any, x: SymbolicNumber) -> None:
    """Put the plain number in the place of a symbol, in whatever holds it, where Python can.

    It is equal and has the same hash, so the order of sets and dicts and their finding stays.
    """
    base: Any = next((kind for kind in _CONTAINERS if isinstance(holder, kind)), None)
    if isinstance(holder, tuple):
        _C._replace_in_tuple(holder, x, x.value)
    elif base is list or base is collections.deque:
        for n, item in enumerate(base.__iter__(holder)):
            if item is x:
                base.__setitem__(holder, n, x.value)
    elif base is set:
        set.discard(holder, x)
        set.add(holder, x.value)
    elif type(holder) is dict and (owner := _class_with(holder)) is not None:
        for name in [name for name, v in holder.items() if v is x]:
            setattr(owner, name, x.value)  # classes remember what they were asked for
    elif base is not None:
        items = [(k, v) for k, v in base.items(holder)]
        if any(k is x for k, _ in items):
            base.clear(holder)
        for k, v in items:
            base.__setitem__(holder, _plain_if(k, x), _plain_if(v, x))
    elif isinstance(holder, types.CellType):
        holder.cell_contents = x.value
    else:
        _put_plain_attribute(holder, x)


# Whose own methods change them, whatever a subclass does: the most special first.
_CONTAINERS: tuple[type, ...] = (collections.OrderedDict, dict, list, collections.deque, set)


def _class_with(members: dict[Any, Any]) -> type | None:
    return next((o for o in gc.get_referrers(members) if isinstance(o, type)), None)


def _plain_if(item: Any, x: SymbolicNumber) -> Any:
    return x.value if item is x else item


def _put_plain_attribute(holder: Any, x: SymbolicNumber) -> None:
    """Put the plain number in the place of a symbol that is an attribute of an object."""
    members = getattr(holder, "__dict__", None)
    if type(members) is dict and any(v is x for v in members.values()):
        _put_plain_in(members, x)
    for kind in type(holder).__mro__:
        for slot in vars(kind).values():
            if isinstance(slot, types.MemberDescriptorType):
                with contextlib.suppress(AttributeError, TypeError):
                    if slot.__get__(holder) is x:
                        slot.__set__(holder, x.value)


def elsewhere(
    capture: Any, kind: str, value: Any, f: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    """Let the capture of another symbol among the arguments see an operation, if there is one."""
    for a in args:
        if isinstance(a, SymbolicNumber) and a.capture is not capture and not a.capture.is_deaf():
            return getattr(a.capture, kind)(f, *args)
    return value
