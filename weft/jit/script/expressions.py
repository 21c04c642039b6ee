"""From Python's expressions to those of a program."""

from __future__ import annotations

import ast
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import weft
from weft import _C

from . import allowed, tree, types
from .evaluate import is_value
from .source import Source, annotation_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .compiler import Compiler

_BINARY: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_UNARY: dict[type, str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE: dict[type, str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_INSTEAD: dict[type, tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write a def at the top of the file and call it"),
    ast.GeneratorExp: ("a generator", "write a list comprehension, in square brackets"),
    ast.SetComp: ("a set", "use a dict or a list"),
    ast.Set: ("a set", "use a dict or a list"),
    ast.NamedExpr: ("an assignment within an expression", "assign on a line of its own"),
    ast.Await: ("await", "use jit.fork and jit.wait"),
    ast.Yield: ("yield", "collect the values in a list and return it"),
    ast.YieldFrom: ("yield", "collect the values in a list and return it"),
    ast.Starred: ("a starred expression here", "join lists with +"),
}
DEEPEST = 100  # expressions within each other, which the interpreter goes down by calls
_NOT_STATIC = object()


class Expressions:
    """Reads expressions of one function; ``Statements`` is built on it."""

    def __init__(self, source: Source, compiler: Compiler, owner: Any, variables: set[str]) -> None:
        """Read for a function, which may be a method of the module ``owner``."""
        self.source, self.compiler, self.owner = source, compiler, owner
        self.variables = variables
        self.own_name = None if owner is None else source.first_parameter
        self.modules: dict[str, list[Any]] = {}  # variables that stand for modules: which ones
        self.depth = 0

    def fail(self, node: Any, text: str) -> NoReturn:
        """Raise the error of a construct."""
        self.source.fail(node, text)

    def at(self, node: Any) -> tuple[int, int, int]:
        """Return the place of a node."""
        return self.source.place(node)

    def type_of(self, node: Any) -> str:
        """Return the type that an annotation names, as text."""
        try:
            return str(types.read(annotation_text(node)))
        except ValueError as e:
            self.fail(
                node,
                f"{e} is not one of scripted code: write Tensor, int, float, bool, str, List[...], "
                "Dict[...], Tuple[...], Optional[...] or Union[...]",
            )

    # ---- what is known while reading -------------------------------------------------------------

    def static(self, node: Any) -> Any:
        """Return the Python object that an expression stands for, or ``_NOT_STATIC``."""
        if isinstance(node, ast.Name):
            if node.id == self.own_name:
                return self.owner
            if node.id in self.variables:
                return _NOT_STATIC
            try:
                return self.source.lookup(node.id)
            except KeyError:
                return _NOT_STATIC
        if isinstance(node, ast.Attribute):
            base = self.static(node.value)
            if base is _NOT_STATIC:
                return _NOT_STATIC
            if isinstance(base, (ModuleType, type)):
                return getattr(base, node.attr, _NOT_STATIC)
            if isinstance(base, _C.ModuleBase):
                if isinstance(getattr(type(base), node.attr, None), property):
                    return _NOT_STATIC
                found = getattr(base, node.attr, _NOT_STATIC)
                plain = is_value(found) and found is not None
                return _NOT_STATIC if plain and not isinstance(found, _C.ModuleBase) else found
        return _NOT_STATIC

    def modules_of(self, node: Any) -> list[Any]:
        """Return the modules that an expression may stand for; none if it is no module."""
        if isinstance(node, ast.Name) and node.id in self.modules:
            return self.modules[node.id]
        found = self.static(node)
        if isinstance(found, _C.ModuleBase):
            return [found]
        if isinstance(node, ast.Attribute):
            children = [getattr(m, node.attr, None) for m in self.modules_of(node.value)]
            return [c for c in children if isinstance(c, _C.ModuleBase)]
        if isinstance(node, ast.Subscript):
            inside = self.modules_of(node.value)
            if isinstance(node.slice, ast.Slice):
                return inside
            return [c for m in inside for c in m._modules.values() if c is not None]
        return []

    def truth(self, node: Any) -> bool | None:
        """Return what a condition always is, or None: branches that never run are not read."""
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inside = self.truth(node.operand)
            return None if inside is None else not inside
        if isinstance(node, ast.BoolOp):
            parts, ends = [self.truth(v) for v in node.values], isinstance(node.op, ast.Or)
            if ends in parts:
                return ends
            return None if None in parts else not ends
        if isinstance(node, ast.Call):
            called = self.static(node.func)
            if called is weft.jit.is_scripting or called is weft.jit.is_tracing:
                return called is weft.jit.is_scripting
            if called is hasattr and len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
                found = self.static(node.args[0])
                if isinstance(found, _C.ModuleBase):
                    return hasattr(found, str(node.args[1].value))
        return None

    # ---- expressions -----------------------------------------------------------------------------

    def expression(self, node: Any) -> tree.Expr:
        """Read an expression."""
        for kind, read in _READERS.items():
            if isinstance(node, kind):
                self.depth += 1
                if self.depth > DEEPEST:
                    self.fail(
                        node, f"more than {DEEPEST} expressions within each other: assign parts"
                    )
                made = read(self, node)
                self.depth -= 1
                return made
        what, instead = _INSTEAD.get(
            type(node), (f"the construct {type(node).__name__}", "use the subset of docs/script.md")
        )
        self.fail(node, f"{what} cannot be scripted: {instead}")

    def several(self, nodes: list[Any]) -> list[tree.Expr]:
        """Read several expressions."""
        return [self.expression(n) for n in nodes]

    def constant(self, node: ast.Constant) -> tree.Expr:
        """Read a number, a truth value, text, None or ``...``."""
        if node.value is ...:
            return tree.Dots(self.at(node))
        if isinstance(node.value, bytes):
            self.fail(node, "bytes cannot be scripted: use text or a list of numbers")
        return tree.Const(self.at(node), node.value)

    def name(self, node: ast.Name) -> tree.Expr:
        """Read a name: a variable, or a constant from outside."""
        if node.id == self.own_name:
            return tree.Var(self.at(node), "self")
        if node.id in self.variables:
            return tree.Var(self.at(node), node.id)
        try:
            value = self.source.lookup(node.id)
        except KeyError:
            self.fail(node, f"the name '{node.id}' is not known here")
        return self.outside(node, value, f"'{node.id}'")

    def outside(self, node: Any, value: Any, what: str) -> tree.Expr:
        """Return an object from outside of the function as a constant."""
        known = allowed.name_of_constant(value)
        if known is not None:
            return tree.Known(self.at(node), known)
        if value is None or type(value) in (int, float, bool, str, complex):
            return tree.Const(self.at(node), value)
        if type(value) is tuple:
            items = [self.outside(node, v, what) for v in value]
            return tree.Items(self.at(node), "tuple", items)
        if isinstance(value, weft.Tensor):
            self.fail(
                node,
                f"{what} is a tensor from outside of the function: pass it as an argument, or make "
                "it a buffer of a module",
            )
        if callable(value):
            self.fail(node, f"{what} is a function: it can be called, but not be a value")
        self.fail(
            node,
            f"{what} is a {type(value).__name__} from outside of the function: pass it as an "
            "argument (numbers, text and tuples of them are taken in as constants)",
        )

    def attribute(self, node: ast.Attribute) -> tree.Expr:
        """Read an attribute: of a module of Python, of self, of a value."""
        base = self.static(node.value)
        if isinstance(base, (ModuleType, type)):
            found = getattr(base, node.attr, _NOT_STATIC)
            if found is _NOT_STATIC:
                self.fail(node, f"{base.__name__} has no '{node.attr}'")
            return self.outside(node, found, f"'{ast.unparse(node)}'")
        for module in self.modules_of(node.value):
            made = self.of_module(node, module)
            if made is not None:
                return made
        of = self.expression(node.value)
        if not self.modules_of(node.value) and not _may_be_read(node.attr):
            self.fail(node, f"values of scripted code have no attribute '{node.attr}'")
        return tree.Member(self.at(node), of, node.attr)

    def of_module(self, node: ast.Attribute, module: Any) -> tree.Expr | None:
        """Check that a module has a member that scripted code may read; properties are called."""
        name, kind = node.attr, type(module).__name__
        if not allowed.is_member_name(name):
            self.fail(node, f"'{name}' belongs to weft.nn.Module itself, and is not data")
        if isinstance(getattr(type(module), name, None), property):
            self.compiler.method(module, name, self.source, node)
            return tree.CallMethod(self.at(node), self.expression(node.value), name, [], [])
        if not hasattr(module, name):
            self.fail(node, f"{kind} has no attribute '{name}'")
        value = getattr(module, name)
        if not is_value(value):
            what = "a method: it can be called, but not be a value"
            if not callable(value):
                what = f"an object of type {type(value).__name__}, which is not data"
            self.fail(node, f"'{name}' of {kind} is {what}")
        self.compiler.needs(module, name)
        return None

    def subscript(self, node: ast.Subscript) -> tree.Expr:
        """Read ``value[index]``."""
        return tree.Index(self.at(node), self.expression(node.value), self.expression(node.slice))

    def part(self, node: ast.Slice) -> tree.Expr:
        """Read ``lower:upper:step``."""
        ends = (node.lower, node.upper, node.step)
        made = [None if e is None else self.expression(e) for e in ends]
        return tree.Slice(self.at(node), *made)

    def binary(self, node: ast.BinOp) -> tree.Expr:
        """Read ``x + y``."""
        left, right = self.expression(node.left), self.expression(node.right)
        return tree.Binary(self.at(node), _BINARY[type(node.op)], left, right)

    def unary(self, node: ast.UnaryOp) -> tree.Expr:
        """Read ``-x``."""
        known = self.truth(node)
        if known is not None:
            return tree.Const(self.at(node), known)
        return tree.Unary(self.at(node), _UNARY[type(node.op)], self.expression(node.operand))

    def compare(self, node: ast.Compare) -> tree.Expr:
        """Read ``a < b``."""
        ops = [_COMPARE[type(op)] for op in node.ops]
        left = self.expression(node.left)
        return tree.Compare(self.at(node), left, ops, self.several(node.comparators))

    def logic(self, node: ast.BoolOp) -> tree.Expr:
        """Read ``a and b``; what comes after a value that decides it is not read."""
        ends, values = isinstance(node.op, ast.Or), []
        for value in node.values:
            known = self.truth(value)
            values.append(self.expression(value))
            if known is ends:
                break
        if len(values) == 1:
            return values[0]
        return tree.Logic(self.at(node), "or" if ends else "and", values)

    def conditional(self, node: ast.IfExp) -> tree.Expr:
        """Read ``a if test else b``."""
        known = self.truth(node.test)
        if known is not None:
            return self.expression(node.body if known else node.orelse)
        test, value = self.expression(node.test), self.expression(node.body)
        return tree.Conditional(self.at(node), test, value, self.expression(node.orelse))

    def items(self, node: Any) -> tree.Expr:
        """Read a list or a tuple."""
        kind = "list" if isinstance(node, ast.List) else "tuple"
        return tree.Items(self.at(node), kind, self.several(node.elts))

    def pairs(self, node: ast.Dict) -> tree.Expr:
        """Read a dict."""
        if None in node.keys:
            self.fail(node, "** in a dict cannot be scripted: call update")
        return tree.Pairs(self.at(node), self.several(node.keys), self.several(node.values))

    def comprehension(self, node: Any) -> tree.Expr:
        """Read a comprehension of a list or a dict; its variables are its own."""
        before, held = set(self.variables), dict(self.modules)
        each = []
        for g in node.generators:
            if g.is_async:
                self.fail(node, "async cannot be scripted: use jit.fork and jit.wait")
            items = self.expression(g.iter)
            self.bind(g.target, g.iter)
            target = self.target(g.target, bound=True)
            each.append(tree.Each(self.at(g.target), target, items, self.several(g.ifs)))
        if isinstance(node, ast.DictComp):
            key, value = self.expression(node.key), self.expression(node.value)
            made = tree.Made(self.at(node), key, value, each)
        else:
            made = tree.Made(self.at(node), None, self.expression(node.elt), each)
        self.variables, self.modules = before, held
        return made

    def target(self, node: Any, bound: bool = False) -> tree.Expr:
        """Read what a value is assigned to."""
        if isinstance(node, ast.Name):
            if node.id == self.own_name:
                self.fail(node, f"{node.id} cannot be assigned to")
            return tree.Var(self.at(node), node.id)
        if isinstance(node, (ast.Tuple, ast.List)):
            if sum(isinstance(e, ast.Starred) for e in node.elts) > 1:
                self.fail(node, "two starred targets")
            return tree.Items(self.at(node), "tuple", [self.target(e, bound) for e in node.elts])
        if isinstance(node, ast.Starred) and not bound:
            return tree.Starred(self.at(node), self.target(node.value))
        if isinstance(node, ast.Subscript) and not bound:
            return self.subscript(node)
        if isinstance(node, ast.Attribute) and not bound:
            return self.member_target(node)
        self.fail(node, "this cannot be assigned to in scripted code: use a variable")

    def member_target(self, node: ast.Attribute) -> tree.Expr:
        """Read ``self.name``, which is assigned to."""
        if self.static(node.value) is not self.owner or self.owner is None:
            self.fail(node, "scripted code sets attributes of self only: return the value instead")
        name = node.attr
        if not allowed.is_member_name(name) or name == "training":
            self.fail(node, f"self.{name} cannot be set in scripted code")
        if not hasattr(self.owner, name):
            self.fail(node, f"self.{name} is not there yet: set it in __init__")
        self.compiler.needs(self.owner, name)
        return tree.Member(self.at(node), tree.Var(self.at(node.value), "self"), name)

    def bind(self, target: Any, items: Any) -> None:
        """Note the variables of a loop, and the modules that they stand for."""
        for n in ast.walk(target):
            if isinstance(n, ast.Name):
                self.variables.add(n.id)
                self.modules.pop(n.id, None)
        self._bind_modules(target, items)

    def _bind_modules(self, target: Any, items: Any) -> None:
        inside = [c for m in self.modules_of(items) for c in m._modules.values() if c is not None]
        if inside and isinstance(target, ast.Name):
            self.modules[target.id] = inside
        if not isinstance(items, ast.Call):
            return
        parts = target.elts if isinstance(target, ast.Tuple) else []
        called = getattr(items.func, "id", getattr(items.func, "attr", ""))
        if called == "enumerate" and len(parts) == 2 and items.args:
            self._bind_modules(parts[1], items.args[0])
        elif called == "zip":
            for part, item in zip(parts, items.args):
                self._bind_modules(part, item)
        elif called == "reversed" and items.args:
            self._bind_modules(target, items.args[0])
        elif called in ("items", "values") and isinstance(items.func, ast.Attribute):
            if called == "values":
                self._bind_modules(target, items.func.value)
            elif len(parts) == 2:
                self._bind_modules(parts[1], items.func.value)

    def text(self, node: ast.JoinedStr) -> tree.Expr:
        """Read an f-string."""
        return tree.Joined(self.at(node), [self.text_part(v) for v in node.values])

    def text_part(self, node: Any) -> tree.Expr:
        """Read a part of an f-string."""
        if isinstance(node, ast.Constant):
            return tree.Const(self.at(node), str(node.value))
        spec = None if node.format_spec is None else self.expression(node.format_spec)
        conversion = "" if node.conversion == -1 else chr(node.conversion)
        return tree.Format(self.at(node), self.expression(node.value), conversion, spec)

    def call(self, node: ast.Call) -> tree.Expr:
        """Read a call."""
        from .calls import read_call

        return read_call(self, node)


def _may_be_read(name: str) -> bool:
    if name.startswith("_"):
        return False
    return allowed.of_tensors().get(name) is False or name.isidentifier()


NOT_STATIC = _NOT_STATIC
FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType)
_READERS: dict[Any, Any] = {
    ast.Constant: Expressions.constant, ast.Name: Expressions.name,
    ast.Attribute: Expressions.attribute, ast.Subscript: Expressions.subscript,
    ast.Slice: Expressions.part, ast.BinOp: Expressions.binary, ast.UnaryOp: Expressions.unary,
    ast.Compare: Expressions.compare, ast.BoolOp: Expressions.logic,
    ast.IfExp: Expressions.conditional, ast.List: Expressions.items, ast.Tuple: Expressions.items,
    ast.Dict: Expressions.pairs, ast.ListComp: Expressions.comprehension,
    ast.DictComp: Expressions.comprehension, ast.JoinedStr: Expressions.text,
    ast.Call: Expressions.call,
}  # fmt: skip
