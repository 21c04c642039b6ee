"""Tables of events: PyTorch's, and weft's own by op, module or line with the share of the peak."""

from __future__ import annotations

import os

from .events import EventList, format_time
from .peak import peak_flops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["events_table", "format_flops", "format_memory", "report_table"]

_WIDTH, _GAP = 12, 2
_SORTS = (
    "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage",
    "count", "flops",
)  # fmt: skip
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
_SCALES = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def format_memory(bytes: int) -> str:
    """Return bytes as text.

    >>> from weft.profiler.table import format_memory
    >>> format_memory(320), format_memory(-2048)
    ('320 B', '-2.00 KB')
    """
    for power, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if abs(bytes) >= 1 << power:
            return f"{bytes / (1 << power):.2f} {unit}"
    return f"{bytes} B"


def format_flops(flops: float) -> str:
    """Return a number of operations, or of operations in a second, as text.

    >>> from weft.profiler.table import format_flops
    >>> format_flops(2.5e9)
    '2.50 G'
    """
    for scale, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if flops >= scale:
            return f"{flops / scale:.2f} {unit}"
    return f"{flops:.0f} "


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.2%}" if whole else "NaN"


def _text(text: str, width: int) -> str:
    """Return a text cut to its column."""
    return text if len(text) <= width else text[: width - 3] + "..."


def _time(us: float, unit: str | None) -> str:
    return f"{us / _UNITS[unit]:.3f}{unit}" if unit else format_time(us)


def _name_width(events: EventList, limit: int | None) -> int:
    widest = max((len(e.key) for e in events), default=0) + 4
    return min(widest, limit) if limit is not None else widest


def _lay_out(
    headers: list[str], widths: list[int], rows: list[list[str]], left: int | None = None
) -> tuple[list[str], str]:
    """Return the lines of a table, and the line between its parts. Column ``left`` is flush left."""

    def line(cells: list[str]) -> str:
        texts = [
            f"{c:<{w}}" if k == left else f"{c:>{w}}" for k, (c, w) in enumerate(zip(cells, widths))
        ]
        return "".join(text + " " * _GAP for text in texts)

    rule = "".join("-" * w + " " * _GAP for w in widths)
    return [rule, line(headers), rule, *map(line, rows), rule], rule


def _sorted(events: EventList, sort_by: str | None) -> list[Any]:
    if sort_by is None:
        return list(events)
    name = sort_by.replace("cuda", "device")
    if name.replace("device", "cpu") not in _SORTS:
        raise ValueError(f"table: sort_by must be one of {', '.join(_SORTS)}, got {sort_by!r}")
    if "device" in name:
        raise NotImplementedError(f"table: sort_by={sort_by!r}: there is no device but the CPU")
    return sorted(events, key=lambda e: getattr(e, name), reverse=True)


class Column:
    """A column of a table: its title, its width, and what stands there for an event."""

    def __init__(self, title: str, width: int, cell: Callable[[Any], str]) -> None:
        """Keep these."""
        self.title, self.width, self.cell = title, width, cell


def _columns(
    events: EventList, rows: list[Any], name_width: int | None, shapes_width: int, unit: str | None
) -> list[Column]:
    """Return the columns that PyTorch shows for such events, without the one of lines."""
    total, name = events.self_cpu_time_total, _name_width(events, name_width)
    made = [
        Column("Name", name, lambda e: _text(e.key, name)),
        Column("Self CPU %", _WIDTH, lambda e: _share(e.self_cpu_time_total, total)),
        Column("Self CPU", _WIDTH, lambda e: _time(e.self_cpu_time_total, unit)),
        Column("CPU total %", _WIDTH, lambda e: _share(e.cpu_time_total, total)),
        Column("CPU total", _WIDTH, lambda e: _time(e.cpu_time_total, unit)),
        Column("CPU time avg", _WIDTH, lambda e: _time(e.cpu_time, unit)),
    ]
    if events.profile_memory:
        made += [
            Column("CPU Mem", _WIDTH, lambda e: format_memory(e.cpu_memory_usage)),
            Column("Self CPU Mem", _WIDTH, lambda e: format_memory(e.self_cpu_memory_usage)),
        ]
    made.append(Column("# of Calls", _WIDTH, lambda e: str(e.count)))
    if any(e.input_shapes for e in rows):
        width = min(max(len(str(e.input_shapes)) for e in rows) + 4, shapes_width)
        made.append(Column("Input Shapes", width, lambda e: _text(str(e.input_shapes), width)))
    return made


