"""What the peak of memory was made of: each block from its allocation until it is given back."""

from __future__ import annotations

import os
from html import escape

import weft
from weft import _C

from .memory_paths import shown_file
from .memory_report import NO_MODULE, UNKNOWN, Row, format_bytes, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Literal

    By = Literal["module", "line", "op"]

__all__ = ["Peak", "Track", "lines_of_blocks", "track"]

BEFORE = "(before tracking)"
_LIMIT = 1_000_000  # blocks
_open: list[Track] = []


class _Live:
    """The blocks that are in use, while a record of memory is read."""

    def __init__(self, at_start: int) -> None:
        self.before = at_start  # bytes of blocks that were there already
        self.blocks: dict[int, tuple[int, int]] = {}  # by address: bytes, the number of the event

    def apply(self, address: int, bytes: int, event: int) -> list[tuple[int | None, int]]:
        """Take or give back a block; return by how much which event's memory changed."""
        if bytes > 0:
            self.blocks[address] = (bytes, event)
            return [(event, bytes)]
        known = self.blocks.pop(address, None)
        if known is not None:
            return [(known[1], -known[0])]
        for begin, (size, maker) in self.blocks.items():
            if begin < address < begin + size:  # its end is given back, it stays
                self.blocks[begin] = (size + bytes, maker)
                return [(maker, bytes)]
        self.before += bytes
        return [(None, bytes)]


class Peak:
    """The blocks that were in use when most memory was.

    Attributes:
        bytes: of all of them, as ``weft.max_memory_allocated()`` says.
        before: of those that were there when tracking began.
        blocks: of each other one (bytes, line, module, op, phase).
        during: the op, the line and the module that allocated last.

    >>> with weft.memory.track() as tracked:
    ...     x = weft.ones(1024)
    >>> tracked.peak.bytes - tracked.peak.before, tracked.peak.during.split()[0]
    (4096, 'ones')
    """

    def __init__(
        self, before: int, blocks: list[tuple[int, str, str, str, str]], during: str
    ) -> None:
        """Keep what it was made of."""
        self.before, self.blocks, self.during = before, blocks, during
        self.bytes = before + sum(b[0] for b in blocks)

    def by_line(self) -> list[Row]:
        """Return bytes by the line that allocated them; their sum is that of the peak."""
        return self._by([b[1] for b in self.blocks])

    def by_module(self) -> list[Row]:
        """Return bytes by layer."""
        return self._by([b[2] or NO_MODULE for b in self.blocks])

    def by_op(self) -> list[Row]:
        """Return bytes by op."""
        return self._by([b[3] for b in self.blocks])

    def _by(self, names: list[str]) -> list[Row]:
        rows: dict[str, Row] = {BEFORE: Row(BEFORE, self.before)} if self.before else {}
        for name, block in zip(names, self.blocks):
            row = rows.setdefault(name or UNKNOWN, Row(name or UNKNOWN))
            row.bytes, row.blocks = row.bytes + block[0], row.blocks + 1
        return sorted(rows.values(), key=lambda r: -r.bytes)

    def text(self, rows: int = 10) -> str:
        """Return the peak as tables with so many rows; -1: all."""
        most = None if rows < 0 else rows
        parts = [f"peak: {format_bytes(self.bytes)}{self.during and ', reached in '}{self.during}"]
        for name, found in (
            ("Module", self.by_module()),
            ("Line", self.by_line()),
            ("Op", self.by_op()),
        ):
            cells = [
                [
                    format_bytes(r.bytes),
                    f"{r.bytes / max(self.bytes, 1):.0%}",
                    str(r.blocks),
                    r.name,
                ]
                for r in found[:most]
            ]
            parts += ["", table(["Bytes", "Share", "Blocks", name], cells)]
        return "\n".join(parts)

    __str__ = __repr__ = text


