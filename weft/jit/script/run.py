"""The interpreter: statements as closures, and functions that can be called.

A statement's closure returns None to go on, ``BREAK`` or ``CONTINUE`` to a loop, or a tuple of one
value to the function. Ops run one by one through weft, as in Python: results carry gradients.
"""

from __future__ import annotations

import contextlib

import weft
from weft import _C

from . import tree, types
from .allowed import is_member_name
from .errors import note_place
from .evaluate import UPDATE, checked, expression, is_value, item_of_module, iterate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .evaluate import Closure, Locals
    from .program import Program

__all__ = ["Running"]

BREAK, CONTINUE = "break", "continue"


# ---- targets ------------------------------------------------------------------------------------


def assignment(target: tree.Expr, program: Program) -> Callable[[Locals, Any], None]:
    """Return a closure that gives a target its value."""
    if isinstance(target, tree.Var):
        name = target.name
        return lambda v, value: v.__setitem__(name, value)
    if isinstance(target, tree.Items):
        return _unpacking(target, program)
    if isinstance(target, tree.Index):
        of, index = expression(target.of, program), expression(target.index, program)

        def run(v: Locals, value: Any, at: Any = target.at) -> None:
            of(v)[index(v)] = value

        return run
    assert isinstance(target, tree.Member)
    return _setting(target, program)


def _unpacking(target: tree.Items, program: Program) -> Callable[[Locals, Any], None]:
    items = target.items
    star = next((i for i, t in enumerate(items) if isinstance(t, tree.Starred)), None)
    plain = [t.value if isinstance(t, tree.Starred) else t for t in items]
    assigns = [assignment(t, program) for t in plain]

    def run(v: Locals, value: Any, at: Any = target.at) -> None:
        values = list(iterate(value))
        if star is not None and len(values) >= len(assigns) - 1:
            after = len(assigns) - 1 - star
            end = len(values) - after
            values = [*values[:star], values[star:end], *values[end:]]
        if len(values) != len(assigns):
            raise ValueError(f"{len(assigns)} variables are given {len(values)} values")
        for assign, x in zip(assigns, values):
            assign(v, x)

    return run


def _setting(target: tree.Member, program: Program) -> Callable[[Locals, Any], None]:
    of, name = expression(target.of, program), target.name

    def run(v: Locals, value: Any, at: Any = target.at) -> None:
        module = of(v)
        if not isinstance(module, _C.ModuleBase) or "_methods" not in module.__dict__:
            raise TypeError(
                f"scripted code sets attributes of self, not of a {type(module).__name__}"
            )
        if not is_member_name(name) or name == "training" or name not in module.__dict__:
            raise AttributeError(f"{type(module).__name__} has no attribute '{name}' to be set")
        if not is_value(value) or isinstance(value, _C.ModuleBase):
            raise TypeError(f"self.{name} cannot be a {types.name_of(value)}")
        setattr(module, name, value)

    return run


# ---- statements ---------------------------------------------------------------------------------


def block(body: list[tree.Statement], program: Program) -> Closure:
    """Return the closure of statements in their order."""
    steps = [_STATEMENTS[type(s)](s, program) for s in body]
    if len(steps) == 1:
        return steps[0]

    def steps_in_order(v: Locals) -> Any:
        for step in steps:
            signal = step(v)
            if signal is not None:
                return signal
        return None

    return steps_in_order


def _assign(node: tree.Assign, program: Program) -> Closure:
    value = expression(node.value, program)
    t = types.read(node.type) if node.type else None
    if t is None and len(node.targets) == 1 and isinstance(node.targets[0], tree.Var):
        name = node.targets[0].name

        def plain(v: Locals) -> None:
            v[name] = value(v)

        return plain
    targets = [assignment(target, program) for target in node.targets]
    what = getattr(node.targets[0], "name", "the value")

    def run(v: Locals, at: Any = node.at) -> None:
        x = value(v)
        if t is not None:
            x = checked(x, t, what)
        for assign in targets:
            assign(v, x)

    return run


def _update(node: tree.Update, program: Program) -> Closure:
    f, value, target = UPDATE[node.op], expression(node.value, program), node.target
    if isinstance(target, tree.Index):
        of, index = expression(target.of, program), expression(target.index, program)

        def run(v: Locals, at: Any = node.at) -> None:
            items, i = of(v), index(v)
            if isinstance(items, _C.ModuleBase):
                items = item_of_module(items, i)  # a tensor in a list of parameters
                f(items, value(v))
                return
            items[i] = f(items[i], value(v))

        return run
    return _update_whole(node, program)


def _update_whole(node: tree.Update, program: Program) -> Closure:
    f, value = UPDATE[node.op], expression(node.value, program)
    old, assign = expression(node.target, program), assignment(node.target, program)

    def run(v: Locals, at: Any = node.at) -> None:
        assign(v, f(old(v), value(v)))

    return run


def _declare(node: tree.Declare, program: Program) -> Closure:
    return lambda v: None


def _if(node: tree.If, program: Program) -> Closure:
    branches = [(expression(b.test, program), block(b.body, program)) for b in node.branches]
    other = block(node.other, program)

    def run(v: Locals, at: Any = node.branches[0].test.at) -> Any:
        for test, body in branches:
            if test(v):
                return body(v)
        return other(v)

    return run


def _for(node: tree.For, program: Program) -> Closure:
    items, assign = expression(node.items, program), assignment(node.target, program)
    body = block(node.body, program)

    def run(v: Locals, at: Any = node.items.at) -> Any:
        for item in iterate(items(v)):
            assign(v, item)
            signal = body(v)
            if signal is not None and signal is not CONTINUE:
                return None if signal is BREAK else signal
        return None

    return run


