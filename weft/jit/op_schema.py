"""What a graph must know of the ops that its nodes call, read off the registry."""

from __future__ import annotations

import re
from typing import NamedTuple

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .graph import Node, Value

__all__ = [
    "OpSchema",
    "Param",
    "is_pointwise",
    "is_python",
    "is_random",
    "is_static",
    "is_view",
    "schema_of",
    "shares",
    "writes",
    "written",
]  # fmt: skip


class Param(NamedTuple):
    """A parameter of an op: "Tensor? weight" may be None, "Tensor?[] indices" may hold it."""

    kind: str
    name: str
    nullable: bool
    optional: bool  # it has a default


class OpSchema(NamedTuple):
    """What is declared of an op."""

    params: tuple[Param, ...]
    results: int  # -1: as many as there are
    writes: tuple[
        int, ...
    ]  # the arguments into whose memory it writes, even if it is not called in place
    static: bool  # a static program can hold it: its shapes follow from those it is given
    random: bool
    pointwise: bool
    view: bool  # what it gives may lie in the memory of what it takes
    python: bool


_PARAM = re.compile(r"([\w|]+(?:\?|\.\.\.|\[\])*) (\w+)(=)?")
_STEPS = {"sgd_step_": (0, 2), "adam_step_": (0, 2, 3, 4, 5)}  # lists that they write to


def _facts(row: dict[str, Any]) -> OpSchema:
    name, signature = row["name"], row["signature"]
    given, _, made = signature.partition("(")[2].rpartition(") -> ")
    params = tuple(
        Param(kind.removesuffix("?"), name, kind.endswith("?"), bool(default))
        for kind, name, default in _PARAM.findall(given)
    )
    inplace = name.partition(".")[0].endswith("_")
    return OpSchema(
        params=params,
        results=-1 if "[]" in made or name == "fused" else made.count("Tensor"),
        writes=_STEPS.get(name, (0,) if inplace else ()),
        static=bool(row["static"]),
        random="Generator" in signature or name.startswith("dropout"),
        pointwise=row["pointwise"],
        view=row["view"] or row["composed"] or row["python"],
        python=row["python"],
    )


_known: dict[str, OpSchema] = {}


def schema_of(op: str) -> OpSchema:
    """Return what is declared of an op; raise ValueError if there is none of that name.

    >>> [(p.kind, p.name) for p in weft.jit.op_schema.schema_of("clamp").params]
    [('Tensor', 'input'), ('Tensor|Scalar', 'min'), ('Tensor|Scalar', 'max')]
    """
    found = _known.get(op)
    if found is None:
        if not _C._has_op(op):
            raise ValueError(f"graph: there is no op named '{op}'")
        # Those that Python declares come later than others.
        _known.update((row["name"], _facts(row)) for row in _C._ops() if row["name"] not in _known)
        found = _known[op]
    return found


def is_random(node: Node) -> bool:
    """Say whether a node draws random numbers: it can be neither left out nor shared."""
    if node.graphs:
        return any(is_random(inner) for graph in node.graphs for inner in graph)
    return schema_of(node.op).random


def is_static(node: Node) -> bool:
    """Say whether a static program can hold a node: its shapes follow from those it is given."""
    return not node.graphs and schema_of(node.op).static


def is_pointwise(node: Node) -> bool:
    """Say whether each element of what a node gives follows from one of each of its arguments."""
    return not node.graphs and schema_of(node.op).pointwise


def is_python(node: Node) -> bool:
    """Say whether a node calls an op that was declared in Python, or functions of the user."""
    return bool(node.graphs) or schema_of(node.op).python


def is_view(node: Node) -> bool:
    """Say whether what a node gives may lie in the memory of what it takes."""
    return not node.graphs and schema_of(node.op).view


def writes(node: Node) -> bool:
    """Say whether a node writes into the memory of an argument."""
    return node.inplace or (not node.graphs and bool(schema_of(node.op).writes))


def shares(node: Node) -> bool:
    """Say whether what a node gives may lie in memory that was there: it is a view, or writes."""
    return writes(node) or is_view(node)


def written(node: Node) -> list[Value]:
    """Return the values into whose memory a node writes.

    >>> g = weft.jit.trace(lambda x: (x * 2).add_(1), (weft.ones(2),)).graph
    >>> [weft.jit.op_schema.written(node) for node in g]
    [[], [%v1: float32[2]]]
    """
    if node.op in _STEPS:
        return [v for i in _STEPS[node.op] for v in node.args[i]]
    return node.inputs()[:1] if writes(node) else []


# ---- what arguments may be -----------------------------------------------------------------------

_NUMBERS = (int, float, bool, complex)
_PLAIN: dict[str, tuple[type, ...]] = {
    "Scalar": _NUMBERS, "int": (int,), "float": (float, int), "bool": (bool,), "str": (str,),
    "dtype": (weft.dtype,),
}  # fmt: skip


def misfit(node: Node) -> str:
    """Say how arguments and results of a node differ from what its op declares; nothing if they do not.

    >>> g = weft.jit.trace(lambda x: x.clamp(0, 1), (weft.ones(2),)).graph
    >>> weft.jit.op_schema.misfit(g.nodes[0])
    ''
    >>> g.nodes[0].args = (1, 0)
    >>> weft.jit.op_schema.misfit(g.nodes[0])
    'input is 1, not a Tensor'
    """
    declared = schema_of(node.op)
    if len(node.args) > len(declared.params):
        return f"it takes {len(declared.params)} arguments, got {len(node.args)}"
    for p, a in zip(declared.params, node.args):
        if not _fits(p, a):
            return f"{p.name} is {a!r:.100}, not a {p.kind}"
    for p in declared.params[len(node.args) :]:
        if not p.optional:
            return f"{p.name} is missing"
    if declared.results not in (-1, len(node.outputs)):
        return f"it has {declared.results} results, got {len(node.outputs)}"
    return ""


def _fits(p: Param, a: Any) -> bool:
    from .graph import Live, Value

    kind = type(a)
    if kind is Value:
        return p.kind in ("Tensor", "Tensor|Scalar")
    if a is None:
        return p.nullable or p.optional
    if p.kind in ("Tensor[]", "Tensor?[]"):
        return kind is list and all(type(x) is Value or (x is None and "?" in p.kind) for x in a)
    if p.kind in ("int[]", "int..."):
        return kind in (tuple, list) and all(type(x) is int for x in a)
    if p.kind == "Tensor|Scalar":
        return isinstance(a, _NUMBERS)
    if kind is Live:
        return p.kind in ("float", "Scalar")
    wanted = _PLAIN.get(p.kind)
    return p.kind != "Tensor" if wanted is None else isinstance(a, wanted)
