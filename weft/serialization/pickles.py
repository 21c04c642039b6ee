"""A reader of pickles that runs nothing.

A pickle is a program for a small stack machine. This is that machine without its two dangerous
abilities: a global name becomes one of the known ones of a table or ends the reading, and calls
are made to functions of this package only. ``pickletools`` splits the bytes into instructions; it
executes none.
"""

from __future__ import annotations

import pickletools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from .common import FileError, size_of
from .structure import check_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

__all__ = ["Global", "Reader"]

_MOST = 50_000_000  # instructions
_LARGEST_KEY = 500  # parts of a key: tuples in tuples, and what is in them
_PLAIN, _RATIO, _ITEM = 16 << 20, 16, 64  # bytes that calls may copy, plus so many per byte read


class Global:
    """A name that a pickle asked for, and what this package does for it."""

    def __init__(
        self, name: str, call: Callable[..., Any] | None = None, value: Any = None
    ) -> None:
        """Keep the name, what a call of it does, and what it is as a value."""
        self.name, self.call, self.value = name, call, value


class Patch:
    """An object that a later BUILD instruction completes."""

    def build(self, state: Any, what: str) -> Any:
        """Return the object completed by ``state``."""
        raise FileError(f"{what}: sets the state of {type(self).__name__}")


class Reader:
    """The machine; ``find`` gives the known names, ``persistent`` the storages."""

    def __init__(
        self,
        find: Callable[[str, str], Global | None],
        persistent: Callable[[Any], Any],
        what: str,
    ) -> None:
        """Keep what the pickle may refer to."""
        self.find, self.persistent, self.what = find, persistent, what
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.unfinished: dict[int, list[int]] = {}  # where in the memo each patch is
        self.copied = 0

    def run(self, f: BinaryIO) -> Any:
        """Read one pickle from a file, and leave the file behind it."""
        self.stack, self.marks, self.memo, self.unfinished = [], [], {}, {}
        self.copied = -_RATIO * size_of(f)
        try:
            for count, (op, arg, at) in enumerate(pickletools.genops(f)):
                if count > _MOST:
                    raise self.wrong(f"more than {_MOST} instructions")
                if op.name == "STOP":
                    return self.value(self.stack.pop())
                step = _STEPS.get(op.name)
                if step is None:
                    raise self.wrong(f"the instruction {op.name} at {at}, which data do not need")
                step(self, arg)
        except (FileError, MemoryError):
            raise
        except RecursionError:
            raise self.wrong("nested too deeply") from None
        except Exception as e:  # a damaged pickle can fail in any of these steps
            raise self.wrong(f"damaged: {type(e).__name__}: {e!s:.200}") from None
        raise self.wrong("ends without STOP")

    def wrong(self, fault: str) -> FileError:
        """Return an error about the pickle."""
        return FileError(f"{self.what}: pickle: {fault}")

    def value(self, x: Any) -> Any:
        """Return an object as it is handed out: a bare name must mean data."""
        if isinstance(x, Global):
            if x.value is None:
                raise self.wrong(f"{x.name} as a value, which is not only data")
            return x.value
        return x

    def to_mark(self) -> list[Any]:
        """Take what was put on the stack since the last mark."""
        at = self.marks.pop()
        items = [self.value(x) for x in self.stack[at:]]
        del self.stack[at:]
        return items

    # ---- names and calls ------------------------------------------------------------------------

    def name(self, module: Any, name: Any) -> None:
        """Put a known name on the stack; refuse all others."""
        if not isinstance(module, str) or not isinstance(name, str):
            raise self.wrong("a global that is not named by text")
        known = self.find(module, name)
        if known is None:
            raise FileError(
                f"{self.what}: needs {module}.{name}, which is code: only tensors, numbers, text "
                "and containers are loaded. Load it where it was made, and save a state_dict"
            )
        self.stack.append(known)

    def call(self) -> None:
        """Call a known name with a tuple of arguments."""
        args = self.stack.pop()
        target = self.stack.pop()
        if not isinstance(target, Global) or target.call is None:
            name = target.name if isinstance(target, Global) else f"a {type(target).__name__}"
            raise self.wrong(f"calls {name}, which is not allowed")
        if not isinstance(args, tuple):
            raise self.wrong(f"calls {target.name} without a tuple of arguments")
        self.copy_of(args)
        try:
            self.stack.append(target.call(*args))
        except FileError:
            raise
        except Exception as e:
            raise self.wrong(f"{target.name}: {type(e).__name__}: {e!s:.200}") from None

    def copy(self, size: int) -> None:
        """Count what calls copy: a few bytes can ask for the same large copy again and again."""
        self.copied += size
        if self.copied > _PLAIN:
            raise self.wrong("copies its data too often")

    def copy_of(self, args: Any) -> None:
        """Count what a call with these arguments may copy."""
        for arg in args if isinstance(args, tuple) else ():
            if isinstance(arg, (str, bytes, bytearray)):
                self.copy(len(arg))
            elif isinstance(arg, (list, tuple, dict, set, frozenset)):
                self.copy(_ITEM * len(arg))

    def key(self, x: Any) -> Any:
        """Return what may be a key of a dict, or in a set."""
        check_key(x, self.what, _LARGEST_KEY)
        return x

    def put(self, place: int) -> None:
        """Remember the top of the stack."""
        self.memo[place] = top = self.stack[-1]
        if isinstance(top, Patch):
            self.unfinished.setdefault(id(top), []).append(place)

    def build(self) -> None:
        """Complete an object: arrays, and the notes of versions on a state dict."""
        state = self.stack.pop()
        target = self.stack[-1]
        if isinstance(target, Patch):
            self.copy_of(state)
            made = target.build(state, self.what)
            self.stack[-1] = made
            for place in self.unfinished.pop(id(target), ()):
                if self.memo.get(place) is target:
                    self.memo[place] = made
        elif (
            type(target) is OrderedDict and isinstance(state, dict) and set(state) <= {"_metadata"}
        ):
            if "_metadata" in state:
                target._metadata = state["_metadata"]  # type: ignore[attr-defined]
        else:
            raise self.wrong(f"sets attributes of {type(target).__name__}, which is not allowed")

    # ---- containers -----------------------------------------------------------------------------

    def put_items(self, pairs: list[Any]) -> None:
        """Add keys and values to the dict on top of the stack."""
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise self.wrong(f"adds items to {type(target).__name__}")
        for key, value in zip(pairs[::2], pairs[1::2]):
            target[self.key(key)] = value

    def extend(self, items: list[Any]) -> None:
        """Append to the list on top of the stack."""
        target = self.stack[-1]
        if type(target) is not list:
            raise self.wrong(f"appends to {type(target).__name__}")
        target.extend(items)

    def add(self, items: list[Any]) -> None:
        """Add to the set on top of the stack."""
        target = self.stack[-1]
        if type(target) is not set:
            raise self.wrong(f"adds to {type(target).__name__}")
        target.update(map(self.key, items))

    def pop(self, count: int) -> list[Any]:
        """Take the last objects of the stack."""
        if len(self.stack) - (self.marks[-1] if self.marks else 0) < count:
            raise self.wrong("the stack is empty")
        items = [self.value(x) for x in self.stack[len(self.stack) - count :]]
        del self.stack[len(self.stack) - count :]
        return items

    def frozen(self, items: list[Any]) -> None:
        """Put a frozenset on the stack."""
        self.stack.append(frozenset(map(self.key, items)))

    def mapping(self, pairs: list[Any]) -> None:
        """Put a dict on the stack."""
        self.stack.append({})
        self.put_items(pairs)

    def pop_one(self) -> None:
        """Drop the top of the stack, or a mark."""
        if self.marks and self.marks[-1] == len(self.stack):
            self.marks.pop()
        else:
            self.stack.pop()

    def global_name(self, arg: Any) -> None:
        """GLOBAL: module and name in one."""
        module, _, name = arg.partition(" ")
        self.name(module, name)

    def stack_global(self) -> None:
        """STACK_GLOBAL: module and name from the stack."""
        name = self.stack.pop()
        self.name(self.stack.pop(), name)


