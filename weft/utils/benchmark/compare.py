"""``Compare``: measurements side by side, as a table."""

from __future__ import annotations

from collections import defaultdict
from enum import IntEnum

from .measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["Colorize", "Compare"]

_BEST, _GOOD, _BAD, _VERY_BAD, _END = (
    "\033[92m\033[1m",
    "\033[34m",
    "\033[2m\033[91m",
    "\033[31m",
    "\033[0m",
)
_NEAR_BEST = 1.1


class Colorize(IntEnum):
    """Which times of a table are compared by colours."""

    NONE = 0
    COLUMNWISE = 1
    ROWWISE = 2


class Compare:
    """A table for each label: a row for each sub-label and number of threads, a column for each
    description.

    Args:
        results: measurements.

    >>> from weft.utils.benchmark import Compare, Measurement, TaskSpec
    >>> table = Compare([Measurement(1, [2e-6], TaskSpec("f()", "", label="f", description="a"))])
    >>> print(str(table).splitlines()[1].strip())
    |   a
    """

    def __init__(self, results: list[Measurement]) -> None:
        """Take measurements."""
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False
        self._colours = Colorize.NONE
        self._warn = False

    def __str__(self) -> str:
        """Return all tables."""
        return "\n".join(self._render())

    def extend_results(self, results: Sequence[Measurement]) -> None:
        """Take more measurements."""
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Compare: expected measurements, got {type(r).__name__}")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only digits that mean something."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show the best times in green and bad ones in red, by columns, or by rows."""
        self._colours = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark times that spread too far."""
        self._warn = True

    def print(self) -> None:
        """Print all tables."""
        print(str(self))

    def _render(self) -> list[str]:
        groups: defaultdict[str | None, list[Measurement]] = defaultdict(list)
        for r in Measurement.merge(self._results):
            groups[r.label].append(r)
        return [self._table(label, group) for label, group in groups.items()]

    def _table(self, label: str | None, group: list[Measurement]) -> str:
        unit, scale = select_unit(min(m.median for m in group))
        columns = ordered_unique(m.description for m in group)
        threads = sorted({m.num_threads for m in group})
        cells = {(m.num_threads, m.env, m.as_row_name, m.description): m for m in group}
        envs = ordered_unique(m.env for m in group)
        names = ordered_unique((m.env, m.as_row_name) for m in group)
        title = {n: f"{n[0]}: {n[1]}" if len(envs) > 1 else n[1] for n in names}
        texts = {key: self._text(m, scale) for key, m in cells.items()}
        widths = {
            c: max(len(c or ""), *(len(t) for k, t in texts.items() if k[3] == c)) for c in columns
        }
        first = max(len(t) for t in title.values()) + 6
        head = " " * first + "".join(f"  |  {c or '':^{widths[c]}}" for c in columns)
        lines = [head]
        if label:
            lines.insert(0, f"[{f' {label} ':-^{len(head) - 2}}]")
        for n in threads:
            lines.append(f"{f'{n} threads: ':-<{len(head)}}")
            rows = [name for name in names if any((n, *name, c) in cells for c in columns)]
            for name in rows:
                line = f"      {title[name]:<{first - 6}}"
                for c in columns:
                    key = (n, *name, c)
                    text = f"{texts.get(key, ''):>{widths[c]}}"
                    line += "  |  " + self._coloured(text, cells, key, rows, columns)
                lines.append(line)
        notes = ["", f"Times are in {unit_name(unit)}s ({unit})."]
        if self._warn and any(m.has_warnings for m in group):
            notes.append(
                "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."
            )
        return "\n".join(lines + notes) + "\n"

    def _text(self, m: Measurement, scale: float) -> str:
        value = m.median / scale
        figures = m.significant_figures
        text = f"{value:.1f}"
        if self._trim:
            trimmed = trim_sigfig(value, figures)
            text = f"{trimmed:.{1 if trimmed < 10 ** (figures - 1) else 0}f}"
        if self._warn and m.has_warnings:
            text = f"(! {m.iqr / m.median:.0%}) {text}"
        return text

    def _coloured(
        self, text: str, cells: Mapping[Any, Measurement], key: tuple[object, ...],
        rows: list[tuple[str, str]], columns: list[str | None],
    ) -> str:  # fmt: skip
        """Return a cell in the colour of its rank among those that it is compared with."""
        if self._colours is Colorize.NONE or key not in cells:
            return text
        if self._colours is Colorize.ROWWISE:
            keys = [(*key[:3], c) for c in columns]
        else:
            keys = [(key[0], *name, key[3]) for name in rows]
        times = [cells[k].median for k in keys if k in cells]
        best, mine = min(times), cells[key].median
        worst = max(times)
        if mine <= best * _NEAR_BEST:
            colour = _BEST if mine == best else _GOOD
        else:
            colour = (
                _VERY_BAD if mine == worst and mine > 2 * best else _BAD if mine > 2 * best else ""
            )
        return f"{colour}{text}{_END}" if colour else text
