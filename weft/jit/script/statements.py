"""From Python's statements, and whole functions, to those of a program."""

from __future__ import annotations

import ast

import weft

from . import tree, types
from .expressions import NOT_STATIC, Expressions
from .source import assigned_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .compiler import Compiler
    from .source import Source

_OPS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_INSTEAD: dict[str, tuple[str, str]] = {
    "Try": ("try", "test with if what could fail, or mark the function with jit.ignore"),
    "TryStar": ("try", "test with if what could fail"),
    "FunctionDef": ("a function within a function", "move it to the top of the file"),
    "AsyncFunctionDef": ("async", "use jit.fork and jit.wait"),
    "AsyncFor": ("async", "use jit.fork and jit.wait"),
    "AsyncWith": ("async", "use jit.fork and jit.wait"),
    "ClassDef": ("a class", "use tuples and dicts"),
    "Global": ("global", "pass the value and return it"),
    "Nonlocal": ("nonlocal", "pass the value and return it"),
    "Import": ("import", "import at the top of the file"),
    "ImportFrom": ("import", "import at the top of the file"),
    "Match": ("match", "use if, elif and else"),
    "TypeAlias": ("a type alias", "write the type out"),
}
_DEEPEST = 50  # blocks within each other


class Statements(Expressions):
    """Reads one function or method."""

    def __init__(self, source: Source, compiler: Compiler, owner: Any) -> None:
        """Read ``source``, which is a method of the module ``owner`` if there is one."""
        super().__init__(source, compiler, owner, assigned_names(source.definition))
        self.blocks = self.loops = 0
        if self.own_name is not None:
            self.variables.discard(self.own_name)

    # ---- the function ----------------------------------------------------------------------------

    def parameters(self) -> list[tree.Parameter]:
        """Read the parameters."""
        a, comment = self.source.definition.args, self.comment()
        for what, sign in ((a.vararg, "*"), (a.kwarg, "**")):
            if what is not None:
                self.fail(what, f"{sign}{what.arg} cannot be scripted: name every parameter")
        places: list[Any] = [*a.posonlyargs, *a.args]
        defaults: list[Any] = [None] * (len(places) - len(a.defaults)) + list(a.defaults)
        if self.owner is not None:
            if not places:
                self.fail(self.source.definition, "a method has a first parameter, 'self'")
            if "self" in self.variables:
                self.fail(
                    self.source.definition,
                    f"the object is '{self.own_name}' here: a variable cannot be named 'self'",
                )
            places, defaults = places[1:], defaults[1:]
        if comment and len(comment[0]) != len(places):
            self.fail(
                self.source.definition,
                f"the type comment has {len(comment[0])} types for {len(places)} parameters",
            )
        made = []
        values = dict(zip((p.arg for p in places), self.default_values(places)))
        for i, (p, default) in enumerate(zip(places, defaults)):
            noted = comment[0][i] if comment else p.annotation
            made.append(self.parameter(p, noted, default, values.get(p.arg), False))
        for p, default in zip(a.kwonlyargs, a.kw_defaults):
            known = (self.source.function.__kwdefaults__ or {}).get(p.arg)
            made.append(self.parameter(p, p.annotation, default, known, True))
        return made

    def default_values(self, places: list[Any]) -> list[Any]:
        """Return the defaults as Python worked them out, one for each place."""
        known = list(self.source.function.__defaults__ or ())
        return [None] * (len(places) - len(known)) + known[max(len(known) - len(places), 0) :]

    def parameter(
        self, node: Any, noted: Any, default: Any, value: Any, named_only: bool
    ) -> tree.Parameter:
        """Read one parameter; without a type it is a tensor, or what its default is."""
        made = None
        if default is not None:
            made = self.default(default, value)
        if noted is not None:
            t = self.type_of(noted)
        elif default is not None and value is not None:
            t = types.name_of(value)
        else:
            t = "Tensor" if default is None else "Union[Tensor, None]"
        if default is not None and not types.fits(value, types.read(t)):
            self.fail(default, f"the default of '{node.arg}' is no {t}")
        return tree.Parameter(self.at(node), node.arg, t, made, named_only)

    def default(self, node: Any, value: Any) -> tree.Expr:
        """Return the default of a parameter as an expression."""
        if type(value) is list:
            items = [self.default(node, v) for v in value]
            return tree.Items(self.at(node), "list", items)
        return self.outside(node, value, "the default")

    def comment(self) -> tuple[list[Any], Any] | None:
        """Return the types of a comment such as ``# type: (Tensor, int) -> Tensor``."""
        text = self.source.definition.type_comment
        if not text:
            return None
        try:
            found: Any = ast.parse(text, mode="func_type")
        except SyntaxError:
            self.fail(self.source.definition, f"the type comment {text!r} cannot be read")
        for node in (*found.argtypes, found.returns):
            for n in ast.walk(node):
                ast.copy_location(n, self.source.definition)
        return found.argtypes, found.returns

    def function(self, name: str, parameters: list[tree.Parameter]) -> tree.Function:
        """Read the whole function."""
        d, comment = self.source.definition, self.comment()
        noted = comment[1] if comment else d.returns
        returns = "" if noted is None else self.type_of(noted)
        body = d.body
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]  # the doc
        return tree.Function(
            self.at(d), name, self.owner is not None, parameters, returns, self.block(body),
            self.source.file, self.source.first, self.source.lines,
        )  # fmt: skip

    # ---- statements ------------------------------------------------------------------------------

    def block(self, body: list[Any]) -> list[tree.Statement]:
        """Read statements; those behind a return, break, continue or raise are not."""
        made: list[tree.Statement] = []
        self.blocks += 1
        for node in body:
            if self.blocks > _DEEPEST:
                self.fail(node, f"more than {_DEEPEST} blocks within each other")
            read = getattr(self, f"read_{type(node).__name__}", None)
            if read is None:
                what, instead = _INSTEAD.get(
                    type(node).__name__,
                    (f"the statement {type(node).__name__}", "use the subset of docs/script.md"),
                )
                self.fail(node, f"{what} cannot be scripted: {instead}")
            made.extend(read(node))
            if made and isinstance(made[-1], (tree.Return, tree.Break, tree.Continue, tree.Raise)):
                break
        self.blocks -= 1
        return made

    def read_Pass(self, node: Any) -> list[tree.Statement]:
        """Read ``pass``."""
        return []

    def read_Assign(self, node: ast.Assign) -> list[tree.Statement]:
        """Read ``a = value``."""
        value = self.expression(node.value)
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
        return [tree.Assign(self.at(node), [self.target(t) for t in node.targets], value, noted)]

    def read_AnnAssign(self, node: ast.AnnAssign) -> list[tree.Statement]:
        """Read ``a: type = value``."""
        target, noted = self.target(node.target), self.type_of(node.annotation)
        if node.value is None:
            if not isinstance(target, tree.Var):
                self.fail(node, "a type without a value is for variables only")
            return [tree.Declare(self.at(node), target.name, noted)]
        return [tree.Assign(self.at(node), [target], self.expression(node.value), noted)]

    def read_AugAssign(self, node: ast.AugAssign) -> list[tree.Statement]:
        """Read ``a += value``."""
        target, value = self.target(node.target), self.expression(node.value)
        return [tree.Update(self.at(node), target, _OPS[type(node.op)], value)]

    def read_If(self, node: ast.If) -> list[tree.Statement]:
        """Read ``if``; a branch whose condition is known is taken or left out."""
        branches: list[tree.Branch] = []
        rest: list[Any] = [node]
        while len(rest) == 1 and isinstance(rest[0], ast.If):
            known = self.truth(rest[0].test)
            if known:
                rest = rest[0].body
                break
            if known is None:
                test, body = self.expression(rest[0].test), self.block(rest[0].body)
                branches.append(tree.Branch(self.at(rest[0].test), test, body))
            rest = rest[0].orelse
        other = self.block(rest)
        return [tree.If(self.at(node), branches, other)] if branches else other

    def read_For(self, node: ast.For) -> list[tree.Statement]:
        """Read ``for``."""
        if node.orelse:
            self.fail(node.orelse[0], "else of a loop cannot be scripted: set a flag before break")
        items = self.expression(node.iter)
        self.bind(node.target, node.iter)
        target = self.target(node.target, bound=True)
        return [tree.For(self.at(node), target, items, self.loop(node.body))]

    def read_While(self, node: ast.While) -> list[tree.Statement]:
        """Read ``while``."""
        if node.orelse:
            self.fail(node.orelse[0], "else of a loop cannot be scripted: set a flag before break")
        test = self.expression(node.test)
        return [tree.While(self.at(node), test, self.loop(node.body))]

    def loop(self, body: list[Any]) -> list[tree.Statement]:
        """Read the body of a loop."""
        self.loops += 1
        made = self.block(body)
        self.loops -= 1
        return made

    def read_Break(self, node: Any) -> list[tree.Statement]:
        """Read ``break``."""
        return [tree.Break(self.at(node))]

    def read_Continue(self, node: Any) -> list[tree.Statement]:
        """Read ``continue``."""
        return [tree.Continue(self.at(node))]

    def read_With(self, node: ast.With) -> list[tree.Statement]:
        """Read ``with torch.no_grad():``."""
        first = node.items[0]
        called: Any = first.context_expr
        found = self.static(called.func) if isinstance(called, ast.Call) else NOT_STATIC
        mode = next((m for m in tree.MODES if getattr(weft, m) is found), None)
        if mode is None or len(node.items) > 1 or first.optional_vars is not None:
            self.fail(
                first.context_expr,
                "with is for the modes of gradients: no_grad(), enable_grad(), inference_mode(), "
                "set_grad_enabled(flag), one at a time and without 'as'",
            )
        if len(called.args) + len(called.keywords) > 1 or (mode == "set_grad_enabled") != bool(
            called.args or called.keywords
        ):
            self.fail(called, f"{mode} here takes {int(mode == 'set_grad_enabled')} arguments")
        given = [*called.args, *(k.value for k in called.keywords)]
        value = self.expression(given[0]) if given else None
        return [tree.With(self.at(node), mode, value, self.block(node.body))]

    def read_Return(self, node: ast.Return) -> list[tree.Statement]:
        """Read ``return``."""
        value = None if node.value is None else self.expression(node.value)
        return [tree.Return(self.at(node), value)]

    def read_Assert(self, node: ast.Assert) -> list[tree.Statement]:
        """Read ``assert``."""
        test = self.expression(node.test)
        message = None if node.msg is None else self.expression(node.msg)
        return [tree.Assert(self.at(node), test, message)]

    def read_Raise(self, node: ast.Raise) -> list[tree.Statement]:
        """Read ``raise``."""
        made: Any = node.exc
        call = made if isinstance(made, ast.Call) else None
        found = NOT_STATIC if made is None else self.static(call.func if call else made)
        name = next((n for n, cls in tree.ERRORS.items() if cls is found), None)
        if name is None or node.cause is not None:
            self.fail(node, f"raise is for these with a text: {', '.join(tree.ERRORS)}")
        if call and (call.keywords or len(call.args) > 1):
            self.fail(node, f"{name} takes one text")
        message = self.expression(call.args[0]) if call and call.args else None
        return [tree.Raise(self.at(node), name, message)]

    def read_Delete(self, node: ast.Delete) -> list[tree.Statement]:
        """Read ``del items[index]``."""
        made: list[tree.Statement] = []
        for t in node.targets:
            if not isinstance(t, ast.Subscript):
                self.fail(t, "del is for items of lists and dicts: del items[index]")
            found = self.subscript(t)
            assert isinstance(found, tree.Index)
            made.append(tree.Delete(self.at(node), found))
        return made

    def read_Expr(self, node: ast.Expr) -> list[tree.Statement]:
        """Read an expression by itself."""
        if isinstance(node.value, ast.Constant):
            return []  # a text that comments
        return [tree.Do(self.at(node), self.expression(node.value))]
