"""Expressions of a program, each turned into a Python closure that gives its value.

A closure is given the local variables as a dict. Those that can fail are named ``run`` and have
their place in the source as a parameter: that is how ``errors.py`` finds it.
"""

from __future__ import annotations

import operator
import string
from dataclasses import replace

import weft
from weft import _C

from . import allowed, tree, types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

    from .program import Program

    Locals: TypeAlias = dict[str, Any]
    Closure: TypeAlias = Callable[[Locals], Any]

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift,
}  # fmt: skip
UPDATE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv,
    "//": operator.ifloordiv, "%": operator.imod, "**": operator.ipow, "@": operator.imatmul,
    "&": operator.iand, "|": operator.ior, "^": operator.ixor, "<<": operator.ilshift,
    ">>": operator.irshift,
}  # fmt: skip
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_,
}  # fmt: skip
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne, "is": operator.is_, "is not": operator.is_not,
    "in": lambda a, b: operator.contains(b, a), "not in": lambda a, b: not operator.contains(b, a),
}  # fmt: skip


def expression(node: tree.Expr, program: Program) -> Closure:
    """Return the closure of an expression."""
    return _CLOSURES[type(node)](node, program)


def several(nodes: list[tree.Expr], program: Program) -> list[Closure]:
    """Return the closures of several expressions."""
    return [expression(node, program) for node in nodes]


def _const(node: tree.Const, program: Program) -> Closure:
    value = node.value
    return lambda v: value


def _dots(node: tree.Dots, program: Program) -> Closure:
    return lambda v: ...


def _known(node: tree.Known, program: Program) -> Closure:
    value = allowed.constant_named(node.name)
    return lambda v: value


def _var(node: tree.Var, program: Program) -> Closure:
    name = node.name

    def run(v: Locals, at: Any = node.at) -> Any:
        try:
            return v[name]
        except KeyError:
            raise UnboundLocalError(f"the variable '{name}' has no value here") from None

    return run


# ---- members and calls --------------------------------------------------------------------------


def member(value: Any, name: str) -> Any:
    """Return an attribute of a value that a program may read."""
    if isinstance(value, weft.Tensor):
        if allowed.of_tensors().get(name) is False:
            return getattr(value, name)
    elif isinstance(value, _C.ModuleBase):
        if allowed.is_member_name(name) and name in value.__dict__:
            found = value.__dict__[name]
            if is_value(found):
                return found
    elif isinstance(value, tuple) and name in getattr(type(value), "_fields", ()):
        return getattr(value, name)
    elif isinstance(value, tuple) and type(value).__module__ == "weft.return_types":
        if not name.startswith("_") and name in dir(type(value)) and name not in dir(tuple):
            return getattr(value, name)
    elif name in allowed.MEMBERS.get(type(value), ()):
        return getattr(value, name)
    raise AttributeError(
        f"scripted code may not read '{name}' of a {types.name_of(value)}: there is no such "
        "attribute, or it is not data"
    )


def is_value(x: Any, depth: int = 0) -> bool:
    """Say whether something may be a value in a program.

    >>> from weft.jit.script.evaluate import is_value
    >>> is_value([1, (weft.ones(1), "a")]), is_value(print)
    (True, False)
    """
    if x is None or type(x) in _VALUES or isinstance(x, (weft.Tensor, _C.ModuleBase)):
        return True
    if depth > 32:
        return False
    if type(x) in (list, tuple):
        return all(is_value(item, depth + 1) for item in x)
    if type(x) is dict:
        return all(is_value(k, depth + 1) and is_value(v, depth + 1) for k, v in x.items())
    return False


_VALUES = (int, float, bool, str, complex, weft.dtype, weft.device, weft.Size, range)
_VALUES += (weft.layout, weft.memory_format, weft.Generator)  # type: ignore[assignment]


def method(value: Any, name: str) -> Callable[..., Any]:
    """Return a method of a value that a program may call."""
    if isinstance(value, weft.Tensor):
        if allowed.of_tensors().get(name):
            return getattr(value, name)
    elif isinstance(value, _C.ModuleBase):
        return _method_of_module(value, name)
    elif isinstance(value, str):
        if name == "format":
            return lambda *args, **named: _formatted(value, args, named)
        if name in allowed.METHODS[str]:
            return getattr(value, name)
    else:
        if name in allowed.METHODS.get(type(value), ()):
            return getattr(value, name)
        if isinstance(value, tuple) and name in allowed.METHODS[tuple]:
            return getattr(value, name)
        if name in allowed.OF_FUTURES and type(value).__module__ == "weft.jit.futures":
            return getattr(value, name)
    raise AttributeError(f"a {types.name_of(value)} has no method '{name}' for scripted code")


