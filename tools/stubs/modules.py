"""The text of one stub: of ``Tensor``, of ``weft``, of a package that passes names on."""

from __future__ import annotations

import ast
import functools
import inspect
import pkgutil
import sys
import types
from importlib import import_module
from pathlib import Path
from typing import Any

import weft
from tools.stubs import ops
from tools.stubs.render import Definition, definition
from weft import _C
from weft.ops.signatures import rows_of

HEAD = """\
# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""
PACKAGE = Path(weft.__file__).parent
ALIASES = (
    "_Device _DType _Hook _Index _Ints _Layout _MemoryFormat _Number _Operand _bool _complex _float _int _str"
).split()
IMPORTS = """\
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

"""


def place_of(module: types.ModuleType) -> str:
    """Return the dotted name of a module by where its file lies: weft.cuda lies in weft.compat."""
    path = Path(module.__file__ or "").resolve()
    parts = path.relative_to(PACKAGE.resolve().parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def named_tuples(definitions: dict[str, list[Definition]]) -> str:
    """Return the classes of results with names that these definitions need."""
    classes: dict[str, tuple[str, ...]] = {}
    for overloads in definitions.values():
        for one in overloads:
            classes |= one.named_tuples
    return "\n".join(
        "\n".join([f"class {name}(NamedTuple):", *(f"    {f}: Tensor" for f in classes[name]), ""])
        for name in sorted(classes)
    )


def tensor_methods(declared: set[str]) -> dict[str, list[Definition]]:
    """Return the methods of Tensor that the template does not declare."""
    found = {}
    for name in sorted(dir(_C.Tensor)):
        value = inspect.getattr_static(_C.Tensor, name)
        if name in declared or hasattr(object, name) or name in _UNSAID:
            continue
        if ops.is_native(value):
            found[name] = ops.native(name, method=True)
        elif inspect.isfunction(value):
            found[name] = ops.composed(name, ops.later(name) or value, method=True)
        else:
            raise SystemExit(f"Tensor.{name}: tools/stubs/native.pyi does not declare it")
    return found


_UNSAID = {
    *("__array_priority__", "__cuda_array_interface__", "__del__", "__delitem__"),
    *("_storage_bytes", "_storage_ptr", "__getstate__"),
}


def native_stub() -> str:
    """Return the stub of weft._C: the template, and the methods that are ops."""
    template = (Path(__file__).parent / "native.pyi").read_text()
    body = next(
        node
        for node in ast.parse(template).body
        if isinstance(node, ast.ClassDef) and node.name == "Tensor"
    ).body
    declared = {n.name for n in body if isinstance(n, ast.FunctionDef)}
    declared |= {n.target.id for n in body if isinstance(n, ast.AnnAssign)}  # type: ignore[union-attr]
    missing = {n for n in declared if not hasattr(_C.Tensor, n)}
    if missing:
        raise SystemExit(f"tools/stubs/native.pyi: Tensor has no {', '.join(sorted(missing))}")
    methods = tensor_methods(declared)
    parts = [HEAD + template.rstrip()]
    parts += [definition(name, overloads, "    ") for name, overloads in methods.items()]
    rest = [f"{name}: dtype" for name in dir(_C) if isinstance(getattr(_C, name), _C.dtype)]
    rest += ["default_generator: Generator", "def get_num_threads() -> _int: ..."]
    rest += ["def set_num_threads(count: _int, /) -> None: ..."]
    rest += ["def __getattr__(name: _str) -> Any: ...  # what only weft itself uses"]
    return "\n".join([*parts, "", *rest, "", named_tuples(methods)]).rstrip() + "\n"


def names_of(module: types.ModuleType) -> list[str]:
    """Return the public names of a module: its list, or what it imports."""
    listed = getattr(module, "__all__", None)
    names = set(listed) if listed is not None and module is not weft else set(dir(module))
    hidden = {"TYPE_CHECKING", "annotations", "Any"}
    names = {n for n in names if not n.startswith("_") or n in (listed or ())} - hidden
    return sorted(name for name in names if not _is_foreign(getattr(module, name, None)))


def _is_foreign(value: Any) -> bool:
    """Say whether a value is a module, class or function of another library."""
    if isinstance(value, types.ModuleType):
        return not value.__name__.startswith("weft")
    home = getattr(value, "__module__", None) or "weft"
    return (isinstance(value, type) or inspect.isroutine(value)) and not home.startswith("weft")


def origin_of(name: str, value: Any) -> str | None:
    """Return the module that a class or function can be imported from under this name."""
    if not isinstance(value, type) and not inspect.isroutine(value):
        return None
    module = value.__module__ or ""
    source = sys.modules.get(module)
    if not module.startswith("weft") or source is None or not getattr(source, "__file__", None):
        return None
    known_as = getattr(value, "__name__", name)
    inside = vars(source).get(known_as) is value and _is_static(known_as, source)
    return place_of(source) if inside else None


STUBBED: set[str] = set()  # the modules that have a stub


def _submodule(dotted: str) -> str:
    """Return the import of a module by its package.

    In a clone the stubs lie in a folder of their own, where ``from . import x`` finds only stubs.
    """
    name = dotted.rpartition(".")[2]
    if dotted in STUBBED:
        return f"from . import {name} as {name}"
    return f"import {dotted} as _{name}\n{name} = _{name}"


def _import(place: str, known_as: str, name: str) -> str:
    """Return the import of a name that others may import: ``x as x`` says so."""
    if known_as == name:
        return f"from {place} import {name} as {name}"
    return f"from {place} import {known_as} as _{name}\n{name} = _{name}"


def _constant(name: str, value: Any) -> str:
    kind = type(value)
    if isinstance(value, bool | int | float | str):
        return f"{name}: _{kind.__name__}"
    if isinstance(value, _C.Generator | _C.dtype):
        return f"{name}: {'_DType' if isinstance(value, _C.dtype) else 'Generator'}"
    aliases = {"layout": "_Layout", "memory_format": "_MemoryFormat", "NoneType": "None"}
    home = origin_of(kind.__name__, kind)
    if kind.__name__ not in aliases and home:
        return (
            f"from {home} import {name} as {name}"
            if _is_in(home, name, value)
            else (f"from {home} import {kind.__name__}\n{name}: {kind.__name__}")
        )
    return f"{name}: {aliases.get(kind.__name__, 'Any')}"


def _is_in(place: str, name: str, value: Any) -> bool:
    return getattr(sys.modules.get(place), name, None) is value


BY_HAND = (Path(__file__).parent / "functions.pyi").read_text()


def by_hand(name: str) -> str:
    """Return the overloads of a function in functions.pyi; empty for others."""
    nodes = [n for n in ast.parse(BY_HAND).body if isinstance(n, ast.FunctionDef)]
    texts = [ast.get_source_segment(BY_HAND, n) or "" for n in nodes if n.name == name]
    return "\n".join(f"@overload\n{text}" for text in texts)


def before_functions() -> str:
    """Return what stands in functions.pyi before the functions: imports, variables, classes."""
    first = next(n for n in ast.parse(BY_HAND).body if isinstance(n, ast.FunctionDef))
    return "\n".join(BY_HAND.splitlines()[1 : first.lineno - 2])


def foreach() -> dict[str, list[Definition]]:
    """Return the functions of lists of tensors, which are made when they are asked for."""
    from weft.ops import foreach as module

    found = {}
    for name in sorted(module.NAMES):
        returns = "None" if name.endswith("_") else "tuple[Tensor, ...]"
        parameters = ["self: Sequence[Tensor]", "*given: Any", "**settings: Any"]
        found[name] = [Definition(parameters, returns, getattr(module, name).__doc__ or "")]
    return found


def _is_static(name: str, module: types.ModuleType) -> bool:
    """Say whether a checker finds a name in the source of a module."""
    return name in _static_names(module.__file__ or "")


@functools.cache
def _static_names(path: str) -> set[str]:
    tree = ast.parse(Path(path).read_text())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def _function(name: str, value: Any) -> list[Definition]:
    """Return the definitions of a function that is made as its module is imported."""
    native = rows_of(value.__name__)
    if native and not native[0]["python"]:
        return ops.native(value.__name__, method=False)
    return ops.composed(value.__name__, value, method=False)


def _entry(module: types.ModuleType, name: str, value: Any) -> str | list[Definition]:
    """Return the line of a stub for a name, or the definitions of an op."""
    if module is weft and by_hand(name):
        return by_hand(name)
    if isinstance(value, types.ModuleType):
        place = place_of(value)
        if value.__name__ == f"{module.__name__}.{name}":
            return _submodule(value.__name__)
        parent, _, last = place.rpartition(".")
        return _import(parent, last, name)
    if ops.is_native(value):
        return ops.native(value.__name__, method=False)
    if ops.is_composed(value) and module is not weft.nn.functional:
        return ops.composed(name, value, method=False)
    if isinstance(value, type) and getattr(_C, value.__name__, None) is value:
        return f"from weft._C import {value.__name__} as {name}"
    if isinstance(value, type(weft.FloatTensor)):
        return f"class {name}(Tensor): ...  # makes tensors of one dtype"
    origin = origin_of(name, value)
    if origin == place_of(module):
        return _own(module, name, value)
    if origin is not None:
        return _import(origin, value.__name__, name)
    if hasattr(_C, name) and getattr(_C, name) is value and not isinstance(value, _C.dtype):
        return f"from weft._C import {name} as {name}"
    return _function(name, value) if inspect.isfunction(value) else _constant(name, value)


def _own(module: types.ModuleType, name: str, value: Any) -> str | list[Definition]:
    """Return what a package's own file defines."""
    if inspect.isfunction(value):
        return ops.composed(name, value, method=False)
    raise SystemExit(f"{module.__name__}.{name}: a class in the __init__ of a package with a stub")


