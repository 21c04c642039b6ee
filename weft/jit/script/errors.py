"""What goes wrong in scripted code, with the user's file, line and a caret."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .tree import Place

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


def shown(function: Any, place: Place) -> str:
    """Return a place of a function as text: file, line, the line itself and a caret below it."""
    number, begin, end = place
    at = number - function.first
    line = function.lines[at] if 0 <= at < len(function.lines) else ""
    text, blank = line.strip(), len(line) - len(line.lstrip())
    head = f'  File "{function.file}", line {number}, in {function.name}'
    if not text:
        return head
    begin = min(max(begin - blank, 0), len(text))
    width = max(min(end - blank, len(text)) - begin, 1)
    return f"{head}\n    {text}\n    {' ' * begin}{'^' * width}"


def note_place(e: Exception, function: Any, place: Place | None) -> None:
    """Add to the message of an exception where in a scripted function it came up."""
    count = getattr(e, "_script_lines", 0)
    if place is None or count > _MOST_LINES:
        return
    e._script_lines = count + 1  # type: ignore[attr-defined]
    text = shown(function, place) if count < _MOST_LINES else "  ..."
    head = "" if count else "\nin scripted code:"
    message = e.args[0] if e.args else ""
    if len(e.args) <= 1 and isinstance(message, str):
        if isinstance(e, KeyError) and not count:  # shows its message quoted, as a key
            message = f"{message!r}"
        e.args = (f"{message}{head}\n{text}",)
    elif hasattr(e, "add_note"):
        e.add_note(f"{head}\n{text}".strip("\n"))
