"""Pictures of graphs: nothing overlaps, nothing is cut off, files are what they say."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import webbrowser
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import weft
from weft import nn
from weft.view.layout import draw

SVG = "{http://www.w3.org/2000/svg}"


class Steps(nn.Module):
    """A cell that is unrolled: the same module in several boxes, parameters shared by all."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.LSTMCell(4, 6), nn.Linear(6, 2)

    def forward(self, xs: Any) -> Any:
        h = c = weft.zeros(3, 6)
        ys = []
        for x in xs:
            h, c = self.cell(x, (h, c))
            ys.append(self.out(h))
        return weft.stack(ys)


def networks() -> dict[str, Any]:
    """Graphs of different form."""
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    cnn = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 3)
    )
    return {
        "encoder": weft.view.graph(encoder, weft.ones(2, 3, 8)),
        "steps": weft.view.make_dot(Steps()(weft.ones(3, 3, 4)).sum(), show_saved=True),
        "cnn": weft.view.make_dot(cnn(weft.ones(1, 1, 8, 8)).sum(), show_attrs=True),
    }


def apart(a: Any, b: Any) -> bool:
    """Whether two shapes have nothing in common."""
    beside = a.x + a.width <= b.x + 1e-6 or b.x + b.width <= a.x + 1e-6
    return beside or a.y + a.height <= b.y + 1e-6 or b.y + b.height <= a.y + 1e-6


def around(a: Any, b: Any) -> bool:
    """Whether the first shape is around the second."""
    wide = a.x <= b.x and b.x + b.width <= a.x + a.width
    return wide and a.y <= b.y and b.y + b.height <= a.y + a.height


@pytest.mark.parametrize("name", ["encoder", "steps", "cnn"])
def test_layout(name: str) -> None:
    """Nodes are apart; boxes are apart or one in the other; every edge goes down."""
    g = networks()[name]
    d = draw(g)
    assert len(d.nodes) == len(g)
    for i, a in enumerate(d.nodes):
        assert a.x >= 0 and a.x + a.width <= d.width and a.y + a.height <= d.height
        assert all(apart(a, b) for b in d.nodes[:i])
        assert all(apart(a, b) or around(b, a) for b in d.boxes)
    for i, a in enumerate(d.boxes):
        assert all(apart(a, b) or around(a, b) or around(b, a) for b in d.boxes[:i])
    place = {s.what.id: s for s in d.nodes}
    assert all(place[src].y < place[dst].y for src, dst in g.edges)
    assert all(a[1] <= b[1] + 1e-6 for way, _ in d.lines for a, b in pairwise(way))


@pytest.mark.parametrize("name", ["encoder", "steps", "cnn"])
def test_lines_pass_by_nodes(name: str) -> None:
    """The upright parts of lines cross no node."""
    d = draw(networks()[name])
    for way, _ in d.lines:
        for (x, y), (u, v) in pairwise(way):
            if abs(x - u) > 0.05:
                continue
            for s in d.nodes:
                inside = s.x < x < s.x + s.width and y < s.y + s.height - 0.1 and v > s.y + 0.1
                assert not inside, (s.what, (x, y, v))


def test_svg() -> None:
    """It is XML with a group for each node, whose tooltip names module and line."""
    g = weft.view.make_dot(Steps()(weft.ones(1, 3, 4)).sum())
    root = ElementTree.fromstring(g.pipe("svg"))
    nodes = [e for e in root.iter(f"{SVG}g") if e.get("class") == "n"]
    assert [e.get("id") for e in nodes] != [] and {e.get("id") for e in nodes} == {n.id for n in g}
    titles = [e.findtext(f"{SVG}title") or "" for e in nodes]
    assert any("module Steps.cell" in t and "test_pictures.py:" in t for t in titles)
    assert g._repr_svg_() == g.pipe("svg", "utf-8") == g.pipe("svg").decode()


def test_text_is_escaped() -> None:
    """Names with marks of XML and of Graphviz are shown as they are."""
    w = weft.ones(1, requires_grad=True)
    name = 'a<b>&"c"\\\x07'
    g = weft.view.make_dot(w * 2, {name: w})
    root = ElementTree.fromstring(g.pipe("svg"))
    assert any(e.text == 'a<b>&"c"\\\ufffd' for e in root.iter(f"{SVG}text"))
    assert '\\"c\\"\\\\' in g.source