def _constant(make: Callable[[], Any]) -> Callable[[Reader, Any], None]:
    return lambda self, arg: self.stack.append(make())


def _tuple(count: int) -> Callable[[Reader, Any], None]:
    return lambda self, arg: self.stack.append(tuple(self.pop(count)))


def _text_of_bytes(self: Reader, arg: Any) -> None:
    """STRING and related opcodes of Python 2: text, as torch.load takes them."""
    self.stack.append(arg if isinstance(arg, str) else arg.decode("utf-8"))


def _push(self: Reader, arg: Any) -> None:
    self.stack.append(arg)


_STEPS: dict[str, Callable[[Reader, Any], None]] = {
    "PROTO": lambda self, arg: None,
    "FRAME": lambda self, arg: None,
    "MARK": lambda self, arg: self.marks.append(len(self.stack)),
    "POP": lambda self, arg: self.pop_one(),
    "POP_MARK": lambda self, arg: (self.to_mark(), None)[1],
    "DUP": lambda self, arg: self.stack.append(self.stack[-1]),
    "NONE": _constant(lambda: None),
    "NEWTRUE": _constant(lambda: True),
    "NEWFALSE": _constant(lambda: False),
    "EMPTY_TUPLE": _constant(tuple),
    "EMPTY_LIST": _constant(list),
    "EMPTY_DICT": _constant(dict),
    "EMPTY_SET": _constant(set),
    "TUPLE": lambda self, arg: self.stack.append(tuple(self.to_mark())),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "LIST": lambda self, arg: self.stack.append(self.to_mark()),
    "DICT": lambda self, arg: self.mapping(self.to_mark()),
    "FROZENSET": lambda self, arg: self.frozen(self.to_mark()),
    "APPEND": lambda self, arg: self.extend(self.pop(1)),
    "APPENDS": lambda self, arg: self.extend(self.to_mark()),
    "SETITEM": lambda self, arg: self.put_items(self.pop(2)),
    "SETITEMS": lambda self, arg: self.put_items(self.to_mark()),
    "ADDITEMS": lambda self, arg: self.add(self.to_mark()),
    "PUT": lambda self, arg: self.put(int(arg)),
    "BINPUT": Reader.put,
    "LONG_BINPUT": Reader.put,
    "MEMOIZE": lambda self, arg: self.put(len(self.memo)),
    "GET": lambda self, arg: self.stack.append(self.memo[int(arg)]),
    "BINGET": lambda self, arg: self.stack.append(self.memo[arg]),
    "LONG_BINGET": lambda self, arg: self.stack.append(self.memo[arg]),
    "GLOBAL": Reader.global_name,
    "STACK_GLOBAL": lambda self, arg: self.stack_global(),
    "REDUCE": lambda self, arg: self.call(),
    "BUILD": lambda self, arg: self.build(),
    "BINPERSID": lambda self, arg: self.stack.append(self.persistent(self.stack.pop())),
    "STRING": _text_of_bytes,
    "BINSTRING": _text_of_bytes,
    "SHORT_BINSTRING": _text_of_bytes,
    "BYTEARRAY8": lambda self, arg: self.stack.append(bytearray(arg)),
}
for _name in (
    "INT LONG BININT BININT1 BININT2 LONG1 LONG4 FLOAT BINFLOAT UNICODE BINUNICODE BINUNICODE8 "
    "SHORT_BINUNICODE BINBYTES BINBYTES8 SHORT_BINBYTES"
).split():
    _STEPS[_name] = _push
