"""What can be said of a function before it runs: its variables have values, and its types agree.

One walk keeps the type of every variable that has a value on all paths: ``Any`` where it is not
simple. Branches are checked separately and joined, loops twice, because what a round leaves is what the
next one finds. For a function from a file only the values are checked, without any types.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import weft

from . import allowed, tree, types
from .errors import ScriptError, shown
from .types import ANY, BOOL, COMPLEX, DTYPE, FLOAT, INT, NONE, STR, TENSOR, Type, of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn, TypeAlias

    from .compiler import Compiler

    Env: TypeAlias = dict[str, Type]  # the variables that have a value

__all__ = ["check_function", "check_reads"]


def check_function(function: Any, compiler: Compiler) -> Any:
    """Return the function with the types that are known; raise ``ScriptError``."""
    walk = _Walk(function, compiler)
    walk.block(function.body)
    found = {name: str(t) for name, t in walk.all.items() if t != ANY}
    return replace(function, returns=walk.result(), types=found)


def check_reads(function: Any) -> None:
    """Raise ``ScriptError`` if a variable is read where it may have no value."""
    _Walk(function, None).block(function.body)


class _Walk:
    """Goes through a function once."""

    def __init__(self, function: Any, compiler: Compiler | None) -> None:
        self.function, self.compiler = function, compiler
        self.env: Env | None = {p.name: types.read(p.type) for p in function.parameters}
        if function.method:
            self.env["self"] = ANY
        self.declared: Env = {}
        self.all: Env = {}  # variables, with what they are all over the function
        self.returned: list[tuple[Any, Type]] = []
        self.loops: list[dict[type, list[Env]]] = []  # what break and continue leave

    def fail(self, place: Any, text: str) -> NoReturn:
        """Raise the error of a place."""
        raise ScriptError(f"{self.function.name}: {text}\n{shown(self.function, place)}")

    def result(self) -> str:
        """Check the types of results; return the type of the function as text, if it is known."""
        f, found, ends = self.function, self.returned, self.env is not None
        result: Type = types.read(f.returns) if f.returns else found[0][1] if found else NONE
        valued = [place for place, t in found if t != NONE]
        if f.returns:
            for place, t in found:
                if not types.accepts(result, t):
                    self.fail(place, f"this is of type {t}, but the function returns {result}")
            if ends and not types.accepts(result, NONE):
                self.fail(f.at, f"a path ends without a return: it must return {result}")
            return f.returns
        if ends and valued:
            text = "a value is returned here, but another path ends without a return: add one"
            self.fail(valued[0], text)
        for place, t in found:
            both = types.join(result, t)
            if both is None:
                before = f"line {found[0][0][0]} returns {result}"
                self.fail(place, f"this is of type {t}, but {before}")
            result = both
        return "" if result == ANY else str(result)

    # ---- statements ------------------------------------------------------------------------------

    def block(self, body: list[Any]) -> None:
        """Go through statements; those that are never reached are not looked at."""
        for s in body:
            if self.env is None:
                return
            getattr(self, type(s).__name__, self.other)(s, self.env)

    def other(self, s: Any, env: Env) -> None:
        """Go through a statement that only reads."""
        for part in s.parts():
            self.of(part)

    def Assign(self, s: Any, env: Env) -> None:
        t = self.of(s.value)
        if s.type:
            declared = types.read(s.type)
            if not types.accepts(declared, t):
                self.fail(s.value.at, f"this is of type {t}, but is declared as {declared}")
            t = declared
        for target in s.targets:
            self.assign(target, t, declared=bool(s.type))

    def Update(self, s: Any, env: Env) -> None:
        t = _binary(s.op, self.of(s.target), self.of(s.value))
        if isinstance(s.target, tree.Var):
            self.assign(s.target, t)

    def Declare(self, s: Any, env: Env) -> None:
        self.declared[s.name] = types.read(s.type)

    def If(self, s: Any, env: Env) -> None:
        before, after = dict(env), []
        for branch in s.branches:
            self.env = {**before}
            self.of(branch.test)
            self.env.update(self.known_if(branch.test, True))
            self.block(branch.body)
            after.append(self.env)
            self.env = before
            before.update(self.known_if(branch.test, False))
        self.block(s.other)
        self.env = _joined([*after, self.env])

    def For(self, s: Any, env: Env) -> None:
        endless = (
            isinstance(s, tree.While) and isinstance(s.test, tree.Const) and bool(s.test.value)
        )
        seen = len(self.returned)
        for _ in range(2 if self.compiler else 1):
            del self.returned[seen:]
            before = dict(self.env or {})
            if isinstance(s, tree.For):
                self.assign(s.target, _each(self.of(s.items)))
            else:
                self.of(s.test)
            self.loops.append({tree.Break: [], tree.Continue: []})
            self.block(s.body)
            left = self.loops.pop()
            again = [env for env in (self.env, *left[tree.Continue]) if env is not None]
            same = [{n: env.get(n, t) for n, t in before.items()} for env in again]
            self.env = _joined([before, *same])
            broken = [{n: e[n] for n in e if endless or n in before} for e in left[tree.Break]]
            after = _joined(broken if endless else [self.env, *broken])
        self.env = after

    While = For

    def Break(self, s: Any, env: Env) -> None:
        if not self.loops:
            self.fail(s.at, f"{type(s).__name__.lower()} outside of a loop")
        self.loops[-1][type(s)].append(env)
        self.env = None

    Continue = Break

    def With(self, s: Any, env: Env) -> None:
        if s.value is not None:
            self.of(s.value)
        self.block(s.body)

    def Return(self, s: Any, env: Env) -> None:
        self.returned.append((s.at, NONE if s.value is None else self.of(s.value)))
        self.env = None

    def Raise(self, s: Any, env: Env) -> None:
        self.other(s, env)
        self.env = None

    def Assert(self, s: Any, env: Env) -> None:
        self.other(s, env)
        env.update(self.known_if(s.test, True))

    def known_if(self, test: Any, outcome: bool) -> Env:
        """Return the types of variables that a test tells to be None, or not to be."""
        if isinstance(test, tree.Logic) and (test.op == "and") == outcome:
            return {k: t for part in test.values for k, t in self.known_if(part, outcome).items()}
        if isinstance(test, tree.Unary) and test.op == "not":
            return self.known_if(test.value, not outcome)
        if not isinstance(test, tree.Compare) or test.ops not in (["is"], ["is not"]):
            return {}
        name, right = test.left, test.rights[0]
        if not isinstance(name, tree.Var) or getattr(right, "value", 0) is not None:
            return {}
        t = (self.env or {}).get(name.name, ANY)
        if t.name != "Union" or NONE not in t.parts:
            return {}
        is_none = (test.ops == ["is"]) == outcome
        return {name.name: NONE if is_none else of("Union", *(p for p in t.parts if p != NONE))}

    def assign(self, target: Any, t: Type, declared: bool = False) -> None:
        """Note the type of what is assigned to."""
        if isinstance(target, tree.Var):
            assert self.env is not None
            name = target.name
            if declared:
                self.declared[name] = t
            elif name in self.declared:
                whole = self.declared[name]
                if not types.accepts(whole, t):
                    self.fail(target.at, f"'{name}' is declared as {whole}, and is given a {t}")
                t = t if whole.name == "Union" and t in whole.parts else whole
            self.env[name] = t
            self.all[name] = _both((self.all.get(name, t), t))
        elif isinstance(target, tree.Items):
            same = t.name == "Tuple" and len(t.parts) == len(target.items)
            for i, item in enumerate(target.items):
                self.assign(item, t.parts[i] if same else _each(t))
        elif isinstance(target, tree.Starred):
            self.assign(target.value, ANY)
        else:
            self.other(target, self.env or {})

    # ---- expressions -----------------------------------------------------------------------------

    def of(self, e: Any) -> Type:
        """Return the type of an expression; check that the variables it reads have values."""
        if isinstance(e, tree.Var):
            found = (self.env or {}).get(e.name)
            if found is None:
                text = "has no value on some path that leads here: give it one before"
                self.fail(e.at, f"'{e.name}' {text}")
            return found if self.compiler else ANY
        if isinstance(e, tree.Made):
            return self.made(e)
        inside = [self.of(p) for p in e.parts()]
        rule = _TYPES.get(type(e).__name__)
        return rule(self, e, inside) if rule and self.compiler else ANY

    def made(self, e: Any) -> Type:
        """The type of a comprehension, whose variables are its own."""
        before = dict(self.env or {}), dict(self.all)
        for each in e.each:
            self.assign(each.target, _each(self.of(each.items)))
            for test in each.tests:
                self.of(test)
        key = None if e.key is None else self.of(e.key)
        value = self.of(e.value)
        self.env, self.all = before
        return of("List", value) if key is None else of("Dict", key, value)


def _joined(envs: Iterable[Env | None]) -> Env | None:
    """Return the variables that have a value in all of several paths; None: there is no path."""
    reached = [env for env in envs if env is not None]
    if not reached:
        return None
    names = [name for name in reached[0] if all(name in env for env in reached)]
    return {name: _both(env[name] for env in reached) for name in names}


def _both(found: Iterable[Type]) -> Type:
    """Return the type of what is of any of several types."""
    return reduce(types.join, found) or ANY  # type: ignore[arg-type]


# ---- types of expressions -----------------------------------------------------------------------


def _binary(op: str, a: Type, b: Type) -> Type:
    numbers = (INT, FLOAT, BOOL)
    if TENSOR in (a, b) and all(t in (TENSOR, *numbers) for t in (a, b)):
        return TENSOR
    if a in numbers and b in numbers:
        if op == "/":
            return FLOAT
        if op in ("&", "|", "^") and a == b:
            return a
        return FLOAT if FLOAT in (a, b) else ANY if op == "**" else INT
    return a if a == b and (a == STR or a.name == "List") and op == "+" else ANY


def _comparison(walk: _Walk, e: Any, found: list[Type]) -> Type:
    if all(op in ("is", "is not", "in", "not in") for op in e.ops):
        return BOOL
    if len(found) == 2 and TENSOR in found and ANY not in found and NONE not in found:
        return TENSOR
    return BOOL if all(t in (INT, FLOAT, BOOL, STR) for t in found) else ANY


def _conditional(walk: _Walk, e: Any, found: list[Type]) -> Type:
    for i, part in ((1, e.value), (2, e.other)):
        known = walk.known_if(e.test, i == 1) if isinstance(part, tree.Var) else {}
        found[i] = known.get(getattr(part, "name", ""), found[i])
    return _both(found[1:])


def _items(walk: _Walk, e: Any, found: list[Type]) -> Type:
    if e.kind == "tuple":
        return of("Tuple", *found)
    return of("List", _both(found) if found else ANY)


def _index(walk: _Walk, e: Any, found: list[Type]) -> Type:
    t = found[0]
    if t in (INT, FLOAT, BOOL, NONE):
        walk.fail(e.at, f"a {t} has no items")
    if t.name == "List":
        return t if isinstance(e.index, tree.Slice) else t.parts[0]
    if t.name == "Dict":
        return t.parts[1]
    if t.name == "Tuple" and isinstance(e.index, tree.Const) and type(e.index.value) is int:
        if "..." not in (p.name for p in t.parts):
            if not -len(t.parts) <= e.index.value < len(t.parts):
                walk.fail(e.at, f"a tuple of {len(t.parts)} has no item {e.index.value}")
            return t.parts[e.index.value]
    return t if t in (TENSOR, STR) else ANY


def _function(walk: _Walk, e: Any, found: list[Type]) -> Type:
    assert walk.compiler is not None
    known = walk.compiler.program.functions.get(e.name)
    return types.read(known.function.returns) if known and known.function.returns else ANY


def _value(walk: _Walk, e: Any, found: list[Type]) -> Type:
    if found[0] != ANY and found[0].name != "Union":
        walk.fail(e.of.at, f"a {found[0]} cannot be called")
    return ANY


def _call(walk: _Walk, e: Any, found: list[Type]) -> Type:
    """The type of what a function returns, by the types of the arguments that have no name."""
    found = found[: len(e.args)]
    if e.name in ("list", "sorted") and len(found) == 1 and found[0].name == "List":
        return found[0]
    if e.name == "enumerate" and found and found[0].name == "List":
        return of("List", of("Tuple", INT, found[0].parts[0]))
    if e.name == "zip" and found and all(t.name == "List" for t in found):
        return of("List", of("Tuple", *(t.parts[0] for t in found)))
    if e.name in ("min", "max"):
        return found[0] if len(found) > 1 and {*found} in ({INT}, {FLOAT}) else ANY
    return allowed.result_of(e.name)


def _of_tensor(walk: _Walk, e: Any, found: list[Type]) -> Type:
    return allowed.result_of(f"Tensor.{e.name}") if found[0] == TENSOR else ANY


def _each(t: Type) -> Type:
    """The type of what a loop over a value gives."""
    if t in (TENSOR, STR):
        return t
    if t.name in ("List", "Dict") or (t.name == "Tuple" and t.parts and len(set(t.parts)) == 1):
        return t.parts[0]
    return ANY


_CONSTANTS: dict[type, Type] = {
    bool: BOOL, int: INT, float: FLOAT, str: STR, complex: COMPLEX, type(None): NONE,
    weft.dtype: DTYPE,
}  # fmt: skip
_TYPES: dict[str, Callable[[_Walk, Any, list[Type]], Type]] = {
    "Const": lambda walk, e, found: _CONSTANTS[type(e.value)],
    "Known": lambda walk, e, found: _CONSTANTS.get(type(allowed.CONSTANTS[e.name]), ANY),
    "Named": lambda walk, e, found: found[0],
    "Unary": lambda walk, e, found: (
        BOOL if e.op == "not" else INT if found[0] == BOOL else found[0]
    ),
    "Binary": lambda walk, e, found: _binary(e.op, *found),
    "Compare": _comparison,
    "Logic": lambda walk, e, found: found[0] if len(set(found)) == 1 else ANY,
    "Conditional": _conditional,
    "Items": _items,
    "Pairs": lambda walk, e, found: of("Dict", ANY, ANY),
    "Joined": lambda walk, e, found: STR,
    "OfType": lambda walk, e, found: BOOL,
    "Typed": lambda walk, e, found: types.read(e.type),
    "Index": _index,
    "Call": _call,
    "CallFunction": _function,
    "CallValue": _value,
    "CallMethod": _of_tensor,
    "Member": _of_tensor,
    "Fork": lambda walk, e, found: of("Future", ANY),
}
