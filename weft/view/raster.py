"""A drawing as pixels, by Pillow: PNG, and PDF with one picture on one page."""

from __future__ import annotations

import math

from .boxes import Box
from .dot import FILL
from .graph import Graph, Node
from .layout import HEAD, SMALL, TITLE, Drawing, Shape, Way, draw
from .svg import ARROW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCALE = 2.0  # pixels for a unit of the drawing, where that is not too large
LONGEST_SIDE, MOST_PIXELS = 16000, 24_000_000
FEW_PIXELS = 6_000_000
TALL = 6000.0  # a drawing that is taller, and tall for its width, is cut into columns
OVERLAP, BETWEEN = 60.0, 30.0  # how much columns show twice, and how far they are apart
SMALLEST_TEXT = 3.0  # in pixels; smaller text is left out


def picture(graph: Graph, format: str) -> bytes:
    """Return a graph as the bytes of a PNG or PDF file, scaled down where it would be too large.

    >>> from weft.view.raster import picture
    >>> picture(weft.view.Graph(), "png")[1:4]
    b'PNG'
    """
    try:
        from PIL import Image
    except ImportError as e:
        raise ImportError(
            f"render: {format} pictures need Pillow: pip install weft[vision] (svg and dot do not)"
        ) from e
    import io

    d = draw(graph)
    image = _in_columns(d, Image)
    file = io.BytesIO()
    if format == "png":
        if (
            image.width * image.height < FEW_PIXELS
        ):  # a smaller file; for large ones this takes too long
            image = image.quantize(128, dither=Image.Dither.NONE)
        image.save(file, "PNG")
    else:
        image.save(file, "PDF", resolution=72 * SCALE)
    return file.getvalue()


def _in_columns(d: Drawing, library: Any) -> Any:
    """Paint a drawing; a long strip is cut into columns, to be read from left to right."""
    count = 1
    if d.height > max(TALL, 4 * d.width):
        count = math.ceil(math.sqrt(d.height / (d.width + BETWEEN) / 1.4))
    tall = d.height / count
    width, height = count * (d.width + BETWEEN) - BETWEEN, tall + (OVERLAP if count > 1 else 0.0)
    scale = min(SCALE, LONGEST_SIDE / max(width, height), math.sqrt(MOST_PIXELS / width / height))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    image = library.new("RGB", size, "white")
    texts = _Texts(scale)
    if count == 1:
        _Painter(image, scale, texts).paint(d)
        return image
    parts: list[Drawing] = [Drawing(d.width, tall, [], [], []) for _ in range(count)]

    def columns(top: float, bottom: float) -> list[Drawing]:
        first = max(0, math.floor((top - OVERLAP) / tall))
        return parts[first : math.floor(bottom / tall) + 1]

    for way, arrow in d.lines:
        for part in columns(way[0][1], way[-1][1]):
            part.lines.append((way, arrow))
    for kind in ("boxes", "nodes"):
        for shape in getattr(d, kind):
            for part in columns(shape.y, shape.y + shape.height):
                getattr(part, kind).append(shape)
    for i, part in enumerate(parts):
        column = library.new("RGB", (max(1, round(d.width * scale)), size[1]), "white")
        _Painter(column, scale, texts, i * tall).paint(part)
        image.paste(column, (round(i * (d.width + BETWEEN) * scale), 0))
    return image


class _Texts:
    """Texts as masks: each is drawn once, however often it is there."""

    def __init__(self, scale: float) -> None:
        from PIL import ImageFont

        self.fonts = {
            size: ImageFont.load_default(size * scale) if size * scale >= SMALLEST_TEXT else None
            for size in (TITLE, SMALL)
        }
        self.drawn: dict[tuple[str, float, str], Any] = {}

    def of(self, text: str, size: float, anchor: str) -> Any:
        """Return a mask, and where its corner is seen from the anchor; None if too small."""
        from PIL import Image, ImageDraw

        font, key = self.fonts[size], (text, size, anchor)
        if font is not None and key not in self.drawn:
            left, top, right, bottom = font.getbbox(text, anchor=anchor)
            width, height = math.ceil(right - left) + 2, math.ceil(bottom - top) + 2
            mask = Image.new("L", (width, height))
            ImageDraw.Draw(mask).text((1 - left, 1 - top), text, 255, font, anchor)
            self.drawn[key] = (mask, left - 1, top - 1)
        return self.drawn.get(key)


class _Painter:
    """Draws shapes and lines in units of the drawing, from ``top`` down."""

    def __init__(self, image: Any, scale: float, texts: _Texts, top: float = 0.0) -> None:
        from PIL import ImageDraw

        self.image, self.draw = image, ImageDraw.Draw(image)
        self.scale, self.top = scale, top
        self.texts = texts
        self.pen = max(1, round(scale))

    def paint(self, d: Drawing) -> None:
        for shape in d.boxes:
            self.box(shape)
        for way, arrow in d.lines:
            self.line(way, arrow)
        for shape in d.nodes:
            self.node(shape)

    def corners(self, shape: Shape) -> list[float]:
        x, y = shape.x * self.scale, (shape.y - self.top) * self.scale
        return [x, y, x + shape.width * self.scale, y + shape.height * self.scale]

    def text(self, x: float, y: float, text: str, size: float, fill: str, anchor: str) -> None:
        found = self.texts.of(text, size, anchor)
        if found is not None:
            mask, left, top = found
            at = round(x * self.scale + left), round((y - self.top) * self.scale + top)
            self.image.paste(fill, (*at, at[0] + mask.width, at[1] + mask.height), mask)

    def box(self, shape: Shape) -> None:
        assert isinstance(shape.what, Box)
        shade = 250 - 4 * min(shape.what.depth, 6)
        self.draw.rounded_rectangle(
            self.corners(shape), 6 * self.scale, (shade, shade, shade), "#aaaaaa", self.pen
        )
        at = shape.x + 8, shape.y + HEAD - 6
        self.text(*at, shape.what.label, SMALL, "#666666", "ls")

    def node(self, shape: Shape) -> None:
        node = shape.what
        assert isinstance(node, Node)
        fill = FILL[node.kind]
        self.draw.rounded_rectangle(self.corners(shape), 5 * self.scale, fill, "#777777", self.pen)
        middle, at = shape.x + shape.width / 2, shape.y + TITLE + 4
        first, *rest = node.lines
        self.text(middle, at, first, TITLE, "#222222", "ms")
        for line in rest:
            at += SMALL + 4
            self.text(middle, at, line, SMALL, "#555555", "ms")

    def line(self, way: Way, arrow: bool) -> None:
        s = self.scale
        points = [(x * s, (y - self.top) * s) for x, y in _smooth(way)]
        self.draw.line(points, "#666666", self.pen, joint="curve")
        if arrow and s > 0.2:
            x, y = points[-1]
            tip = [(x, y), (x - 3.5 * s, y - (ARROW + 1) * s), (x + 3.5 * s, y - (ARROW + 1) * s)]
            self.draw.polygon(tip, fill="#666666")


def _smooth(way: Way, steps: int = 12) -> Way:
    """Return points on the curve of a way: between two with different x, an S that starts upright."""
    (x, y), points = way[0], [way[0]]
    for u, v in way[1:]:
        if abs(u - x) > 0.05:
            for k in range(1, steps):
                t = k / steps
                rise = 3 * (1 - t) * t * t + t**3
                down = 1.5 * (1 - t) ** 2 * t + 1.5 * (1 - t) * t * t + t**3
                points.append((x + (u - x) * rise, y + (v - y) * down))
        points.append((u, v))
        x, y = u, v
    return points
