"""From a graph to a drawing: what is where, box by box from the innermost out.

Each box is laid out on its own and is one item of the box around it. A line that leaves a box does
so by a port on its border, so that lines go around what is between.
"""

from __future__ import annotations

from typing import NamedTuple

from .boxes import Box, boxes_of
from .graph import Graph, Node
from .layered import Link, Placed, arrange

TITLE, SMALL = 13.0, 11.0  # sizes of text
PAD_X, PAD_Y, HEAD = 10.0, 8.0, 20.0  # inside boxes; the line of a box's name
MARGIN = 12.0
NARROW, WIDE = set("iljtfrI.,:;|!'()[] /-"), set("mwMW@%…")

Way = list[tuple[float, float]]


class Shape(NamedTuple):
    """A node or a box, with its left, top, width and height."""

    what: Node | Box
    x: float
    y: float
    width: float
    height: float


class Drawing(NamedTuple):
    """All that is to be drawn: boxes (outer first), lines (which end in an arrow or not), nodes."""

    width: float
    height: float
    boxes: list[Shape]
    lines: list[tuple[Way, bool]]
    nodes: list[Shape]


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is in a font without serifs.

    >>> from weft.view.layout import text_width
    >>> text_width("ii", 10.0) < text_width("mm", 10.0)
    True
    """
    total = 0.0
    for c in text:
        wide = c in WIDE or ord(c) > 0x2E80
        total += 0.36 if c in NARROW else 0.9 if wide else 0.7 if c.isupper() else 0.58
    return total * size


def node_size(node: Node) -> tuple[float, float]:
    """Return width and height of the box of a node."""
    first, *rest = node.lines
    width = max([text_width(first, TITLE), *(text_width(t, SMALL) for t in rest)])
    return max(width + 18, 40), TITLE + 13 + len(rest) * (SMALL + 4)


class _Inside:
    """What is in one box: its items (nodes, boxes, ports), by key, and links between them."""

    def __init__(self) -> None:
        self.keys: dict[tuple[str, object], int] = {}
        self.links: dict[tuple[int, int, object, object], None] = {}
        self.top: set[int] = set()
        self.bottom: set[int] = set()

    def item(self, kind: str, key: object) -> int:
        number = self.keys.setdefault((kind, key), len(self.keys))
        if kind == "in":
            self.top.add(number)
        elif kind == "out":
            self.bottom.add(number)
        return number


def draw(graph: Graph) -> Drawing:
    """Lay out a graph.

    >>> from weft.view.layout import draw
    >>> g = weft.view.Graph()
    >>> g.connect(g.add("x", "leaf"), g.add("y", "output"))
    >>> d = draw(g)
    >>> len(d.nodes), len(d.lines), d.nodes[0].y < d.nodes[1].y
    (2, 1, True)
    """
    boxes, of = _shown(*boxes_of(graph))
    insides = {id(box): _Inside() for box in boxes}
    for box in boxes:
        for node in box.nodes:
            insides[id(box)].item("node", node.id)
        for child in box.children:
            insides[id(box)].item("box", id(child))
    for src, dst in graph.edges:
        _route(src, dst, of, insides)
    placed: dict[int, Placed] = {}
    for box in reversed(boxes):
        placed[id(box)] = _arrange(box, insides, placed, graph)
    return _assemble(boxes, insides, placed, graph)


def _shown(boxes: list[Box], of: dict[str, Box]) -> tuple[list[Box], dict[str, Box]]:
    """Leave out boxes around a single node: it says what its box would."""
    kept = []
    for box in reversed(boxes):
        if box.parent is not None and len(box.nodes) == 1 and not box.children:
            node = box.nodes.pop()
            box.parent.children.remove(box)
            box.parent.nodes.append(node)
            of[node.id] = box.parent
        else:
            kept.append(box)
    return kept[::-1], of


def _route(src: str, dst: str, of: dict[str, Box], insides: dict[int, _Inside]) -> None:
    """Cut an edge where it crosses the borders of boxes; ports bear the name of its source."""
    a, b = of[src], of[dst]
    start: tuple[str, object] = ("node", src)
    end: tuple[str, object] = ("node", dst)
    from_port: object = None
    to_port: object = None
    while a is not b:
        if a.depth >= b.depth and a.parent is not None:
            inside = insides[id(a)]
            inside.links[(inside.item(*start), inside.item("out", src), from_port, None)] = None
            start, from_port, a = ("box", id(a)), src, a.parent
        elif b.parent is not None:
            inside = insides[id(b)]
            inside.links[(inside.item("in", src), inside.item(*end), None, to_port)] = None
            end, to_port, b = ("box", id(b)), src, b.parent
    inside = insides[id(a)]
    inside.links[(inside.item(*start), inside.item(*end), from_port, to_port)] = None


def _box_size(box: Box, content: Placed) -> tuple[float, float]:
    if box.parent is None:
        return content.width, content.height
    width = max(content.width, text_width(box.label, SMALL)) + 2 * PAD_X
    return width, content.height + HEAD + PAD_Y


def _port(box_key: object, kind: str, name: object, insides: dict, placed: dict) -> float:
    """Return how far from the middle of a box one of its ports is."""
    number = insides[box_key].keys[(kind, name)]
    content = placed[box_key]
    return float(content.x[number] - content.width / 2)


def _arrange(box: Box, insides: dict, placed: dict, graph: Graph) -> Placed:
    inside = insides[id(box)]
    children = {id(child): child for child in box.children}
    keys = list(inside.keys)
    sizes = []
    for kind, key in keys:
        if kind == "node":
            sizes.append(node_size(graph[key]))
        elif kind == "box":
            sizes.append(_box_size(children[key], placed[key]))
        else:
            sizes.append((2.0, 0.0))
    links = []
    for a, b, out, into in inside.links:
        leave = _port(keys[a][1], "out", out, insides, placed) if out is not None else 0.0
        arrive = _port(keys[b][1], "in", into, insides, placed) if into is not None else 0.0
        links.append(Link(a, b, leave, arrive))
    return arrange(sizes, links, inside.top, inside.bottom)


def _assemble(boxes: list[Box], insides: dict, placed: dict, graph: Graph) -> Drawing:
    corner = {id(boxes[0]): (MARGIN, MARGIN)}
    shapes, nodes, lines = [], [], []
    for box in boxes:
        content, inside = placed[id(box)], insides[id(box)]
        left, top = corner[id(box)]
        if box.parent is not None:
            width, height = _box_size(box, content)
            shapes.append(Shape(box, left, top, width, height))
            left, top = left + (width - content.width) / 2, top + HEAD
        children = {id(child): child for child in box.children}
        keys = list(inside.keys)
        for (kind, key), x, y in zip(keys, content.x, content.y):
            if kind == "node":
                width, height = node_size(graph[key])
                place = left + x - width / 2, top + y - height / 2
                nodes.append(Shape(graph[key], *place, width, height))
            elif kind == "box":
                width, height = _box_size(children[key], placed[key])
                corner[key] = (left + x - width / 2, top + y - height / 2)
        for (a, b, _, _), way in zip(inside.links, content.ways):
            moved = [(left + x, top + y) for x, y in way]
            if a in inside.top and moved[0][1] <= top:  # from the border, past the name
                moved[0] = (moved[0][0], top - HEAD)
            if b in inside.bottom:
                moved[-1] = (moved[-1][0], top + content.height + PAD_Y)
            lines.append((moved, keys[b][0] == "node"))
    whole = placed[id(boxes[0])]
    return Drawing(whole.width + 2 * MARGIN, whole.height + 2 * MARGIN, shapes, lines, nodes)
