"""What can be said of a function before it runs: its variables have values, and its types agree."""

from __future__ import annotations

from dataclasses import replace

from . import tree, types
from .errors import ScriptError, shown
from .infer import Infer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, TypeAlias

    from .compiler import Compiler

    Known: TypeAlias = set[str] | None  # variables that have a value; None: never reached

__all__ = ["check_function"]


def check_function(function: tree.Function, compiler: Compiler) -> tree.Function:
    """Return the function with the types that are known; raise ``ScriptError``."""
    ends = _Flow(function).run()
    infer = Infer(function, compiler)
    infer.block(function.body)
    returns = _returns(function, infer, ends)
    found = {name: str(t) for name, t in infer.all.items() if t != types.ANY}
    return replace(function, returns=returns, types=found)


def fail(function: tree.Function, place: Any, text: str) -> NoReturn:
    """Raise the error of a place."""
    line = function.line(place)
    raise ScriptError(
        f"{function.name}: {text}\n{shown(function.file, function.name, line, place)}"
    )


def _returns(function: tree.Function, infer: Infer, ends: bool) -> str:
    """Check the types of results; return the type of the function as text, if it is known."""
    found = infer.returned
    if function.returns:
        declared = types.read(function.returns)
        for place, t in found:
            if not types.accepts(declared, t):
                fail(function, place, f"this is of type {t}, but the function returns {declared}")
        if ends and not types.accepts(declared, types.NONE):
            fail(function, function.at, f"a path ends without a return: it must return {declared}")
        return function.returns
    values = [(place, t) for place, t in found if t != types.NONE]
    if ends and values:
        fail(
            function,
            values[0][0],
            "a value is returned here, but another path ends without a return: add one",
        )
    if not found:
        return "None"
    result: types.Type = found[0][1]
    for place, t in found[1:]:
        joined = types.join(result, t)
        if joined is None:
            before = found[0][0][0]
            fail(function, place, f"this is of type {t}, but line {before} returns {result}")
        result = joined
    return "" if result == types.ANY else str(result)


class _Flow:
    """Finds variables that are read where they may have no value."""

    def __init__(self, function: tree.Function) -> None:
        self.function = function
        self.breaks: list[list[set[str]]] = []

    def run(self) -> bool:
        """Go through the function; say whether its end can be reached without a return."""
        known = {p.name for p in self.function.parameters}
        if self.function.method:
            known.add("self")
        return self.block(self.function.body, known) is not None

    def block(self, body: list[tree.Statement], known: Known) -> Known:
        for statement in body:
            if known is None:
                return None
            known = self.statement(statement, known)
        return known

    def statement(self, s: tree.Statement, known: set[str]) -> Known:
        if isinstance(s, tree.Assign):
            self.reads(s.value, known)
            return self.targets(s.targets, known)
        if isinstance(s, tree.Update):
            self.reads(s.target, known)
            self.reads(s.value, known)
            return known
        if isinstance(s, tree.If):
            return self.branches(s, known)
        if isinstance(s, (tree.For, tree.While)):
            return self.loop(s, known)
        if isinstance(s, tree.With):
            if s.value is not None:
                self.reads(s.value, known)
            return self.block(s.body, known)
        if isinstance(s, (tree.Break, tree.Continue)):
            if isinstance(s, tree.Break):
                self.breaks[-1].append(known)
            return None
        for part in s.parts():
            self.reads(part, known)
        return None if isinstance(s, (tree.Return, tree.Raise)) else known

    def branches(self, s: tree.If, known: set[str]) -> Known:
        ends = []
        for branch in s.branches:
            self.reads(branch.test, known)
            ends.append(self.block(branch.body, known))
        ends.append(self.block(s.other, known))
        reached = [e for e in ends if e is not None]
        return set.intersection(*reached) if reached else None

    def loop(self, s: Any, known: set[str]) -> Known:
        self.breaks.append([])
        forever = False
        if isinstance(s, tree.For):
            self.reads(s.items, known)
            self.block(s.body, self.targets([s.target], known))
        else:
            self.reads(s.test, known)
            forever = isinstance(s.test, tree.Const) and bool(s.test.value)
            self.block(s.body, known)
        broken = self.breaks.pop()
        if forever:
            return set.intersection(*broken) if broken else None
        return known

    def targets(self, targets: list[Any], known: set[str]) -> set[str]:
        known = set(known)
        for t in targets:
            if isinstance(t, tree.Var):
                known.add(t.name)
            elif isinstance(t, tree.Items):
                known = self.targets(t.items, known)
            elif isinstance(t, tree.Starred):
                known = self.targets([t.value], known)
            else:
                self.reads(t, known)
        return known

    def reads(self, node: Any, known: set[str]) -> None:
        """Check the variables that an expression reads."""
        if isinstance(node, tree.Var) and node.name not in known:
            fail(
                self.function,
                node.at,
                f"'{node.name}' has no value on some path that leads here: give it one before",
            )
        if isinstance(node, tree.Made):
            inner = known
            for each in node.each:
                self.reads(each.items, inner)
                inner = self.targets([each.target], inner)
                for test in each.tests:
                    self.reads(test, inner)
            for part in (node.key, node.value):
                if part is not None:
                    self.reads(part, inner)
            return
        for part in node.parts():
            self.reads(part, known)
