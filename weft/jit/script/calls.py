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


def read_call(reader: Expressions, node: ast.Call) -> tree.Expr:
    """Read a call."""
    known = reader.truth(node)
    if known is not None:
        return tree.Const(reader.at(node), known)
    called = reader.static(node.func)
    special = None if called is NOT_STATIC else _special(reader, node, called)
    if special is not None:
        return special
    if _is_super(node.func):
        return _super(reader, node)
    if called is not NOT_STATIC and not (isinstance(node.func, ast.Attribute) and called is None):
        return _static(reader, node, called)
    if isinstance(node.func, ast.Attribute):
        return _method(reader, node, node.func)
    if isinstance(node.func, ast.Name) and node.func.id not in reader.variables:
        reader.fail(node.func, f"the name '{node.func.id}' is not known here")
    if isinstance(node.func, (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.BinOp)):
        reader.fail(node.func, "this value cannot be called")
    return tree.CallValue(reader.at(node), reader.expression(node.func), *arguments(reader, node))


def arguments(reader: Expressions, node: ast.Call) -> tuple[list[tree.Expr], list[tree.Named]]:
    """Read what a call is given."""
    args: list[tree.Expr] = []
    for a in node.args:
        if isinstance(a, ast.Starred):
            args.append(tree.Starred(reader.at(a), reader.expression(a.value)))
        else:
            args.append(reader.expression(a))
    named = []
    for k in node.keywords:
        if k.arg is None:
            reader.fail(k.value, "** in a call cannot be scripted: write the arguments by name")
        named.append(tree.Named(reader.at(k.value), k.arg, reader.expression(k.value)))
    return args, named


# ---- functions that are known while reading -----------------------------------------------------


def _special(reader: Expressions, node: ast.Call, called: Any) -> tree.Expr | None:
    """Read a call that means something to the compiler itself."""
    jit, at = weft.jit, reader.at(node)
    if called is jit.annotate:
        _expect(reader, node, 2)
        return tree.Typed(at, reader.type_of(node.args[0]), reader.expression(node.args[1]))
    if called is isinstance or called is jit.isinstance:
        return _is_instance(reader, node)
    if called is getattr:
        if len(node.args) != 2 or not isinstance(node.args[1], ast.Constant):
            reader.fail(node, "getattr needs a name that is written out: getattr(self, 'name')")
        made = ast.Attribute(node.args[0], str(node.args[1].value), ast.Load())
        return reader.expression(ast.copy_location(made, node))
    if called is jit.fork:
        if not node.args:
            reader.fail(node, "fork needs a function: fork(f, x)")
        inner = ast.Call(node.args[0], node.args[1:], node.keywords)
        call = reader.expression(ast.copy_location(inner, node))
        kinds = (tree.CallFunction, tree.CallMethod, tree.CallValue, tree.Call)
        if not isinstance(call, kinds):
            reader.fail(node.args[0], "this cannot be forked: fork calls functions and modules")
        return tree.Fork(at, call)
    return None


def _expect(reader: Expressions, node: ast.Call, count: int) -> None:
    if len(node.args) != count or node.keywords:
        reader.fail(node, f"{ast.unparse(node.func)} takes {count} arguments")


def _is_instance(reader: Expressions, node: ast.Call) -> tree.Expr:
    _expect(reader, node, 2)
    asked = node.args[1]
    parts = asked.elts if isinstance(asked, ast.Tuple) else [asked]
    classes = [reader.static(p) for p in parts]
    modules = reader.modules_of(node.args[0])
    if modules and all(isinstance(c, type) for c in classes):
        answers = {isinstance(m, tuple(classes)) for m in modules}
        if len(answers) == 1:
            return tree.Const(reader.at(node), answers.pop())
        reader.fail(node, "the modules here are of several classes: call a method that they share")
    value = reader.expression(node.args[0])
    return tree.OfType(reader.at(node), value, [reader.type_of(p) for p in parts])


def _static(reader: Expressions, node: ast.Call, called: Any) -> tree.Expr:
    """Read a call of a Python object."""
    at, text = reader.at(node), ast.unparse(node.func)
    name = allowed.name_of_function(called)
    if name is not None:
        args, named = arguments(reader, node)
        if "." not in name or name.startswith("math."):
            _check_built_in(reader, node, called, args, named)
        return tree.Call(at, name, args, named)
    if isinstance(called, _C.ModuleBase):
        if called is reader.owner:
            reader.compiler.method(called, "forward", reader.source, node)
        of = reader.expression(node.func)
        return tree.CallValue(at, of, *arguments(reader, node))
    if isinstance(called, MethodType) and isinstance(called.__self__, _C.ModuleBase):
        return _method(reader, node, node.func)
    function = getattr(called, "python", called)  # of something scripted already
    if isinstance(function, FunctionType):
        return _function(reader, node, function)
    if called is super:
        reader.fail(node, "super() is called for a method only: super().forward(x)")
    if isinstance(called, type):
        if issubclass(called, BaseException):
            reader.fail(node, "an exception is no value: raise it")
        reader.fail(node, f"{text} is a class: scripted code makes no objects of classes")
    if callable(called):
        reader.fail(
            node, f"{text} is not a function of weft, of math, or of the built-in ones that scripted "
            "code may call: see docs/script.md, or mark a function of yours with jit.ignore",
        )  # fmt: skip
    reader.fail(node, f"{text} is a {type(called).__name__}, which cannot be called")