class Track:
    """Records each block of memory; see :func:`track`.

    >>> tracked = weft.memory.track()
    >>> tracked.start()
    >>> x = weft.ones(3)
    >>> tracked.stop()
    >>> len(tracked.peak.blocks)
    1
    """

    def __init__(self, limit: int = _LIMIT) -> None:
        """Be ready to record."""
        self._recording = _C.Recording(memory=True, limit=limit)
        self._made: tuple[int, int, list[tuple[str, str, str, str]]] | None = None
        self._start = 0

    def __enter__(self) -> Track:
        """Begin to record."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def start(self) -> None:
        """Forget what was recorded, and record."""
        self._made = None
        self._start = weft.memory_allocated()
        self._recording.start()
        if self not in _open:
            _open.append(self)

    def stop(self) -> None:
        """Record no more."""
        if self._recording.on:
            self._recording.stop()
        if self in _open:
            _open.remove(self)

    # ---- reading -------------------------------------------------------------------------------

    def _rows(self) -> list[Any]:
        if self._recording.dropped:
            raise RuntimeError(
                f"memory.track: {self._recording.dropped} ops or blocks were not recorded: track less, "
                "or pass a larger limit"
            )
        rows: list[Any] = self._recording.memory
        return rows

    def _places(self) -> list[tuple[str, str, str, str]]:
        """Return of each event the line, the module, the name and the phase."""
        from weft.profiler.recording import events_of

        size = len(self._recording)
        blocks = len(self._recording.memory)
        if self._made is None or self._made[:2] != (size, blocks):
            events = events_of(self._recording, shapes=False, flops=False, stacks=False, every=1)
            found = [
                (f"{shown_file(e.file)}:{e.line}" if e.file else "", e.module, e.name, e.phase)
                for e in events
            ]
            self._made = size, blocks, found
        return self._made[2]

    def _place(self, event: int) -> tuple[str, str, str, str]:
        places = self._places()
        return places[event] if 0 <= event < len(places) else ("", "", "", "")

    @property
    def peak(self) -> Peak:
        """What was in use when most was; the first such moment."""
        rows = self._rows()
        top, last = self._start, -1
        for i, row in enumerate(rows):
            if row[3] > top:
                top, last = row[3], i
        live = _Live(self._start)
        for _, address, size, _, _, event in rows[: last + 1]:
            live.apply(address, size, event)
        blocks = [(size, *self._place(event)) for size, event in live.blocks.values()]
        during = ""
        if last >= 0:
            source, module, name, phase = self._place(rows[last][5])
            inside = f" of {module}" if module else ""
            during = f"{name}{inside}{' (' + phase + ')' if phase else ''}{' at ' + source if source else ''}"
        return Peak(live.before, blocks, during)

    def lines(self) -> dict[int, tuple[str, str]]:
        """Return of the blocks that are in use by address the line and the module that made them."""
        live = _Live(self._start)
        for _, address, size, _, _, event in self._rows():
            live.apply(address, size, event)
        found = {address: self._place(event) for address, (_, event) in live.blocks.items()}
        return {address: (place[0], place[1]) for address, place in found.items()}

    # ---- a picture -----------------------------------------------------------------------------

    def picture(
        self, file: str | os.PathLike[str] | None = None, by: By = "module", most: int = 8
    ) -> str:
        """Return memory over time as an SVG picture that needs nothing else.

        Args:
            file: where to write it; None does not.
            by: what the areas are: ``"module"``, ``"line"`` or ``"op"``.
            most: how many areas there are; what is smaller at the peak is one area.

        >>> with weft.memory.track() as tracked:
        ...     x = weft.ones(1000).exp()
        >>> tracked.picture(by="op").startswith("<svg")
        True
        """
        from .memory_picture import draw

        if by not in ("module", "line", "op"):
            raise ValueError(f"picture: by must be 'module', 'line' or 'op', got {by!r}")
        unknown = NO_MODULE if by == "module" else UNKNOWN
        place = {"line": 0, "module": 1, "op": 2}[by]
        rows = [
            (at - self._recording.began, address, size, self._place(event)[place] or unknown)
            for at, address, size, _, _, event in self._rows()
        ]
        text = draw(self._start, rows, most)
        if file is not None:
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
        return text

    def __str__(self) -> str:
        """Return the peak as tables."""
        return str(self.peak)

    def _repr_html_(self) -> str:
        return f"<div>{self.picture()}<pre>{escape(str(self.peak))}</pre></div>"


def track(limit: int = _LIMIT) -> Track:
    """Return a context manager that records each block of memory, for the peak and for pictures.

    While it is on, reports know the lines of all tensors that were made meanwhile.

    Args:
        limit: how many ops and blocks are recorded at most.

    >>> weft.reset_peak_memory_stats()
    >>> with weft.memory.track() as tracked:
    ...     x = weft.ones(1 << 20)
    ...     y = (x + 1).sum()
    >>> tracked.peak.bytes == weft.max_memory_allocated()
    True
    >>> {row.name: row.bytes for row in tracked.peak.by_op()}["add"]
    4194304
    """
    return Track(limit)


def lines_of_blocks() -> dict[int, tuple[str, str]]:
    """Return what the tracks that are on know of blocks in use: by address, line and module."""
    found: dict[int, tuple[str, str]] = {}
    for one in _open:
        found.update(one.lines())
    return found
