"""Definitions as the text of a stub: parameters, annotations, overloads, docstrings."""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import dataclass, field
from typing import Any

WIDTH = 100

# Inside ``class Tensor`` and in ``weft`` itself `int`, `float` and others are weft's own names.
_NAMES = {
    "int": "_int",
    "float": "_float",
    "bool": "_bool",
    "complex": "_complex",
    "str": "_str",
    "dtype": "_DType",
    "DType": "_DType",
    "device": "_Device",
    "layout": "_Layout",
    "memory_format": "_MemoryFormat",
    "Number": "_Number",
    "Ints": "_Ints",
    "type": "builtins.type",
    "range": "builtins.range",
}
_BY_NAME = {  # what a parameter takes whose annotation is Any
    "dim": "_Ints | None",
    "dims": "_Ints | None",
    "dtype": "_DType | None",
    "device": "_Device | None",
    "layout": "_Layout | None",
    "memory_format": "_MemoryFormat | None",
    "generator": "Generator | None",
    "size": "_Ints",
    "shape": "_Ints",
    "out": "Tensor | None",
    "pin_memory": "_bool",
    "requires_grad": "_bool",
    "start": "_Operand",
    "end": "_Operand",
    "step": "_Operand",
    "other": "Tensor",
    "q": "Tensor | _float | Sequence[_float]",
    "test_elements": "_Operand",
    "elements": "_Operand",
    "fill_value": "_Number",
    "dx": "_Number",
    "stride": "_Ints | None",
    "output_size": "_int | Sequence[_int | None] | None",
    "bins": "_int | Tensor | Sequence[_int] | Sequence[Tensor]",
}


@dataclass
class Definition:
    """One ``def`` of a stub, or one overload of it."""

    parameters: list[str]
    returns: str
    doc: str = ""
    named_tuples: dict[str, tuple[str, ...]] = field(default_factory=dict)


def annotation(text: Any, name: str = "") -> str:
    """Return an annotation with the names that a stub has for the types."""
    if text is inspect.Parameter.empty or str(text) in ("Any", "typing.Any"):
        return _BY_NAME.get(name, "Any")
    text = text if isinstance(text, str) else getattr(text, "__name__", str(text))
    pieces = re.split(r"(\"[^\"]*\"|'[^']*')", text)
    return "".join(
        piece if i % 2 else re.sub(r"(?<![\w.])\w+", lambda m: _NAMES.get(m[0], m[0]), piece)
        for i, piece in enumerate(pieces)
    )


def default(value: Any) -> str:
    """Return the text of a default; ``...`` for one that is no plain value."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return (
            repr(value) if value == value and value not in (float("inf"), -float("inf")) else "..."
        )
    if isinstance(value, tuple) and all(isinstance(v, (int, float)) for v in value):
        return repr(value)
    return "..."


def parameters_of(signature: inspect.Signature) -> list[str]:
    """Return the parameters of a Python function as a stub writes them."""
    found, starred = [], False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not starred:
            found.append("*")
            starred = True
        prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        starred = starred or prefix == "*"
        text = f"{prefix}{p.name}: {annotation(p.annotation, p.name)}"
        if p.default is not p.empty:
            text += f" = {default(p.default)}"
            if p.default is None and "None" not in text.partition("=")[0] and ": Any" not in text:
                text = text.replace(" = None", " | None = None")
        found.append("self" if p.name == "self" else text)
        if p.kind is p.POSITIONAL_ONLY:
            found.append("/")
    while found.count("/") > 1:
        found.remove("/")
    return found


def docstring(doc: str, indent: str) -> list[str]:
    """Return a docstring as lines; an empty list without one."""
    doc = inspect.cleandoc(doc).strip().replace("\\", "\\\\").replace('"""', "'''")
    if not doc:
        return []
    if doc.endswith('"'):
        doc += " "
    if "\n" not in doc:
        return [f'{indent}"""{doc}"""']
    return f'{textwrap.indent(f"""{chr(34) * 3}{doc}""", indent)}\n{indent}"""'.split("\n")


def definition(name: str, overloads: list[Definition], indent: str = "") -> str:
    """Return the text of a function or method and of its overloads; the first has the doc."""
    lines = []
    for one in overloads:
        if len(overloads) > 1:
            lines.append(f"{indent}@overload")
        head = f"{indent}def {name}({', '.join(one.parameters)}) -> {one.returns}:"
        if len(head) > WIDTH - 4:
            inner = f",\n{indent}    ".join(one.parameters)
            head = f"{indent}def {name}(\n{indent}    {inner},\n{indent}) -> {one.returns}:"
        doc = docstring(one.doc, indent + "    ")
        lines += [head, *doc] if doc else [head + " ..."]
    return "\n".join(line.rstrip() for line in lines)
