"""What goes wrong in scripted code, with the user's file, line and a caret."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from .tree import Function, Place

__all__ = ["ScriptError"]

_MOST_LINES = 8  # of calls within calls that a message shows


class ScriptError(RuntimeError):
    """Source that cannot be scripted: says where, what it is, and what to write instead.

    >>> @weft.jit.script  # doctest: +ELLIPSIS
    ... def f(x):
    ...     return eval("x")
    Traceback (most recent call last):
    weft.jit.script.errors.ScriptError: f: ...
    """


def shown(file: str, name: str, line: str, place: Place) -> str:
    """Return a place as text: file, line, the line itself and a caret below it."""
    number, begin, end = place
    blank = len(line) - len(line.lstrip())
    text = line.strip()
    head = f'  File "{file}", line {number}, in {name}'
    if not text:
        return head
    begin = min(max(begin - blank, 0), len(text))
    width = max(min(end - blank, len(text)) - begin, 1)
    return f"{head}\n    {text}\n    {' ' * begin}{'^' * width}"


def note_place(e: Exception, function: Function, trace: TracebackType | None) -> None:
    """Add to the message of an exception where in a scripted function it came up.

    The closures of ``evaluate.py`` and ``run.py`` that may fail have a parameter ``at``: the last
    one in this function's part of the traceback is the place.
    """
    place: Any = None
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name == "run_function" and place is not None:
            break
        found = frame.f_locals.get("at") if frame.f_code.co_name == "run" else None
        place = found if found is not None else place
        trace = trace.tb_next
    if place is None:
        return
    count = getattr(e, "_script_lines", 0)
    try:
        e._script_lines = count + 1  # type: ignore[attr-defined]
    except AttributeError:
        return
    if count > _MOST_LINES:
        return
    text = shown(function.file, function.name, function.line(place), place)
    if count == _MOST_LINES:
        text = "  ..."
    head = "" if count else "\nin scripted code:"
    message = e.args[0] if e.args else ""
    if len(e.args) <= 1 and isinstance(message, str):
        if isinstance(e, KeyError) and not count:  # shows its message quoted, as a key
            message = f"{message!r}"
        e.args = (f"{message}{head}\n{text}",)
    elif hasattr(e, "add_note"):
        e.add_note(f"{head}\n{text}".strip("\n"))
