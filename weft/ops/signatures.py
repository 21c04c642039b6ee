"""The schemas of native ops, taken apart, and the signatures that ``inspect`` and editors show.

A schema is the text in which an op is declared, such as ``sum.dim(Tensor input, int[]? dim,
bool keepdim=False, *, dtype? dtype=None) -> Tensor``.
"""

from __future__ import annotations

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from inspect import Parameter, Signature
    from typing import Any

__all__ = ["OpParameter", "Schema", "python_type", "rows_of", "signature_of"]

_TYPES = {
    "Tensor": "Tensor",
    "Tensor|Scalar": "Tensor | Number",
    "Scalar": "Tensor | Number",
    "int": "int",
    "int[]": "int | Sequence[int]",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "dtype": "dtype",
    "Generator": "Generator",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
}
_OBJECTS = {"memory_format": "memory_format"}  # parameters that a schema calls objects


def python_type(declared: str, name: str = "") -> str:
    """Return the annotation for a type of a schema.

    >>> python_type("int[]?"), python_type("int..."), python_type("object?", "memory_format")
    ('int | Sequence[int] | None', 'int', 'memory_format | None')
    """
    plain = declared.removesuffix("...").removesuffix("?")
    found = _OBJECTS[name] if plain == "object" else _TYPES[plain]
    return f"{found} | None" if declared.endswith("?") else found


class OpParameter:
    """One parameter of an op: its name, the type in the schema, the default's text or None."""

    def __init__(self, text: str, keyword_only: bool) -> None:
        """Read ``int dim=0``.

        >>> OpParameter("int[]? dim=None", False).default
        'None'
        """
        declared, _, default = text.partition("=")
        self.type, _, self.name = declared.strip().rpartition(" ")
        self.default = default or None
        self.keyword_only = keyword_only

    @property
    def spread(self) -> bool:
        """Whether it takes all positional arguments that follow.

        >>> OpParameter("int... size", False).spread
        True
        """
        return self.type.endswith("...")


class Schema:
    """A schema: the name, the parameters, the types and names of the results.

    >>> schema = Schema("sort(Tensor input, int dim=-1) -> (Tensor values, Tensor indices)")
    >>> schema.name, [p.name for p in schema.parameters], schema.results
    ('sort', ['input', 'dim'], [('Tensor', 'values'), ('Tensor', 'indices')])
    """

    def __init__(self, text: str) -> None:
        """Take the text apart."""
        head, _, returns = text.rpartition("->")
        self.name, _, inside = head.strip().removesuffix(")").partition("(")
        self.parameters: list[OpParameter] = []
        keyword_only = False
        for part in _split(inside):
            if part == "*":
                keyword_only = True
            else:
                self.parameters.append(OpParameter(part, keyword_only))
        returns = returns.strip()
        parts = returns[1:-1].split(",") if returns.startswith("(") else [returns]
        words = [part.split() for part in parts]
        self.results = [(word[0], word[1] if len(word) > 1 else "") for word in words]


def _split(inside: str) -> Iterator[str]:
    """Split parameters at commas outside of brackets."""
    depth, part = 0, ""
    for letter in inside:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            yield part.strip()
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip()


_rows: dict[str, list[dict[str, Any]]] = {}


def rows_of(name: str) -> list[dict[str, Any]]:
    """Return the overloads behind a native function or method, as the core tries them.

    >>> [row["name"] for row in rows_of("max")]
    ['max', 'max.other', 'max.dim']
    """
    if not _rows or name not in _rows:  # primitives are declared as modules are imported
        _rows.clear()
        for row in _C._ops():
            aliases = [alias.strip() for alias in row["aliases"].split(",") if alias.strip()]
            for known in () if row["hidden"] else (row["base"], *aliases):
                rows = _rows.setdefault(known, [])
                rows.insert(0 if row["name"] == row["base"] else len(rows), row)
    if name in _rows:
        return _rows[name]
    twin = name.removesuffix("_")
    return [row for row in _rows.get(twin, ()) if twin != name and row["inplace"]]


_COMMON = {"device": None, "layout": None, "requires_grad": False, "pin_memory": False}
_CONSTANTS = {"None": None, "True": True, "False": False}


def default_of(p: OpParameter) -> Any:
    """Return the value of a parameter's default, or ``...`` without one.

    >>> default_of(OpParameter("int[] dim=(-2, -1)", False))
    (-2, -1)
    """
    from ast import literal_eval

    if p.default is None:
        return ...
    return _CONSTANTS[p.default] if p.default in _CONSTANTS else literal_eval(p.default)


def _is_twin(name: str, rows: list[dict[str, Any]]) -> bool:
    """Say whether a name is that of an in-place twin, which takes no out=."""
    return name.endswith("_") and any(row["inplace"] for row in rows)


def extras_of(name: str) -> dict[str, Any]:
    """Return the keywords that a native op takes beside its own parameters, and their defaults.

    >>> list(extras_of("zeros")), list(extras_of("exp")), list(extras_of("exp_"))
    (['out', 'device', 'layout', 'requires_grad', 'pin_memory'], ['out'], [])
    """
    rows = rows_of(name)
    found: dict[str, Any] = {}
    if any(row["out"] for row in rows) and not _is_twin(name, rows):
        found["out"] = None
    return {**found, **_COMMON} if any(row["creation"] for row in rows) else found


def _joined(schemas: list[Schema]) -> list[Parameter]:
    """Return the parameters of all overloads; ``...`` is the default of what only some take."""
    from inspect import Parameter
    from keyword import iskeyword

    names = [{p.name for p in schema.parameters} for schema in schemas]
    found: dict[str, Parameter] = {}
    spread = False
    for schema in schemas:
        for p in schema.parameters:
            if p.name in found:
                continue
            by_name = p.keyword_only or spread
            same = [q for other in schemas for q in other.parameters if q.name == p.name]
            default: Any = next((default_of(q) for q in same if q.default is not None), ...)
            everywhere = all(p.name in known for known in names)
            late = any(q.default is not Parameter.empty for q in found.values())
            if p.spread or (default is ... and everywhere and (not late or by_name)):
                default = Parameter.empty
            own: Any = Parameter.KEYWORD_ONLY if by_name else Parameter.POSITIONAL_OR_KEYWORD
            own = Parameter.VAR_POSITIONAL if p.spread else own
            legal = p.name + "_" if iskeyword(p.name) else p.name
            found[p.name] = Parameter(
                legal, own, default=default, annotation=python_type(p.type, p.name)
            )
            spread = spread or p.spread
    return list(found.values())


def signature_of(op: Any) -> Signature:
    """Return the signature of a native op; ``inspect.signature(weft.softmax)`` calls this.

    Overloads are joined: a default of ``...`` marks what only some of them take.

    >>> import inspect, weft
    >>> print(inspect.signature(weft.exp))
    (input: 'Tensor', *, out=None) -> 'Tensor'
    """
    from inspect import Parameter, Signature

    schemas = [Schema(row["signature"]) for row in rows_of(op.__name__)]
    parameters = _joined(schemas)
    for name, value in extras_of(op.__name__).items():
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=value))
    returns = {_returned(schema) for schema in schemas}
    ordered = sorted(parameters, key=lambda p: p.kind)  # stable
    return Signature(ordered, return_annotation=" | ".join(sorted(returns)))


def _returned(schema: Schema) -> str:
    if len(schema.results) > 1:
        return f"tuple[{', '.join('Tensor' for _ in schema.results)}]"
    return "tuple[Tensor, ...]" if schema.results[0][0] == "Tensor[]" else "Tensor"
