"""Where a number goes that ``item()`` gives: only to the caller of the function, or elsewhere too.

The instructions that follow are gone through up to the ``return``, with what each takes from the
stack and puts there. Whatever takes the number, except what builds a result, may decide by it.
"""

from __future__ import annotations

import builtins
import dis
import functools
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from typing import Any

__all__ = ["escape_of"]

# What stands on the stack, or in a variable: where in it the number is, if it is there.
_Item = tuple[tuple["Any", ...], ...]
_NONE: _Item = ()
_ITSELF: _Item = ((),)

_IDLE = {"CACHE", "EXTENDED_ARG", "KW_NAMES", "NOP", "RESUME"}
_TAKES_NOTHING = (
    "LOAD_CLOSURE",
    "LOAD_CONST",
    "LOAD_DEREF",
    "LOAD_FAST",
    "LOAD_GLOBAL",
    "PUSH_NULL",
)
_TAKES_ONE = ("LOAD_ATTR", "LOAD_METHOD", "UNPACK_SEQUENCE")
_GIVES_ONE = (
    "BINARY_",
    "BUILD_",
    "CALL",
    "COMPARE_OP",
    "CONTAINS_OP",
    "INPLACE_",
    "IS_OP",
    "UNARY_",
)
_GIVES_NOTHING = ("DELETE_", "POP_TOP", "PRECALL", "STORE_")
_PLACED = {"BUILD_TUPLE", "BUILD_LIST"}
# Code that has these can see the variables of a function without naming them.
_LOOKING = {"_getframe", "currentframe", "dir", "eval", "exec", "locals", "stack", "vars"}


class Escape(NamedTuple):
    """How a number leaves a function."""

    places: _Item  # in what it returns: indices and keys, from the outermost one
    at_once: bool  # nothing is done in between


def escape_of(frame: types.FrameType) -> Escape | None:
    """Return where in the result the number is that a function has just been given, if only there.

    >>> from sys import _getframe
    >>> from weft.jit.compile.escape import escape_of
    >>> class Reading:
    ...     def item(self):
    ...         return escape_of(_getframe(1))
    >>> f = lambda x, y: {"x": x.item(), "both": (y, x.item())}
    >>> [escape.places for escape in (f(Reading(), 1)["x"], f(Reading(), 1)["both"][1])]
    [(('x',),), (('both', 1),)]
    """
    code = frame.f_code
    steps, number = _instructions(code)
    if _LOOKING & {*code.co_names}:
        return None
    now = max(i for i, step in enumerate(steps) if step.offset <= frame.f_lasti)
    start = _start_of_number(steps, now, frame)
    if start < 0:
        return None
    guarded = _guarded(code)
    at_once = steps[now + 1].opname == "RETURN_VALUE"
    stack: list[Any] = [*_below(steps, start), (_ITSELF, None)]
    variables: dict[str, Any] = {}
    at = now + 1
    while at < len(steps):
        step = steps[at]
        if any(begin <= step.offset < end for begin, end in guarded):
            return None  # an error may lead elsewhere
        if step.opname == "RETURN_VALUE":
            return Escape(_pop(stack)[0], at_once)
        if step.opname == "RETURN_CONST":
            return Escape(_NONE, at_once)
        if step.opname == "JUMP_FORWARD":
            at = number[step.argval]
            continue
        if not _follow(step, stack, variables):
            return None
        at += 1
    return None


def _follow(step: dis.Instruction, stack: list[Any], variables: dict[str, Any]) -> bool:
    """Do what an instruction does; False if it takes the number, or is not known.

    Args:
        step: the instruction.
        stack: what it takes from and puts on: where the number is in each, and its value if it is
            a constant. What lies below all that was put there is something else.
        variables: those that have been set since.
    """
    name, arg = step.opname, step.arg or 0
    if name.startswith(("LOAD_FAST", "STORE_FAST")) and isinstance(step.argval, str):
        _use_variable(name, step.argval, stack, variables)
    elif name == "LOAD_CONST":
        stack.append((_NONE, step.argval))
    elif name in ("ROT_TWO", "SWAP"):
        _fill(stack, depth := arg if name == "SWAP" else 2)
        stack[-1], stack[-depth] = stack[-depth], stack[-1]
    elif name == "ROT_THREE":
        _fill(stack, 3)
        stack[-3:] = [stack[-1], *stack[-3:-1]]
    elif name in ("COPY", "DUP_TOP"):
        _fill(stack, depth := arg if name == "COPY" else 1)
        stack.append(stack[-depth])
    elif name in _PLACED:
        parts = [_pop(stack)[0] for _ in range(arg)][::-1]
        stack.append((_joined(range(arg), parts), None))
    elif name == "BUILD_CONST_KEY_MAP":
        keys = _pop(stack)[1]
        parts = [_pop(stack)[0] for _ in range(arg)][::-1]
        if any(part and type(key) is not str for key, part in zip(keys, parts)):
            return False
        stack.append((_joined(keys, parts), None))
    elif name == "BUILD_MAP":
        pairs = [(_pop(stack)[0], _pop(stack)) for _ in range(arg)][::-1]
        if any(key[0] or (part and type(key[1]) is not str) for part, key in pairs):
            return False
        stack.append((_joined([k[1] for _, k in pairs], [part for part, _ in pairs]), None))
    elif name == "POP_TOP":
        _pop(stack)
    else:
        effect = _effect(step)
        if effect is None or any(_pop(stack)[0] for _ in range(effect[0])):
            return False
        stack += [(_NONE, None)] * effect[1]
    return True


