"""From Python's calls to those of a program: what is called, and with what."""

from __future__ import annotations

import ast
import inspect
from types import FunctionType, MethodType

import weft
from weft import _C

from . import allowed, tree
from .expressions import NOT_STATIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .expressions import Expressions


def read_call(reader: Expressions, node: ast.Call) -> Any:
    """Read a call."""
    f: Any = node.func
    called = reader.static(f)
    special = None if called is NOT_STATIC else _special(reader, node, called)
    if special is not None:
        return special
    base = f.value if isinstance(f, ast.Attribute) else None
    if isinstance(base, ast.Call) and getattr(base.func, "id", "") == "super":
        return _super(reader, node, f)
    if isinstance(f, ast.Attribute) and (called is NOT_STATIC or called is None):
        return _method(reader, node, f)
    if called is not NOT_STATIC:
        return _static(reader, node, called)
    if isinstance(f, ast.Name) and f.id not in reader.variables:
        reader.fail(f, f"the name '{f.id}' is not known here")
    if isinstance(f, (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.BinOp)):
        reader.fail(f, "this value cannot be called")
    return _value(reader, node)


def _value(reader: Expressions, node: ast.Call) -> Any:
    return tree.CallValue(reader.at(node), reader.read(node.func), *arguments(reader, node))


def arguments(reader: Expressions, node: ast.Call) -> tuple[list[Any], list[Any]]:
    """Read what a call is given: in order, and by name."""
    args, named = [], []
    for a in node.args:
        starred = isinstance(a, ast.Starred)
        args.append(reader.twin(a) if starred else reader.read(a))
    for k in node.keywords:
        if k.arg is None:
            reader.fail(k.value, "** in a call cannot be scripted: write the arguments by name")
        named.append(tree.Named(reader.at(k.value), k.arg, reader.read(k.value)))
    return args, named


# ---- functions that are known while reading -----------------------------------------------------


def _special(reader: Expressions, node: ast.Call, called: Any) -> Any:
    """Read a call that means something to the compiler itself; return None for others."""
    jit, at = weft.jit, reader.at(node)
    checks = called is isinstance or called is jit.isinstance
    if (checks or called is jit.annotate) and (len(node.args) != 2 or node.keywords):
        reader.fail(node, f"{ast.unparse(node.func)} takes 2 arguments")
    if checks:
        return _is_instance(reader, node)
    if called is jit.annotate:
        return tree.Typed(at, reader.type_of(node.args[0]), reader.read(node.args[1]))
    if called is getattr:
        if len(node.args) != 2 or not isinstance(node.args[1], ast.Constant):
            reader.fail(node, "getattr needs a name that is written out: getattr(self, 'name')")
        made = ast.Attribute(node.args[0], str(node.args[1].value), ast.Load())
        return reader.read(ast.copy_location(made, node))
    if called is jit.fork:
        if not node.args:
            reader.fail(node, "fork needs a function: fork(f, x)")
        inner = ast.Call(node.args[0], node.args[1:], node.keywords)
        call = reader.read(ast.copy_location(inner, node))
        if not isinstance(call, tree.FORKED):
            reader.fail(node.args[0], "this cannot be forked: fork calls functions and modules")
        return tree.Fork(at, call)
    return None


def _is_instance(reader: Expressions, node: ast.Call) -> Any:
    asked = node.args[1]
    parts = asked.elts if isinstance(asked, ast.Tuple) else [asked]
    classes = [reader.static(p) for p in parts]
    modules = reader.modules_of(node.args[0])
    if modules and all(isinstance(c, type) for c in classes):
        answers = {isinstance(m, tuple(classes)) for m in modules}
        if len(answers) == 1:
            return tree.Const(reader.at(node), answers.pop())
        reader.fail(node, "the modules here are of several classes: call a method that they share")
    value = reader.read(node.args[0])
    return tree.OfType(reader.at(node), value, [reader.type_of(p) for p in parts])


def _static(reader: Expressions, node: ast.Call, called: Any) -> Any:
    """Read a call of a Python object."""
    text, name = ast.unparse(node.func), allowed.name_of_function(called)
    if name is not None:
        args, named = arguments(reader, node)
        if "." not in name or name.startswith("math."):
            _check_built_in(reader, node, called)
        return tree.Call(reader.at(node), name, args, named)
    if isinstance(called, _C.ModuleBase):
        if called is reader.owner:
            reader.compiler.method(called, "forward", reader.source, node)
        return _value(reader, node)
    if isinstance(called, MethodType) and isinstance(called.__self__, _C.ModuleBase):
        return _method(reader, node, node.func)
    function = getattr(called, "python", called)  # of something scripted already
    if isinstance(function, FunctionType):
        return _function(reader, node, function)
    text_of = f"{text} is a {type(called).__name__}, which cannot be called"
    if called is super:
        text_of = "super() is called for a method only: super().forward(x)"
    elif isinstance(called, type) and issubclass(called, BaseException):
        text_of = "an exception is no value: raise it"
    elif isinstance(called, type):
        text_of = f"{text} is a class: scripted code makes no objects of classes"
    elif callable(called):
        text_of = (
            f"{text} is not a function of weft, of math, or of the built-in ones that scripted code "
            "may call: see docs/script.md, or mark a function of yours with jit.ignore"
        )
    reader.fail(node, text_of)


