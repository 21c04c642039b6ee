"""From Python's expressions to those of a program."""

from __future__ import annotations

import ast
from types import ModuleType

import weft
from weft import _C

from . import allowed, tree, types
from .source import Source
from .values import is_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .compiler import Compiler

_COLLECT = "collect the values in a list and return it"
_INSTEAD: dict[str, tuple[str, str]] = {
    "Lambda": ("a lambda", "write a def at the top of the file and call it"),
    "GeneratorExp": ("a generator", "write a list comprehension, in square brackets"),
    "SetComp": ("a set", "use a dict or a list"),
    "Set": ("a set", "use a dict or a list"),
    "NamedExpr": ("an assignment within an expression", "assign on a line of its own"),
    "Await": ("await", "use jit.fork and jit.wait"),
    "Yield": ("yield", _COLLECT),
    "YieldFrom": ("yield", _COLLECT),
    "Starred": ("a starred expression here", "join lists with +"),
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
_DEEPEST = 100  # expressions within each other, which are gone down by calls
NOT_STATIC = object()


class Expressions:
    """Reads expressions of one function; ``Statements`` is built on it.

    A node that Python's tree and ours share is read field by field (``twin``); the others have a
    method of their name.
    """

    def __init__(self, source: Source, compiler: Compiler, owner: Any, variables: set[str]) -> None:
        """Read for a function, which may be a method of the module ``owner``."""
        self.source, self.compiler, self.owner = source, compiler, owner
        self.variables = variables
        self.own_name = None if owner is None else source.first_parameter
        self.modules: dict[str, list[Any]] = {}  # variables that stand for modules: which ones
        self.fail, self.at = source.fail, source.place
        self.depth = 0

    def type_of(self, node: Any) -> str:
        """Return the type that an annotation names, as text."""
        try:
            return str(types.read(ast.unparse(node)))
        except ValueError as e:
            self.fail(
                node,
                f"{e} is not one of scripted code: write Tensor, int, float, bool, str, List[...], "
                "Dict[...], Tuple[...], Optional[...] or Union[...]",
            )

    # ---- what is known while reading -------------------------------------------------------------

    def static(self, node: Any) -> Any:
        """Return the Python object that an expression stands for, or ``NOT_STATIC``."""
        if isinstance(node, ast.Name):
            if node.id == self.own_name:
                return self.owner
            if node.id not in self.variables:
                return self.source.lookup(node.id, NOT_STATIC)
        if not isinstance(node, ast.Attribute):
            return NOT_STATIC
        base = self.static(node.value)
        if isinstance(base, (ModuleType, type)):
            return getattr(base, node.attr, NOT_STATIC)
        if isinstance(base, _C.ModuleBase):
            if isinstance(getattr(type(base), node.attr, None), property):
                return NOT_STATIC
            found = getattr(base, node.attr, NOT_STATIC)
            if found is None or isinstance(found, _C.ModuleBase) or not is_value(found):
                return found
        return NOT_STATIC

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
            return inside if isinstance(node.slice, ast.Slice) else _children(inside)
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
            return ends if ends in parts else None if None in parts else not ends
        if not isinstance(node, ast.Call):
            return None
        called = self.static(node.func)
        if called is weft.jit.is_scripting or called is weft.jit.is_tracing:
            return called is weft.jit.is_scripting
        if called is hasattr and len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
            found = self.static(node.args[0])
            if isinstance(found, _C.ModuleBase):
                return hasattr(found, str(node.args[1].value))
        return None

    # ---- expressions -----------------------------------------------------------------------------

    def read(self, node: Any) -> Any:
        """Read an expression."""
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(node, f"more than {_DEEPEST} expressions within each other: assign parts")
        known = self.truth(node)
        made = self.node(node) if known is None else tree.Const(self.at(node), known)
        self.depth -= 1
        return made

    def node(self, node: Any) -> Any:
        """Read an expression or a statement."""
        name = type(node).__name__
        method = getattr(self, f"read_{name}", None)
        if name in _INSTEAD or (method is None and type(node) not in tree.OF_PYTHON):
            other = f"the construct {name}", "use the subset of docs/script.md"
            what, instead = _INSTEAD.get(name, other)
            self.fail(node, f"{what} cannot be scripted: {instead}")
        return self.twin(node) if method is None else method(node)

    def twin(self, node: Any) -> Any:
        """Read a node that is as in Python, field by field."""
        cls = tree.OF_PYTHON[type(node)]
        return cls(self.at(node), *[self.field(getattr(node, name)) for name in cls.theirs])

    def field(self, value: Any) -> Any:
        """Read a field of a node."""
        if isinstance(value, list):
            return [self.field(item) for item in value]
        if isinstance(value, ast.expr):
            return self.read(value)
        return tree.SYMBOLS.get(type(value), value)

    def read_Constant(self, node: ast.Constant) -> Any:
        """Read a number, a truth value, text, None or ``...``."""
        if node.value is ...:
            return tree.Dots(self.at(node))
        if isinstance(node.value, bytes):
            self.fail(node, "bytes cannot be scripted: use text or a list of numbers")
        return tree.Const(self.at(node), node.value)

    def read_Name(self, node: ast.Name) -> Any:
        """Read a name: a variable, or a constant from outside."""
        if node.id == self.own_name or node.id in self.variables:
            return tree.Var(self.at(node), "self" if node.id == self.own_name else node.id)
        value = self.source.lookup(node.id, NOT_STATIC)
        if value is NOT_STATIC:
            self.fail(node, f"the name '{node.id}' is not known here")
        return self.outside(node, value, f"'{node.id}'")

    def outside(self, node: Any, value: Any, what: str) -> Any:
        """Return an object from outside of the function as a constant."""
        known = allowed.name_of_constant(value)
        if known is not None:
            return tree.Known(self.at(node), known)
        if value is None or type(value) in (int, float, bool, str, complex):
            return tree.Const(self.at(node), value)
        if type(value) is tuple:
            items = [self.outside(node, v, what) for v in value]
            return tree.Items(self.at(node), "tuple", items)
        if callable(value):
            self.fail(node, f"{what} is a function: it can be called, but not be a value")
        kind, instead = type(value).__name__, "as only numbers, text and tuples are taken in"
        if isinstance(value, weft.Tensor):
            kind, instead = "tensor", "or make it a buffer of a module"
        self.fail(
            node,
            f"{what} is a {kind} from outside of the function: pass it as an argument, {instead}",
        )

    def read_Attribute(self, node: ast.Attribute) -> Any:
        """Read an attribute: of a module of Python, of self, of a value."""
        base = self.static(node.value)
        if isinstance(base, (ModuleType, type)):
            found = getattr(base, node.attr, NOT_STATIC)
            if found is NOT_STATIC:
                self.fail(node, f"{base.__name__} has no '{node.attr}'")
            return self.outside(node, found, f"'{ast.unparse(node)}'")
        modules = self.modules_of(node.value)
        for module in modules:
            if isinstance(getattr(type(module), node.attr, None), property):
                self.check_name(node)
                self.compiler.method(module, node.attr, self.source, node)
                return tree.CallMethod(self.at(node), self.read(node.value), node.attr, [], [])
            self.check_member(node, module)
        made = self.twin(node)
        if not modules and (node.attr.startswith("_") or not node.attr.isidentifier()):
            self.fail(node, f"values of scripted code have no attribute '{node.attr}'")
        return made

    def check_name(self, node: ast.Attribute) -> None:
        """Check that a member of a module may have a name."""
        if not allowed.is_member_name(node.attr):
            self.fail(node, f"'{node.attr}' belongs to weft.nn.Module itself, and is not data")

    def check_member(self, node: ast.Attribute, module: Any) -> None:
        """Check that a module has a member that scripted code may read."""
        self.check_name(node)
        name, kind = node.attr, type(module).__name__
        if not hasattr(module, name):
            self.fail(node, f"{kind} has no attribute '{name}'")
        value = getattr(module, name)
        if not is_value(value):
            what = "a method: it can be called, but not be a value"
            if not callable(value):
                what = f"an object of type {type(value).__name__}, which is not data"
            self.fail(node, f"'{name}' of {kind} is {what}")
        self.compiler.needs(module, name)

    def read_BoolOp(self, node: ast.BoolOp) -> Any:
        """Read ``a and b``; what comes after a value that decides it is not read."""
        ends, values = isinstance(node.op, ast.Or), []
        for value in node.values:
            values.append(self.read(value))
            if self.truth(value) is ends:
                break
        op = tree.SYMBOLS[type(node.op)]
        return values[0] if len(values) == 1 else tree.Logic(self.at(node), op, values)

    def read_IfExp(self, node: ast.IfExp) -> Any:
        """Read ``a if test else b``."""
        known = self.truth(node.test)
        return self.twin(node) if known is None else self.read(node.body if known else node.orelse)

    def read_List(self, node: Any) -> Any:
        """Read a list or a tuple."""
        kind = "list" if isinstance(node, ast.List) else "tuple"
        return tree.Items(self.at(node), kind, self.field(node.elts))

    read_Tuple = read_List

    def read_Dict(self, node: ast.Dict) -> Any:
        """Read a dict."""
        if None in node.keys:
            self.fail(node, "** in a dict cannot be scripted: call update")
        return self.twin(node)

    def read_ListComp(self, node: Any) -> Any:
        """Read a comprehension of a list or a dict; its variables are its own."""
        before, held = set(self.variables), dict(self.modules)
        each = []
        for g in node.generators:
            if g.is_async:
                self.fail(node, "async cannot be scripted: use jit.fork and jit.wait")
            items = self.read(g.iter)
            target = self.bind(g.target, g.iter)
            each.append(tree.Each(self.at(g.target), target, items, self.field(g.ifs)))
        key = self.read(node.key) if isinstance(node, ast.DictComp) else None
        value = self.read(node.elt if key is None else node.value)
        self.variables, self.modules = before, held
        return tree.Made(self.at(node), key, value, each)

    read_DictComp = read_ListComp

    def read_FormattedValue(self, node: ast.FormattedValue) -> Any:
        """Read a value within an f-string."""
        spec = self.field(node.format_spec)
        conversion = "" if node.conversion == -1 else chr(node.conversion)
        return tree.Format(self.at(node), self.read(node.value), conversion, spec)

    def read_Call(self, node: ast.Call) -> Any:
        """Read a call."""
        from .calls import read_call

        return read_call(self, node)

    # ---- targets ---------------------------------------------------------------------------------

    def target(self, node: Any, bound: bool = False) -> Any:
        """Read what a value is assigned to; a loop is ``bound`` to variables."""
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
            return self.read(node)
        if isinstance(node, ast.Attribute) and not bound:
            return self.member_target(node)
        self.fail(node, "this cannot be assigned to in scripted code: use a variable")

    def member_target(self, node: ast.Attribute) -> Any:
        """Read ``self.name``, which is assigned to."""
        if self.static(node.value) is not self.owner or self.owner is None:
            self.fail(node, "scripted code sets attributes of self only: return the value instead")
        if not allowed.is_data_name(node.attr):
            self.fail(node, f"self.{node.attr} cannot be set in scripted code")
        if not hasattr(self.owner, node.attr):
            self.fail(node, f"self.{node.attr} is not there yet: set it in __init__")
        self.compiler.needs(self.owner, node.attr)
        return tree.Member(self.at(node), tree.Var(self.at(node.value), "self"), node.attr)

    def bind(self, target: Any, items: Any) -> Any:
        """Read the variables of a loop; note them, and the modules that they stand for."""
        for n in ast.walk(target):
            if isinstance(n, ast.Name):
                self.variables.add(n.id)
                self.modules.pop(n.id, None)
        self.bind_modules(target, items)
        return self.target(target, bound=True)

    def bind_modules(self, target: Any, items: Any) -> None:
        """Note the modules that the variables of a loop over ``items`` stand for."""
        inside = _children(self.modules_of(items))
        if inside and isinstance(target, ast.Name):
            self.modules[target.id] = inside
        if not isinstance(items, ast.Call):
            return
        parts = target.elts if isinstance(target, ast.Tuple) else []
        called: Any = items.func
        name = getattr(called, "id", getattr(called, "attr", ""))
        if name == "enumerate" and len(parts) == 2 and items.args:
            self.bind_modules(parts[1], items.args[0])
        elif name == "zip":
            for part, item in zip(parts, items.args):
                self.bind_modules(part, item)
        elif name == "reversed" and items.args:
            self.bind_modules(target, items.args[0])
        elif name == "values" and isinstance(called, ast.Attribute):
            self.bind_modules(target, called.value)
        elif name == "items" and isinstance(called, ast.Attribute) and len(parts) == 2:
            self.bind_modules(parts[1], called.value)


def _children(modules: list[Any]) -> list[Any]:
    return [c for m in modules for c in m._modules.values() if c is not None]