def _while(node: tree.While, program: Program) -> Closure:
    test, body = expression(node.test, program), block(node.body, program)

    def run(v: Locals, at: Any = node.test.at) -> Any:
        while test(v):
            signal = body(v)
            if signal is not None and signal is not CONTINUE:
                return None if signal is BREAK else signal
        return None

    return run


def _with(node: tree.With, program: Program) -> Closure:
    make: Any = getattr(weft, node.mode)
    value = None if node.value is None else expression(node.value, program)
    body = block(node.body, program)

    def run(v: Locals, at: Any = node.at) -> Any:
        with make() if value is None else make(bool(value(v))):
            return body(v)

    return run


def _return(node: tree.Return, program: Program) -> Closure:
    if node.value is None:
        return lambda v: (None,)
    value = expression(node.value, program)
    return lambda v: (value(v),)


def _assert(node: tree.Assert, program: Program) -> Closure:
    test = expression(node.test, program)
    message = None if node.message is None else expression(node.message, program)

    def run(v: Locals, at: Any = node.at) -> None:
        if not test(v):
            raise AssertionError("" if message is None else str(message(v)))

    return run


def _raise(node: tree.Raise, program: Program) -> Closure:
    error = tree.ERRORS[node.error]
    message = None if node.message is None else expression(node.message, program)

    def run(v: Locals, at: Any = node.at) -> None:
        raise error("" if message is None else str(message(v)))

    return run


def _delete(node: tree.Delete, program: Program) -> Closure:
    of, index = expression(node.target.of, program), expression(node.target.index, program)

    def run(v: Locals, at: Any = node.at) -> None:
        items = of(v)
        if type(items) not in (list, dict):
            raise TypeError(f"items of a {types.name_of(items)} cannot be deleted")
        del items[index(v)]

    return run


def _do(node: tree.Do, program: Program) -> Closure:
    value = expression(node.value, program)

    def do(v: Locals) -> None:
        value(v)

    return do


_STATEMENTS: dict[type, Callable[[Any, Program], Closure]] = {
    tree.Assign: _assign, tree.Update: _update, tree.Declare: _declare, tree.If: _if,
    tree.For: _for, tree.While: _while, tree.With: _with, tree.Return: _return,
    tree.Break: lambda node, program: lambda v: BREAK,
    tree.Continue: lambda node, program: lambda v: CONTINUE,
    tree.Assert: _assert, tree.Raise: _raise, tree.Delete: _delete, tree.Do: _do,
}  # fmt: skip


# ---- functions ----------------------------------------------------------------------------------


class Running:
    """A function of a program, ready to be called."""

    def __init__(self, function: tree.Function, program: Program) -> None:
        """Turn the tree into closures on the first call."""
        self.function, self.program = function, program
        self.body: Any = None

    def __deepcopy__(self, memo: Any) -> Running:
        """Functions do not change once they are made: copies of modules share them."""
        return self

    def prepare(self) -> None:
        """Turn the tree into closures."""
        f = self.function
        self.parameters = [(p.name, types.read(p.type), p.named_only) for p in f.parameters]
        self.places = [p.name for p in f.parameters if not p.named_only]
        self.defaults = {
            p.name: expression(p.default, self.program)
            for p in f.parameters
            if p.default is not None
        }
        self.returns = types.read(f.returns) if f.returns else None
        self.body = block(f.body, self.program)

    def bind(self, args: Any, named: dict[str, Any]) -> Locals:
        """Return the parameters with their values."""
        f, v = self.function, {}
        if f.method:
            v["self"], args = args[0], args[1:]
        if len(args) > len(self.places):
            raise TypeError(
                f"{f.name}() takes {len(self.places)} positional arguments but {len(args)} were given"
            )
        v.update(zip(self.places, args))
        for name, value in named.items():
            if name in v:
                raise TypeError(f"{f.name}() got multiple values for argument '{name}'")
            v[name] = value
        known = 0
        for name, t, _ in self.parameters:
            if name in v:
                known += 1
                value = v[name]
                if not types.fits(value, t):
                    raise TypeError(
                        f"{f.name}(): argument '{name}' must be of type {t}, not "
                        f"{types.name_of(value)}{_hint(t)}"
                    )
                v[name] = types.converted(value, t)
            elif name in self.defaults:
                v[name] = self.defaults[name](v)
                known += 1
            else:
                raise TypeError(f"{f.name}() is missing the argument '{name}'")
        if known + f.method != len(v):
            extra = next(n for n in v if n != "self" and n not in {p[0] for p in self.parameters})
            raise TypeError(f"{f.name}() got an unexpected keyword argument '{extra}'")
        return v

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function."""
        if self.body is None:
            self.prepare()
        v = self.bind(args, named)
        return self.run_function(v)

    def run_function(self, v: Locals) -> Any:
        """Run the body with the parameters in place."""
        try:
            signal = self.body(v)
            result = None if signal is None else signal[0]
        except Exception as e:
            with contextlib.suppress(AttributeError, TypeError):
                note_place(e, self.function, e.__traceback__)
            raise
        if self.returns is not None:
            if not types.fits(result, self.returns):
                raise TypeError(
                    f"{self.function.name}() must return {self.returns}, not {types.name_of(result)}"
                )
            return types.converted(result, self.returns)
        return result


def _hint(t: types.Type) -> str:
    if t.name == "Tensor":
        return " (a parameter without an annotation is a Tensor)"
    return ""
