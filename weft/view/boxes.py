"""Which nodes belong together: one box for each call of a module, inside that of its caller.

The ops of a call follow each other in the program. So a box never has to wait for what depends on
it, however often its module is called: boxes and nodes have an order like that of the program.
"""

from __future__ import annotations

from .graph import Graph, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


OUTSIDE = ("leaf", "output")  # what a program gives to its modules and takes from them


class Box:
    """A call of a module: the nodes that are directly in it, and the calls that it made."""

    __slots__ = ("children", "depth", "module", "nodes", "parent")

    def __init__(self, module: str, parent: Box | None) -> None:
        self.module, self.parent = module, parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.nodes: list[Node] = []
        self.children: list[Box] = []

    @property
    def label(self) -> str:
        """Its path in the outermost module, or the name of that one's class."""
        head, _, rest = self.module.partition(".")
        return rest or head


def common(boxes: Iterable[Box]) -> Box:
    """Return the innermost box that is around all of these."""
    it = iter(boxes)
    found = next(it)
    for box in it:
        other = box
        while found is not other:
            if found.depth >= other.depth and found.parent is not None:
                found = found.parent
            elif other.parent is not None:
                other = other.parent
    return found


def boxes_of(graph: Graph) -> tuple[list[Box], dict[str, Box]]:
    """Return all boxes, each after the one it is in, and the box of each node by its id.

    The first box is the whole graph. Parameters are where those are that read them.
    """
    root = Box("", None)
    boxes, of = [root], {}
    here, path = root, []  # type: Box, list[str]
    for node in graph.nodes:
        if node.kind not in ("op", "module"):
            continue
        wanted = node.module.split(".") if node.module else []
        if node.kind == "module":
            wanted = wanted[:-1]
        same = 0
        while same < min(len(path), len(wanted)) and path[same] == wanted[same]:
            same += 1
        while len(path) > same:
            path.pop()
            here = here.parent or root
        for name in wanted[same:]:
            path.append(name)
            box = Box(".".join(path), here)
            here.children.append(box)
            boxes.append(box)
            here = box
        of[node.id] = here
    readers: dict[str, list[Box]] = {}
    for src, dst in graph.edges:
        if dst in of:
            readers.setdefault(src, []).append(of[dst])
    for node in graph.nodes:
        if node.id not in of:
            near = readers.get(node.id)
            of[node.id] = common(near) if near and node.kind not in OUTSIDE else root
        of[node.id].nodes.append(node)
    return boxes, of


def collapsed(graph: Graph, depth: int) -> Graph:
    """Return a graph in which a box that is ``depth`` deep is one node, with all that is in it."""
    if depth < 1:
        raise ValueError(f"collapse: depth must be at least 1, got {depth}")
    boxes, of = boxes_of(graph)
    outer: dict[int, Box | None] = {}  # the box that swallows this one
    for box in boxes:
        above = outer[id(box.parent)] if box.parent else None
        outer[id(box)] = above or (box if box.depth == depth else None)
    small = Graph(graph.name)
    small.format = graph.format
    stands: dict[str, Node] = {}
    made: dict[int, Node] = {}
    for node in graph.nodes:
        around = outer[id(of[node.id])]
        if around is None:
            twin = small.add(
                node.label, node.kind, op=node.op, shapes=node.shapes, dtype=node.dtype,
                module=node.module, line=node.line,
            )  # fmt: skip
            twin.attributes = dict(node.attributes)
        elif id(around) not in made:
            twin = made[id(around)] = small.add(around.label, "module", module=around.module)
        else:
            twin = made[id(around)]
        if around is not None and node.kind == "op":  # what its last op gives is what it gives
            twin.shapes, twin.shape, twin.dtype = node.shapes, node.shape, node.dtype
            twin.line = node.line
        stands[node.id] = twin
    seen = set()
    for src, dst in graph.edges:
        a, b = stands[src], stands[dst]
        if a is not b and (a.id, b.id) not in seen:
            seen.add((a.id, b.id))
            small.connect(a, b)
    return small