def _check_built_in(reader: Any, node: ast.Call, f: Any) -> None:
    """Check the number of arguments of a built-in function, where Python knows it."""
    try:
        signature = inspect.signature(f)
    except (ValueError, TypeError):
        return
    if not any(isinstance(a, ast.Starred) for a in node.args):
        try:
            signature.bind(*node.args, **{str(k.arg): k for k in node.keywords})
        except TypeError as e:
            reader.fail(node, f"{f.__name__}: {e}")


def _function(reader: Expressions, node: ast.Call, function: FunctionType, of: Any = ()) -> Any:
    """Read a call of a function of the user's; one that is left in Python may be a method ``of``."""
    at, mark = reader.at(node), getattr(function, "_weft_jit", "")
    if mark == "ignore":
        args, named = arguments(reader, node)
        name = reader.compiler.keep_in_python(function)
        return tree.CallPython(at, name, [*map(reader.read, of), *args], named)
    if mark == "unused":  # it raises when it is reached
        return tree.CallFunction(at, reader.compiler.unused(function.__name__), [], [])
    if str(function.__module__).startswith("weft.") and function.__module__ != "weft.jit.script":
        text = f"weft's {function.__name__} is not a function that scripted code may call"
        reader.fail(node, text)
    name = reader.compiler.function(function)
    args, named = arguments(reader, node)
    _check_count(reader, node, reader.compiler.parameters[name], name)
    return tree.CallFunction(at, name, args, named)


def _check_count(reader: Expressions, node: ast.Call, parameters: Any, name: str) -> None:
    """Check that the arguments of a call fit a function of the program."""
    if any(isinstance(a, ast.Starred) for a in node.args):
        return
    places, count = [p for p in parameters if not p.named_only], len(node.args)
    if count > len(places):
        reader.fail(node, f"{name}() takes {len(places)} arguments, here are {count}")
    given = {p.name for p in places[:count]}
    for k in node.keywords:
        if k.arg not in {p.name for p in parameters}:
            reader.fail(node, f"{name}() has no parameter '{k.arg}'")
        if k.arg in given:
            reader.fail(node, f"{name}() is given '{k.arg}' twice")
        given.add(k.arg)
    missing = [p.name for p in parameters if p.default is None and p.name not in given]
    if missing:
        reader.fail(node, f"{name}() is not given its argument '{missing[0]}'")


# ---- methods ------------------------------------------------------------------------------------


def _method(reader: Expressions, node: ast.Call, f: Any) -> Any:
    """Read a call of a method."""
    if reader.static(f) is None:  # a member of self that is None in this module
        return _value(reader, node)
    modules = reader.modules_of(f.value)
    for module in modules:
        if module._modules.get(f.attr) is not None:
            return _value(reader, node)
        made = _method_of_module(reader, node, f, module)
        if made is not None:
            return made
    if not modules and not allowed.is_method(f.attr):
        reader.fail(node, f"scripted code may call no method '{f.attr}': see docs/script.md")
    of = reader.read(f.value)
    return tree.CallMethod(reader.at(node), of, f.attr, *arguments(reader, node))


def _method_of_module(reader: Any, node: ast.Call, f: Any, module: Any) -> Any:
    """Compile a method of a module; return a node if it is not called as a method."""
    name, compiler = f.attr, reader.compiler
    dicts = (weft.nn.ModuleDict, weft.nn.ParameterDict)
    if name in allowed.OF_MODULES and isinstance(module, dicts):
        return None
    function: Any = getattr(type(module), name, None)
    if module.__dict__.get(name) is not None:
        return _static(reader, node, module.__dict__[name])
    if isinstance(vars(type(module)).get(name), staticmethod):
        return _function(reader, node, function)
    if getattr(function, "_weft_jit", "") in ("unused", "ignore"):
        return _function(reader, node, function, of=[f.value])
    compiler.method(module, name, reader.source, node)
    build = compiler.builds.get(id(module))
    if build is not None and name in build.methods:
        _check_count(reader, node, build.parameters[name], name)
    return None


def _super(reader: Expressions, node: ast.Call, f: ast.Attribute) -> Any:
    """Read ``super().method(...)``: the method of the base class under a name of its own."""
    cls = reader.source.free.get("__class__")
    if reader.owner is None or not isinstance(cls, type):
        reader.fail(node, "super() is for methods of modules")
    found = getattr(super(cls, reader.owner), f.attr, None)
    if not isinstance(found, MethodType):
        reader.fail(node, f"no base class of {cls.__name__} has a method '{f.attr}'")
    home = next(c for c in type(reader.owner).__mro__ if vars(c).get(f.attr) is found.__func__)
    name = f"{home.__name__}_{f.attr}"
    reader.compiler.method(reader.owner, name, reader.source, node, found.__func__)
    self = tree.Var(reader.at(f.value), "self")
    return tree.CallMethod(reader.at(node), self, name, *arguments(reader, node))