def _method_of_module(module: Any, name: str) -> Callable[..., Any]:
    found = module.__dict__.get("_methods", {}).get(name)
    if found is not None:
        return lambda *args, **named: found(module, *args, **named)
    if name == "forward":
        return module.forward
    containers = (weft.nn.ModuleDict, weft.nn.ParameterDict)
    if name in allowed.OF_MODULES and isinstance(module, containers):
        return getattr(module, name)
    if name in allowed.OF_MODULES and module.__dict__.get("_container") == "dict":
        return getattr(module._modules, name)
    child = module._modules.get(name)
    if child is not None:
        return child
    raise AttributeError(f"{type(module).__name__} has no scripted method '{name}'")


def _formatted(text: str, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """``str.format`` without the attributes and items of what is formatted."""
    for _, place, spec, _ in string.Formatter().parse(text):
        for part in (place or "", *(p[1] or "" for p in string.Formatter().parse(spec or ""))):
            if "." in part or "[" in part or part.startswith("_"):
                raise ValueError(f"format: {{{part}}} reads a part of a value: pass it instead")
    return text.format(*args, **named)


def _member(node: tree.Member, program: Program) -> Closure:
    of, name = expression(node.of, program), node.name

    def run(v: Locals, at: Any = node.at) -> Any:
        return member(of(v), name)

    return run


def _arguments(node: Any, program: Program) -> Callable[[Locals], tuple[list[Any], dict[str, Any]]]:
    """Return a closure that gives the arguments of a call."""
    args = [
        (
            expression(a.value if isinstance(a, tree.Starred) else a, program),
            type(a) is tree.Starred,
        )
        for a in node.args
    ]
    named = [(n.name, expression(n.value, program)) for n in node.named]
    if not named and not any(starred for _, starred in args):
        plain = [a for a, _ in args]
        return lambda v: ([a(v) for a in plain], _NONE)

    def give(v: Locals) -> tuple[list[Any], dict[str, Any]]:
        given: list[Any] = []
        for a, starred in args:
            if starred:
                given.extend(iterate(a(v)))
            else:
                given.append(a(v))
        return given, {name: value(v) for name, value in named}

    return give


_NONE: dict[str, Any] = {}


def _call(node: tree.Call, program: Program) -> Closure:
    function: Any = allowed.function_named(node.name)
    give = _arguments(node, program)
    if node.name in _OVER_MODULES:
        plain = function

        def function(*args: Any, **named: Any) -> Any:
            return plain(
                *(iterate(a) if isinstance(a, _C.ModuleBase) else a for a in args), **named
            )

    def run(v: Locals, at: Any = node.at) -> Any:
        args, named = give(v)
        return function(*args, **named)

    return run


_OVER_MODULES = ("enumerate", "zip", "list", "tuple", "len", "reversed")


def _call_function(node: tree.CallFunction, program: Program) -> Closure:
    name, give = node.name, _arguments(node, program)

    def run(v: Locals, at: Any = node.at) -> Any:
        args, named = give(v)
        return program.functions[name](*args, **named)

    return run


def _call_python(node: tree.CallPython, program: Program) -> Closure:
    name, give = node.name, _arguments(node, program)

    def run(v: Locals, at: Any = node.at) -> Any:
        args, named = give(v)
        return program.in_python[name](*args, **named)

    return run


def _call_method(node: tree.CallMethod, program: Program) -> Closure:
    of, name, give = expression(node.of, program), node.name, _arguments(node, program)
    own = allowed.of_tensors().get(name, False)

    def run(v: Locals, at: Any = node.at) -> Any:
        value = of(v)
        args, named = give(v)
        if own and type(value) is weft.Tensor:
            return getattr(value, name)(*args, **named)
        return method(value, name)(*args, **named)

    return run


def _call_value(node: tree.CallValue, program: Program) -> Closure:
    of, give = expression(node.of, program), _arguments(node, program)

    def run(v: Locals, at: Any = node.at) -> Any:
        value = of(v)
        if not isinstance(value, _C.ModuleBase):
            raise TypeError(f"a {types.name_of(value)} cannot be called")
        args, named = give(v)
        return value(*args, **named)

    return run


def _fork(node: tree.Fork, program: Program) -> Closure:
    from weft.jit.futures import fork

    inner: Any = node.call
    inputs = [n.value if isinstance(n, tree.Named) else n for n in inner.parts()]
    names = [f"fork {i}" for i in range(len(inputs))]
    values = iter(names)

    def stand_in(e: tree.Expr) -> tree.Expr:
        if isinstance(e, tree.Starred):
            return tree.Starred(e.at, tree.Var(e.at, next(values)))
        return tree.Var(e.at, next(values))

    # What it is called with is worked out here; only the call itself runs elsewhere.
    changes: dict[str, Any] = {}
    if hasattr(inner, "of"):
        changes["of"] = stand_in(inner.of)
    changes["args"] = [stand_in(a) for a in inner.args]
    changes["named"] = [tree.Named(n.at, n.name, stand_in(n.value)) for n in inner.named]
    call = expression(replace(inner, **changes), program)
    given = [expression(getattr(e, "value", e) if _starred(e) else e, program) for e in inputs]

    def run(v: Locals, at: Any = node.at) -> Any:
        return fork(call, {name: give(v) for name, give in zip(names, given)})

    return run


def _starred(node: Any) -> bool:
    return isinstance(node, tree.Starred)


# ---- operators ----------------------------------------------------------------------------------


def _unary(node: tree.Unary, program: Program) -> Closure:
    f, value = _UNARY[node.op], expression(node.value, program)

    def run(v: Locals, at: Any = node.at) -> Any:
        return f(value(v))

    return run


def _binary(node: tree.Binary, program: Program) -> Closure:
    f = BINARY[node.op]
    left, right = expression(node.left, program), expression(node.right, program)

    def run(v: Locals, at: Any = node.at) -> Any:
        return f(left(v), right(v))

    return run


def _compare(node: tree.Compare, program: Program) -> Closure:
    left = expression(node.left, program)
    steps = [(_COMPARE[op], expression(r, program)) for op, r in zip(node.ops, node.rights)]
    if len(steps) == 1:
        f, right = steps[0]

        def run(v: Locals, at: Any = node.at) -> Any:
            return f(left(v), right(v))

        return run

    def chain(v: Locals, at: Any) -> Any:
        x, result = left(v), None
        for f, right in steps:
            y = right(v)
            result = f(x, y)
            if not result:
                return result
            x = y
        return result

    return _placed(chain, node.at)


def _placed(f: Callable[[Locals, Any], Any], place: Any) -> Closure:
    def run(v: Locals, at: Any = place) -> Any:
        return f(v, at)

    return run


def _logic(node: tree.Logic, program: Program) -> Closure:
    values, ends = several(node.values, program), node.op == "or"

    def run(v: Locals, at: Any = node.at) -> Any:
        result: Any = None
        for value in values:
            result = value(v)
            if bool(result) is ends:
                return result
        return result

    return run


def _conditional(node: tree.Conditional, program: Program) -> Closure:
    test = expression(node.test, program)
    value, other = expression(node.value, program), expression(node.other, program)

    def run(v: Locals, at: Any = node.at) -> Any:
        return value(v) if test(v) else other(v)

    return run


# ---- containers ---------------------------------------------------------------------------------


def _items(node: tree.Items, program: Program) -> Closure:
    items = several(node.items, program)
    if node.kind == "list":
        return lambda v: [item(v) for item in items]
    return lambda v: tuple([item(v) for item in items])


def _pairs(node: tree.Pairs, program: Program) -> Closure:
    pairs = list(zip(several(node.keys, program), several(node.values, program)))

    def run(v: Locals, at: Any = node.at) -> Any:
        return {key(v): value(v) for key, value in pairs}

    return run


def iterate(value: Any) -> Any:
    """Return what a loop goes over: modules that are lists or dicts of others included."""
    if isinstance(value, _C.ModuleBase):
        kind = value.__dict__.get("_container", "")
        if kind == "dict":
            return list(value._modules)
        if kind == "list":
            return list(value._modules.values())
        if isinstance(value, _iterable()):
            return list(value)
        raise TypeError(f"a {type(value).__name__} cannot be iterated over")
    return value


def _iterable() -> Any:
    nn = weft.nn
    return (nn.ModuleList, nn.Sequential, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)


def _made(node: tree.Made, program: Program) -> Closure:
    from .run import assignment

    steps = [
        (assignment(e.target, program), expression(e.items, program), several(e.tests, program))
        for e in node.each
    ]
    value = expression(node.value, program)
    key = None if node.key is None else expression(node.key, program)

    def rounds(v: Locals, depth: int) -> Iterator[None]:
        if depth == len(steps):
            yield
            return
        assign, items, tests = steps[depth]
        for item in iterate(items(v)):
            assign(v, item)
            if all(test(v) for test in tests):
                yield from rounds(v, depth + 1)

    def run(v: Locals, at: Any = node.at) -> Any:
        inner = dict(v)
        if key is None:
            return [value(inner) for _ in rounds(inner, 0)]
        return {key(inner): value(inner) for _ in rounds(inner, 0)}

    return run


def _index(node: tree.Index, program: Program) -> Closure:
    of, index = expression(node.of, program), expression(node.index, program)

    def run(v: Locals, at: Any = node.at) -> Any:
        value = of(v)
        if isinstance(value, _C.ModuleBase):
            return item_of_module(value, index(v))
        return value[index(v)]

    return run


def item_of_module(module: Any, index: Any) -> Any:
    """Return a child of a module that is a list or a dict of others."""
    kind = module.__dict__.get("_container", "")
    if kind == "dict":
        return module._modules[index]
    if kind == "list":
        return list(module._modules.values())[index]
    if isinstance(module, _iterable()):
        return module[index]
    raise TypeError(f"a {type(module).__name__} has no items")


def _slice(node: tree.Slice, program: Program) -> Closure:
    parts = [
        (lambda v: None) if e is None else expression(e, program)
        for e in (node.lower, node.upper, node.step)
    ]
    lower, upper, step = parts
    return lambda v: slice(lower(v), upper(v), step(v))


# ---- text and types -----------------------------------------------------------------------------

_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"": lambda x: x, "s": str, "r": repr, "a": ascii}


