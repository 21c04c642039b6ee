"""The profiler: which part of a program is recorded, and what becomes of the record."""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
import warnings
from enum import Enum

from weft import _C

from .events import EventList
from .recording import DEFAULT_LIMIT, events_of, record_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any

    from .events import Grouping

__all__ = [
    "ProfilerAction", "ProfilerActivity", "profile", "schedule", "supported_activities",
    "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(Enum):
    """What can be recorded: here the CPU.

    >>> with weft.profiler.profile(activities=[weft.profiler.ProfilerActivity.CPU]):
    ...     _ = weft.ones(3).exp()
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What is done in a step.

    >>> steps = weft.profiler.schedule(wait=1, warmup=1, active=1)
    >>> [steps(i).name for i in range(3)]
    ['NONE', 'WARMUP', 'RECORD_AND_SAVE']
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """Return what can be recorded on this machine.

    >>> weft.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Return a plan of steps: cycles of waiting, warming up and recording.

    Args:
        wait: steps of a cycle in which nothing happens.
        warmup: steps after those; here nothing has to get warm.
        active: steps that are recorded; after the last one, ``on_trace_ready`` is called.
        repeat: how many cycles; 0: without an end.
        skip_first: steps before the first cycle.
        skip_first_wait: 1: the first cycle does not wait.

    >>> plan = weft.profiler.schedule(wait=1, warmup=0, active=2, repeat=1)
    >>> [plan(i).name for i in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first, skip_first_wait) < 0 or active <= 0:
        raise AssertionError(
            "schedule: expected wait, warmup, repeat, skip_first and skip_first_wait of at least 0 and "
            f"active of at least 1, got {wait}, {warmup}, {repeat}, {skip_first}, {skip_first_wait} "
            f"and {active}"
        )

    def plan(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"schedule: steps are counted from 0, got {step}")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        cycle = wait + warmup + active
        if repeat and step >= repeat * cycle:
            return ProfilerAction.NONE
        step %= cycle
        if step < wait:
            return ProfilerAction.NONE
        if step < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if step == cycle - 1 else ProfilerAction.RECORD

    return plan


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """Return a function for ``on_trace_ready`` that writes each trace into a folder.

    Args:
        dir_name: the folder; it is made.
        worker_name: the beginning of the files' names; the machine and the process, if None.
        use_gzip: compress them.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     handler = weft.profiler.tensorboard_trace_handler(folder, "worker")
    ...     with weft.profiler.profile(on_trace_ready=handler):
    ...         _ = weft.ones(3).exp()
    ...     [name.split(".")[0] for name in os.listdir(folder)]
    ['worker']
    """

    def write(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".gz" if use_gzip else ""
        file = f"{name}.{time.time_ns()}.pt.trace.json{ending}"
        prof.export_chrome_trace(os.path.join(dir_name, file))

    return write


class profile:
    """Records what runs: ops, backward passes, compiled programs, named ranges.

    Args:
        activities: ``ProfilerActivity.CPU``; others are ignored with a warning.
        schedule: says of each step whether it is recorded (see :func:`schedule`); without, all is.
        on_trace_ready: called with the profiler when a cycle was recorded.
        record_shapes: events know the shapes of their arguments.
        profile_memory: tables show memory, traces each block that was allocated or freed.
        with_stack: events know the lines of Python that led to them.
        with_flops: count floating-point operations, for the ops whose formula is known.
        with_modules: events know their module; here they always do.
        acc_events: keep the events of all cycles, not of the last one only.
        custom_trace_id_callback: gives a name to a trace.
        every: record one op (with all that runs in it) of so many; averages count it so many times.
        limit: of events in a recording; what comes later is counted, not recorded.

    >>> from weft.profiler import profile
    >>> x = weft.ones(4, 4)
    >>> with profile() as prof:
    ...     y = (x @ x).relu()
    >>> [(a.key, a.count) for a in prof.key_averages()]
    [('matmul', 1), ('relu', 1)]
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        every: int = 1,
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        """Record nothing yet: entering the profiler does, or ``start()``."""
        if experimental_config is not None or execution_trace_observer is not None:
            raise NotImplementedError("profile: experimental_config and execution_trace_observer")
        self.activities = set(supported_activities() if activities is None else activities)
        for activity in self.activities:
            if not isinstance(activity, ProfilerActivity):
                raise TypeError(f"profile: activities must be ProfilerActivity, got {activity!r}")
        for name, number in (("every", every), ("limit", limit)):
            if not isinstance(number, int) or number < 1:
                raise ValueError(f"profile: {name} must be an int of at least 1, got {number!r}")
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        if use_cuda:
            self.activities.add(ProfilerActivity.CUDA)
        self.schedule = schedule if schedule is not None else _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.acc_events, self.custom_trace_id_callback = acc_events, custom_trace_id_callback
        self.every, self.limit = every, limit
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.memory_events: list[Any] = []
        self.metadata: dict[str, Any] = {}
        self.preset_metadata: dict[str, Any] = {}
        self._trace_id = ""
        self._events: EventList | None = None
        self._started = False
        self._step: record_function | None = None
        self._recording = _C.Recording(
            shapes=record_shapes or with_flops, stacks=with_stack, memory=profile_memory,
            every=every, limit=limit,
        )  # fmt: skip

    # ---- recording ------------------------------------------------------------------------------

    def __enter__(self) -> profile:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop, also where an exception leaves the block."""
        self.stop()

    def start(self) -> None:
        """Begin the first step."""
        self._started = True
        for activity in self.activities - {ProfilerActivity.CPU}:
            warnings.warn(
                f"{activity.name} is not available, disabling {activity.name} profiling",
                stacklevel=3,
            )
        if ProfilerActivity.CPU not in self.activities:
            raise AssertionError("No activities specified for the profiler")
        if self.current_action in _RECORDING:
            self._begin()
        self._open_step()

    def stop(self) -> None:
        """End the last step, and save what was recorded."""
        self._close_step()
        if self._recording.on:
            self._save()

    def step(self) -> None:
        """Say that the next step begins."""
        self._close_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        records = self.current_action in _RECORDING
        if self._recording.on and (before is ProfilerAction.RECORD_AND_SAVE or not records):
            if before is ProfilerAction.RECORD:
                warnings.warn(
                    f"Incorrect schedule: RECORD followed by {self.current_action.name}",
                    stacklevel=2,
                )
            self._save()
        if records and not self._recording.on:
            self._begin()
        self._open_step()

    def _begin(self) -> None:
        name = self.custom_trace_id_callback
        self._trace_id = name() if name else uuid.uuid4().hex.upper()
        self._recording.start()

    def _save(self) -> None:
        """End the recording; whoever waits for a trace gets it."""
        self._recording.stop()
        made = events_of(
            self._recording, shapes=self.record_shapes, flops=self.with_flops, stacks=self.with_stack,
            every=self.every,
        )  # fmt: skip
        made.profile_memory, made.with_flops = self.profile_memory, self.with_flops
        began = self._recording.began
        memory = [(at - began, *rest) for at, *rest in self._recording.memory]
        if self.acc_events and self._events is not None:
            made = joined(self._events, made)
            memory = self.memory_events + memory
        self._events, self.memory_events = made, memory
        if made.dropped:
            warnings.warn(
                f"profile: the limit of {self.limit:,} events was reached, {made.dropped:,} later ones "
                "were not recorded. Profile fewer steps (schedule=), sample (every=), or raise limit=.",
                stacklevel=3,
            )
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _open_step(self) -> None:
        if self.record_steps and self._recording.on:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _close_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    # ---- results --------------------------------------------------------------------------------

    def events(self) -> EventList:
        """Return the events of the last cycle, in the order in which they began."""
        if self._events is None:
            if self._recording.on:
                why = "Profiler must be stopped, or a cycle be over, before events are read"
            elif self._started:
                why = "nothing was recorded: the schedule did not come to a step that records"
            else:
                why = "Profiler must be started before events are read"
            raise AssertionError(why)
        return self._events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        *,
        group_by: Grouping = "op",
    ) -> EventList:
        """Return sums of events that are alike: see :meth:`EventList.key_averages`."""
        return self.events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name, group_by=group_by
        )

    def report(self, group_by: Grouping = "op", row_limit: int = 20) -> str:
        """Return what took longest, as a table with phases, bytes and the share of the peak.

        Args:
            group_by: ``"op"``, ``"module"`` or ``"line"``.
            row_limit: at most so many rows; all, if it is negative.
        """
        from .table import report_table

        return report_table(self.events(), group_by, row_limit)

    def verdict(self) -> str:
        """Return in one line what the time went into.

        >>> from weft.profiler import profile
        >>> with profile() as prof:
        ...     y = weft.ones(300, 300) @ weft.ones(300, 300)
        >>> "of the time" in prof.verdict()
        True
        """
        from .verdict import verdict

        return verdict(self.events())

    def flame(self, path: str | None = None) -> str:
        """Return the events as a flame graph: an SVG picture that needs nothing else.

        Args:
            path: also write it to this file.
        """
        from .flame import flame_graph

        picture = flame_graph(self.events())
        if path is not None:
            with open(path, "w", encoding="utf-8") as f:
                f.write(picture)
        return picture

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace for chrome://tracing or Perfetto; gzipped if the name ends in ``.gz``."""
        from .chrome import write_trace

        facts = {
            "trace_id": self._trace_id, "with_stack": int(self.with_stack),
            "profile_memory": int(self.profile_memory), "record_shapes": int(self.record_shapes),
            "with_flops": int(self.with_flops), **self.preset_metadata, **self.metadata,
        }  # fmt: skip
        write_trace(self.events(), path, memory=self.memory_events, metadata=facts)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with their microseconds, one a line; needs ``with_stack=True``."""
        if not self.with_stack:
            raise AssertionError("export_stacks: expected a profile made with_stack=True")
        self.events().export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Is not there: memory over time is in the trace of ``profile_memory=True``."""
        raise NotImplementedError(
            "export_memory_timeline: use profile_memory=True and export_chrome_trace, whose counter "
            "'memory in use' is the timeline"
        )

    def toggle_collection_dynamic(
        self, enable: bool, activities: Iterable[ProfilerActivity]
    ) -> None:
        """Is not there: use a schedule, or stop and start."""
        raise NotImplementedError(
            "toggle_collection_dynamic: use a schedule, or stop() and start()"
        )

    def add_metadata(self, key: str, value: str) -> None:
        """Keep a text in the trace."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Keep a value, written as JSON, in the trace."""
        self.metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """The same, before the profiler starts."""
        self.preset_metadata[key] = json.loads(value)

    def get_trace_id(self) -> str | None:
        """Return the name of the last trace, if there is one."""
        return self._trace_id or None


def joined(first: EventList, second: EventList) -> EventList:
    """Return the events of two cycles as one list, with times since the first one began."""
    shift, count = second.began - first.began, len(first)
    for e in second:
        e.id += count
        e.time_range.begin_ns += shift
        e.time_range.end_ns += shift
    made = EventList(
        [*first, *second],
        began=first.began,
        ended=second.ended,
        dropped=first.dropped + second.dropped,
    )
    made.profile_memory, made.with_flops = second.profile_memory, second.with_flops
    made.every = second.every
    return made