def test_dot_text() -> None:
    """Nodes, edges and clusters, in balanced braces."""
    g = weft.view.make_dot(Steps()(weft.ones(2, 3, 4)).sum())
    text = str(g)
    assert text == g.source == g.dot == g.pipe("dot", "utf-8")
    assert text.startswith("digraph {") and text.count("{") == text.count("}")
    assert sum(" -> " in line for line in text.splitlines()) == len(g.edges)
    assert text.count("subgraph cluster_") == 5  # the net, and two calls of each part
    assert 'label="cell"' in text and "AddBackward0\\n" in text


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the graphviz package names them, or by the ending of the name."""
    monkeypatch.chdir(tmp_path)
    dot = weft.autograd.make_dot(weft.ones(2, requires_grad=True).relu())
    dot.format = "png"
    assert dot.render() == "Digraph.gv.png"
    assert Path("Digraph.gv").read_text() == dot.source
    assert dot.render("sub/net", format="svg", cleanup=True) == "sub/net.svg"
    assert [p.name for p in Path("sub").iterdir()] == ["net.svg"]
    assert dot.render("one.png", "other") == "other/one.png"
    assert dot.render("page.pdf") == "page.pdf" and Path("page.pdf").read_bytes()[:5] == b"%PDF-"
    assert dot.save("text.gv") == "text.gv" and Path("text.gv").read_text() == dot.source
    with Image.open("other/one.png") as picture:
        assert picture.format == "PNG" and min(picture.size) > 50
        assert len(picture.convert("RGB").getcolors(10000)) > 10
    with pytest.raises(ValueError, match="svg, png, pdf, dot, got 'gif'"):
        dot.render("x", format="gif")
    with pytest.raises(ValueError, match="no encoding"):
        dot.pipe("png", "utf-8")


def test_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser is given the address of the file; without a browser the path is told."""
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(opened.append(url)) or len(opened) < 2)
    dot = weft.autograd.make_dot(weft.ones(2, requires_grad=True).relu())
    path = dot.view("net", str(tmp_path))
    assert opened == [Path(path).as_uri()] and Path(path).read_text().startswith("<svg")
    with pytest.raises(RuntimeError, match="found no browser"):
        dot.render("x.svg", str(tmp_path), view=True)


def chain(steps: int) -> Any:
    """A long chain with a leaf that every other step reads."""
    x = y = weft.ones(2, requires_grad=True)
    for _ in range(steps):
        y = y * 1.0001 + x
    return weft.autograd.make_dot(y)


def test_ten_thousand_nodes() -> None:
    """All nodes and edges are there, and the chain stays in line."""
    g = chain(5000)
    assert len(g) == 10002 and len(g.edges) == 15001
    assert g.source.count(" -> ") == 15001
    svg = g.pipe("svg")
    assert svg.count(b'class="n"') == 10002
    assert float(svg.split(b'width="')[1].split(b'"')[0]) < 400


def test_long_png_is_cut_into_columns() -> None:
    """A picture of a long chain is no thin line, and within bounds of size."""
    with Image.open(io.BytesIO(chain(1000).pipe("png"))) as picture:
        assert max(picture.size) <= 16000 and min(picture.size) > 1000


def test_deep_modules() -> None:
    """Boxes may be nested deeper than Python calls."""
    g = weft.view.Graph()
    before = g.add("x", "leaf")
    for depth in range(1, 1100):
        node = g.add("op", "op", module=".".join(["m"] * depth))
        g.connect(before, node)
        before = node
    assert g.source.count("{") == g.source.count("}")
    assert b"</svg>" in g.pipe("svg")


def test_pillow_is_asked_for_when_needed() -> None:
    """SVG needs nothing; PNG without Pillow names what to install."""
    code = (
        "import sys; sys.modules['PIL'] = None\n"
        "import weft; g = weft.autograd.make_dot(weft.ones(1, requires_grad=True).exp())\n"
        "g.pipe('svg')\n"
        "try:\n    g.pipe('png')\n"
        "except ImportError as e:\n    print(e)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install weft[vision]" in out.stdout


def test_a_picture_stays_if_the_new_one_cannot_be_written(tmp_path: Path) -> None:
    path, graph = tmp_path / "net.svg", weft.autograd.make_dot(weft.ones(2, requires_grad=True) * 2)
    path.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match=r"net\.svg"):
            graph.render(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["net.svg"]
