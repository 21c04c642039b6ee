"""split_module: a graph cut into submodules, as a function of its nodes says."""

from __future__ import annotations

import operator

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft.nn import Module

__all__ = ["split_module"]


class _Partition:
    """One of the parts: its graph, what it needs and what it gives."""

    def __init__(self, key: Any) -> None:
        self.key = key
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.needs: dict[Any, None] = {}


def split_module(
    m: GraphModule,
    root_m: Module,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    *,
    partition_affix: str | None = None,
) -> GraphModule:
    """Return a module that does the same in submodules ``submod_0``, ``submod_1`` …

    Args:
        m: the module with the graph.
        root_m: has the submodules and tensors that the graph names.
        split_callback: says in which part a node is, by any key.
        qualname_map: gets, for each path in the new module, the path in the old one.
        partition_affix: a word in the names of the parts, ``submod_word_0``.

    >>> import weft
    >>> from weft.fx.passes.split_module import split_module
    >>> gm = weft.fx.symbolic_trace(weft.nn.Sequential(weft.nn.ReLU(), weft.nn.Tanh()))
    >>> parts = split_module(gm, gm, lambda node: int(node.target))
    >>> [name for name, _ in parts.named_children()]
    ['submod_0', 'submod_1']
    """
    parts: dict[Any, _Partition] = {}
    where: dict[Node, Any] = {}
    own = ("placeholder", "get_attr", "output")
    for node in m.graph.nodes:
        if node.op not in own:
            key = where[node] = split_callback(node)
            parts.setdefault(key, _Partition(key)).nodes.append(node)
    for key, part in parts.items():
        for node in part.nodes:
            for used in node.all_input_nodes:
                if used.op == "get_attr" or (where.get(used) == key and used in where):
                    continue
                part.inputs[used] = None
                if used in where:
                    parts[where[used]].outputs[used] = None
                    part.needs[where[used]] = None
    for used in m.graph.output_node().all_input_nodes:
        if used in where:
            parts[where[used]].outputs[used] = None
    ordered = _in_order(parts)
    affix = f"_{partition_affix}" if partition_affix else ""
    base = Graph()
    values: dict[Node, Any] = {}
    members: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            values[node] = base.node_copy(node)
    for part in ordered:
        name = f"submod{affix}_{part.key}"
        members[name] = _module_of(part, root_m, name, qualname_map)
        _call(base, name, part, values)
    result = m.graph.output_node()
    for used in result.all_input_nodes:
        if used.op == "get_attr":
            values[used] = base.node_copy(used)
            members[str(used.target)] = _at(root_m, str(used.target))
    made = base.output(map_arg(result.args[0], lambda n: values[n]), result.type)
    made.meta = dict(result.meta)
    return GraphModule(members, base)


def _at(root: Any, path: str) -> Any:
    for atom in path.split("."):
        root = getattr(root, atom)
    return root


def _in_order(parts: dict[Any, _Partition]) -> list[_Partition]:
    """Return the parts so that each comes after those that it needs."""
    done: dict[Any, _Partition] = {}
    while len(done) < len(parts):
        ready = [k for k, p in parts.items() if k not in done and all(n in done for n in p.needs)]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        done[ready[0]] = parts[ready[0]]
    return list(done.values())


def _module_of(
    part: _Partition, root: Any, name: str, qualname_map: dict[str, str] | None
) -> GraphModule:
    """Return the submodule of one part."""
    graph = Graph()
    inner: dict[Node, Any] = {}
    members: dict[str, Any] = {}
    for used in part.inputs:
        inner[used] = graph.placeholder(used.name, type_expr=used.type)
        inner[used].meta = dict(used.meta)
    for node in part.nodes:
        for read in node.all_input_nodes:
            if read.op == "get_attr" and read not in inner:
                inner[read] = graph.node_copy(read)
        inner[node] = graph.node_copy(node, lambda n: inner[n])
        if node.op == "call_module":
            members[str(node.target)] = _at(root, str(node.target))
    members.update((str(n.target), _at(root, str(n.target))) for n in inner if n.op == "get_attr")
    if qualname_map is not None:
        qualname_map.update({f"{name}.{path}": path for path in members})
    given = tuple(inner[n] for n in part.outputs)
    graph.output(given[0] if len(given) == 1 else given)
    return GraphModule(members, graph)


def _call(base: Graph, name: str, part: _Partition, values: dict[Node, Any]) -> None:
    """Call a part in the graph of the whole."""
    called = base.call_module(name, tuple(values[n] for n in part.inputs))
    if len(part.outputs) == 1:
        values[next(iter(part.outputs))] = called
        return
    for i, node in enumerate(part.outputs):
        values[node] = base.call_function(operator.getitem, (called, i))
