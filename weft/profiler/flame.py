"""Flame graphs: each frame is as wide as the time in it; what it called lies below it."""

from __future__ import annotations

from html import escape

from .events import EventList, FunctionEvent, format_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Frame", "flame_graph", "frames_of", "write_stacks"]

_WIDTH, _ROW, _TOP, _LEAST, _LETTER = 1200, 18, 46, 0.4, 6.6  # pixels
_COLOURS = {
    "forward": "#8fbf8f", "backward": "#e0a070", "optimizer": "#b9a0d8", "loading": "#e08080",
    "compiled": "#80b8d8", "module": "#d9cf8f", "": "#c8c8c8",
}  # fmt: skip


class Frame:
    """A box of a flame graph: its name, its time, and what lies in it."""

    __slots__ = ("children", "count", "name", "ns", "phase")

    def __init__(self, name: str, phase: str) -> None:
        """Make a box without time."""
        self.name, self.phase = name, phase
        self.ns, self.count = 0.0, 0
        self.children: dict[tuple[str, str], Frame] = {}

    def child(self, name: str, phase: str) -> Frame:
        """Return the box of this name inside, which is made if it is not there."""
        return self.children.setdefault((name, phase), Frame(name, phase))


def frames_of(events: EventList) -> Frame:
    """Return the tree of boxes: ranges, then modules, then ops in ops; the same names joined.

    >>> from weft.profiler import profile
    >>> from weft.profiler.flame import frames_of
    >>> with profile() as prof:
    ...     y = weft.ones(3) + 1
    >>> [f.name for f in frames_of(prof.events()).children.values()]
    ['ones', 'add']
    """
    root = Frame("all", "")
    boxes: list[list[Frame]] = []  # of each event: from the root to its own
    number: dict[int, int] = {}
    for k, e in enumerate(events):
        number[id(e)] = k
        above = boxes[number[id(e.cpu_parent)]] if e.cpu_parent is not None else [root]
        path = list(above)
        if e.kind != "range" and (
            e.cpu_parent is None or e.cpu_parent.kind in ("range", "program")
        ):
            for name in e.module.split(".") if e.module else ():
                path.append(path[-1].child(name, "module"))
        path.append(path[-1].child(e.name, e.phase))
        path[-1].count += e.weight
        weight = e.weight if e.kind != "range" else 1
        for box in path:
            box.ns += weight * e.self_ns
        boxes.append(path)
    return root


def flame_graph(events: EventList) -> str:
    """Return a flame graph as SVG text: click a box to enlarge it, the first box to go back."""
    root = frames_of(events)
    boxes = list(_boxes(root, 0.0, _WIDTH, 0))
    height = _TOP + _ROW * (1 + max((depth for *_, depth in boxes), default=0)) + 8
    drawn = [_box(frame, x, width, depth, root.ns) for frame, x, width, depth in boxes]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="100%" '
            f'font-family="monospace" font-size="11">',
            f'<rect width="{_WIDTH}" height="{height}" fill="#fcfcfa"/>',
            f'<text x="8" y="18" font-size="14">{len(events):,} events, {format_time(root.ns / 1e3)} in '
            "all; a click enlarges a box</text>",
            *_legend(),
            *drawn,
            _SCRIPT,
            "</svg>",
        ]
    )


def _boxes(
    frame: Frame, x: float, width: float, depth: int
) -> Iterator[tuple[Frame, float, float, int]]:
    """Give each box with its place; those too small to see are left out. Without recursion."""
    waiting = [(frame, x, width, depth)]
    while waiting:
        frame, x, width, depth = waiting.pop()
        yield frame, x, width, depth
        for inner in sorted(frame.children.values(), key=lambda f: -f.ns):
            share = width * inner.ns / frame.ns if frame.ns else 0
            if share >= _LEAST:
                waiting.append((inner, x, share, depth + 1))
            x += share


def _box(frame: Frame, x: float, width: float, depth: int, total: float) -> str:
    share = frame.ns / total if total else 0
    calls = f", {frame.count} calls" if frame.count else ""
    phase = f" ({frame.phase})" if frame.phase else ""
    about = f"{frame.name}{phase}: {format_time(frame.ns / 1e3)}, {share:.1%}{calls}"
    y = _TOP + depth * _ROW
    return (
        f'<g class="f" data-x="{x:.2f}" data-w="{width:.2f}" data-n="{escape(frame.name)}">'
        f"<title>{escape(about)}</title>"
        f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{_ROW - 1}" rx="2" '
        f'fill="{_COLOURS.get(frame.phase, "#c8c8c8")}"/>'
        f'<text x="{x + 3:.2f}" y="{y + 12.5}">{escape(_label(frame.name, width))}</text></g>'
    )


def _label(name: str, width: float) -> str:
    room = int((width - 6) / _LETTER)
    return "" if room < 2 else name if len(name) <= room else name[: room - 1] + "…"


def _legend() -> Iterator[str]:
    x = 8
    for phase, colour in _COLOURS.items():
        name = phase or "other"
        yield f'<rect x="{x}" y="26" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{x + 14}" y="35">{name}</text>'
        x += 26 + int(len(name) * _LETTER)


_SCRIPT = """<script><![CDATA[
const all = [...document.querySelectorAll("g.f")];
const whole = Number(all[0].dataset.w);
function enlarge(x, w) {
  for (const g of all) {
    const left = (Number(g.dataset.x) - x) * whole / w, width = Number(g.dataset.w) * whole / w;
    const from = Math.max(left, 0), to = Math.min(left + width, whole);
    g.style.display = to - from < 0.2 ? "none" : "";
    const [box, text] = [g.querySelector("rect"), g.querySelector("text")];
    box.setAttribute("x", from);
    box.setAttribute("width", Math.max(to - from, 0));
    text.setAttribute("x", from + 3);
    const room = Math.floor((to - from - 6) / 6.6), name = g.dataset.n;
    text.textContent = room < 2 ? "" : name.length <= room ? name : name.slice(0, room - 1) + "…";
  }
}
for (const g of all) g.addEventListener("click", () => enlarge(Number(g.dataset.x), Number(g.dataset.w)));
]]></script>"""


def write_stacks(events: EventList, path: str, metric: str) -> None:
    """Write the stack of each event, outermost line first, and its microseconds."""
    if metric not in ("self_cpu_time_total", "cpu_time_total"):
        raise ValueError(f"export_stacks: metric must be self_cpu_time_total, got {metric!r}")
    lines: dict[str, float] = {}
    for e in events:
        stack = _stack_text(e)
        if stack:
            lines[stack] = lines.get(stack, 0.0) + e.weight * getattr(e, metric)
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(f"{stack} {int(us)}\n" for stack, us in lines.items() if int(us) > 0)


def _stack_text(e: FunctionEvent) -> str:
    table = str.maketrans(" ;\t\n", "____")
    return ";".join(line.translate(table) for line in reversed(e.stack))
