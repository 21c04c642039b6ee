"""What the code of a function names: globals, attributes, modules; and where it computes a name."""

from __future__ import annotations

import dis
import functools
import operator
import re
import sys
import types
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["Names", "names_in", "names_of_getter"]

_BY_NAME = {"delattr", "getattr", "hasattr", "setattr"}  # whose second argument is a name
# Functions in C that call an argument of theirs, which no hook sees.
_CALLERS = {
    "all",
    "any",
    "filter",
    "iter",
    "map",
    "max",
    "min",
    "reduce",
    "sorted",
    "starmap",
    "sum",
}
_GETTERS = {"attrgetter", "methodcaller"}  # whose first argument is one
# Code that has these may look for any name, wherever it can look.
_ANYWHERE = {"__getattribute__", "dir", "eval", "exec", "getmembers"}
# Code that has these may look at all attributes of an object.
_LOOKING = {
    *_ANYWHERE, "__dict__", "asdict", "astuple", "copy", "deepcopy", "globals", "locals", "replace",
    "vars",
}  # fmt: skip
_TEXTS = {*_GETTERS, "format", "format_map"}  # code that has these may have names inside of texts
_CONSTANTS = (None, True, False, ...)
_STORES = {
    "DELETE_ATTR",
    "DELETE_DEREF",
    "DELETE_GLOBAL",
    "STORE_ATTR",
    "STORE_DEREF",
    "STORE_GLOBAL",
}
_SETTERS = {  # code that has these may set an attribute whose name is a text
    "__dict__", "__setattr__", "add_module", "register_buffer", "register_module", "register_parameter",
    "setattr",
}  # fmt: skip
_MUTATORS = {
    "__delitem__", "__ior__", "__setitem__", "append", "appendleft", "clear", "extend",
    "extendleft", "insert", "move_to_end", "pop", "popitem", "popleft", "remove", "reverse",
    "rotate", "setdefault", "sort", "update",
}  # fmt: skip
_WORD = re.compile(r"[^\W\d]\w*")


class Names(NamedTuple):
    """The names in the code of a function, and in that of functions inside of it."""

    globals: frozenset[str]  # that it reads or sets as such
    every: frozenset[str]  # those, and attributes, and texts that may be names of some
    imports: frozenset[str]  # modules that are imported where they are used
    # How names begin that it computes, and the global or variable in which it looks for them, or "".
    prefixes: frozenset[tuple[str, str]]
    passed: frozenset[str]  # globals and variables from outside that are more than looked into
    # Globals and variables from outside, or attributes of such, that are called from C.
    handed: frozenset[tuple[str, str]]
    stores: frozenset[str]  # attributes, globals and variables from outside that it may set
    looks: bool  # it may look at all attributes of an object
    changes_items: bool  # it may change the items of a list or dict
    compares_identity: bool  # it asks whether two things are the same object
    asks_type: bool  # it calls type(), but for type(self)


@functools.lru_cache(maxsize=10_000)
def names_in(code: types.CodeType) -> Names:
    """Return what a function names.

    >>> from weft.jit.compile.bytecode import names_in
    >>> names = names_in((lambda x: getattr(x, f"part{other}")).__code__)
    >>> sorted(names.globals), sorted(names.prefixes)
    (['getattr', 'other'], [('', 'part')])
    """
    found = _names_here(code)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found = Names(*map(operator.or_, found, names_in(inner)))
    return found


def names_of_getter(getter: Any) -> set[str]:
    """Return the names that an ``operator.attrgetter`` or ``methodcaller`` looks for."""
    made = getter.__reduce__()[1]
    return {name for text in made if isinstance(text, str) for name in text.split(".")}


def _names_here(code: types.CodeType) -> Names:
    steps = [i for i in dis.get_instructions(code) if i.opname not in _NO_STEPS]
    found: set[str] = set()
    passed: set[str] = set()
    imports: set[str] = set()
    prefixes: set[tuple[str, str]] = set()
    handed: set[tuple[str, str]] = set()
    stores: set[str] = set()
    compares_identity = asks_type = changes_items = False
    for at, step in enumerate(steps):
        name, after = step.argval, steps[at + 1] if at + 1 < len(steps) else step
        if _is_global(step.opname):
            found.add(name)
            if name == "type":
                asks_type |= not _asks_its_own(_arguments(steps, at))
            if name in _BY_NAME:
                prefixes |= _prefix(_arguments(steps, at))
        if name in _CALLERS and step.opname != "LOAD_CONST":
            handed |= _handed(_arguments(steps, at))
        if name in _GETTERS and after.opname != "LOAD_CONST":
            prefixes.add(("", ""))
        if _is_global(step.opname) or step.opname == "LOAD_DEREF":
            if not _looks_inside(after):
                passed.add(name)
        if step.opname in _STORES:
            stores.add(name)
        changes_items |= step.opname in ("DELETE_SUBSCR", "STORE_SLICE", "STORE_SUBSCR")
        if step.opname == "IMPORT_NAME":
            imports |= {name, name.partition(".")[0]}
        if step.opname == "IS_OP":
            others = (steps[at - 1], steps[at - 2])
            compares_identity |= not any(_is_constant(other) for other in others)
    every = {*code.co_names, *_texts(code.co_consts, bool(_TEXTS & {*code.co_names}))}
    if _SETTERS & every:
        stores |= {*_texts(code.co_consts, False)}
    if _ANYWHERE & every:
        prefixes.add(("", ""))
    return Names(
        frozenset(found), frozenset(every), frozenset(imports), frozenset(prefixes),
        frozenset(passed), frozenset(handed), frozenset(stores), bool(_LOOKING & every),
        changes_items or bool(_MUTATORS & every), compares_identity, asks_type,
    )  # fmt: skip


