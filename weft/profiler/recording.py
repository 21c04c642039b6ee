"""Recordings of what ran, from the native recorder (csrc/core/event_log.h) to events in Python."""

from __future__ import annotations

import functools
import gc
import re

from weft import _C

from .events import EventList, FunctionEvent, Interval
from .flops import flops_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["DEFAULT_LIMIT", "events_of", "record_function"]

DEFAULT_LIMIT = 1_000_000  # events
_AT_ONCE = 20_000  # that are read from the recorder
KINDS = ("op", "node", "instruction", "program", "range")
OPTIMIZER, LOADER = "Optimizer.", "enumerate(DataLoader)#"
_LINE = re.compile(r"^(.*):(\d+)(?:, in (.*?))?(?: \(module (.*)\))?$")


class record_function:
    """A named range in what a profiler records: a context manager, or a decorator of functions.

    Args:
        name: what tables and traces call it.
        args: a text that is kept with it.

    >>> from weft.profiler import profile, record_function
    >>> with profile() as prof:
    ...     with record_function("square"):
    ...         y = weft.ones(3) * 3
    >>> [e.name for e in prof.events()]
    ['square', 'ones', 'mul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        """Keep the name; nothing is recorded yet."""
        if not isinstance(name, str):
            raise TypeError(f"record_function: expected a name (str), got {type(name).__name__}")
        self.name, self.args = name, args
        self._open: list[Any] = []  # a range for each time that it was entered

    def __enter__(self) -> record_function:
        """Begin the range."""
        recorded = _C._is_recording()
        self._open.append(_C.OpenRange(self.name, self.args or "") if recorded else None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        """End it."""
        if self._open and (range_ := self._open.pop()) is not None:
            range_.close(kind is not None)

    def __call__(self, function: F) -> F:
        """Return the function, each call of which is such a range."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]


def _sizes(shape: Any) -> Any:
    """Return a recorded shape as PyTorch shows it: [] for what is no tensor."""
    if shape is None:
        return []
    if isinstance(shape, list):
        return [_sizes(s) for s in shape]
    return list(shape[1:])


def _plain(shape: Any) -> Any:
    """Return a recorded shape without the dtype."""
    if isinstance(shape, list):
        return [_plain(s) for s in shape]
    return None if shape is None else shape[1:]


def _dtypes(shape: Any) -> Any:
    if isinstance(shape, list):
        return [_dtypes(s) for s in shape]
    return "" if shape is None else str(shape[0]).removeprefix("torch.")


def _phase_of(kind: str, name: str, parent: FunctionEvent | None) -> str:
    """Return the part of a training step that an event belongs to."""
    if parent is not None and parent.phase not in ("", "forward"):
        return parent.phase
    if kind == "node" or (kind == "range" and name == "backward"):
        return "backward"
    if kind in ("program", "instruction"):
        return "compiled"
    if kind == "range":
        if name.startswith(OPTIMIZER):
            return "optimizer"
        return "loading" if name.startswith(LOADER) else ""
    return "forward"


def _place(
    event: FunctionEvent,
    origin: tuple[str, int, str, str],
    detail: str,
    parent: FunctionEvent | None,
) -> None:
    """Set the line and the module of an event: in the backward pass those of the forward call."""
    file, line, function, module = origin
    if event.kind == "instruction" and (found := _LINE.match(detail)):
        file, line = found[1], int(found[2])
        function, module = found[3] or "", found[4] or ""
    event.file, event.line, event.function = file, line, function
    event.module = module
    if parent is None:
        return
    if event.kind == "op" and parent.kind in ("op", "node") and parent.phase == "backward":
        event.file, event.line, event.function = parent.file, parent.line, parent.function
    if not event.module and event.kind != "range":
        event.module = parent.module


def events_of(recording: Any, *, shapes: bool, flops: bool, stacks: bool, every: int) -> EventList:
    """Return the events of a recording, each with its parent and children.

    Args:
        recording: a ``weft._C.Recording``.
        shapes: whether events show the shapes of arguments.
        flops: whether operations are counted, which needs recorded shapes.
        stacks: whether events have stacks, which must be recorded.
        every: of how many ops one was recorded.
    """
    ended = _C._recorder_clock() if recording.on else recording.stopped
    reader = _Reader(recording, ended, shapes, flops, stacks)
    collecting = gc.isenabled()
    gc.disable()  # it would look at all events again and again
    try:
        for first in range(0, len(recording), _AT_ONCE):
            for row in recording.events(first, _AT_ONCE):
                reader.read(row, every)
        for event in reversed(reader.made):
            event.settle()
    finally:
        if collecting:
            gc.enable()
    events = EventList(reader.made, began=recording.began, ended=ended, dropped=recording.dropped)
    events.every = every
    return events


class _Reader:
    """Makes events of what the recorder gives."""

    def __init__(self, recording: Any, ended: int, shapes: bool, flops: bool, stacks: bool) -> None:
        self.began, self.ended = recording.began, ended
        self.shapes, self.flops = shapes, flops
        self.origins, self.frames = recording.origins, recording.frames if stacks else []
        self.made: list[FunctionEvent] = []
        self.shown: dict[int, Any] = {}  # by recorded shapes: them, and what events show
        self.counted: dict[tuple[str, int], int] = {}
        self.stacks: dict[int, list[str]] = {}

    def read(self, row: Any, every: int) -> None:
        """Add an event."""
        kind_number, name, begin, end, parent, thread, allocated, freed, sequence, detail = row[:10]
        origin, stack, given, failed, unfinished = row[10:]
        kind = KINDS[kind_number]
        time_range = Interval(begin - self.began, (end or self.ended) - self.began)
        event = FunctionEvent(len(self.made), name, kind, thread, time_range)
        event.allocated, event.freed = allocated, freed
        event.failed, event.unfinished = failed, unfinished or not end
        event.sequence_nr = sequence or -1
        event.args = detail if kind == "range" else ""
        event.weight = every if kind in ("op", "node", "instruction") else 1
        above = self.made[parent] if parent >= 0 else None
        event.phase = _phase_of(kind, name, above)
        _place(event, self.origins[origin], detail, above)
        if above is not None:
            above.append_cpu_child(event)
        if given is not None:
            self._add_shapes(event, given)
        if stack and self.frames:
            event.stack = self._lines_of(stack)
        self.made.append(event)

    def _add_shapes(self, event: FunctionEvent, given: Any) -> None:
        shown = self.shown.get(id(given))
        if shown is None:
            sizes, dtypes = [_sizes(s) for s in given[0]], [_dtypes(s) for s in given[0]]
            shown = self.shown[id(given)] = (given, sizes, dtypes)
        if self.shapes:
            event.input_shapes, event.input_dtypes = shown[1], shown[2]
        if self.flops:
            key = event.name, id(given)
            flops = self.counted.get(key)
            if flops is None:
                plain = [[_plain(s) for s in part] for part in given]
                flops = self.counted[key] = flops_of(event.name, plain[0], plain[1])
            event.own_flops = flops

    def _lines_of(self, number: int) -> list[str]:
        """Return the lines of Python of a stack, the innermost first."""
        known = self.stacks.get(number)
        if known is None:
            outer, (file, line, function) = self.frames[number]
            known = [f"{file}({line}): {function}"]
            while outer:
                outer, (file, line, function) = self.frames[outer]
                known.append(f"{file}({line}): {function}")
            self.stacks[number] = known
        return known