def _flops_column(rows: list[Any]) -> list[Column]:
    most = max((e.flops for e in rows), default=0)
    if most <= 0:
        return []
    power = min((len(str(most)) - 1) // 3, len(_SCALES) - 1)
    scale = 1000**power
    return [
        Column(
            f"Total {_SCALES[power]}",
            _WIDTH,
            lambda e: f"{e.flops / scale:8.3f}" if e.flops else "--",
        )
    ]


def events_table(
    events: EventList, sort_by: str | None, row_limit: int, src_width: int, name_width: int | None,
    shapes_width: int, header: str | None, top_level: bool, time_unit: str | None,
) -> str:  # fmt: skip
    """Return events as the table that PyTorch prints."""
    if time_unit is not None and time_unit not in _UNITS:
        raise ValueError(f"table: time_unit must be s, ms or us, got {time_unit!r}")
    if not events:
        return ""
    rows = _sorted(events, sort_by)
    if top_level:
        rows = [e for e in rows if getattr(e, "cpu_parent", None) is None]
    columns = _columns(events, rows, name_width, shapes_width, time_unit)
    left = len(columns)  # of the column of lines, if there is one
    source = any(e.stack for e in rows)
    if source:
        width = min(max(len(s) for e in rows for s in e.stack) + 4, src_width)
        columns.append(
            Column("Source Location", width, lambda e: _text("".join(e.stack[:1]), width))
        )
    columns += _flops_column(rows)
    cells: list[list[str]] = []
    for e in rows if row_limit < 0 else rows[:row_limit]:
        cells.append([c.cell(e) for c in columns])
        for line in e.stack[1:]:  # the other lines of its stack, below
            cells.append([_text(line, src_width) if k == left else "" for k in range(len(columns))])
    headers, widths = [c.title for c in columns], [c.width for c in columns]
    lines, rule = _lay_out(headers, widths, cells, left if source else None)
    title = ["=" * len(rule), header, "=" * len(rule)] if header is not None else []
    title += ["This report only display top-level ops statistics"] if top_level else []
    total = _time(events.self_cpu_time_total, time_unit)
    return "\n".join([*title, *lines, f"Self CPU time total: {total}", *notes_on(events), ""])


def notes_on(events: EventList) -> list[str]:
    """Return lines that say what is not in a record: ops that were left out, events beyond the limit."""
    notes = []
    if events.every > 1:
        notes.append(
            f"One op of {events.every} was recorded, and counts for all of them: sums are estimates."
        )
    if events.dropped:
        dropped = f"{events.dropped:,} later events are not in here."
        notes.append(f"The limit of the recorder was reached: {dropped}")
    return notes


def report_table(events: EventList, group_by: str = "op", row_limit: int = 20) -> str:
    """Return what took longest, with its phase, calls, bytes and share of the peak.

    Args:
        events: of a recording.
        group_by: ``"op"``, ``"module"`` or ``"line"``.
        row_limit: at most so many rows; -1: all.
    """
    averages = events.key_averages(group_by=group_by)  # type: ignore[arg-type]
    rows = sorted(averages, key=lambda e: e.self_cpu_time_total, reverse=True)
    shown = rows if row_limit < 0 else rows[:row_limit]
    total = averages.self_cpu_time_total
    flops = any(e.own_flops or e.flops for e in rows)
    headers = [
        {"op": "Op", "module": "Module", "line": "Line"}[group_by],
        "Phase",
        "Self %",
        "Self",
    ]
    headers += ["Total", "Calls", "Allocated"] + (["FLOP/s", "% of peak"] if flops else [])
    cells = []
    for e in shown:
        row = [_short(e.key) if group_by == "line" else e.key, e.phase]
        row += [f"{e.self_cpu_time_total / total:.1%}" if total else "--"]
        row += [format_time(e.self_cpu_time_total), format_time(e.cpu_time_total), str(e.count)]
        row.append(format_memory(e.allocated))
        if flops:
            seconds = e.self_cpu_time_total / 1e6
            rate = e.own_flops / seconds if seconds > 0 else 0.0
            row += [format_flops(rate), f"{rate / peak_flops():.0%}"] if rate else ["--", "--"]
        cells.append(row)
    widths = [max(len(r[k]) for r in [headers, *cells]) for k in range(len(headers))]
    lines, _ = _lay_out(headers, widths, cells, left=0)
    left_out = len(rows) - len(shown)
    more = [f"{left_out} more"] if left_out else []
    return "\n".join([*(line.rstrip() for line in lines), *more, *notes_on(events)])


def _short(place: str) -> str:
    """Return a line of a file below the current folder without the folder."""
    here = os.getcwd() + os.sep
    return place.removeprefix(here)
