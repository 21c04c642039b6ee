"""What was recorded, as objects: single events, averages of events that are alike, lists of both."""

from __future__ import annotations

from collections import defaultdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    Grouping = Literal["op", "module", "line"]

_NOTHING: list[Any] = []  # never changed

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


def format_time(us: float) -> str:
    """Return microseconds as text.

    >>> from weft.profiler.events import format_time
    >>> format_time(1500.0), format_time(2.5)
    ('1.500ms', '2.500us')
    """
    if abs(us) >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if abs(us) >= 1e3 else f"{us:.3f}us"


class Interval:
    """From when to when, in microseconds since the recording began."""

    __slots__ = ("begin_ns", "end_ns")

    def __init__(self, begin_ns: int, end_ns: int) -> None:
        """Keep both ends, in nanoseconds."""
        self.begin_ns, self.end_ns = begin_ns, end_ns

    @property
    def start(self) -> float:
        """When it began."""
        return self.begin_ns / 1e3

    @property
    def end(self) -> float:
        """When it was over."""
        return self.end_ns / 1e3

    def elapsed_us(self) -> float:
        """Return how long it is."""
        return (self.end_ns - self.begin_ns) / 1e3


class _Times:
    """The names that PyTorch has for times and memory; here there is one device, the CPU."""

    __slots__ = ()

    device_type = "cpu"
    use_device = None
    is_async = is_remote = is_legacy = False
    node_id = -1
    overload_name = ""
    device_time = device_time_total = self_device_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0

    if TYPE_CHECKING:  # of each subclass: a property or a slot
        count: Any
        cpu_time_total: Any
        self_cpu_time_total: Any

    @property
    def cpu_time(self) -> float:
        """The mean of all calls, in microseconds."""
        return float(self.cpu_time_total / self.count) if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """The same as text."""
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """The time of all calls as text."""
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """The time of all calls without what they called, as text."""
        return format_time(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One thing that ran: an op, a node of the backward pass, an instruction, a range.

    ``kind`` is ``"op"``, ``"node"``, ``"instruction"`` (of a compiled program), ``"program"`` or
    ``"range"``; ``phase`` is ``"forward"``, ``"backward"``, ``"optimizer"``, ``"loading"``,
    ``"compiled"``, or ``""`` for ranges that are none of these. ``file``, ``line``, ``function`` and
    ``module`` say who called it; in the backward pass, whose forward call it belongs to.

    >>> with weft.profiler.profile() as prof:
    ...     _ = weft.ones(3).exp()
    >>> [(event.name, event.kind, event.phase) for event in prof.events()]
    [('ones', 'op', 'forward'), ('exp', 'op', 'forward')]
    """

    __slots__ = (
        "allocated", "args", "cpu_children", "cpu_parent", "failed", "file", "flops", "freed",
        "function", "id", "input_dtypes", "input_shapes", "kind", "line", "module", "name", "own_flops",
        "phase", "self_allocated", "self_freed", "self_ns", "sequence_nr", "stack", "thread",
        "time_range", "unfinished", "weight",
    )  # fmt: skip

    count = 1

    def __init__(self, id: int, name: str, kind: str, thread: int, time_range: Interval) -> None:
        """Make an event without relations."""
        self.id, self.name, self.kind, self.thread, self.time_range = (
            id, name, kind, thread, time_range
        )  # fmt: skip
        self.cpu_children: list[FunctionEvent] = _NOTHING  # one list for all that have none
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes: list[Any] = _NOTHING
        self.input_dtypes: list[Any] = _NOTHING
        self.stack: list[str] = _NOTHING
        self.phase = self.file = self.function = self.module = self.args = ""
        self.line = self.flops = self.own_flops = self.allocated = self.freed = 0
        self.sequence_nr, self.weight = -1, 1
        self.failed = self.unfinished = False
        self.self_ns = self.self_allocated = self.self_freed = 0

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Take an event of the same thread that lies in this one."""
        child.cpu_parent = self
        if self.cpu_children is _NOTHING:
            self.cpu_children = []
        self.cpu_children.append(child)

    def settle(self) -> None:
        """Work out what is this event's own, once its children are settled.

        Of a range with sampled ops, the time of those that were left out is estimated.
        """
        if not self.cpu_children:
            self.self_ns, self.flops = _length(self), self.own_flops
            self.self_allocated, self.self_freed = self.allocated, self.freed
            return
        inside = sum(_length(c) * self._share(c) for c in self.cpu_children)
        self.self_ns = max(_length(self) - inside, 0)
        self.self_allocated = self.allocated - sum(c.allocated for c in self.cpu_children)
        self.self_freed = self.freed - sum(c.freed for c in self.cpu_children)
        below = sum(c.flops * self._share(c) for c in self.cpu_children)
        self.flops = below or self.own_flops  # a composed op is its parts
        self.own_flops = 0 if below else self.own_flops

    def _share(self, child: FunctionEvent) -> int:
        """Return how many events of its kind a child stands for, inside of this one."""
        return child.weight if self.weight == 1 else 1

    @property
    def key(self) -> str:
        """What averages call it: all steps of a schedule have one name."""
        step = self.kind == "range" and self.name.startswith("ProfilerStep#")
        return "ProfilerStep*" if step else self.name

    @property
    def scope(self) -> int:
        """PyTorch's number: 0 for ops, 1 for nodes of the backward pass, 7 for ranges."""
        return {"node": 1, "range": 7}.get(self.kind, 0)

    @property
    def is_user_annotation(self) -> bool:
        """Whether it is a range."""
        return self.kind == "range"

    @property
    def cpu_time_total(self) -> float:
        """How long it took, in microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """The same without the events in it."""
        return self.self_ns / 1e3

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes that were allocated in it, less those that were freed."""
        return self.allocated - self.freed

    @property
    def self_cpu_memory_usage(self) -> int:
        """The same without the events in it."""
        return self.self_allocated - self.self_freed

    @property
    def source(self) -> str:
        """The line that called it, as ``file:line``; empty where it is not known."""
        return f"{self.file}:{self.line}" if self.file else ""

    def __repr__(self) -> str:
        """Return the most important of it."""
        where = f" module={self.module}" if self.module else ""
        return (
            f"<FunctionEvent id={self.id} name={self.name} kind={self.kind} "
            f"cpu_time={self.cpu_time_str} start_us={self.time_range.start:.3f} "
            f"end_us={self.time_range.end:.3f} thread={self.thread} "
            f"input_shapes={self.input_shapes}{where} line={self.source} "
            f"cpu_children={[c.id for c in self.cpu_children]}>"
        )


def _length(event: FunctionEvent) -> int:
    return event.time_range.end_ns - event.time_range.begin_ns


class FunctionEventAvg(_Times):
    """Events that are alike, summed up: calls, times, memory, operations.

    >>> with weft.profiler.profile() as prof:
    ...     for _ in range(3):
    ...         _ = weft.ones(3).exp()
    >>> [event.count for event in prof.key_averages() if event.key == "exp"]
    [3]
    """

    __slots__ = (
        "allocated", "count", "cpu_memory_usage", "cpu_time_total", "flops", "input_shapes", "key",
        "kind", "module", "own_flops", "phase", "self_cpu_memory_usage", "self_cpu_time_total",
        "source", "stack",
    )  # fmt: skip

    weight = 1

    def __init__(self) -> None:
        """Make a sum of nothing."""
        self.key = self.kind = self.module = self.phase = self.source = ""
        self.input_shapes: Any = ""
        self.stack: list[str] = []
        self.count = self.flops = self.own_flops = 0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.allocated = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0

    @property
    def is_user_annotation(self) -> bool:
        """Whether the events are ranges."""
        return self.kind == "range"

    @property
    def self_flops(self) -> int:
        """Operations of these events themselves, not of the ops in them."""
        return self.own_flops

    @property
    def self_allocated(self) -> int:
        """Bytes that were allocated in these events themselves."""
        return self.allocated

    def add(
        self, event: FunctionEvent | FunctionEventAvg, *, nested: bool = False
    ) -> FunctionEventAvg:
        """Add an event, which counts for those that were not sampled too, or a sum of events.

        Args:
            event: what is added.
            nested: it lies in an event that was added before: its total is part of that one's.
        """
        if not self.count:
            self.key = self.key or event.key
            self.kind, self.phase = event.kind, event.phase
            self.module, self.source = event.module, event.source
            self.stack = event.stack
        n = event.weight
        self.count += n * event.count
        self.self_cpu_time_total += n * event.self_cpu_time_total
        self.self_cpu_memory_usage += n * event.self_cpu_memory_usage
        self.allocated += n * event.self_allocated
        self.own_flops += n * event.own_flops
        if not nested:
            self.cpu_time_total += n * event.cpu_time_total
            self.cpu_memory_usage += n * event.cpu_memory_usage
            self.flops += n * event.flops
        return self

    def __repr__(self) -> str:
        """Return the most important of it."""
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} count={self.count} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list):
    """Events, or averages of events, with tables and files of them.

    >>> with weft.profiler.profile() as prof:
    ...     _ = weft.ones(3).exp()
    >>> "exp" in prof.events().table()
    True
    """

    def __init__(
        self, events: Iterable[Any] = (), *, began: int = 0, ended: int = 0, dropped: int = 0,
        memory: bool = False, flops: bool = False,
    ) -> None:  # fmt: skip
        """Take the events of a recording, which lasted from ``began`` to ``ended`` (nanoseconds)."""
        super().__init__(events)
        self.began, self.ended, self.dropped = began, ended, dropped
        self.profile_memory, self.with_flops = memory, flops
        self.every = 1  # of how many ops one was recorded

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events together, in microseconds."""
        return float(sum(e.self_cpu_time_total * getattr(e, "weight", 1) for e in self))

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        *,
        group_by: Grouping = "op",
    ) -> EventList:
        """Return the sums of events that are alike.

        Args:
            group_by_input_shapes: other shapes are another group.
            group_by_stack_n: other lines, of so many innermost lines of Python, are another group.
            group_by_overload_name: overloads of an op are groups: weft records none apart.
            group_by: ``"op"`` by name, ``"module"`` by the path of the module and the phase,
                ``"line"`` by the line of the user's program and the phase.

        >>> from weft.profiler import profile
        >>> with profile() as prof:
        ...     for _ in range(3):
        ...         y = weft.ones(4)
        >>> [(a.key, a.count) for a in prof.events().key_averages()]
        [('ones', 3)]
        """
        if group_by_overload_name:
            raise NotImplementedError("key_averages: group_by_overload_name is not recorded")
        if group_by not in ("op", "module", "line"):
            raise ValueError(f"key_averages: group_by must be op, module or line, got {group_by!r}")
        groups: defaultdict[Any, FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for e in self:
            if group_by == "op":
                shapes = str(e.input_shapes) if group_by_input_shapes else ""
                key: tuple[Any, ...] = (e.key, e.kind, shapes, tuple(e.stack[:group_by_stack_n]))
            else:
                key = (_place(e, group_by), e.phase)
            average = groups[key]
            average.key = key[0] or f"({'no module' if group_by == 'module' else 'no line'})"
            average.add(e, nested=group_by != "op" and _lies_in(e, key, group_by))
            if group_by == "op":
                average.input_shapes = e.input_shapes if group_by_input_shapes else ""
                average.stack = e.stack[:group_by_stack_n]
        made = EventList(groups.values(), began=self.began, ended=self.ended, dropped=self.dropped)
        made.profile_memory, made.with_flops = self.profile_memory, self.with_flops
        made.every = self.every
        return made

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""
        total = FunctionEventAvg()
        total.key = "Total"
        for e in self:
            total.add(e)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return the events as a table, in PyTorch's form.

        Args:
            sort_by: ``cpu_time``, ``cpu_time_total``, ``self_cpu_time_total``,
                ``cpu_memory_usage``, ``self_cpu_memory_usage`` or ``count``, the largest first.
            row_limit: at most so many rows; all, if it is negative.
            max_src_column_width: of the column of lines.
            max_name_column_width: of names; None: as wide as they are.
            max_shapes_column_width: of shapes.
            header: a title.
            top_level_events_only: only what lies in nothing else.
            time_unit: ``s``, ``ms`` or ``us`` for all times; None: what suits each.
        """
        from .table import events_table

        return events_table(
            self, sort_by, row_limit, max_src_column_width, max_name_column_width,
            max_shapes_column_width, header, top_level_events_only, time_unit,
        )  # fmt: skip

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to a file for chrome://tracing or Perfetto; gzipped if it ends in .gz."""
        from .chrome import write_trace

        if not all(isinstance(e, FunctionEvent) for e in self):
            raise TypeError(
                "export_chrome_trace: averages have no times; use events(), or the profile"
            )
        write_trace(self, path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with their microseconds, a line each, for tools that draw flame graphs."""
        from .flame import write_stacks

        write_stacks(self, path, metric)

    def __str__(self) -> str:
        """Return the table."""
        return self.table()


def _place(event: FunctionEvent, group_by: str) -> str:
    return event.module if group_by == "module" else event.source


def _lies_in(event: FunctionEvent, key: tuple[Any, ...], group_by: str) -> bool:
    """Whether an event around this one is in the same group."""
    above = event.cpu_parent
    while above is not None:
        if (_place(above, group_by), above.phase) == key:
            return True
        above = above.cpu_parent
    return False
