"""What a survey of memory says, as tables: by holder, by line, by module, by kind."""

from __future__ import annotations

import re
from collections import defaultdict
from html import escape

from weft import _C

from .memory_graph import Block, Holder, Survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Group", "Growth", "Report", "Row", "format_bytes", "table"]

UNKNOWN, NO_MODULE, NATIVE = "(not known)", "(no module)", "native code"
_INDEX = re.compile(r"\[-?\d+\]")
_ROOT = re.compile(r"[.\[ {]")


def format_bytes(n: int) -> str:
    """Return a number of bytes as text.

    >>> from weft.debug.memory_report import format_bytes
    >>> format_bytes(1536), format_bytes(-3 * 2**30)
    ('1.5 KB', '-3.0 GB')
    """
    size, units = float(abs(n)), ["B", "KB", "MB", "GB", "TB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    number = f"{size:.0f}" if units[0] == "B" else f"{size:.1f}"
    return f"{'-' if n < 0 else ''}{number} {units[0]}"


def _counted(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows under a head, the last column to the left.

    >>> from weft.debug.memory_report import table
    >>> print(table(["Bytes", "Line"], [["12 B", "a.py:1"]]))
    Bytes  Line
     12 B  a.py:1
    """
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head) - 1)]
    return "\n".join(
        "  ".join([*(c.rjust(w) for c, w in zip(line, widths)), line[-1]]).rstrip()
        for line in lines
    )


class Row:
    """A row of a table: how many bytes and blocks belong to a name.

    >>> weft.memory.Row("conv1", 512, 2)
    <Row conv1 bytes=512 blocks=2>
    """

    __slots__ = ("blocks", "bytes", "name")

    def __init__(self, name: str, bytes: int = 0, blocks: int = 0) -> None:
        """Keep the numbers."""
        self.name, self.bytes, self.blocks = name, bytes, blocks

    def __repr__(self) -> str:
        """Return all of it."""
        return f"<Row {self.name} bytes={self.bytes} blocks={self.blocks}>"


class Group:
    """Holders that belong together: the elements of a list, the parameters of a model.

    Attributes:
        name: their common path, as ``losses[*]`` or ``model``.
        kind: what they are.
        scope: where the variable is; empty for a global of the program.
        holders: they themselves, the one that keeps most first.

    >>> batches = [weft.ones(1024), weft.ones(2048)]
    >>> print(*(g for g in weft.memory.report().groups if g.name == "batches[*]"))
    batches[*]: 2 tensors keep 12.0 KB alive (global); the most: batches[1], 8.0 KB
    """

    def __init__(self, name: str, kind: str, scope: str, holders: list[Holder]) -> None:
        """Keep them."""
        self.name, self.kind, self.scope = name, kind, scope
        self.holders = sorted(holders, key=lambda h: (-h.total, -h.nodes))

    @property
    def bytes(self) -> int:
        """What all of them keep."""
        return sum(h.total for h in self.holders)

    @property
    def nodes(self) -> int:
        """The nodes of their graphs."""
        return sum(h.nodes for h in self.holders)

    def __str__(self) -> str:
        """Return a sentence that says what they keep alive."""
        most = self.holders[0]
        many = len(self.holders) > 1
        keep = "keep" if many else "keeps"
        who = (
            f"{self.name}: {_counted(len(self.holders), self.kind)} {keep}"
            if many
            else f"{most.path} {keep}"
        )
        if not many and self.kind != "tensor":
            who = f"{most.path} ({self.kind}) {keep}"
        text = who + (f" {_counted(self.nodes, 'node')} and" if self.nodes else "")
        text += f" {format_bytes(self.bytes)} alive"
        lines = {h.source for h in self.holders if h.source}
        if lines:
            shown = sorted(lines)[:2]
            text += f", made at {' and '.join(shown)}{' and others' if len(lines) > 2 else ''}"
        if self.scope:
            text += f" ({self.scope})"
        if many and self.kind == "tensor":
            text += f"; the most: {most.path}, {format_bytes(most.total)}"
        if most.also and self.kind == "tensor":
            text += f"; also {most.also[0]}"
        return text


def group_of(holder: Holder) -> tuple[str, str, str]:
    """Return the name, the kind and the scope of the group that a holder belongs to."""
    scope = re.sub(r":\d+$", "", holder.scope)
    if holder.kind in ("tensor", "gradient") and holder.module == "":
        return _INDEX.sub("[*]", holder.path), holder.kind, scope
    if holder.kind == "tensor":
        return _INDEX.sub("[*]", holder.path), holder.kind, scope
    return _ROOT.split(holder.path, maxsplit=1)[0] or holder.path, holder.kind, scope


class Report:
    """Who holds what now; ``print`` shows it, and a notebook as tables.

    Attributes:
        allocated: bytes of blocks in use, as ``weft.memory_allocated()`` says.
        peak: the most that there were since the last reset.
        cached: bytes of free blocks that are kept for reuse.
        holders: what variables lead to, what keeps most first.
        unreached: bytes that no tensor has: of compiled programs and caches of native code.

    >>> report = weft.memory.report()
    >>> report.allocated == sum(h.total for h in report.holders) + report.unreached
    True
    """

    def __init__(self, survey: Survey, title: str = "") -> None:
        """Keep what a survey found."""
        self.allocated, self.peak = survey.stats["live"], survey.stats["peak"]
        self.cached, self.nodes = survey.stats["cached"], survey.stats["nodes"]
        self.tensors = survey.stats["tensors"]
        self.unreached, self.foreign = survey.unreached, survey.foreign
        self.title = title
        self.holders = sorted(survey.holders, key=lambda h: (-h.total, -h.nodes))
        self.blocks = survey.blocks
        self.rounding = sum(b.bytes - b.asked for b in survey.blocks)
        self.free_blocks: list[tuple[int, int]] = [(b, n) for b, n in _C._free_blocks()]

    @property
    def groups(self) -> list[Group]:
        """The holders in groups, what keeps most first."""
        members: dict[tuple[str, str, str], list[Holder]] = defaultdict(list)
        for holder in self.holders:
            members[group_of(holder)].append(holder)
        found = [Group(*key, holders) for key, holders in members.items()]
        return sorted(found, key=lambda g: (-g.bytes, -g.nodes))

    def by_line(self) -> list[Row]:
        """Return bytes by the line that made them; their sum is ``allocated``."""
        return self._by(lambda b: b.source)

    def by_module(self) -> list[Row]:
        """Return bytes by the layer they belong to; their sum is ``allocated``."""
        return self._by(lambda b: b.module, NO_MODULE)

    def by_kind(self) -> list[Row]:
        """Return bytes by what they are for; their sum is ``allocated``."""
        return self._by(lambda b: b.kind, NATIVE)

    def _by(self, key: Callable[[Block], str], unknown: str = UNKNOWN) -> list[Row]:
        rows: dict[str, Row] = {}
        for block in self.blocks:
            name = key(block) or unknown
            row = rows.setdefault(name, Row(name))
            row.bytes, row.blocks = row.bytes + block.bytes, row.blocks + 1
        if self.unreached:
            row = rows.setdefault(unknown, Row(unknown))
            row.bytes += self.unreached
        return sorted(rows.values(), key=lambda r: -r.bytes)

    def head(self) -> str:
        """Return one line of totals."""
        return (
            f"{format_bytes(self.allocated)} in use by {_counted(self.tensors, 'tensor')} and "
            f"{_counted(self.nodes, 'node')} of the graph; the peak was {format_bytes(self.peak)}"
        )

    def allocator(self) -> str:
        """Return what the allocator keeps beyond what is in use, and what rounding costs."""
        text = f"kept for reuse: {format_bytes(self.cached)}"
        if self.free_blocks:
            largest, count = max(self.free_blocks)[0], sum(n for _, n in self.free_blocks)
            text += f" in {_counted(count, 'free block')}, the largest {format_bytes(largest)}"
        share = self.rounding / self.allocated if self.allocated else 0.0
        text += (
            f"; {format_bytes(self.rounding)} ({share:.1%}) of what is in use is rounding of sizes"
        )
        if self.unreached:
            text += (
                f"; {format_bytes(self.unreached)} belong to no tensor (compiled programs, caches)"
            )
        if self.foreign:
            text += f"; {format_bytes(self.foreign)} more are memory of others, such as NumPy's"
        return text

    def text(self, rows: int = 12) -> str:
        """Return the report as text, with so many rows of each table; -1: all."""
        most = None if rows < 0 else rows
        parts = [self.title] if self.title else []
        parts += [self.head(), self.allocator(), "", "who holds it"]
        groups = [g for g in self.groups if g.bytes or g.nodes]
        parts += [f"  {group}" for group in groups[:most]]
        if most is not None and len(groups) > most:
            parts.append(f"  {len(groups) - most} more")
        for name, found in self._tables():
            head = ["Bytes", "Share", "Blocks", name]
            parts += ["", table(head, [self._cells(r) for r in found[:most]])]
            if most is not None and len(found) > most:
                parts.append(f"{len(found) - most} more")
        return "\n".join(parts)

    def _tables(self) -> list[tuple[str, list[Row]]]:
        return [("Kind", self.by_kind()), ("Module", self.by_module()), ("Line", self.by_line())]

    def _cells(self, row: Row) -> list[str]:
        share = row.bytes / self.allocated if self.allocated else 0.0
        return [format_bytes(row.bytes), f"{share:.0%}", str(row.blocks), row.name]

    def __str__(self) -> str:
        """Return the report as text."""
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from weft.view.html import _table

        groups = [g for g in self.groups if g.bytes or g.nodes][:12]
        rows = [[escape(str(g)), format_bytes(g.bytes)] for g in groups]
        parts = [f"<div><b>{escape(self.head())}</b></div><div>{escape(self.allocator())}</div>"]
        parts.append(_table(["Who holds it", "Bytes"], rows, left=1))
        for name, found in self._tables():
            cells = [[escape(c) for c in reversed(self._cells(r))] for r in found[:12]]
            parts.append(_table([name, "Blocks", "Share", "Bytes"], cells, left=1))
        return f"<div>{''.join(parts)}</div>"

    def since(self, before: Report) -> Growth:
        """Return what is there now and was not before, by group.

        >>> import weft
        >>> losses = []
        >>> before = weft.memory.snapshot()
        >>> losses += [weft.ones(1000) for _ in range(3)]
        >>> weft.memory.snapshot().since(before).culprit.name
        'losses[*]'
        """
        return Growth(before, self)


class Growth:
    """What has grown between two reports; ``culprit`` is the group that grew most.

    Attributes:
        bytes: by how much the memory in use grew.
        changes: by how many bytes, nodes and holders each group grew, what grew most first.
        steps: how many training steps lie between, if that is known.

    >>> before = weft.memory.snapshot()
    >>> x = weft.ones(1024)
    >>> print(str(weft.memory.snapshot().since(before)).splitlines()[0])
    memory in use grew by 4.0 KB
    """

    def __init__(self, before: Report, after: Report, steps: int = 0) -> None:
        """Compare two reports."""
        self.bytes = after.allocated - before.allocated
        self.nodes = after.nodes - before.nodes
        self.steps = steps
        old = {(g.name, g.kind, g.scope): g for g in before.groups}
        self.changes: list[tuple[Group, int, int, int]] = []
        for group in after.groups:
            was = old.get((group.name, group.kind, group.scope))
            grown = (
                group.bytes - (was.bytes if was else 0),
                group.nodes - (was.nodes if was else 0),
                len(group.holders) - (len(was.holders) if was else 0),
            )
            if grown[0] > 0 or grown[1] > 0 or grown[2] > 0:
                self.changes.append((group, *grown))
        self.changes.sort(key=lambda c: c[1:], reverse=True)
        self.unreached = after.unreached - before.unreached

    @property
    def culprit(self) -> Group | None:
        """The group that grew most; None where nothing grew."""
        return self.changes[0][0] if self.changes else None

    def __str__(self) -> str:
        """Return what grew as text, the culprit first."""
        per = (
            f" in {_counted(self.steps, 'step')}, {format_bytes(self.bytes // self.steps)} a step"
            if self.steps
            else ""
        )
        lines = [f"memory in use grew by {format_bytes(self.bytes)}{per}"]
        if self.bytes <= 0:
            lines[0] = f"memory in use did not grow ({format_bytes(self.bytes)}{per})"
        for i, (group, size, nodes, count) in enumerate(self.changes[:8]):
            more = [f"{format_bytes(size)}"] + ([_counted(nodes, "node")] if nodes else [])
            more += [_counted(count, group.kind)] if count else []
            mark = "culprit: " if i == 0 and self.bytes > 0 else ""
            lines.append(f"  {mark}{group.name} grew by {', '.join(more)}: {group}")
        if self.unreached > 0:
            lines.append(
                f"  {format_bytes(self.unreached)} more belong to no tensor (compiled programs, caches)"
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from weft.view.html import text_html

        return text_html("Growth of memory", str(self))
