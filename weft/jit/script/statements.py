"""From Python's statements, and whole functions, to those of a program."""

from __future__ import annotations

import ast
import inspect

import weft

from . import tree, types
from .expressions import NOT_STATIC, Expressions
from .source import assigned_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .compiler import Compiler
    from .source import Source

_DEEPEST = 50  # blocks within each other


class Statements(Expressions):
    """Reads one function or method."""

    def __init__(self, source: Source, compiler: Compiler, owner: Any) -> None:
        """Read ``source``, which is a method of the module ``owner`` if there is one."""
        super().__init__(source, compiler, owner, assigned_names(source.definition))
        self.blocks = 0
        self.variables.discard(self.own_name or "")

    # ---- the function ----------------------------------------------------------------------------

    def parameters(self) -> list[Any]:
        """Read the parameters, with their defaults as Python worked them out."""
        d, f = self.source.definition, self.source.function
        a = d.args
        for what, sign in ((a.vararg, "*"), (a.kwarg, "**")):
            if what is not None:
                self.fail(what, f"{sign}{what.arg} cannot be scripted: name every parameter")
        places: list[Any] = [*a.posonlyargs, *a.args]
        written = dict(zip((p.arg for p in reversed(places)), reversed(a.defaults)))
        written |= {p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None}
        if self.owner is not None:
            if not places:
                self.fail(d, "a method has a first parameter, 'self'")
            if "self" in self.variables:
                text = f"the object is '{self.own_name}' here: a variable cannot be named 'self'"
                self.fail(d, text)
            places = places[1:]
        self.take_comment(places)
        known = inspect.signature(f, follow_wrapped=False).parameters
        return [
            self.parameter(p, written.get(p.arg), known[p.arg].default, p in a.kwonlyargs)
            for p in (*places, *a.kwonlyargs)
        ]

    def parameter(self, node: Any, default: Any, value: Any, named_only: bool) -> Any:
        """Read one parameter; without a type it is a tensor, or what its default is."""
        made = None if default is None else self.default(default, value)
        if node.annotation is not None:
            t = self.type_of(node.annotation)
        elif default is not None and value is not None:
            t = types.name_of(value)
        else:
            t = "Tensor" if default is None else "Union[Tensor, None]"
        if default is not None and not types.fits(value, types.read(t)):
            self.fail(default, f"the default of '{node.arg}' is no {t}")
        return tree.Parameter(self.at(node), node.arg, t, made, named_only)

    def default(self, node: Any, value: Any) -> Any:
        """Return the default of a parameter as an expression."""
        if type(value) is list:
            return tree.Items(self.at(node), "list", [self.default(node, v) for v in value])
        return self.outside(node, value, "the default")

    def take_comment(self, places: list[Any]) -> None:
        """Let a comment such as ``# type: (Tensor, int) -> Tensor`` stand for annotations."""
        d = self.source.definition
        if not d.type_comment:
            return
        try:
            found: Any = ast.parse(d.type_comment, mode="func_type")
        except SyntaxError:
            self.fail(d, f"the type comment {d.type_comment!r} cannot be read")
        if len(found.argtypes) != len(places):
            text = f"the type comment has {len(found.argtypes)} types for {len(places)} parameters"
            self.fail(d, text)
        for n in ast.walk(found):
            ast.copy_location(n, d)
        d.returns = found.returns
        for p, t in zip(places, found.argtypes):
            p.annotation = t

    def function(self, name: str, parameters: list[Any]) -> Any:
        """Read the whole function."""
        source, d = self.source, self.source.definition
        returns = "" if d.returns is None else self.type_of(d.returns)
        method, body = self.owner is not None, self.block(d.body)
        return tree.Function(
            self.at(d), name, method, parameters, returns, body,
            source.file, source.first, source.lines, {},
        )  # fmt: skip

    # ---- statements ------------------------------------------------------------------------------

    def block(self, body: list[Any]) -> list[Any]:
        """Read statements; those behind a return, break, continue or raise are not."""
        made: list[Any] = []
        self.blocks += 1
        for node in body:
            if self.blocks > _DEEPEST:
                self.fail(node, f"more than {_DEEPEST} blocks within each other")
            found = self.node(node)
            made.extend(found if isinstance(found, list) else [found])
            if made and isinstance(made[-1], (tree.Return, tree.Break, tree.Continue, tree.Raise)):
                break
        self.blocks -= 1
        return made

    def field(self, value: Any) -> Any:
        """Read a field of a node, which may be a block."""
        block = isinstance(value, list) and value and isinstance(value[0], ast.stmt)
        return self.block(value) if block else super().field(value)

    def read_Pass(self, node: Any) -> list[Any]:
        """Read ``pass``."""
        return []

    def read_Assign(self, node: ast.Assign) -> Any:
        """Read ``a = value``."""
        value = self.read(node.value)
        noted = ""
        if node.type_comment:
            try:
                noted = str(types.read(node.type_comment))
            except ValueError as e:
                self.fail(node, f"{e} of the type comment is not one of scripted code")
        modules = self.modules_of(node.value)
        for t in node.targets:
            for n in ast.walk(t):
                if isinstance(n, ast.Name):
                    self.modules.pop(n.id, None)
            if modules and isinstance(t, ast.Name):
                self.modules[t.id] = modules
        return tree.Assign(self.at(node), [self.target(t) for t in node.targets], value, noted)

    def read_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Read ``a: type = value``."""
        target, noted = self.target(node.target), self.type_of(node.annotation)
        if node.value is not None:
            return tree.Assign(self.at(node), [target], self.read(node.value), noted)
        if not isinstance(target, tree.Var):
            self.fail(node, "a type without a value is for variables only")
        return tree.Declare(self.at(node), target.name, noted)

    def read_AugAssign(self, node: ast.AugAssign) -> Any:
        """Read ``a += value``."""
        target, op = self.target(node.target), tree.SYMBOLS[type(node.op)]
        return tree.Update(self.at(node), target, op, self.read(node.value))

    def read_If(self, node: ast.If) -> Any:
        """Read ``if``; a branch whose condition is known is taken or left out."""
        branches: list[Any] = []
        rest: list[Any] = [node]
        while len(rest) == 1 and isinstance(rest[0], ast.If):
            known = self.truth(rest[0].test)
            if known:
                rest = rest[0].body
                break
            if known is None:
                test, body = self.read(rest[0].test), self.block(rest[0].body)
                branches.append(tree.Branch(self.at(rest[0].test), test, body))
            rest = rest[0].orelse
        other = self.block(rest)
        return tree.If(self.at(node), branches, other) if branches else other

    def read_For(self, node: Any) -> Any:
        """Read ``for`` or ``while``."""
        if node.orelse:
            self.fail(node.orelse[0], "else of a loop cannot be scripted: set a flag before break")
        if isinstance(node, ast.While):
            return self.twin(node)
        items, target = self.read(node.iter), self.bind(node.target, node.iter)
        return tree.For(self.at(node), target, items, self.block(node.body))

    read_While = read_For

    def read_With(self, node: ast.With) -> Any:
        """Read ``with torch.no_grad():``."""
        first = node.items[0]
        called: Any = first.context_expr
        found = self.static(called.func) if isinstance(called, ast.Call) else NOT_STATIC
        mode = next((m for m in tree.MODES if getattr(weft, m) is found), None)
        if mode is None or len(node.items) > 1 or first.optional_vars is not None:
            self.fail(
                called,
                "with is for the modes of gradients: no_grad(), enable_grad(), inference_mode(), "
                "set_grad_enabled(flag), one at a time and without 'as'",
            )
        given = [*called.args, *(k.value for k in called.keywords)]
        if len(given) != (mode == "set_grad_enabled"):
            self.fail(called, f"{mode} here takes {int(mode == 'set_grad_enabled')} arguments")
        value = self.read(given[0]) if given else None
        return tree.With(self.at(node), mode, value, self.block(node.body))

    def read_Raise(self, node: ast.Raise) -> Any:
        """Read ``raise``."""
        made: Any = node.exc
        call = made if isinstance(made, ast.Call) else None
        found = NOT_STATIC if made is None else self.static(call.func if call else made)
        name = next((n for n, cls in tree.ERRORS.items() if cls is found), None)
        if name is None or node.cause is not None:
            self.fail(node, f"raise is for these with a text: {', '.join(tree.ERRORS)}")
        if call and (call.keywords or len(call.args) > 1):
            self.fail(node, f"{name} takes one text")
        message = self.read(call.args[0]) if call and call.args else None
        return tree.Raise(self.at(node), name, message)

    def read_Delete(self, node: ast.Delete) -> Any:
        """Read ``del items[index]``."""
        for t in node.targets:
            if not isinstance(t, ast.Subscript):
                self.fail(t, "del is for items of lists and dicts: del items[index]")
        return [tree.Delete(self.at(node), self.read(t)) for t in node.targets]

    def read_Expr(self, node: ast.Expr) -> Any:
        """Read an expression by itself; a text comments."""
        return [] if isinstance(node.value, ast.Constant) else self.twin(node)