def package_stub(module: types.ModuleType) -> str:
    """Return the stub of a module: each public name imported from its home, or declared."""
    imports, constants, written = [], [], []
    definitions: dict[str, list[Definition]] = {}
    later = set()
    if hasattr(module, "__getattr__") and module is not weft:  # loads them when they are asked for
        later = {name for name in submodules(module) if name not in vars(module)}
        imports += [_submodule(f"{module.__name__}.{name}") for name in sorted(later)]
    for name in sorted(set(names_of(module)) - later):
        entry = _entry(module, name, getattr(module, name))
        if isinstance(entry, list):
            definitions[name] = entry
        elif entry.startswith("@overload"):
            written.append(entry)
        elif entry.startswith(("from ", "import ")):
            imports.append(entry)
        else:
            constants.append(entry)
    if module is weft:
        written.insert(0, before_functions())
        constants.append("__version__: _str")
        definitions |= foreach()
    body = "\n".join([named_tuples(definitions), *constants, *written, ""])
    body += "\n".join(definition(name, overloads) for name, overloads in definitions.items())
    text = HEAD + IMPORTS
    if constants or definitions:
        text += _aliases(imports)
    text += "\n".join(imports) + "\n\n" + body.strip() + "\n"
    doc = (module.__doc__ or "").strip()
    return text.replace(HEAD, f'{HEAD}"""{doc}"""\n' if doc else HEAD, 1).rstrip() + "\n"


