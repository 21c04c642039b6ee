"""The definitions of ops, from their schemas (native ops) or their signatures (Python ops)."""

from __future__ import annotations

import inspect
from importlib import import_module
from keyword import iskeyword
from typing import Any

from tools.stubs.render import Definition, annotation, default, parameters_of
from weft import _C
from weft.ops.signatures import (
    OpParameter,
    Schema,
    default_of,
    extras_of,
    python_type,
    rows_of,
)

# Results of Python ops whose fields no signature tells.
FIELDS = {
    "geqrf": ("a", "tau"),
    "histogram": ("hist", "bin_edges"),
    "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"),
    "svd": ("U", "S", "V"),
    "triangular_solve": ("solution", "cloned_coefficient"),
}
RETURNS = {  # of functions that their sources declare to return Any
    "adjoint": "Tensor",
    "split_copy": "tuple[Tensor, ...]",
    "split_with_sizes_copy": "tuple[Tensor, ...]",
    "unbind_copy": "tuple[Tensor, ...]",
    "to_sparse_coo": "Tensor",
    "lu": "tuple[Tensor, ...]",
    "lu_unpack": "tuple[Tensor, Tensor, Tensor]",
}
_EXTRAS = {
    "device": "_Device | None",
    "layout": "_Layout | None",
    "requires_grad": "_bool",
    "pin_memory": "_bool",
}
_VARIANTS = ("atleast_1d", "atleast_2d", "atleast_3d")  # of one tensor, or of several


def tuple_name(fields: tuple[str, ...]) -> str:
    """Return the name of the class of results with these fields."""
    return "_" + "".join(word[0].upper() + word[1:] for word in fields)


def _native_parameter(p: OpParameter) -> str:
    name = f"{p.name}_" if iskeyword(p.name) else p.name
    text = f"{name}: {annotation(python_type(p.type, p.name), p.name)}"
    return text if p.default is None else f"{text} = {default(default_of(p))}"


def _native_list(schema: Schema, method: bool, spread: bool, extras: list[str]) -> list[str]:
    """Return the parameters of one overload; ``spread`` writes ``*size`` and not ``size``."""
    found: list[str] = []
    starred = False
    for i, p in enumerate(schema.parameters):
        if method and not i:
            found.append("self")
            continue
        if p.keyword_only and not starred:
            found.append("*")
            starred = True
        if p.spread and spread:
            found.append(f"*{p.name}: _int")
            starred = True
        elif p.spread:
            found.append(f"{p.name}: Sequence[_int]")
        else:
            found.append(_native_parameter(p))
    return [*found, *([] if starred or not extras else ["*"]), *extras]


def _native_returns(schema: Schema) -> tuple[str, dict[str, tuple[str, ...]]]:
    if len(schema.results) == 1:
        return ("tuple[Tensor, ...]" if schema.results[0][0] == "Tensor[]" else "Tensor"), {}
    fields = tuple(name for _, name in schema.results)
    if not all(fields):
        return f"tuple[{', '.join('Tensor' for _ in fields)}]", {}
    return tuple_name(fields), {tuple_name(fields): fields}


def _extra_keywords(names: dict[str, Any], results: int) -> list[str]:
    out = "Tensor" if results == 1 else f"tuple[{', '.join(['Tensor'] * results)}]"
    types = {**_EXTRAS, "out": f"{out} | None"}
    return [f"{name}: {types[name]} = {default(value)}" for name, value in names.items()]


def native(name: str, method: bool) -> list[Definition]:
    """Return the overloads of a native op, as a function or as a method of Tensor."""
    rows = [row for row in rows_of(name) if row["method" if method else "function"]]
    rows = rows or rows_of(name)
    twin = name.endswith("_") and any(row["inplace"] or row["inplace_only"] for row in rows)
    found: list[Definition] = []
    for row in rows:
        schema = Schema(row["signature"])
        if method and not schema.parameters[0].type.startswith("Tensor"):
            continue
        if not method and twin:
            schema.parameters[0].type = "Tensor"
        returns, named = _native_returns(schema)
        wanted = {} if method else extras_of(name)
        if not (row["out"] and "out" in wanted):
            wanted.pop("out", None)
        if not row["creation"]:
            wanted = {k: v for k, v in wanted.items() if k == "out"}
        if method and row["creation"]:
            wanted = {k: v for k, v in extras_of(name).items() if k != "out"}
        extras = _extra_keywords(wanted, len(schema.results))
        returns = "Self" if twin and method else returns
        spread = any(p.spread for p in schema.parameters)
        for way in (True, False) if spread else (False,):
            doc = "" if found else row["doc"] or rows[0]["doc"]
            found.append(Definition(_native_list(schema, method, way, extras), returns, doc, named))
    return found


def _layers(f: Any) -> list[str]:
    """Return the keywords that the wrappers around a function add: out=, device= and others."""
    found: list[str] = []
    while hasattr(f, "__wrapped__"):
        code = f.__code__
        found += code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        f = f.__wrapped__
    return found


def later(name: str) -> Any:
    """Return the function behind a method that is loaded on its first call, or None."""
    from weft.tensor import _LATER

    for module, names in _LATER.items():
        if name in names.split():
            return getattr(import_module(f"weft.{module}"), name)
    return None


def composed(name: str, f: Any, method: bool) -> list[Definition]:
    """Return the definition of an op that is written in Python."""
    if name in _VARIANTS:
        several = Definition(["*tensors: Tensor | Sequence[Tensor]"], "tuple[Tensor, ...]")
        one = Definition(["input: Tensor", "/"], "Tensor", f.__doc__ or "")
        return [one, several]
    view = name.removesuffix("_copy")
    if view != name and rows_of(view) and not method:
        found = native(view, method=False)
        found[0].doc = f.__doc__ or ""
        return found
    base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    signature = inspect.signature(f)
    first = next(iter(signature.parameters), "")
    if f.__code__.co_name == "twin":
        plain = getattr(_C.Tensor, base, None) or getattr(import_module("weft"), base)
        signature = inspect.signature(plain)
    parameters = parameters_of(signature)
    if method:
        parameters[0] = "self"
    elif first == "self":
        parameters[0] = "input: Tensor"
    extras = {key: False if key in ("requires_grad", "pin_memory") else None for key in _layers(f)}
    if extras:
        known = {p.split(":")[0].lstrip("*") for p in parameters}
        starred = any(p.startswith("*") and not p.startswith("**") for p in parameters)
        words = _extra_keywords({k: v for k, v in extras.items() if k not in known}, 1)
        last = [parameters.pop()] if parameters[-1].startswith("**") else []
        parameters += [*([] if starred else ["*"]), *words, *last]
    returns = annotation(signature.return_annotation)
    named = {}
    if name in FIELDS:
        returns, named = tuple_name(FIELDS[name]), {tuple_name(FIELDS[name]): FIELDS[name]}
    elif returns == "Any":
        returns = RETURNS.get(name, "Tensor" if name.endswith("_copy") else "Any")
    if method and base != name:
        returns = "Self"
    return [Definition(parameters, returns, f.__doc__ or "", named)]


def is_native(value: Any) -> bool:
    """Say whether a value is a native op."""
    return type(value) is _C.Op


def is_composed(value: Any) -> bool:
    """Say whether a function was made an op by a decorator, which adds to its signature."""
    return inspect.isfunction(value) and (
        value.__code__.co_name == "twin" or bool(_layers(value)) or hasattr(value, "__wrapped__")
    )
