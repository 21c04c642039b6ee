"""Which names of PyTorch a program uses, read from its source: nothing of it is run."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

import weft
from weft.compat.names import ROOTS, LackingName, find, public_names
from weft.compat.signatures import keywords_of, returns_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Keyword", "Use", "uses_of"]

_FORGIVING = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
_Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass
class Use:
    """A name of PyTorch in a program."""

    name: str
    lines: list[int] = field(default_factory=list)
    guarded: bool = True  # all of its uses are in a try that handles their failing
    present: bool = True


@dataclass
class Keyword:
    """A keyword argument that weft's function does not take."""

    name: str
    keyword: str
    line: int
    takes: list[str]


def uses_of(source: str, filename: str = "<program>") -> tuple[list[Use], list[Keyword]]:
    """Return the names of PyTorch that a program uses, and keyword arguments that weft lacks.

    >>> from weft.compat.uses import uses_of
    >>> uses, keywords = uses_of("import torch as t\\nx = t.zeros(2, foo=1).numpy2()")
    >>> [(u.name, u.lines, u.present) for u in uses if u.lines == [2]]
    [('torch.Tensor.numpy2', [2], False), ('torch.zeros', [2], True)]
    >>> keywords[0].keyword
    'foo'
    """
    reader = _Reader()
    reader.read(ast.parse(source, filename))
    for use in reader.uses.values():
        use.lines = sorted(set(use.lines))
    return [reader.uses[name] for name in sorted(reader.uses)], reader.keywords


def _found(name: str) -> Any:
    """Return an object by PyTorch's name; None for one that needs a library which is not here."""
    try:
        return find(name)
    except ImportError:
        return None


class _Scope:
    """The variables of a function, or of the program: what each was assigned."""

    def __init__(self, above: _Scope | None) -> None:
        self.above = above
        self.values: dict[str, list[ast.expr | None]] = {}

    def bind(self, target: ast.AST, value: ast.expr | None) -> None:
        """Note an assignment; None for a value that is not known."""
        if isinstance(target, ast.Name):
            self.values.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self.bind(part, None)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, None)


