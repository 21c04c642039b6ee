"""Memory over time as stacked areas: one SVG file with its own style, without scripts."""

from __future__ import annotations

from collections import defaultdict
from html import escape

from .memory_report import format_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["draw"]

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _KEY = 1000, 360, 76, 34, 30, 300  # pixels
_POINTS = 500
_COLOURS = (
    "#4c78a8", "#e45756", "#54a24b", "#f58518", "#b279a2", "#72b7b2", "#d6a53c", "#9c755f", "#6b7fd7",
    "#c06c84",
)  # fmt: skip
_BEFORE, _OTHER = "#b8b8b8", "#dcdcdc"


def _series(
    start: int, rows: Sequence[tuple[int, int, int, str]]
) -> tuple[list[tuple[int, dict[str, int]]], int]:
    """Return bytes by name after each change, thinned out but with the peak, and which that is."""
    from .memory_track import BEFORE, _Live

    names = [row[3] for row in rows]
    live, sizes = _Live(start), defaultdict(int, {BEFORE: start} if start else {})
    total, peak, best = start, start, -1
    for i, row in enumerate(rows):
        total += row[2]
        if total > peak:
            peak, best = total, i
    kept = {*range(0, len(rows), max(len(rows) // _POINTS, 1)), len(rows) - 1, best}
    series, at_peak = [(0, dict(sizes))], 0
    for i, (at, address, size, _) in enumerate(rows):
        for maker, change in live.apply(address, size, i):
            sizes[BEFORE if maker is None else names[maker]] += change
        if i in kept:
            if i == best:
                at_peak = len(series)
            series.append((at, dict(sizes)))
    return series, at_peak


def draw(start: int, rows: Sequence[tuple[int, int, int, str]], most: int) -> str:
    """Return the picture of changes of memory.

    Args:
        start: bytes in use at the beginning.
        rows: of each change the time in nanoseconds, the address, the bytes, and whose they are.
        most: how many areas.

    >>> from weft.debug.memory_picture import draw
    >>> "conv1" in draw(0, [(10, 64, 100, "conv1"), (20, 64, -100, "conv1")], 3)
    True
    """
    from .memory_track import BEFORE

    series, at_peak = _series(start, rows)
    top = series[at_peak][1]
    largest: dict[str, int] = defaultdict(int)
    for _, sizes in series:
        for name, size in sizes.items():
            largest[name] = max(largest[name], size)
    order = sorted(largest, key=lambda n: (n != BEFORE, -top.get(n, 0), -largest[n]))
    shown, rest = order[:most], order[most:]
    end = max(series[-1][0], 1)
    peak = max(sum(top.values()), 1)
    wide, high = _WIDTH - _LEFT - _KEY, _HEIGHT - _TOP - _BOTTOM

    def x(at: int) -> float:
        return _LEFT + wide * at / end

    def y(size: int) -> float:
        return _TOP + high * (1 - size / (peak * 1.05))

    layers = [(n, [s.get(n, 0) for _, s in series]) for n in shown]
    if rest:
        layers.append((f"{len(rest)} others", [sum(s.get(n, 0) for n in rest) for _, s in series]))
    times = [x(at) for at, _ in series]
    parts, base, colours = [], [0] * len(series), iter(_COLOURS * 10)
    for k, (name, values) in enumerate(layers):
        colour = _BEFORE if name == BEFORE else _OTHER if k >= len(shown) else next(colours)
        above = [b + s for b, s in zip(base, values)]
        points = _steps(times, [y(v) for v in above]) + _steps(times, [y(v) for v in base])[::-1]
        text = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        amount = format_bytes(values[at_peak])
        label = f"{name}: {amount} at the peak"
        parts.append(
            f'<polygon points="{text}" fill="{colour}"><title>{escape(label)}</title></polygon>'
        )
        row = _TOP + 10 + 20 * k
        left = _WIDTH - _KEY + 16
        parts.append(f'<rect x="{left}" y="{row - 9}" width="11" height="11" fill="{colour}"/>')
        short = name if len(name) <= 26 else "…" + name[-25:]
        parts.append(f'<text x="{left + 17}" y="{row}">{escape(short)} · {amount}</text>')
        base = above
    return _framed(parts, x(series[at_peak][0]), peak, end, y)


def _steps(xs: list[float], ys: list[float]) -> list[tuple[float, float]]:
    """Return the corners of a line that stays at each value until the next."""
    points = [(xs[0], ys[0])]
    for before, a, b in zip(ys, xs[1:], ys[1:]):
        points += [(a, before), (a, b)]
    return points


def _framed(parts: list[str], at: float, peak: int, end: int, y: Callable[[int], float]) -> str:
    """Return the picture with its axes and the mark of the peak."""
    lines, right = [], _WIDTH - _KEY
    for share in (0, 0.25, 0.5, 0.75, 1):
        height = int(peak * share)
        row = f"{y(height):.1f}"
        lines.append(
            f'<line x1="{_LEFT}" x2="{right}" y1="{row}" y2="{row}" stroke="#999" stroke-opacity=".35"/>'
            f'<text x="{_LEFT - 6}" y="{row}" dy="4" text-anchor="end">{format_bytes(height)}</text>'
        )
    for share in (0, 0.5, 1):
        place, time = _LEFT + (right - _LEFT) * share, f"{end * share / 1e6:.2f} ms"
        lines.append(f'<text x="{place:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">{time}</text>')
    mark = (
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP - 6}" y2="{_HEIGHT - _BOTTOM}" stroke="#222" '
        'stroke-dasharray="3 3"/>'
    )
    title = f'<text x="{_LEFT}" y="20" font-weight="bold">Memory in use; the peak is {format_bytes(peak)}</text>'
    style = "<style>text{font:12px sans-serif;fill:#222}</style>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}">{style}<rect width="100%" height="100%" fill="#fff"/>'
        f"{title}{''.join(parts)}{''.join(lines)}{mark}</svg>"
    )
