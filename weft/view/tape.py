"""``make_dot``: the graph that made a tensor, from what autograd recorded."""

from __future__ import annotations

import sys

import weft

from .graph import Graph, Node
from .names import Names, is_parameter, split_origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from weft import Tensor

__all__ = ["make_dot"]

LEAF = "AccumulateGrad"


def make_dot(
    var: Any,
    params: Any = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
    *,
    depth: int | None = None,
) -> Graph:
    """Return the graph that made ``var``: a tensor, or a list, tuple or dict of tensors.

    It holds what a gradient can flow through: ops, and the leaves that require one. Tensors that
    have no name in ``params`` are shown under their path in a module, or the name of a variable of
    the caller, where there is one.

    Args:
        var: what to begin from.
        params: names of tensors: a dict, pairs as ``named_parameters()`` gives them, or a module.
        show_attrs: show the arguments of ops that are no tensors.
        show_saved: show the tensors that ops keep for backward.
        max_attr_chars: how much of an argument to show.
        depth: show modules of this depth as one node each; None shows every op.

    >>> layer = weft.nn.Linear(3, 2)
    >>> g = weft.autograd.make_dot(layer(weft.ones(1, 3)).sum(), params=layer)
    >>> [(n.kind, n.label) for n in g.nodes]
    [('parameter', 'weight'), ('parameter', 'bias'), ('op', 'LinearBackward0'),
     ('op', 'SumBackward0'), ('output', 'output')]
    """
    roots = _roots(var)
    names = Names()
    names.take(params, "make_dot")
    walk = _Walk(roots)
    walk.name_leaves(names, sys._getframe(1))
    graph = walk.build(names, show_attrs, show_saved, max_attr_chars)
    return graph if depth is None else graph.collapse(depth)


def _roots(var: Any) -> list[tuple[str, Tensor]]:
    if isinstance(var, weft.Tensor):
        return [("output", var)]
    if isinstance(var, dict):
        pairs = [(str(name), t) for name, t in var.items()]
    elif isinstance(var, (list, tuple)):
        pairs = [(f"output {i}", t) for i, t in enumerate(var)]
    else:
        raise TypeError(f"make_dot: takes a Tensor or several, not {type(var).__name__}")
    for name, t in pairs:
        if not isinstance(t, weft.Tensor):
            raise TypeError(f"make_dot: {name} must be a Tensor, not {type(t).__name__}")
    return pairs


class _Walk:
    """All steps that lead to some tensors, in the order in which they were made."""

    def __init__(self, roots: list[tuple[str, Tensor]]) -> None:
        self.roots = roots
        self.kinds: dict[Any, dict[int, tuple[Any, Any]]] = {}  # by step and output: shape, dtype
        waiting = []
        for _, t in roots:
            if t.grad_fn is not None:
                self.kinds.setdefault(t.grad_fn, {})[t.output_nr] = (tuple(t.shape), t.dtype)
                waiting.append(t.grad_fn)
        self.steps = []
        seen = set(waiting)
        waiting = list(seen)
        while waiting:
            step = waiting.pop()
            self.steps.append(step)
            for (before, output), kind in zip(step.next_functions, step._inputs()):
                if before is None:
                    continue
                if kind is not None:
                    self.kinds.setdefault(before, {})[output] = (tuple(kind[0]), kind[1])
                if before not in seen:
                    seen.add(before)
                    waiting.append(before)
        self.steps.sort(key=lambda step: step._sequence_nr())
        self.leaves = {step: step.variable for step in self.steps if step.name() == LEAF}

    def name_leaves(self, names: Names, frame: FrameType | None) -> None:
        lone = [t for _, t in self.roots if t.grad_fn is None and t.requires_grad]
        names.take_all_modules([*self.leaves.values(), *lone])
        names.take_variables(frame)

    def build(self, names: Names, attrs: bool, saved: bool, longest: int) -> Graph:
        graph = Graph()
        nodes: dict[Any, Node] = {}
        tensors: dict[int, Node] = {}  # leaves and what is saved, by identity
        for step in self.steps:
            if step in self.leaves:
                continue  # added when first read: it stands beside its reader then
            before = []
            for source, _ in step.next_functions:
                if source is None:
                    continue
                if source not in nodes:
                    nodes[source] = _leaf_node(graph, self.leaves[source], names)
                    tensors[id(self.leaves[source])] = nodes[source]
                before.append(nodes[source])
            line, module = split_origin(step.origin)
            kinds = self.kinds.get(step, {})
            shapes = [kinds[i][0] for i in sorted(kinds)]
            kept = _saved_nodes(graph, step, names, tensors) if saved else []
            node = nodes[step] = graph.add(
                step.name(), "op", op=step.name(), shapes=shapes, module=module, line=line,
                dtype=next((d for _, d in kinds.values()), None),
            )  # fmt: skip
            if attrs:
                facts = step._attributes().items()
                node.attributes = {name: _short(repr(value), longest) for name, value in facts}
            for source in dict.fromkeys([*before, *kept]):
                graph.connect(source, node)
        for name, t in self.roots:
            self._add_root(graph, nodes, names, name, t)
        return graph

    def _add_root(
        self, graph: Graph, nodes: dict[Any, Node], names: Names, name: str, t: Tensor
    ) -> None:
        made = nodes.get(t.grad_fn)
        if made is None and t.requires_grad:
            made = next((nodes[s] for s, v in self.leaves.items() if v is t and s in nodes), None)
            made = made or _leaf_node(graph, t, names)
        node = graph.add(name, "output", shapes=[tuple(t.shape)], dtype=t.dtype)
        if made is not None:
            graph.connect(made, node)


def _leaf_node(graph: Graph, t: Tensor, names: Names) -> Node:
    kind = "parameter" if is_parameter(t) else "leaf"
    name, kind = names.of(t) or (kind, kind)
    return graph.add(name, kind, op=LEAF, shapes=[tuple(t.shape)], dtype=t.dtype)


def _saved_nodes(graph: Graph, step: Any, names: Names, tensors: dict[int, Node]) -> list[Node]:
    """Return nodes for what a step keeps, save what it made itself."""
    nodes = []
    for field, t in step._saved_fields():
        if t is None or t.grad_fn == step:
            continue
        if id(t) not in tensors:
            field = f"saved {field}" if field.isdigit() else field
            name, kind = names.of(t) or (field, "saved")
            kind = kind if kind == "buffer" else "saved"
            node = graph.add(name, kind, shapes=[tuple(t.shape)], dtype=t.dtype)
            if t.grad_fn is not None or t.requires_grad:
                nodes.append(node)
                continue
            tensors[id(t)] = node
        nodes.append(tensors[id(t)])
    return nodes


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: max(longest - 1, 0)] + "…"
