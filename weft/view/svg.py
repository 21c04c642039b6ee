"""A drawing as SVG text."""

from __future__ import annotations

from .boxes import Box
from .dot import FILL
from .graph import Graph, Node
from .layout import HEAD, SMALL, TITLE, Shape, Way, draw

ARROW = 6.0
STYLE = f"""
text {{ font-family: Helvetica, Arial, sans-serif; fill: #222; text-anchor: middle }}
.t {{ font-size: {TITLE:g}px }} .s {{ font-size: {SMALL:g}px; fill: #555 }}
.b text {{ text-anchor: start; font-size: {SMALL:g}px; fill: #666; font-weight: bold }}
.b rect {{ fill: #000; fill-opacity: 0.025; stroke: #aaa }} .n rect {{ stroke: #777 }}
path {{ fill: none; stroke: #666 }} .a {{ fill: #666; stroke: none }}
"""


def _escaped(text: str) -> str:
    text = "".join(c if c in "\n\t" or ord(c) >= 32 else "\ufffd" for c in text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;")


def _n(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


def _line(way: Way, arrow: bool) -> str:
    x, y = way[0]
    text = f"M{_n(x)} {_n(y)}"
    end = way[-1][1] - (ARROW if arrow else 0.0)
    for i, (u, v) in enumerate(way[1:], 1):
        v = end if i == len(way) - 1 else v
        if abs(u - x) < 0.05:
            text += f"V{_n(v)}"
        else:
            middle = (y + v) / 2
            text += f"C{_n(x)} {_n(middle)} {_n(u)} {_n(middle)} {_n(u)} {_n(v)}"
        x, y = u, v
    if not arrow:
        return f'<path d="{text}"/>'
    tip = f"M{_n(x)} {_n(y + ARROW)}l-3.5 -{ARROW + 1:g}h7z"
    return f'<path d="{text}"/><path class="a" d="{tip}"/>'


def _node(shape: Shape, node: Node) -> str:
    x, y, w, h = (_n(v) for v in shape[1:])
    middle = _n(shape.x + shape.width / 2)
    at = shape.y + TITLE + 4
    first, *rest = node.lines
    parts = [
        f'<g class="n" id="{node.id}"><title>{_escaped(node.tooltip)}</title>'
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="5" fill="{FILL[node.kind]}"/>'
        f'<text class="t" x="{middle}" y="{_n(at)}">{_escaped(first)}</text>'
    ]
    for line in rest:
        at += SMALL + 4
        parts.append(f'<text class="s" x="{middle}" y="{_n(at)}">{_escaped(line)}</text>')
    return "".join([*parts, "</g>"])


def _box(shape: Shape, box: Box) -> str:
    x, y, w, h = (_n(v) for v in shape[1:])
    return (
        f'<g class="b"><title>{_escaped(box.module)}</title>'
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="6"/>'
        f'<text x="{_n(shape.x + 8)}" y="{_n(shape.y + HEAD - 6)}">{_escaped(box.label)}</text></g>'
    )


def svg_text(graph: Graph) -> str:
    """Return a graph as an SVG picture; lines of the program show under the mouse.

    >>> g = weft.view.Graph()
    >>> node = g.add("a < b", "op")
    >>> "a &lt; b" in weft.view.svg.svg_text(g)
    True
    """
    d = draw(graph)
    w, h = _n(d.width), _n(d.height)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}">'
    )
    parts = [head, f"<style>{STYLE}</style>", '<rect width="100%" height="100%" fill="#fff"/>']
    parts += [_box(s, s.what) for s in d.boxes if isinstance(s.what, Box)]
    parts += [_line(way, arrow) for way, arrow in d.lines]
    parts += [_node(s, s.what) for s in d.nodes if isinstance(s.what, Node)]
    return "\n".join([*parts, "</svg>", ""])