_CALLS = {"CALL", "CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_KW", "CALL_METHOD"}
_NO_STEPS = {"CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "RESUME"}


def _is_global(op: str) -> bool:
    return op.endswith(("_GLOBAL", "_NAME", "_GLOBALS")) and op != "IMPORT_NAME"


def _looks_inside(step: dis.Instruction) -> bool:
    """Say whether the thing before it is one whose attribute it takes."""
    return step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval != "__dict__"


def _asks_its_own(arguments: list[list[dis.Instruction]] | None) -> bool:
    """Say whether the only argument is ``self``: the class of an object, never that of a number."""
    return arguments is not None and [[s.argval for s in part] for part in arguments] == [["self"]]


def _is_constant(step: dis.Instruction) -> bool:
    return step.opname == "LOAD_CONST" and any(step.argval is c for c in _CONSTANTS)


def _texts(constants: Any, inside: bool) -> Iterator[str]:
    """Iterate over texts that may be names; ``inside``: over the words in others too."""
    for constant in constants:
        if isinstance(constant, (tuple, frozenset)):
            yield from _texts(constant, inside)
        elif isinstance(constant, str) and constant.isidentifier():
            yield constant
        elif isinstance(constant, str) and inside and len(constant) < 200:
            yield from _WORD.findall(constant)


def _prefix(arguments: list[list[dis.Instruction]] | None) -> set[tuple[str, str]]:
    """Return how a name begins that is the second argument, and where it is looked for.

    Nothing where it is written out: it is among the texts.
    """
    if arguments is None or len(arguments) < 2:
        return {("", "")}
    (owner, *chain), (first, *rest) = arguments[:2]
    plain = _is_global(owner.opname) or owner.opname == "LOAD_DEREF"
    plain = plain and all(step.opname == "LOAD_ATTR" for step in chain)
    where = owner.argval if plain else ""
    if first.opname != "LOAD_CONST" or not isinstance(first.argval, str):
        return {(where, "")}
    begin = _WORD.match(first.argval)
    return {(where, begin.group() if begin else "")} if rest else set()


def _handed(arguments: list[list[dis.Instruction]] | None) -> set[tuple[str, str]]:
    """Return the arguments that are a name, or an attribute of one: what is called may be one."""
    found: set[tuple[str, str]] = set()
    for part in arguments or ():
        owner, *chain = [step for step in part if step.opname not in ("KW_NAMES", "PUSH_NULL")]
        if len(chain) < 2 and (_is_global(owner.opname) or owner.opname == "LOAD_DEREF"):
            if not chain:
                found.add((owner.argval, ""))
            elif chain[0].opname == "LOAD_ATTR":
                found.add((owner.argval, chain[0].argval))
    return found


def _arguments(steps: list[dis.Instruction], at: int) -> list[list[dis.Instruction]] | None:
    """Return the steps that make each argument of a call; None where that is not plain to see.

    Args:
        steps: the code.
        at: where what is called is loaded.
    """
    depth = _effect(steps[at])
    if not _is_global(steps[at].opname):  # it replaces its owner
        depth += 1
        # In 3.11 and 3.12 its owner stands on a NULL, which comes later in 3.13 and was not before.
        depth += depth == 1 and (3, 11) <= sys.version_info < (3, 13)
    for end in range(at + 1, len(steps)):
        step = steps[end]
        if "JUMP" in step.opname or step.opname.startswith(("FOR_", "RETURN", "SETUP")):
            return None
        depth += _effect(step)
        if depth == 1 and step.opname in _CALLS:
            named = step.opname in ("CALL_FUNCTION_KW", "CALL_KW")  # after a tuple of names
            last = end - 1 if named or steps[end - 1].opname == "PRECALL" else end
            return _split(steps[at + 1 : last], step.arg or 0)
        if depth < 1:
            return None
    return None


def _effect(step: dis.Instruction) -> int:
    """Return by how much a step makes the stack higher."""
    return dis.stack_effect(step.opcode, step.arg if step.opcode >= dis.HAVE_ARGUMENT else None)


def _split(steps: list[dis.Instruction], count: int) -> list[list[dis.Instruction]] | None:
    """Cut code into expressions, each of which leaves one thing on the stack."""
    parts: list[list[dis.Instruction]] = []
    end = len(steps)
    for _ in range(count):
        begin, height = end, 0
        while height < 1 and begin > 0:
            begin -= 1
            height += _effect(steps[begin])
        if height != 1:
            return None
        parts.insert(0, steps[begin:end])
        end = begin
    return parts