def _use_variable(name: str, variable: str, stack: list[Any], variables: dict[str, Any]) -> None:
    if name.startswith("STORE"):
        variables[variable] = _pop(stack)
    else:
        stack.append(variables.get(variable, (_NONE, None)))


def _joined(keys: Any, parts: list[_Item]) -> _Item:
    """Return where the number is in what is built of parts."""
    found = dict(zip(keys, parts))  # of two parts with the same key, the later one stays
    return tuple((key, *place) for key, part in found.items() for place in part)


def _pop(stack: list[Any]) -> Any:
    return stack.pop() if stack else (_NONE, None)


def _fill(stack: list[Any], depth: int) -> None:
    """Let the stack have so many items: those below are something else."""
    stack[:0] = [(_NONE, None)] * (depth - len(stack))


def _effect(step: dis.Instruction) -> tuple[int, int] | None:
    """Return how many items an instruction takes and gives, if that is known."""
    name = step.opname
    if name in _IDLE:
        return 0, 0
    with_arg = step.opcode >= dis.HAVE_ARGUMENT
    net = dis.stack_effect(step.opcode, step.arg if with_arg else None)
    if name.startswith(_TAKES_NOTHING):
        return 0, net
    if name in _TAKES_ONE:
        return 1, 1 + net
    if name.startswith(_GIVES_ONE):
        return 1 - net, 1
    return (-net, 0) if name.startswith(_GIVES_NOTHING) else None


def _start_of_number(steps: list[dis.Instruction], now: int, frame: types.FrameType) -> int:
    """Return where the call begins that ends here if it is one of ``item()``, ``float()``, ``int()``.

    Else -1: ``math.sqrt(x)`` and ``table[x]`` look at the number as well, and give another.
    """
    if not steps[now].opname.startswith("CALL"):
        return -1
    before = now - 1
    while before >= 0 and steps[before].opname in {"PRECALL", *_IDLE}:
        before -= 1
    if before >= 0 and steps[before].opname in ("LOAD_ATTR", "LOAD_METHOD") and not steps[now].arg:
        return _start_of(steps, before - 1) if steps[before].argval == "item" else -1
    start = _start_of(steps, before) - 1 if steps[now].arg == 1 else -1
    if start < 0 or steps[start].opname != "LOAD_GLOBAL":
        return -1
    name = steps[start].argval
    known = name in ("float", "int") and name not in frame.f_globals
    return start if known and getattr(builtins, name) in (float, int) else -1


def _start_of(steps: list[dis.Instruction], end: int) -> int:
    """Return where an expression begins that ends here; -1 if that is unknown."""
    wanted = 1
    for at in range(end, -1, -1):
        effect = _effect(steps[at])
        if effect is None or effect[1] > wanted or (effect[1] == 0 and at == end):
            return -1
        wanted += effect[0] - effect[1]
        if wanted == 0:
            return at
    return -1


def _below(steps: list[dis.Instruction], start: int) -> list[Any]:
    """Return what lies on the stack before an expression, as far as that is known."""
    found: list[Any] = []
    while (begin := _start_of(steps, start - 1)) >= 0:
        last = steps[start - 1]
        found.append((_NONE, last.argval if last.opname == "LOAD_CONST" else None))
        start = begin
    return found[::-1]


@functools.lru_cache(maxsize=1000)
def _instructions(code: types.CodeType) -> tuple[list[dis.Instruction], dict[int, int]]:
    """Return the instructions of a function, and the number of each by where it stands."""
    steps = [part for step in dis.get_instructions(code) for part in _parts(step)]
    return steps, {step.offset: i for i, step in reversed(list(enumerate(steps)))}


def _parts(step: dis.Instruction) -> list[dis.Instruction]:
    """Return the two instructions that one of Python 3.13 on variables stands for, or itself."""
    if step.opname not in ("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"):
        return [step]
    names = step.opname.replace("FAST_", "FAST ").split()
    return [
        step._replace(opname=name, opcode=dis.opmap[name], arg=0, argval=variable)
        for name, variable in zip(names, step.argval)
    ]


@functools.lru_cache(maxsize=1000)
def _guarded(code: types.CodeType) -> list[tuple[int, int]]:
    """Return where errors are caught, from one instruction up to another."""
    if hasattr(code, "co_exceptiontable"):
        entries: Any = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
        return [(entry.start, entry.end) for entry in entries]
    steps, _ = _instructions(code)
    return [(s.offset, s.argval) for s in steps if s.opname.startswith("SETUP_")]