def _check_built_in(reader: Any, node: ast.Call, f: Any, args: Any, named: Any) -> None:
    """Check the number of arguments of a built-in function, where Python knows it."""
    if any(isinstance(a, tree.Starred) for a in args):
        return
    try:
        signature = inspect.signature(f)
    except (ValueError, TypeError):
        return
    try:
        signature.bind(*args, **{n.name: n for n in named})
    except TypeError as e:
        reader.fail(node, f"{f.__name__}: {e}")


def _function(reader: Expressions, node: ast.Call, function: FunctionType) -> tree.Expr:
    """Read a call of a function of the user's."""
    at, mark = reader.at(node), getattr(function, "_weft_jit", "")
    if mark == "ignore":
        name = reader.compiler.keep_in_python(function)
        return tree.CallPython(at, name, *arguments(reader, node))
    if mark == "unused":
        return _unused(reader, node, function.__name__)
    if str(function.__module__).startswith("weft.") and function.__module__ != "weft.jit.script":
        reader.fail(
            node, f"weft's {function.__name__} is not a function that scripted code may call"
        )
    name = reader.compiler.function(function, reader.source, node)
    args, named = arguments(reader, node)
    check_count(reader, node, reader.compiler.parameters[name], name, args, named)
    return tree.CallFunction(at, name, args, named)


def check_count(
    reader: Expressions, node: ast.Call, parameters: Any, name: str, args: Any, named: Any
) -> None:
    """Check that the arguments of a call fit a function of the program."""
    if any(isinstance(a, tree.Starred) for a in args):
        return
    places = [p for p in parameters if not p.named_only]
    if len(args) > len(places):
        reader.fail(node, f"{name}() takes {len(places)} arguments, here are {len(args)}")
    given = {p.name for p in places[: len(args)]}
    for n in named:
        if n.name not in {p.name for p in parameters}:
            reader.fail(node, f"{name}() has no parameter '{n.name}'")
        if n.name in given:
            reader.fail(node, f"{name}() is given '{n.name}' twice")
        given.add(n.name)
    missing = [p.name for p in parameters if p.default is None and p.name not in given]
    if missing:
        reader.fail(node, f"{name}() is not given its argument '{missing[0]}'")


def _unused(reader: Expressions, node: ast.Call, name: str) -> tree.Expr:
    """A call that raises when it is reached, as ``jit.unused`` promises."""
    at = reader.at(node)
    unused = reader.compiler.unused(name)
    return tree.CallFunction(at, unused, [], [])


# ---- methods ------------------------------------------------------------------------------------


def _method(reader: Expressions, node: ast.Call, f: Any) -> tree.Expr:
    """Read a call of a method."""
    at, name = reader.at(node), f.attr
    if reader.static(f) is None:  # a member of self that is None in this module
        return tree.CallValue(at, reader.expression(f), *arguments(reader, node))
    modules = reader.modules_of(f.value)
    if modules:
        for module in modules:
            child = module._modules.get(name)
            if child is not None:
                return tree.CallValue(at, reader.expression(f), *arguments(reader, node))
            made = _method_of_module(reader, node, f, module)
            if made is not None:
                return made
        args, named = arguments(reader, node)
        return tree.CallMethod(at, reader.expression(f.value), name, args, named)
    if not allowed.is_method(name):
        reader.fail(node, f"scripted code may call no method '{name}': see docs/script.md")
    of = reader.expression(f.value)
    return tree.CallMethod(at, of, name, *arguments(reader, node))


def _method_of_module(reader: Any, node: ast.Call, f: Any, module: Any) -> tree.Expr | None:
    """Compile a method of a module; return a node if it is not called as a method."""
    name, compiler = f.attr, reader.compiler
    if name in allowed.OF_MODULES and isinstance(
        module, (weft.nn.ModuleDict, weft.nn.ParameterDict)
    ):
        return None
    function: Any = getattr(type(module), name, None)
    stated = module.__dict__.get(name)
    if stated is not None or isinstance(vars(type(module)).get(name), staticmethod):
        if stated is None:
            return _function(reader, node, function)
        return _static(reader, node, stated)
    mark = getattr(function, "_weft_jit", "")
    if mark == "unused":
        return _unused(reader, node, name)
    if mark == "ignore":
        args, named = arguments(reader, node)
        of = reader.expression(f.value)
        return tree.CallPython(
            reader.at(node), compiler.keep_in_python(function), [of, *args], named
        )
    compiler.method(module, name, reader.source, node)
    if id(module) in compiler.builds and name in compiler.builds[id(module)].methods:
        args, named = arguments(reader, node)
        known = compiler.builds[id(module)].parameters[name]
        check_count(reader, node, known, name, args, named)
    return None


def _is_super(f: Any) -> bool:
    return (
        isinstance(f, ast.Attribute)
        and isinstance(f.value, ast.Call)
        and isinstance(f.value.func, ast.Name)
        and f.value.func.id == "super"
    )


def _super(reader: Expressions, node: ast.Call) -> tree.Expr:
    """Read ``super().method(...)``: the method of the base class under a name of its own."""
    f: Any = node.func
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
