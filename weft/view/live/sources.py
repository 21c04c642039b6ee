"""Lines of the program around the ones that made something, to be shown as code."""

from __future__ import annotations

import linecache
import re

__all__ = ["excerpt", "place"]

AROUND, LONGEST = 4, 200
_PLACE = re.compile(r"^(.*):(\d+)(?:, in (.*))?$", re.DOTALL)


def place(line: str) -> tuple[str, int, str]:
    """Split "net.py:12, in forward" into file, number and function.

    >>> from weft.view.live.sources import place
    >>> place("net.py:12, in forward")
    ('net.py', 12, 'forward')
    """
    found = _PLACE.match(line)
    return (found[1], int(found[2]), found[3] or "") if found else (line, 0, "")


def excerpt(line: str) -> dict[str, object]:
    """Return the code around a line: its file, its number, the number of the first line, the lines.

    >>> from weft.view.live.sources import excerpt
    >>> excerpt("nowhere.py:3")["code"]
    []
    """
    file, number, function = place(line)
    first = max(number - AROUND, 1)
    code = [
        linecache.getline(file, n).rstrip("\n")[:LONGEST] for n in range(first, number + AROUND + 1)
    ]
    while code and not code[-1]:
        code.pop()
    return {"file": file, "number": number, "function": function, "first": first, "code": code}
