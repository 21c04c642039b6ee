"""The import of PyTorch's modules: a finder that answers with weft's.

``torch.nn`` becomes the module ``weft.nn`` itself, guarded, so that a missing name is reported as
PyTorch's. Where no single module of weft fits (``torch``, which has a version of its own), a
``Facade`` looks names up.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from opcode import opmap
from types import ModuleType

import weft
from weft.compat.names import (
    ALIASES,
    OWN,
    ROOTS,
    LackingName,
    lacks,
    member,
    modules_of,
    public_names,
    weft_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["Facade", "Finder"]


class Facade(ModuleType):
    """A module of PyTorch whose names are looked up in weft."""

    def __init__(self, name: str) -> None:
        """Take the names of weft's module, so that most are found without a detour."""
        super().__init__(name, f"weft, under the name of {name}.")
        for module in modules_of(name):
            names = vars(importlib.import_module(module))
            elsewhere = {*ALIASES, *OWN}
            new = {
                k: v
                for k, v in names.items()
                if not k.startswith("_") and f"{name}.{k}" not in elsewhere
            }
            self.__dict__.update({**new, **self.__dict__})
        for own in OWN.get(name, ()):
            setattr(self, own, member(name, own))
        self.__path__: list[str] = []
        self.__file__ = weft.__file__

    def __getattr__(self, name: str) -> Any:
        """Look a name up in weft, and keep what was found."""
        if name == "__all__":
            kept = vars(self).items()
            return [n for n, v in kept if n[0] != "_" and not isinstance(v, ModuleType)]
        if name.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        found = _wanted(self.__name__, name, sys._getframe(1))
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        """List the names."""
        return sorted({*self.__dict__, *public_names(self.__name__)})


def _wanted(torch_module: str, name: str, asking: Any) -> Any:
    """Return a member; if it is lacking, ``from torch import name`` gets an ImportError.

    Python would turn an AttributeError into one that does not say what is near.
    """
    full = f"{torch_module}.{name}"
    if full in ALIASES or full in OWN:
        return importlib.import_module(full)
    try:
        return member(torch_module, name)
    except LackingName as e:
        text = str(e)
    if asking.f_code.co_code[asking.f_lasti] == opmap["IMPORT_FROM"]:
        raise ImportError(text, name=torch_module)
    raise AttributeError(text)


class Finder:
    """Finds PyTorch's modules in weft. The first of ``sys.meta_path``."""

    def __init__(self) -> None:
        """Start with no module guarded."""
        self._guarded: list[tuple[ModuleType, Any]] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """Return how to load a module of PyTorch; raise if weft has no such module."""
        root = fullname.partition(".")[0]
        if root not in ROOTS:
            return None
        if not modules_of(fullname):
            # What was not found is the module of weft; a name of its own also lets the message
            # through where Python expects, and drops, failures of `from torch import name`.
            raise ModuleNotFoundError(lacks(fullname), name=weft_name(fullname))
        return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leave it to Python: what it makes is replaced."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put weft's module into the place of the one that Python made."""
        name, spec = module.__name__, module.__spec__
        targets = modules_of(name)
        if name in OWN or (name in ALIASES and targets == ("weft",)):
            facade = Facade(name)
            facade.__spec__ = spec
            sys.modules[name] = facade
        else:
            found = sys.modules[name] = importlib.import_module(targets[0])
            if not hasattr(found, "__path__") and any(a.startswith(f"{name}.") for a in ALIASES):
                found.__path__ = []  # a package for PyTorch: Python looks for what is below it
            self._guard(sys.modules[name], name)

    def _guard(self, module: ModuleType, torch_name: str) -> None:
        """Let a module report missing names as PyTorch's, with the nearest there are."""
        before = vars(module).get("__getattr__")
        if hasattr(before, "torch_name"):
            return

        def guard(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")
            return _wanted(torch_name, name, sys._getframe(1))

        guard.torch_name, guard.guards = torch_name, before  # type: ignore[attr-defined]
        vars(module)["__getattr__"] = guard
        self._guarded.append((module, before))

    def release(self) -> None:
        """Take the guards off, and forget PyTorch's names."""
        for module, before in self._guarded:
            if before is None:
                vars(module).pop("__getattr__", None)
            else:
                vars(module)["__getattr__"] = before
        self._guarded.clear()
        for name in list(sys.modules):
            if name.partition(".")[0] in ROOTS:
                del sys.modules[name]
