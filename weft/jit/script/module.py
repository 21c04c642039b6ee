"""``ScriptModule``: a module whose methods are programs, and how modules become such."""

from __future__ import annotations

import copy
import inspect
from types import FunctionType

import weft
from weft import nn
from weft.serialization.modules import class_name

from .allowed import is_member_name
from .errors import ScriptError
from .program import Listing
from .text import code_of
from .values import is_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .compiler import Build, Compiler

__all__ = ["ScriptModule"]

CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


class ScriptModule(nn.Module):
    """A module as a program: what ``weft.jit.script`` gives for a module.

    It has the parameters, buffers, children and ``state_dict`` keys of the module it was made of,
    and shares the parameters with it.

    >>> class Gate(weft.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = weft.nn.Parameter(weft.tensor(3.0))
    ...     def forward(self, x, n: int = 1):
    ...         for _ in range(n):
    ...             x = x * self.scale
    ...         return x
    >>> scripted = weft.jit.script(Gate())
    >>> scripted(weft.ones(1), 2), list(scripted.state_dict())
    (tensor([9.], grad_fn=<MulBackward0>), ['scale'])
    """

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["_methods"] = {}
        self.__dict__["_container"] = ""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._methods["forward"](self, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Find scripted methods."""
        found = self.__dict__.get("_methods", {}).get(name)
        if found is None:
            raise AttributeError(f"'{self._get_name()}' object has no attribute '{name}'")
        return lambda *args, **kwargs: found(self, *args, **kwargs)

    @property
    def original_name(self) -> str:
        """The name of the class of the module that was scripted."""
        return self.__dict__.get("_original", type(self).__name__)

    @property
    def graph(self) -> Any:
        """``forward`` as readable text, with its source lines and the classes of its parts."""
        notes = [
            f"# self.{name}: {type(m).__module__}.{type(m).__name__}({m.extra_repr()})"
            for name, m in self._modules.items()
            if m is not None
        ]
        found = [self._methods["forward"].function] if "forward" in self._methods else []
        return Listing(found, notes)

    @property
    def code(self) -> str:
        """``forward`` as Python-like source."""
        if "forward" not in self._methods:
            return f"# {class_name(type(self).__mro__[1])}, kept as it is"
        return code_of(self._methods["forward"].function)

    @property
    def inlined_graph(self) -> Any:
        """All methods of this module and of those below it, as readable text."""
        found = [f for m in self.modules() for f in m.__dict__.get("_methods", {}).values()]
        return Listing([running.function for running in found])

    def save(self, f: Any) -> None:
        """Write the program and its state to a file, as ``weft.jit.save`` does."""
        from weft.jit.files import save

        save(self, f)

    def __copy__(self) -> Any:
        """Return a module of the same tensors and methods."""
        made = type(self).__new__(type(self))
        made.__setstate__(self.__getstate__())
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a module with copies of its tensors."""
        memo[id(self)] = made = type(self).__new__(type(self))
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse: programs are kept by ``weft.jit.save``."""
        raise TypeError(
            f"{self.original_name}: scripted modules are saved by weft.jit.save, not by pickle"
        )

    def train(self, mode: bool = True) -> Any:
        """Set the mode; a frozen module stays in the mode of evaluation."""
        if mode and self.__dict__.get("_is_frozen"):
            raise RuntimeError("train: a frozen module cannot be trained: freeze a copy instead")
        return super().train(mode)

    def _get_name(self) -> str:
        return "ScriptModule"

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"


class ScriptContainer(ScriptModule):
    """The program of a list or dict of modules: it is iterated over and indexed as that was."""

    def _held(self) -> Any:
        return self._modules if self._container == "dict" else list(self._modules.values())

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._held()))

    def __getitem__(self, key: Any) -> Any:
        return self._held()[key]


def empty(container: str) -> ScriptModule:
    """Return a module without a program yet: of a "list", a "dict" or neither of them."""
    made = (ScriptContainer if container else ScriptModule)()
    made.__dict__["_container"] = container
    return made


# ---- from modules -------------------------------------------------------------------------------


def is_kept(module: Any) -> bool:
    """Say whether a module is taken as it is: a layer of weft's, or scripted already."""
    if isinstance(module, ScriptModule):
        return not _has_script_methods(module)
    return type(module).__module__.startswith("weft.nn.") or container_of(module) is not None


def _has_script_methods(module: Any) -> bool:
    return any(
        hasattr(f, "_script_method_of") for c in type(module).__mro__ for f in vars(c).values()
    )


def container_of(module: Any) -> Any:
    """Return the container class whose ``forward`` a module has, or None."""
    for cls in CONTAINERS:
        if isinstance(module, cls) and type(module).forward is cls.forward:
            return cls
    return None


def script_module(module: Any, compiler: Compiler) -> Any:
    """Return a module as a ``ScriptModule``; what is one already stays as it is."""
    if isinstance(module, ScriptModule) and is_kept(module):
        return module
    for part in _written(module, set()):
        _compile(part, compiler)
    made = _Converter(compiler).convert(module)
    return made if isinstance(made, ScriptModule) else as_script(made)


def _written(module: Any, seen: set[int]) -> Iterator[Any]:
    """Iterate over the modules that are compiled: not those within layers of weft's."""
    if id(module) in seen or (is_kept(module) and container_of(module) is None):
        return
    seen.add(id(module))
    if not is_kept(module):
        yield module
    for child in module._modules.values():
        if child is not None:
            yield from _written(child, seen)


def as_script(kept: Any) -> Any:
    """Return a layer of weft's as one that is a ``ScriptModule`` too."""
    kept.__class__ = type("ScriptModule", (type(kept), ScriptModule), {"__module__": __name__})
    kept.__dict__.update(_methods={}, _container="", _original=kept.__class__.__mro__[1].__name__)
    return kept


def _compile(module: Any, compiler: Compiler) -> None:
    """Compile ``forward`` and what is exported."""
    cls = type(module)
    if module._hooked:
        raise ScriptError(
            f"{cls.__name__} has hooks, which scripting would leave out: remove them, or call what "
            "they do in forward"
        )
    found = {name: inspect.getattr_static(cls, name) for name in dir(cls)}
    plain = [name for name, f in found.items() if isinstance(f, FunctionType)]
    names = [name for name in plain if getattr(found[name], "_weft_jit", "") == "export"]
    if cls.forward is not nn.Module.forward and getattr(cls.forward, "_weft_jit", "") == "":
        names.insert(0, "forward")
    if not names:
        compiler.build(module)
    for name in names:
        compiler.method(module, name, None, None)


class _Converter:
    """Makes the modules of a program, each once."""

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler
        self.made: dict[int, Any] = {}

    def convert(self, module: Any) -> Any:
        if id(module) not in self.made:
            container = container_of(module)
            if isinstance(module, ScriptModule) and is_kept(module):
                made = module
            elif container is not None:
                made = self.children(module, container(), self.convert)
            elif is_kept(module):
                made = self.share(module)
            else:
                made = self.script(module, self.compiler.build(module))
            made.__dict__["training"] = module.training
            self.made[id(module)] = made
        return self.made[id(module)]

    def share(self, module: Any) -> Any:
        """Copy a layer and its parts: their modes are their own, their tensors are shared."""
        if id(module) not in self.made:
            self.made[id(module)] = made = copy.copy(module)
            self.children(module, made, self.share)
        return self.made[id(module)]

    def children(self, module: Any, made: Any, convert: Any) -> Any:
        for name, child in module._modules.items():
            made._modules[name] = None if child is None else convert(child)
        return made

    def script(self, module: Any, build: Build) -> ScriptModule:
        container = "dict" if isinstance(module, nn.ModuleDict) else "list"
        made = empty(container if isinstance(module, CONTAINERS) else "")
        d = made.__dict__
        d["_original"], d["_methods"] = type(module).__name__, dict(build.methods)
        made._parameters.update(module._parameters)
        made._buffers.update(module._buffers)
        d["_non_persistent_buffers_set"] = set(module._non_persistent_buffers_set)
        self.children(module, made, self.convert)
        names = [n for n in module.__dict__ if n not in d]
        for name in (*names, *build.needed):
            value = getattr(module, name)
            if isinstance(value, weft.jit.Attribute):
                value = value.value
            if is_member_name(name) and is_value(value) and not hasattr(made, name):
                d[name] = copied(value)
        return made


def copied(x: Any) -> Any:
    """Return a value whose containers are copies; tensors are shared."""
    if type(x) in (list, tuple):
        return type(x)([copied(v) for v in x])
    return {k: copied(v) for k, v in x.items()} if type(x) is dict else x
