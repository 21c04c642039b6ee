"""A graph in Graphviz's language."""

from __future__ import annotations

from .boxes import Box, boxes_of
from .graph import Graph, Node

FILL = {
    "op": "#f4f4f4", "module": "#e8e2f4", "parameter": "#cfe3f7", "leaf": "#d6efe6",
    "buffer": "#e3e8ee", "constant": "#eeeeee", "saved": "#fde3c3", "output": "#d3ecc0",
}  # fmt: skip


def _quoted(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\n", "\\n") + '"'


def _node_line(node: Node) -> str:
    facts = [f"label={_quoted(chr(10).join(node.lines))}", f'fillcolor="{FILL[node.kind]}"']
    facts.append(f"tooltip={_quoted(node.tooltip)}")
    return f"{node.id} [{', '.join(facts)}]"


def dot_text(graph: Graph) -> str:
    """Return the graph as text: modules are clusters, lines of the program are tooltips.

    >>> g = weft.view.Graph()
    >>> g.connect(g.add("x", "leaf"), g.add("y", "output"))
    >>> weft.view.dot.dot_text(g).splitlines()[-2:]
    ['  n0 -> n1', '}']
    """
    boxes, _ = boxes_of(graph)
    lines = ["digraph {"]
    lines.append('  node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=12]')
    lines.append('  graph [fontname="Helvetica", fontsize=11, color="#999999", style=rounded]')
    number = 0
    waiting: list[Box | str] = [boxes[0]]
    while waiting:  # a stack: boxes may be nested deeper than Python calls
        box = waiting.pop()
        if isinstance(box, str):
            lines.append(box)
            continue
        indent = "  " * (box.depth + 1)
        if box.parent is not None:
            lines.append(f"{indent[2:]}subgraph cluster_{number} {{")
            lines.append(f"{indent}label={_quoted(box.label)}")
            number += 1
        lines += [indent + _node_line(node) for node in box.nodes]
        if box.parent is not None:
            waiting.append(indent[2:] + "}")
        waiting += reversed(box.children)
    lines += [f"  {src} -> {dst}" for src, dst in graph.edges]
    return "\n".join([*lines, "}", ""])
