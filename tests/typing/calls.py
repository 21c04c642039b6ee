"""A program with every valid call of every sample row, for type checkers to judge.

What a call is given is an oracle of its own: the rows know nothing of the stubs, and the tests of
the ops run the same calls.
"""

from __future__ import annotations

import keyword
from typing import Any

import numpy as np
from samples import ROWS, F, Row, S

import weft

HEAD = """\
import numpy as np
import weft
from weft import Tensor, inf, nan

def calls(t: Tensor, generator: weft.Generator) -> None:
"""


def text(value: Any) -> str:
    """An argument as an expression of the type that it has."""
    if isinstance(value, np.ndarray):
        return "t"
    if isinstance(value, (np.dtype, type)):
        return "weft.float32"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, (list, tuple)) and value:
        inside = ", ".join(map(text, value))
        brackets = "[]" if isinstance(value, list) else "()"
        return brackets[0] + inside + ("," if brackets == "()" else "") + brackets[1]
    if isinstance(value, slice):
        return f"slice({value.start}, {value.stop}, {value.step})"
    if isinstance(value, (weft.dtype, weft.memory_format, weft.layout)):
        return str(value).replace("torch.", "weft.")
    return repr(value)


def call(row: Row, sample: S, method: bool) -> str | None:
    """One call as a line; None where the op has no such form, or a text cannot say it."""
    args = [text(a) for a in sample.args]
    args += [f"{k}={text(v)}" for k, v in sample.kwargs.items()]
    line = ", ".join(args)
    if "<" in line or "Ellipsis" in line or any(keyword.iskeyword(k) for k in sample.kwargs):
        return None
    if not method:
        place = f"weft.{row.name}"
        return None if row.name.startswith("_") or not exists(place) else f"{place}({line})"
    fits = args and args[0] == "t" and row.method and not isinstance(sample, F)
    if not fits or "." in row.name or not callable(getattr(weft.Tensor, row.name, 0)):
        return None
    return f"t.{row.name}({', '.join(args[1:])})"


def exists(dotted: str) -> bool:
    """Whether weft has a public function of that name."""
    found: Any = weft
    for part in dotted.split(".")[1:]:
        found = getattr(found, part, None)
    return callable(found) and not isinstance(found, (weft.dtype, type(weft)))


def program() -> str:
    """The program: one line a call, each behind the name of its row."""
    lines = []
    for row in ROWS.values():
        for sample in row.samples():
            forms = {call(row, sample, method) for method in (False, True)} - {None}
            lines += [f"    {line}  # {row.name}" for line in sorted(map(str, forms))]
    return HEAD + "\n".join(dict.fromkeys(lines)) + "\n"
