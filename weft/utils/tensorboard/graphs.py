"""A module as TensorBoard's graph: ops in the scopes of their modules, with shapes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft.view import Graph, Node


def graph_def(graph: Graph) -> Any:
    """Return a graph of weft as a ``GraphDef``.

    >>> from weft.utils.tensorboard.graphs import graph_def
    >>> net = weft.nn.Sequential(weft.nn.Linear(3, 2), weft.nn.Softmax(-1))
    >>> [n.name for n in graph_def(weft.view.graph(net, weft.ones(1, 3))).node]
    ['input/input', 'Sequential/0/weight', 'Sequential/0/bias', 'Sequential/0/linear',
     'Sequential/1/softmax', 'output/output']
    """
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.node_def_pb2 import NodeDef
    from tensorboard.compat.proto.versions_pb2 import VersionDef

    head = next((n.module.partition(".")[0] for n in graph if n.module), "")
    names: dict[str, str] = {}
    taken: dict[str, int] = {}
    made = []
    sources: dict[str, list[str]] = {}
    for src, dst in graph.edges:
        sources.setdefault(dst, []).append(src)
    for node in graph:
        name = _scoped(node, head)
        count = taken[name] = taken.get(name, -1) + 1
        names[node.id] = f"{name}_{count}" if count else name
    for node in graph:
        proto = NodeDef(name=names[node.id], op=_kind(node), device="/device:CPU:0")
        proto.input.extend(names[src] for src in sources.get(node.id, ()))
        shapes = proto.attr["_output_shapes"].list
        for size in node.shapes:
            shape = shapes.shape.add()
            for length in size:
                shape.dim.add(size=length)
        for key, text in (("dtype", node.dtype), ("line", node.line)):
            if text:
                proto.attr[key].s = str(text).encode("utf-8")
        made.append(proto)
    return GraphDef(node=made, versions=VersionDef(producer=22))


def _kind(node: Node) -> str:
    return node.op if node.kind == "op" else node.kind.capitalize()


def _scoped(node: Node, head: str) -> str:
    """Return the name of a node in TensorBoard, whose parts are scopes."""
    if node.kind in ("leaf", "output"):
        parts = ["input" if node.kind == "leaf" else "output", node.label]
    elif node.kind == "op":
        parts = [*node.module.split("."), node.op] if node.module else [node.op]
    else:
        parts = [*([head] if head else []), *node.label.split(".")]
    return "/".join("".join(c if c.isalnum() or c in "_.-" else "_" for c in p) for p in parts)