def _imported(module: types.ModuleType) -> set[str]:
    """Return the names that the source of a module imports, and so does not offer itself."""
    nodes = ast.walk(ast.parse(Path(module.__file__ or "").read_text()))
    imports = [n for n in nodes if isinstance(n, ast.ImportFrom | ast.Import)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def facade_stub(module: types.ModuleType) -> str:
    """Return the stub of ``weft.cuda`` and others, which lie in weft/compat/modules."""
    place = place_of(module)
    listed = set(names_of(module)) if hasattr(module, "__all__") else set()
    shown = {n for n in dir(module) if not n.startswith("_")} - _imported(module)
    imports, definitions = [], []
    for name in sorted((listed | shown) - {"TYPE_CHECKING"}):
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            inside = value.__name__ == f"{module.__name__}.{name}"
            imports += [f"from . import {name} as {name}"] if inside else []
        elif _is_static(name, module):
            imports.append(f"from {place} import {name} as {name}")
        elif getattr(weft, name, None) is value:
            imports.append(f"from weft import {name} as {name}")
        elif origin_of(name, value):
            imports.append(_import(origin_of(name, value) or "", value.__name__, name))
        elif isinstance(value, type):
            definitions.append(f"class {name}(Tensor): ...")
        elif inspect.isfunction(value):
            definitions.append(definition(name, _function(name, value)))
        else:
            definitions.append(_constant(name, value))
    for name in submodules(module):
        imports.append(f"from . import {name} as {name}")
    head = IMPORTS + _aliases(imports) if definitions else ""
    return HEAD + head + "\n".join(dict.fromkeys(imports + definitions)) + "\n"


def submodules(module: types.ModuleType) -> list[str]:
    """Return the public modules of a package."""
    parts = pkgutil.iter_modules(getattr(module, "__path__", []))
    return [part.name for part in parts if not part.name.startswith("_")]


def _aliases(imports: list[str]) -> str:
    """Return the imports of the names that annotations use."""
    lines = [f"from weft._C import {alias} as {alias}" for alias in ALIASES]
    taken = {line.rpartition(" as ")[2] for line in imports}
    lines += [f"from weft._C import {n}" for n in ("Generator", "Size", "Tensor") if n not in taken]
    return "\n".join(lines) + "\n"


def alias_stub(module: types.ModuleType) -> str:
    """Return the stub of a module that is another one under a second name."""
    place = place_of(module)
    names = [n for n in vars(module) if n[:2] != "__" and not _is_foreign(getattr(module, n))]
    names = sorted(n for n in names if n != "annotations" and _is_static(n, module))
    return HEAD + "".join(f"from {place} import {name} as {name}\n" for name in names)


def package(name: str) -> types.ModuleType:
    """Return a module of weft by its name."""
    return import_module(name)
