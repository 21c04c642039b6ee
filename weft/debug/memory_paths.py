"""Paths from variables to Python objects: frames, modules, containers, attributes, closures.

The walk is breadth first, so an object gets its shortest path; the user's frames and modules come
before those of libraries. It reads, and runs no code of the objects that it looks at.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import types
from collections import deque

import weft
import weft.autograd.graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Edge = tuple[str, Any, Any]  # how, the key, the object

__all__ = ["Paths", "shown_file"]

_WEFT = os.path.dirname(os.path.abspath(weft.__file__)) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__self__", "__func__"),
    types.BuiltinMethodType: ("__self__",),
    functools.partial: ("func", "args", "keywords"),
    types.CellType: ("cell_contents",),
    types.TracebackType: ("tb_frame", "tb_next"),
    property: ("fget", "fset", "fdel"),
    memoryview: ("obj",),
}
_SUSPENDED: dict[type, tuple[str, str]] = {
    types.GeneratorType: ("gi_frame", "gi_code"),
    types.CoroutineType: ("cr_frame", "cr_code"),
    types.AsyncGeneratorType: ("ag_frame", "ag_code"),
}
_SEQUENCES: tuple[Any, ...] = (list, tuple, deque, set, frozenset)
_OPTIMIZED = 1  # CO_OPTIMIZED: locals are no namespace of their own
_MODULE_PARTS = ("_parameters", "_buffers", "_modules")
_OTHERS = 4  # further holders that are kept


def shown_file(file: str) -> str:
    """Return a file's name relative to the current folder, where it lies in there.

    >>> from weft.debug.memory_paths import shown_file
    >>> shown_file("<stdin>")
    '<stdin>'
    """
    if not os.path.isabs(file):
        return file
    near = os.path.relpath(file)
    return file if near.startswith("..") else near


def _is_library(file: str | None) -> bool:
    return file is None or file.startswith((_WEFT, _LIBRARY, "<frozen "))


def _locals(frame: types.FrameType) -> dict[str, Any]:
    """Return the variables of a frame, without leaving a copy of them in it."""
    found = frame.f_locals
    if not frame.f_code.co_flags & _OPTIMIZED:
        return found
    values = dict(found)
    if sys.version_info < (3, 13) and frame.f_trace is None and sys.gettrace() is None:
        found.clear()  # Python keeps this dict with the frame, and with it what the variables held
    return values


class Paths:
    """The objects that were met, each with the way to it."""

    def __init__(self) -> None:
        """Begin with no objects."""
        self.came: dict[int, tuple[int, str, Any]] = {}  # by id: the id of its holder, how, key
        self.also: dict[int, list[tuple[int, str, Any]]] = {}  # further holders of tensors
        self.tensors: list[Any] = []  # tensors and nodes that were met and not taken yet
        self.held: dict[int, Any] = {}  # what might go while its id is known
        self.types: dict[int, str] = {}  # of modules (layers) that were met, by id
        self.optimizers: set[int] = set()  # the ids of those that were met
        self._waiting: deque[Any] = deque()
        self._later: list[tuple[int, Edge]] = []
        self._defer = True
        self.node_type = weft.autograd.graph.Node
        numpy = sys.modules.get("numpy")  # the collector does not know its arrays
        self._array: tuple[Any, ...] = (numpy.ndarray,) if numpy is not None else ()
        nn = sys.modules.get("weft.nn")
        self.parameter: Any = getattr(nn, "Parameter", ())
        self._module = getattr(nn, "Module", None)
        self._optimizer = getattr(sys.modules.get("weft.optim"), "Optimizer", None)

    # ---- roots ---------------------------------------------------------------------------------

    def from_program(self) -> None:
        """Walk from all frames and modules."""
        own = sys._getframe().f_code.co_filename.rpartition("memory_paths")[0] + "memory"
        frames = []
        for thread, frame in list(sys._current_frames().items()):
            at: types.FrameType | None = frame
            while at is not None:
                if not at.f_code.co_filename.startswith(own):
                    frames.append((thread, at))
                at = at.f_back
        self.held[id(frames)] = frames
        theirs = [f for _, f in frames if _is_library(f.f_code.co_filename)]
        for _, frame in frames:
            if not _is_library(frame.f_code.co_filename):
                self._add_frame(frame)
        modules = {
            n: m for n, m in list(sys.modules.items()) if issubclass(type(m), types.ModuleType)
        }
        users = [
            n for n, m in modules.items()
            if n == "__main__" or not _is_library(m.__dict__.get("__file__"))
        ]  # fmt: skip
        for name in sorted(users, key=lambda n: (n != "__main__", n)):
            self._add_namespace(
                modules[name].__dict__, "" if name == "__main__" else name + ".", ""
            )
        self._drain()
        self._defer = False
        for name in sorted(modules):
            self._add_namespace(modules[name].__dict__, name + ".", "")
        for frame in theirs:
            self._add_frame(frame)
        for holder, edge in self._later:
            self._meet(holder, edge)
        self._drain()

    def _add_frame(self, frame: types.FrameType) -> None:
        code = frame.f_code
        where = f"{shown_file(code.co_filename)}:{frame.f_lineno}"
        if code.co_flags & _OPTIMIZED:
            self.came[id(frame)] = (0, "root", ("", ""))
            variables = _locals(frame)
            self.held[id(variables)] = variables
            self._add_namespace(variables, "", f"in {code.co_name}(), {where}")
        main = sys.modules.get("__main__")
        if main is None or frame.f_globals is not main.__dict__:
            name = frame.f_globals.get("__name__", "")
            known = name in sys.modules and sys.modules[name].__dict__ is frame.f_globals
            if not known:
                self._add_namespace(frame.f_globals, "", f"global of {name}" if name else "global")

    def _add_namespace(self, names: dict[str, Any], prefix: str, scope: str) -> None:
        if id(names) in self.came:
            return
        self.came[id(names)] = (0, "root", (prefix, scope))
        for name, value in list(names.items()):
            self._meet(id(names), ("name", name, value))

    def from_root(self, o: Any, name: str, scope: str) -> None:
        """Walk from an object that no variable leads to."""
        self._root(name, scope, "name", "", o)

    def from_holder(self, o: Any, path: str, scope: str, how: str, key: Any) -> None:
        """Walk from an object that something native holds, to which ``path`` leads."""
        self._root(path, scope, how, key, o)

    def _root(self, path: str, scope: str, how: str, key: Any, o: Any) -> None:
        if id(o) in self.came:
            return
        place: list[Any] = []  # stands for what holds it
        self.held[id(place)] = place
        self.came[id(place)] = (0, "root", (path, scope))
        self._meet(id(place), (how, key, o))
        self._drain()

    # ---- the walk ------------------------------------------------------------------------------

    def _meet(self, holder: int, edge: Edge) -> None:
        how, key, o = edge
        kind = type(o)
        native = issubclass(kind, (weft.Tensor, self.node_type))
        if not (native or gc.is_tracked(o) or kind is memoryview or issubclass(kind, self._array)):
            return
        known = self.came.get(id(o))
        if known is not None:
            if native and known[0] != holder:
                if how == "part" and known[1] != "part":  # a layer's own name is the best one
                    self.came[id(o)], known = (holder, how, key), known
                    self.also.setdefault(id(o), []).append(known)
                elif how != "key" and len(more := self.also.setdefault(id(o), [])) < _OTHERS:
                    more.append((holder, how, key))
            return
        if self._defer and (kind is types.ModuleType or issubclass(kind, type) or how == "globals"):
            self._later.append((holder, edge))
            return
        self.came[id(o)] = (holder, how, key)
        if native:
            self.tensors.append(o)
        self._waiting.appendleft(o) if how == "part" else self._waiting.append(o)

    def _drain(self) -> None:
        while self._waiting:
            o = self._waiting.popleft()
            for edge in self._inside(o):
                self._meet(id(o), edge)

    def _inside(self, o: Any) -> Iterator[Edge]:
        kind = type(o)
        if issubclass(kind, dict):
            for key, value in list(dict.items(o)):
                yield "item", key, value
                if not isinstance(key, (str, int)):
                    yield "key", None, key
        elif (sequence := next((t for t in _SEQUENCES if issubclass(kind, t)), None)) is not None:
            how = "member" if sequence in (set, frozenset) else "item"
            yield from ((how, i, value) for i, value in enumerate(list(sequence.__iter__(o))))
        elif kind in _SUSPENDED:
            frame = getattr(o, _SUSPENDED[kind][0])
            if frame is not None:
                yield from (("local", name, value) for name, value in _locals(frame).items())
        elif kind is types.FrameType:
            yield from (("local", name, value) for name, value in _locals(o).items())
        elif kind is types.FunctionType:
            yield from self._function(o)
        elif issubclass(kind, self._array):
            yield "attr", "base", self._array[0].base.__get__(o)
        elif issubclass(kind, type):
            names = type.__dict__["__dict__"].__get__(o)
            yield from (("attr", name, value) for name, value in list(names.items()))
        yield from self._attributes(o, kind)

    def _function(self, f: types.FunctionType) -> Iterator[Edge]:
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            yield "free", name, cell
        names = f.__code__.co_varnames[: f.__code__.co_argcount]
        for name, value in zip(reversed(names), reversed(f.__defaults__ or ())):
            yield "default", name, value
        for name, value in (f.__kwdefaults__ or {}).items():
            yield "default", name, value
        yield "globals", None, f.__globals__

    def _attributes(self, o: Any, kind: type) -> Iterator[Edge]:
        """What hangs on the attributes of an object, and what only the collector knows of."""
        names = _ATTRIBUTES.get(kind, ())
        if issubclass(kind, BaseException):
            names = ("__traceback__", "__context__", "__cause__")
        for name in names:
            try:
                yield "attr", name, object.__getattribute__(o, name)
            except (AttributeError, ValueError):  # an empty cell, a released memoryview
                continue
        if issubclass(kind, type):
            return
        try:
            state = object.__getattribute__(o, "__dict__")
        except AttributeError:
            state = None
        if type(state) is dict and id(state) not in self.came:
            self.came[id(state)] = (id(o), "state", None)
            yield from self._state(o, kind, state)
        for base in kind.__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else tuple(slots):
                slot = base.__dict__.get(name)
                if slot is None and name.startswith("__"):
                    slot = base.__dict__.get(f"_{base.__name__.lstrip('_')}{name}")
                if type(slot) is types.MemberDescriptorType:
                    try:
                        yield "attr", name, slot.__get__(o)
                    except AttributeError:
                        continue
        known = (dict, list, tuple, set, frozenset, weft.Tensor, self.node_type)
        if kind not in (types.FunctionType, types.ModuleType) and not issubclass(kind, known):
            rest = (value for value in gc.get_referents(o) if value is not kind)
            yield from (("inside", kind.__name__, value) for value in rest)

    def _state(self, o: Any, kind: type, state: dict[str, Any]) -> Iterator[Edge]:
        parts: tuple[str, ...] = ()
        if self._optimizer is not None and issubclass(kind, self._optimizer):
            self.optimizers.add(id(o))
        if self._module is not None and issubclass(kind, self._module):
            self.types[id(o)] = kind.__name__
            parts = _MODULE_PARTS
            for part in parts:
                inner = state.get(part)
                if isinstance(inner, dict):
                    self.came.setdefault(id(inner), (id(o), "state", None))
                    yield from (("part", name, value) for name, value in list(dict.items(inner)))
        yield from (("attr", n, v) for n, v in list(state.items()) if n not in parts)

    # ---- names ---------------------------------------------------------------------------------

    def chain(self, came: tuple[int, str, Any]) -> list[tuple[int, str, Any]]:
        """Return the steps of a way, from the root on."""
        steps = [came]
        while steps[-1][1] != "root":
            steps.append(self.came[steps[-1][0]])
        return steps[::-1]

    def path(self, came: tuple[int, str, Any]) -> tuple[str, str]:
        """Return a way as an expression, and the frame or module where it begins."""
        (_, _, (prefix, scope)), *steps = self.chain(came)
        text = prefix
        for _, how, key in steps:
            if how == "item" and issubclass(type(key), weft.Tensor) and id(key) in self.came:
                text = f"{text}[{self.path(self.came[id(key)])[0]}]"
            else:
                text = _extended(text, how, key)
        return text, scope

    def module_of(self, came: tuple[int, str, Any]) -> str:
        """Return the layer that a parameter or buffer belongs to, as ``Net.conv1``."""
        names: list[str] = []
        at = came
        while at[1] == "part" and at[0] in self.types:
            names.append(str(at[2]))
            top, at = self.types[at[0]], self.came[at[0]]
        return ".".join([top, *reversed(names[1:])]) if names else ""


def _extended(text: str, how: str, key: Any) -> str:
    """Return a path with one step more."""
    if how == "name":
        return text + str(key)
    if how in ("attr", "part"):
        if key in ("cell_contents", "tb_frame"):
            return text
        return f"{text}[{key}]" if how == "part" and str(key).isdigit() else f"{text}.{key}"
    if how == "item":
        plain = type(key) in (str, int, float, bool, bytes, type(None))
        return f"{text}[{key!r}]" if plain else f"{text}[<{type(key).__name__}>]"
    words = {
        "local": f"{text} → local {key}", "free": f"{text} → closure {key}", "hook": f"{text} → hook {key}",
        "default": f"{text} → default {key}", "graph": f"{text} → graph", "member": f"{text}{{…}}",
        "key": f"{text}{{key}}", "inside": f"{text} → in {key}", "globals": f"{text} → globals",
    }  # fmt: skip
    return words.get(how, text)


def reachable_from(roots: Iterable[Any], pool: dict[int, Any]) -> dict[int, Any]:
    """Return what of a pool of objects leads to some objects, and those.

    >>> from weft.debug.memory_paths import reachable_from
    >>> a, b = [], []
    >>> a.append(b)
    >>> list(map(id, reachable_from([b], {id(o): o for o in (a, b, {})}).values())) == [id(b), id(a)]
    True
    """
    holders: dict[int, list[Any]] = {}
    for o in pool.values():
        for held in gc.get_referents(o):
            holders.setdefault(id(held), []).append(o)
    found: dict[int, Any] = {id(o): o for o in roots}
    waiting = list(found.values())
    for o in waiting:
        for holder in holders.get(id(o), ()):
            if id(holder) not in found:
                found[id(holder)] = holder
                waiting.append(holder)
    return found
