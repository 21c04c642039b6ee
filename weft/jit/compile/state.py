"""What Python holds that a function can see: values that a captured call was made with.

A captured call is made again only while they are the same; and what the call itself changes among
them cannot be made again without Python.
"""

from __future__ import annotations

import sys
import types

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

__all__ = ["State"]

_SIMPLE = (int, float, complex, str, bytes, bool, type(None), weft.dtype)
_MOST = 20_000  # values that are watched
_LONG = 256  # of longer containers only the length is watched
_OWN = __name__.partition(".")[0]
_LIBRARIES = {_OWN, "torch", "torchvision", "torchtext", "torchaudio", "numpy", "scipy", "PIL"}
_LIBRARIES |= set(sys.stdlib_module_names)


class Held:
    """A place in a dict, list, cell or class, and what is there."""

    __slots__ = ("absent", "key", "name", "value", "where")

    def __init__(self, where: Any, key: Any, value: Any, name: str, absent: bool = False) -> None:
        """Note the place, what is there, and how a message calls it."""
        self.where, self.key, self.value, self.name, self.absent = where, key, value, name, absent

    def holds(self) -> bool:
        """Say whether the same is there now."""
        return _C._holds(self.where, self.key, self.value, self.absent)


class State:
    """The values that a function can reach from its globals, closure, methods and arguments."""

    def __init__(self, func: Any, args: Iterable[Any]) -> None:
        """Look at everything once."""
        self.held: list[Held] = []
        self.options: list[Held] = []  # of optimisers: their steps may read them anew
        self.reads_options = False  # the function itself looks at them
        self.too_much = False
        self._seen: set[int] = set()
        self._names: set[str] = set()
        self._waiting: list[tuple[Any, str]] = [(func, getattr(func, "__name__", "the function"))]
        self._waiting += [(a, "an argument") for a in args]
        self._later: list[tuple[types.ModuleType, str]] = []
        while self._waiting:
            if len(self.held) > _MOST:
                self.too_much = True
                break
            self._visit(*self._waiting.pop())
            if not self._waiting:  # by now all names that code uses are known
                for module, name in self._later:
                    for key in sorted(self._names & module.__dict__.keys()):
                        self._hold(module.__dict__, key, module.__dict__[key], f"{name}.{key}")
                self._later = []
        self.reads_options = bool(self._names & {"param_groups", "get_last_lr", "get_lr"})

    def holds(self) -> bool:
        """Say whether everything is as it was."""
        return all(h.holds() for h in self.held)

    def changed(self) -> str:
        """Return the name of something that is not as it was, or nothing."""
        return next((h.name for h in self.held if not h.holds()), "")

    # ---- the walk ------------------------------------------------------------------------------

    def _hold(self, where: Any, key: Any, value: Any, name: str, absent: bool = False) -> None:
        self.held.append(Held(where, key, value, name, absent))
        if not absent and key is not ...:
            self._waiting.append((value, name))

    def _visit(self, x: Any, name: str) -> None:
        if isinstance(x, _SIMPLE) or isinstance(x, weft.Tensor) or id(x) in self._seen:
            return
        self._seen.add(id(x))
        if isinstance(x, types.FunctionType):
            self._visit_function(x)
        elif isinstance(x, types.MethodType):
            self._waiting += [(x.__self__, name), (x.__func__, name)]
        elif isinstance(x, types.ModuleType):
            if not _is_library(x.__name__):
                self._later.append((x, name))
        elif isinstance(x, type):
            self._visit_class(x, name)
        elif isinstance(x, (list, dict, tuple)):
            self._visit_container(x, name)
        elif isinstance(x, _C.ModuleBase):
            self._visit_module(x, name)
        elif _is_optimizer(x):
            self._visit_optimizer(x, name)
        elif not _is_library(type(x).__module__) and isinstance(getattr(x, "__dict__", 0), dict):
            self._visit_members(x.__dict__, name)
            self._hold(x.__dict__, ..., len(x.__dict__), f"the attributes of {name}")
            self._waiting.append((type(x), type(x).__name__))

    def _visit_function(self, f: types.FunctionType) -> None:
        if isinstance(wrapped := getattr(f, "__wrapped__", None), types.FunctionType):
            self._waiting.append((wrapped, f.__name__))
        if _is_library(f.__globals__.get("__name__", "")):
            return
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            try:
                self._hold(cell, None, cell.cell_contents, f"'{name}'")
            except ValueError:  # it is empty
                self._hold(cell, None, None, f"'{name}'", absent=True)
        names = set(_names_in(f.__code__))
        self._names |= names
        for key in sorted(names & f.__globals__.keys()):
            if key != "__builtins__":
                self._hold(f.__globals__, key, f.__globals__[key], f"the global '{key}'")
        for default in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            self._waiting.append((default, f"a default of {f.__name__}"))

    def _visit_class(self, cls: type, name: str) -> None:
        for base in cls.__mro__:
            if _is_library(base.__module__):
                continue
            for key, value in list(vars(base).items()):
                if isinstance(value, (staticmethod, classmethod)):
                    value = value.__func__
                if isinstance(value, property):
                    self._waiting += [(f, key) for f in (value.fget,) if f is not None]
                elif isinstance(value, types.FunctionType):
                    self._waiting.append((value, key))
                elif isinstance(value, (int, float, str)) and not key.startswith("__"):
                    self._hold(base, key, value, f"{name}.{key}")

    def _visit_container(self, x: Any, name: str) -> None:
        if isinstance(x, tuple):
            self._waiting += [(v, name) for v in x[:_LONG]]
            return
        self._hold(x, ..., len(x), f"the length of {name}")
        if len(x) <= _LONG:
            items = list(x.items()) if isinstance(x, dict) else list(enumerate(x))
            for key, value in items:
                self._hold(x, key, value, f"{name}[{key!r}]")

    def _visit_module(self, module: Any, name: str) -> None:
        members = module.__dict__
        for key, value in members.items():
            if isinstance(value, dict) and key.startswith("_"):
                if key in ("_parameters", "_buffers", "_modules"):
                    for k, v in value.items():
                        self._hold(value, k, v, f"{name}.{k}")
                elif value or key.endswith("hooks"):
                    self._hold(value, ..., len(value), f"the {key.strip('_')} of {name}")
                    self._waiting += [(v, f"a hook of {name}") for v in value.values()]
            else:
                self._hold(members, key, value, f"{name}.{key}")
        self._waiting.append((type(module), type(module).__name__))

    def _visit_optimizer(self, optimizer: Any, name: str) -> None:
        for i, group in enumerate(optimizer.param_groups):
            for key, value in group.items():
                if key != "params":
                    held = Held(group, key, value, f"{name}.param_groups[{i}]['{key}']")
                    self.options.append(held)
            self._waiting.append((group["params"], f"{name}.param_groups[{i}]['params']"))
            for p in group["params"]:
                for key, value in optimizer.state.get(p, {}).items():
                    self.options.append(Held(optimizer.state[p], key, value, f"{name}.state"))

    def _visit_members(self, members: dict[str, Any], name: str) -> None:
        for key, value in members.items():
            self._hold(members, key, value, f"{name}.{key}")


def _is_library(module: str) -> bool:
    return (module or "").partition(".")[0] in _LIBRARIES and module != "__main__"


def _is_optimizer(x: Any) -> bool:
    loaded = sys.modules.get("weft.optim")
    return loaded is not None and isinstance(x, loaded.Optimizer)


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)
