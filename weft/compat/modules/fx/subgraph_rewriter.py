"""Replacement of a pattern in a graph by something else."""

from __future__ import annotations

import copy
from typing import NamedTuple

from weft.nn import Module

from .graph import Graph
from .graph_module import GraphModule, _assign
from .node import Node
from .tracer import symbolic_trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """A place in a graph that a pattern fits: its last node, and which node is which."""

    anchor: Node
    nodes_map: dict[Node, Any]


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | GraphModule,
    replacement: Callable[..., Any] | GraphModule,
) -> list[Match]:
    """Replace each part of a graph that does what ``pattern`` does; return where that was.

    Both are functions or modules with the same number of parameters, which may stand for any
    values. What is inside of a match must not be used outside of it, and matches do not overlap.

    >>> gm = weft.fx.symbolic_trace(lambda x: weft.relu(x) + 1)
    >>> found = weft.fx.replace_pattern(gm, lambda a: weft.relu(a), lambda a: weft.neg(a))
    >>> len(found), gm(weft.ones(1))
    (1, tensor([0.]))
    """
    patterns, replacements = _graph_of(pattern), _graph_of(replacement)
    wanted = patterns.output_node().args[0]
    if isinstance(wanted, Node) and wanted.op == "placeholder":
        raise ValueError(
            "replace_pattern: the pattern returns its parameter and would fit anywhere"
        )
    matches: list[Match] = []
    taken: set[Node] = set()
    for node in reversed(gm.graph.nodes):
        match = _match_at(node, patterns, taken)
        if match is not None:
            taken.update(_inside(match))
            matches.append(match)
    matches.reverse()
    for module in (pattern, replacement):
        _take_parts(gm, module)
    renamed: dict[Node, Any] = {}
    for match in matches:
        _replace(gm, match, patterns, replacements, renamed)
    gm.recompile()
    return matches


def _graph_of(f: Any) -> Graph:
    if isinstance(f, GraphModule):
        return f.graph
    if isinstance(f, Graph):
        return f
    return symbolic_trace(f).graph


def _take_parts(gm: GraphModule, other: Any) -> None:
    """Let the module have the submodules and tensors that a replacement reads."""
    if not isinstance(other, Module):
        return
    for node in _graph_of(other).nodes:
        if node.op in ("call_module", "get_attr"):
            target, found = str(node.target), gm
            for atom in target.split("."):
                found = getattr(found, atom, None)  # type: ignore[assignment]
            if found is None:
                owner: Any = other
                for atom in target.split("."):
                    owner = getattr(owner, atom)
                _assign(gm, target, copy.deepcopy(owner))


# ---- matching -------------------------------------------------------------------------------------


def _inside(match: Match) -> list[Node]:
    """Return the nodes of a match that are replaced, in no order."""
    return [
        n for p, n in match.nodes_map.items()
        if p.op not in ("placeholder", "output") and isinstance(n, Node)
    ]  # fmt: skip


def _match_at(node: Node, pattern: Graph, taken: set[Node]) -> Match | None:
    """Return the match whose last node this is."""
    output = pattern.output_node()
    results = [n for n in output.all_input_nodes if n.op != "placeholder"]
    last = results[-1] if results else None
    if last is None:
        return None
    found: dict[Node, Any] = {}
    if not _fits(last, node, found, taken):
        return None
    if any(not _fits_any(p, pattern, found, taken) for p in results[:-1]):
        return None
    returned = {found[p] for p in results}
    inner = {n for p, n in found.items() if p.op != "placeholder"}
    for n in inner - returned:
        if any(user not in inner for user in n.users):
            return None
    return Match(node, found)


def _fits_any(p: Node, pattern: Graph, found: dict[Node, Any], taken: set[Node]) -> bool:
    """Say whether a further result of the pattern is one of the users of what was found."""
    if p in found:
        return True
    near = {u for n in found.values() if isinstance(n, Node) for u in n.users}
    for candidate in sorted(near, key=lambda n: n._position()):
        attempt = dict(found)
        if _fits(p, candidate, attempt, taken):
            found.update(attempt)
            return True
    return False


def _fits(p: Node, n: Any, found: dict[Node, Any], taken: set[Node]) -> bool:
    """Say whether a node of the pattern fits a node or value; note in ``found`` what is what."""
    if p in found:
        return found[p] is n or (not isinstance(n, Node) and found[p] == n)
    if p.op == "placeholder":
        found[p] = n
        return True
    if not isinstance(n, Node) or n in taken or p.op != n.op or n in found.values():
        return False
    if not _same_target(p, n):
        return False
    found[p] = n
    left, right = _plain_arguments(p, n)
    return _arguments_fit(left, right, found, taken)


def _same_target(p: Node, n: Node) -> bool:
    return bool(p.target == n.target)


def _plain_arguments(p: Node, n: Node) -> tuple[Any, Any]:
    """Return the arguments of both; by their names if they were passed in different ways."""
    if len(p.args) == len(n.args) and set(p.kwargs) == set(n.kwargs):
        return (p.args, p.kwargs), (n.args, n.kwargs)
    return (p.args, dict(p.kwargs)), (n.args, dict(n.kwargs))


def _arguments_fit(a: Any, b: Any, found: dict[Node, Any], taken: set[Node]) -> bool:
    if isinstance(a, Node):
        return _fits(a, b, found, taken)
    if isinstance(b, Node):
        return False
    if isinstance(a, (tuple, list)):
        same = isinstance(b, (tuple, list)) and len(a) == len(b)
        return same and all(_arguments_fit(x, y, found, taken) for x, y in zip(a, b))
    if isinstance(a, dict):
        same = isinstance(b, dict) and a.keys() == b.keys()
        return same and all(_arguments_fit(a[k], b[k], found, taken) for k in a)
    if isinstance(a, slice):
        parts = ("start", "stop", "step")
        return isinstance(b, slice) and all(
            _arguments_fit(getattr(a, k), getattr(b, k), found, taken) for k in parts
        )
    return type(a) is type(b) and bool(a == b)


# ---- replacement ----------------------------------------------------------------------------------


def _replace(
    gm: GraphModule, match: Match, pattern: Graph, new: Graph, renamed: dict[Node, Any]
) -> None:
    holes = [n for n in pattern.nodes if n.op == "placeholder"]
    parameters = [n for n in new.nodes if n.op == "placeholder"]
    if len(holes) != len(parameters):
        raise ValueError(
            f"replace_pattern: the pattern has {len(holes)} parameters, the replacement "
            f"{len(parameters)}"
        )
    values: dict[Node, Any] = {}
    for hole, parameter in zip(holes, parameters):
        value = match.nodes_map.get(hole)
        while isinstance(value, Node) and value in renamed:
            value = renamed[value]
        values[parameter] = value
    inside = sorted(_inside(match), key=lambda n: n._position())
    with gm.graph.inserting_before(match.anchor):
        result = gm.graph.graph_copy(new, values)
    outputs = [match.nodes_map[n] for n in pattern.output_node().all_input_nodes]
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(outputs) != len(results):
        raise ValueError(
            f"replace_pattern: the pattern has {len(outputs)} results, the replacement {len(results)}"
        )
    for old, made in zip(outputs, results):
        renamed[old] = made
        old.replace_all_uses_with(made)
    for node in reversed(inside):
        gm.graph.erase_node(node)
