"""Types of expressions and variables, as far as they are simple; ``Any`` where they are not."""

from __future__ import annotations

from weft import _C

from . import tree, types
from .types import ANY, BOOL, COMPLEX, DEVICE, DTYPE, FLOAT, INT, NONE, STR, TENSOR, Type, of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .compiler import Compiler

_BUILT_IN = {
    "len": INT, "int": INT, "float": FLOAT, "bool": BOOL, "str": STR, "all": BOOL, "any": BOOL,
    "print": NONE, "ord": INT, "chr": STR, "range": of("List", INT), "complex": COMPLEX,
    "hex": STR, "oct": STR,
}  # fmt: skip
_MATH_INTS = ("ceil", "comb", "factorial", "floor", "gcd", "isqrt", "lcm", "perm", "trunc")
_MATH_BOOLS = ("isclose", "isfinite", "isinf", "isnan")
_METHODS = {"numel": INT, "dim": INT, "ndimension": INT, "nelement": INT, "element_size": INT}
_MEMBERS = {
    "ndim": INT, "dtype": DTYPE, "device": DEVICE, "requires_grad": BOOL, "is_leaf": BOOL,
    "T": TENSOR, "mT": TENSOR, "data": TENSOR, "shape": of("List", INT),
}  # fmt: skip
_CONSTANTS: dict[type, Type] = {
    bool: BOOL, int: INT, float: FLOAT, str: STR, complex: COMPLEX, type(None): NONE,
}  # fmt: skip
_TENSOR_OPS: set[str] = set()  # ops that always return one tensor; filled on first use


def returns_tensor(name: str) -> bool:
    """Say whether one of weft's ops always returns one tensor."""
    if not _TENSOR_OPS:
        others: set[str] = set()
        for row in _C._ops():
            one = row["signature"].endswith("-> Tensor")
            (_TENSOR_OPS if one else others).add(row["base"])
        _TENSOR_OPS.difference_update(others)
    return name in _TENSOR_OPS