def _format(node: tree.Format, program: Program) -> Closure:
    value, convert = expression(node.value, program), _CONVERSIONS[node.conversion]
    spec = None if node.spec is None else expression(node.spec, program)

    def run(v: Locals, at: Any = node.at) -> Any:
        return format(convert(value(v)), "" if spec is None else spec(v))

    return run


def _joined(node: tree.Joined, program: Program) -> Closure:
    parts = several(node.parts_, program)

    def run(v: Locals, at: Any = node.at) -> Any:
        return "".join([part(v) for part in parts])

    return run


def _of_type(node: tree.OfType, program: Program) -> Closure:
    value, asked = expression(node.value, program), [types.read(t) for t in node.types]

    def run(v: Locals, at: Any = node.at) -> Any:
        x = value(v)
        return any(types.is_instance(x, t) for t in asked)

    return run


def checked(value: Any, t: types.Type, what: str) -> Any:
    """Return a value that must be of a type."""
    if not types.fits(value, t):
        raise TypeError(f"{what} must be of type {t}, not {types.name_of(value)}")
    return types.converted(value, t)


def _typed(node: tree.Typed, program: Program) -> Closure:
    value, t = expression(node.value, program), types.read(node.type)

    def run(v: Locals, at: Any = node.at) -> Any:
        return checked(value(v), t, "annotate: the value")

    return run


_CLOSURES: dict[type, Callable[[Any, Program], Closure]] = {
    tree.Const: _const, tree.Dots: _dots, tree.Known: _known, tree.Var: _var,
    tree.Member: _member, tree.Call: _call, tree.CallFunction: _call_function,
    tree.CallPython: _call_python, tree.CallMethod: _call_method, tree.CallValue: _call_value,
    tree.Fork: _fork, tree.Unary: _unary, tree.Binary: _binary, tree.Compare: _compare,
    tree.Logic: _logic, tree.Conditional: _conditional, tree.Items: _items, tree.Pairs: _pairs,
    tree.Made: _made, tree.Index: _index, tree.Slice: _slice, tree.Format: _format,
    tree.Joined: _joined, tree.OfType: _of_type, tree.Typed: _typed,
}  # fmt: skip