class _Reader(ast.NodeVisitor):
    """Walks through a program, with its imports, scopes and guards."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}  # a name of the program: what of PyTorch it is
        self.uses: dict[str, Use] = {}
        self.keywords: list[Keyword] = []
        self.scope = _Scope(None)
        self.guards = 0

    def read(self, tree: ast.Module) -> None:
        """Read imports first: functions may use what is imported further down."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
        _bind_all(tree, self.scope)
        self.visit(tree)

    # ---- names ------------------------------------------------------------------------------

    def _import(self, node: ast.Import) -> None:
        for name in node.names:
            if name.name.partition(".")[0] not in ROOTS:
                continue
            root = name.name.partition(".")[0]
            self.aliases[name.asname or root] = name.name if name.asname else root

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level or module.partition(".")[0] not in ROOTS:
            return
        for name in node.names:
            if name.name == "*":
                self.aliases.update({n: f"{module}.{n}" for n in public_names(module)})
            else:
                self.aliases[name.asname or name.name] = f"{module}.{name.name}"

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            if name.name.partition(".")[0] in ROOTS:
                self._note(name.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if not node.level and module.partition(".")[0] in ROOTS:
            for name in node.names:
                full = module if name.name == "*" else f"{module}.{name.name}"
                self._note(full, node.lineno)

    def _note(self, name: str, line: int) -> None:
        """Note a use; of a lacking name, as far as the first part that is lacking."""
        present = True
        try:
            _found(name)
        except LackingName as e:
            name, present = e.torch_name, False
        use = self.uses.setdefault(name, Use(name, present=present))
        use.lines.append(line)
        use.guarded = use.guarded and self.guards > 0

    def _torch_name(self, node: ast.AST) -> str | None:
        """Return what of PyTorch an expression names: ``nn.Linear`` is ``torch.nn.Linear``."""
        if isinstance(node, ast.Name):
            bound = self._bindings(node.id)
            if bound is not None and all(v is not None for v in bound) and len(bound) == 1:
                only = bound[0]  # conv = nn.Conv2d
                if isinstance(only, (ast.Name, ast.Attribute)) and node.id not in self.aliases:
                    return self._torch_name(only) if only is not node else None
            return self.aliases.get(node.id) if bound is None else None
        if isinstance(node, ast.Attribute):
            base = self._torch_name(node.value)
            return None if base is None else f"{base}.{node.attr}"
        return None

    def _bindings(self, name: str) -> list[ast.expr | None] | None:
        scope: _Scope | None = self.scope
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.above
        return None

    def visit_Name(self, node: ast.Name) -> None:
        name = self._torch_name(node)
        if name is not None and isinstance(node.ctx, ast.Load) and node.id in self.aliases:
            self._note(name, node.lineno)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self._torch_name(node)
        if name is None:
            if isinstance(node.ctx, ast.Load) and self._is_tensor(node.value):
                self._note(f"torch.Tensor.{node.attr}", node.end_lineno or node.lineno)
            self.generic_visit(node)
        elif isinstance(node.ctx, ast.Load):
            self._note(name, node.lineno)
        else:  # set by the program: only what is there counts
            try:
                _found(name)
            except LackingName:
                return
            self._note(name, node.lineno)

    # ---- tensors ----------------------------------------------------------------------------

    def _is_tensor(self, node: ast.AST, depth: int = 0) -> bool:
        """Say whether an expression is surely a tensor."""
        if depth > 20:
            return False
        if isinstance(node, ast.Name):
            bound = self._bindings(node.id) or [None]
            return all(v is not None and self._is_tensor(v, depth + 1) for v in bound)
        if isinstance(node, ast.BinOp):
            return self._is_tensor(node.left, depth + 1) or self._is_tensor(node.right, depth + 1)
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not) and self._is_tensor(node.operand, depth + 1)
        if not isinstance(node, ast.Call):
            return False
        name = self._torch_name(node.func)
        if name is not None:
            try:
                return returns_tensor(_found(name))
            except LackingName:
                return False
        if isinstance(node.func, ast.Attribute) and self._is_tensor(node.func.value, depth + 1):
            return returns_tensor(getattr(weft.Tensor, node.func.attr, None))
        return False

    def visit_Call(self, node: ast.Call) -> None:
        name = self._torch_name(node.func)
        if name is None and isinstance(node.func, ast.Attribute):
            if self._is_tensor(node.func.value):
                name = f"torch.Tensor.{node.func.attr}"
        if name is not None:
            self._check_keywords(name, node)
        self.generic_visit(node)

    def _check_keywords(self, name: str, node: ast.Call) -> None:
        given = [k.arg for k in node.keywords if k.arg is not None]
        if not given:
            return
        try:
            takes = keywords_of(_found(name))
        except LackingName:
            return
        for keyword in given:
            if takes is not None and keyword not in takes:
                self.keywords.append(Keyword(name, keyword, node.lineno, sorted(takes)))

    # ---- scopes and guards ------------------------------------------------------------------

    def _inside(self, node: Any) -> None:
        scope = _Scope(self.scope)
        a = node.args
        for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
            if arg is not None:
                scope.values.setdefault(arg.arg, []).append(None)
        for outer in (*getattr(node, "decorator_list", ()), *a.defaults, *a.kw_defaults):
            if outer is not None:
                self.visit(outer)
        for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
            if arg is not None and arg.annotation is not None:
                self.visit(arg.annotation)
        if getattr(node, "returns", None) is not None:
            self.visit(node.returns)
        body = node.body if isinstance(node.body, list) else [node.body]
        for part in body:
            _bind_all(part, scope)
        self.scope = scope
        for part in body:
            self.visit(part)
        self.scope = scope.above or scope

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._inside(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._inside(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Check calls of ``self.method`` in classes that have one base, a class of PyTorch."""
        base = self._torch_name(node.bases[0]) if len(node.bases) == 1 else None
        if base is not None:
            self._check_methods(node, base)
        self.generic_visit(node)

    def _check_methods(self, node: ast.ClassDef, base: str) -> None:
        try:
            known = set(dir(_found(base)))
        except LackingName:
            return
        called: list[ast.Attribute] = []
        for part in ast.walk(node):
            if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                known.add(part.name)
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                known.add(part.id)
            elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                known.add(part.attr)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                known.add(part.value)  # add_module("name", ...), setattr(self, "name", ...)
            elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
                if isinstance(part.func.value, ast.Name) and part.func.value.id == "self":
                    called.append(part.func)
            if isinstance(part, ast.JoinedStr) or known & {"__getattr__", "__dict__"} - set(
                dir(weft.nn.Module)
            ):
                return  # names that are made while it runs
        for method in called:
            if method.attr not in known:
                self._note(f"{base}.{method.attr}", method.lineno)

    def visit_Try(self, node: ast.Try) -> None:
        caught = {
            part.rpartition(".")[2]
            for handler in node.handlers
            for part in (
                ast.unparse(handler.type).strip("()").replace(" ", "").split(",")
                if handler.type is not None
                else ["BaseException"]
            )
        }
        forgiving = bool(caught & _FORGIVING)
        self.guards += forgiving
        for part in node.body:
            self.visit(part)
        self.guards -= forgiving
        for rest in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(rest)


def _bind_all(tree: ast.AST, scope: _Scope) -> None:
    """Note every assignment of a scope, without those of the functions and classes in it."""
    if isinstance(tree, (*_Function, ast.ClassDef)):
        if not isinstance(tree, ast.Lambda):
            scope.values.setdefault(tree.name, []).append(None)
        return
    if isinstance(tree, ast.Assign):
        for target in tree.targets:
            scope.bind(target, tree.value)
    elif isinstance(tree, (ast.AnnAssign, ast.NamedExpr)):
        scope.bind(tree.target, tree.value)
    elif isinstance(tree, ast.AugAssign):
        if isinstance(tree.target, ast.Name) and tree.target.id not in scope.values:
            scope.bind(tree.target, None)
    elif isinstance(tree, (ast.For, ast.AsyncFor, ast.comprehension)):
        scope.bind(tree.target, None)
    elif isinstance(tree, ast.withitem) and tree.optional_vars is not None:
        scope.bind(tree.optional_vars, None)
    elif isinstance(tree, ast.ExceptHandler) and tree.name:
        scope.values.setdefault(tree.name, []).append(None)
    for child in ast.iter_child_nodes(tree):
        _bind_all(child, scope)