class Infer:
    """Goes through a function once, branches apart, loops twice."""

    def __init__(self, function: tree.Function, compiler: Compiler) -> None:
        """Start with the parameters."""
        self.function, self.compiler = function, compiler
        self.env: dict[str, Type] = {p.name: types.read(p.type) for p in function.parameters}
        self.declared: dict[str, Type] = {}
        self.all: dict[str, Type] = {}  # variables, with what they are all over the function
        self.returned: list[tuple[Any, Type]] = []

    def fail(self, place: Any, text: str) -> None:
        """Raise the error of a place."""
        from .check import fail

        fail(self.function, place, text)

    # ---- statements ------------------------------------------------------------------------------

    def block(self, body: list[tree.Statement]) -> None:
        """Go through statements."""
        for s in body:
            self.statement(s)

    def statement(self, s: Any) -> None:
        """Go through one statement."""
        if isinstance(s, tree.Assign):
            t = self.of(s.value)
            if s.type:
                declared = types.read(s.type)
                if not types.accepts(declared, t):
                    self.fail(s.value.at, f"this is of type {t}, but is declared as {declared}")
                t = declared
            for target in s.targets:
                self.assign(target, t, declared=bool(s.type))
        elif isinstance(s, tree.Update):
            t = self.binary(s.op, self.of(s.target), self.of(s.value))
            if isinstance(s.target, tree.Var):
                self.assign(s.target, t)
        elif isinstance(s, tree.Declare):
            self.declared[s.name] = types.read(s.type)
        elif isinstance(s, tree.If):
            self.branches(s)
        elif isinstance(s, (tree.For, tree.While)):
            self.loop(s)
        elif isinstance(s, tree.Return):
            self.returned.append((s.at, NONE if s.value is None else self.of(s.value)))
        else:
            for part in s.parts():
                if isinstance(part, tree.Statement):
                    self.statement(part)
                elif isinstance(part, tree.Expr):
                    self.of(part)
            if isinstance(s, tree.Assert):
                self.env.update(self.known_if(s.test, True))

    def branches(self, s: tree.If) -> None:
        """Go through each branch with the types before it, and join what comes out."""
        before, after = dict(self.env), []
        for test, body in [*((b.test, b.body) for b in s.branches), (None, s.other)]:
            self.env = dict(before)
            if test is not None:
                self.of(test)
                self.env.update(self.known_if(test, True))
            self.block(body)
            if not _leaves(body):
                after.append(self.env)
            if test is not None:
                self.env = before
                before.update(self.known_if(test, False))
        self.env = {} if after else before
        for name in {name for env in after for name in env}:
            found = [env[name] for env in after if name in env]
            joined: Type | None = found[0]
            for t in found[1:]:
                joined = types.join(joined, t)
            self.env[name] = ANY if joined is None else joined

    def known_if(self, test: Any, outcome: bool) -> dict[str, Type]:
        """Return the types of variables that a test tells to be None, or not to be."""
        if isinstance(test, tree.Logic) and (test.op == "and") == outcome:
            return {k: t for part in test.values for k, t in self.known_if(part, outcome).items()}
        if isinstance(test, tree.Unary) and test.op == "not":
            return self.known_if(test.value, not outcome)
        if not isinstance(test, tree.Compare) or test.ops not in (["is"], ["is not"]):
            return {}
        name, right = test.left, test.rights[0]
        if not isinstance(name, tree.Var) or not isinstance(right, tree.Const):
            return {}
        t = self.env.get(name.name, ANY)
        if right.value is not None or t.name != "Union" or NONE not in t.parts:
            return {}
        if (test.ops == ["is"]) == outcome:
            return {name.name: NONE}
        return {name.name: of("Union", *(p for p in t.parts if p != NONE))}

    def loop(self, s: Any) -> None:
        """Go through the body twice: what it leaves is what it finds the next time."""
        for _ in range(2):
            before, seen = dict(self.env), len(self.returned)
            if isinstance(s, tree.For):
                t = self.of(s.items)
                self.assign(s.target, t.parts[0] if t.name == "List" else _each(t))
            else:
                self.of(s.test)
            self.block(s.body)
            for name, t in before.items():
                self.env[name] = types.join(self.env.get(name, t), t) or ANY
            if _ == 0:
                del self.returned[seen:]

    def assign(self, target: Any, t: Type, declared: bool = False) -> None:
        """Note the type of a variable."""
        if isinstance(target, tree.Var):
            name = target.name
            if declared:
                self.declared[name] = t
            elif name in self.declared:
                if not types.accepts(self.declared[name], t):
                    self.fail(
                        target.at,
                        f"'{name}' is declared as {self.declared[name]}, and is given a {t}",
                    )
                whole = self.declared[name]
                t = t if whole.name == "Union" and t in whole.parts else whole
            self.env[name] = t
            self.all[name] = types.join(self.all.get(name, t), t) or ANY
        elif isinstance(target, tree.Items):
            parts = t.parts if t.name == "Tuple" and len(t.parts) == len(target.items) else ()
            for i, item in enumerate(target.items):
                inner = parts[i] if parts else t.parts[0] if t.name == "List" else _each(t)
                self.assign(item, inner)
        elif isinstance(target, tree.Starred):
            self.assign(target.value, ANY)
        else:
            for part in target.parts():
                self.of(part)

    # ---- expressions -----------------------------------------------------------------------------

    def of(self, e: Any) -> Type:
        """Return the type of an expression."""
        if isinstance(e, tree.Const):
            return _CONSTANTS[type(e.value)]
        if isinstance(e, tree.Var):
            return self.env.get(e.name, ANY)
        if isinstance(e, tree.Made):
            return self.made(e)
        inside = {id(p): self.of(p) for p in e.parts() if isinstance(p, tree.Expr)}
        for named in (p for p in e.parts() if isinstance(p, tree.Named)):
            self.of(named.value)
        if isinstance(e, tree.Binary):
            return self.binary(e.op, inside[id(e.left)], inside[id(e.right)])
        if isinstance(e, tree.Unary):
            t = inside[id(e.value)]
            return BOOL if e.op == "not" else INT if t == BOOL else t
        if isinstance(e, tree.Compare):
            return self.comparison(e, [inside[id(x)] for x in (e.left, *e.rights)])
        if isinstance(e, tree.Logic):
            kinds = {inside[id(v)] for v in e.values}
            return kinds.pop() if len(kinds) == 1 else ANY
        if isinstance(e, tree.Conditional):
            found = []
            for part, outcome in ((e.value, True), (e.other, False)):
                known = self.known_if(e.test, outcome) if isinstance(part, tree.Var) else {}
                found.append(known.get(getattr(part, "name", ""), inside[id(part)]))
            return types.join(*found) or ANY
        if isinstance(e, tree.Items):
            parts = [inside[id(i)] for i in e.items]
            if e.kind == "tuple":
                return of("Tuple", *parts)
            held: Type | None = parts[0] if parts else ANY
            for p in parts[1:]:
                held = types.join(held, p)
            return of("List", held or ANY)
        if isinstance(e, tree.Pairs):
            return of("Dict", ANY, ANY)
        if isinstance(e, tree.Joined):
            return STR
        if isinstance(e, tree.OfType):
            return BOOL
        if isinstance(e, tree.Typed):
            return types.read(e.type)
        if isinstance(e, tree.Index):
            return self.index(inside[id(e.of)], inside[id(e.index)], e)
        return self.call(e, inside)

    def made(self, e: tree.Made) -> Type:
        """The type of a comprehension, whose variables are its own."""
        before = dict(self.env), dict(self.all)
        for each in e.each:
            t = self.of(each.items)
            self.assign(each.target, t.parts[0] if t.name == "List" else _each(t))
            for test in each.tests:
                self.of(test)
        value = self.of(e.value)
        key = None if e.key is None else self.of(e.key)
        self.env, self.all = before
        return of("List", value) if key is None else of("Dict", key, value)

    def binary(self, op: str, a: Type, b: Type) -> Type:
        """The type of ``a op b``."""
        numbers = (INT, FLOAT, BOOL)
        if TENSOR in (a, b) and all(t in (TENSOR, *numbers) for t in (a, b)):
            return TENSOR
        if a in numbers and b in numbers:
            if op == "/":
                return FLOAT
            if op in ("&", "|", "^") and a == b:
                return a
            if op == "**":
                return FLOAT if FLOAT in (a, b) else ANY
            return FLOAT if FLOAT in (a, b) else INT
        if a == b and (a == STR or a.name == "List") and op == "+":
            return a
        return ANY

    def comparison(self, e: tree.Compare, found: list[Type]) -> Type:
        """The type of a comparison."""
        if all(op in ("is", "is not", "in", "not in") for op in e.ops):
            return BOOL
        if len(found) == 2 and TENSOR in found and ANY not in found and NONE not in found:
            return TENSOR
        return BOOL if all(t in (INT, FLOAT, BOOL, STR) for t in found) else ANY

    def index(self, t: Type, index: Type, e: tree.Index) -> Type:
        """The type of an item."""
        if t == TENSOR:
            return TENSOR
        if t in (INT, FLOAT, BOOL, NONE):
            self.fail(e.at, f"a {t} has no items")
        sliced = isinstance(e.index, tree.Slice)
        if t.name == "List":
            return t if sliced else t.parts[0]
        if t.name == "Dict":
            return t.parts[1]
        if t.name == "Tuple" and isinstance(e.index, tree.Const) and type(e.index.value) is int:
            if "..." not in (p.name for p in t.parts):
                if not -len(t.parts) <= e.index.value < len(t.parts):
                    self.fail(e.at, f"a tuple of {len(t.parts)} has no item {e.index.value}")
                return t.parts[e.index.value]
        return STR if t == STR else ANY

    def call(self, e: Any, inside: dict[int, Type]) -> Type:
        """The type of a call, a member or a constant."""
        if isinstance(e, tree.Call):
            return self.of_function(e.name, [inside.get(id(a), ANY) for a in e.args])
        if isinstance(e, tree.CallFunction):
            known = self.compiler.program.functions.get(e.name)
            return types.read(known.function.returns) if known and known.function.returns else ANY
        if isinstance(e, tree.CallValue):
            t = inside[id(e.of)]
            if t != ANY and t.name != "Union":
                self.fail(e.of.at, f"a {t} cannot be called")
            return ANY
        if isinstance(e, tree.CallMethod) and inside[id(e.of)] == TENSOR:
            return TENSOR if returns_tensor(e.name) else _METHODS.get(e.name, ANY)
        if isinstance(e, tree.Member) and inside[id(e.of)] == TENSOR:
            return _MEMBERS.get(e.name, ANY)
        if isinstance(e, tree.Known):
            if e.name.startswith("math."):
                return FLOAT
            from .allowed import _DTYPES

            return DTYPE if e.name.removeprefix("weft.") in _DTYPES else ANY
        return of("Future", ANY) if isinstance(e, tree.Fork) else ANY

    def of_function(self, name: str, args: list[Type]) -> Type:
        """The type of what a function returns."""
        place, _, last = name.rpartition(".")
        if place == "math":
            if last in _MATH_INTS:
                return INT
            if last in _MATH_BOOLS:
                return BOOL
            return ANY if last in ("frexp", "modf", "prod", "pow") else FLOAT
        if (place == "weft" and returns_tensor(last)) or name == "weft.tensor":
            return TENSOR
        if place == "weft.nn.functional" and returns_tensor(last):
            return TENSOR
        if name in ("list", "sorted") and len(args) == 1 and args[0].name == "List":
            return args[0]
        if name == "enumerate" and args and args[0].name == "List":
            return of("List", of("Tuple", INT, args[0].parts[0]))
        if name == "zip" and args and all(a.name == "List" for a in args):
            return of("List", of("Tuple", *(a.parts[0] for a in args)))
        if name in ("min", "max") and len(args) > 1 and len(set(args)) == 1:
            return args[0] if args[0] in (INT, FLOAT) else ANY
        return _BUILT_IN.get(name, ANY) if not place else ANY


def _leaves(body: list[tree.Statement]) -> bool:
    """Say whether the function ends with these statements."""
    return bool(body) and isinstance(body[-1], (tree.Return, tree.Raise))


def _each(t: Type) -> Type:
    """The type of what a loop over a value gives."""
    if t in (TENSOR, STR):
        return t
    if t.name == "Dict":
        return t.parts[0]
    if t.name == "Tuple" and t.parts and len(set(t.parts)) == 1:
        return t.parts[0]
    return ANY
