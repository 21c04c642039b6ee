"""Events in Chrome's trace format, for chrome://tracing, Perfetto and TensorBoard's readers."""

from __future__ import annotations

import gzip
import json
import os
import sys

from .events import EventList, FunctionEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["trace", "write_trace"]

_CATEGORIES = {"op": "cpu_op", "node": "cpu_op", "instruction": "cpu_op", "program": "cpu_op"}


def trace(
    events: EventList, memory: Iterable[Any] = (), metadata: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the trace of events as what JSON can hold.

    Args:
        events: of a recording.
        memory: blocks as the recorder gives them, with times since it began.
        metadata: further facts.
    """
    process = os.getpid()
    made: list[dict[str, Any]] = [
        _about(process, 0, "process_name", {"name": os.path.basename(sys.argv[0]) or "python"}),
        _about(process, 0, "process_labels", {"labels": "CPU"}),
    ]
    for thread in sorted({e.thread for e in events}):
        made.append(_about(process, thread, "thread_name", {"name": f"thread {thread}"}))
        made.append(_about(process, thread, "thread_sort_index", {"sort_index": thread}))
    made += [_complete(e, events.began, process) for e in events]
    made += _flows(events, process)
    for block in memory:
        made += _block(block, events.began, process)
    facts = dict(metadata or {})
    if events.dropped:
        facts["dropped_events"] = events.dropped
    return {"schemaVersion": 1, "displayTimeUnit": "ms", **facts, "traceEvents": made}


def write_trace(
    events: EventList, path: str, memory: Iterable[Any] = (), metadata: dict[str, Any] | None = None
) -> None:
    """Write a trace to a file; gzipped if its name ends in ``.gz``."""
    text = json.dumps(
        {**trace(events, memory, metadata), "traceName": os.fspath(path)}, allow_nan=False
    )
    if os.fspath(path).endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as f:
            f.write(text)
    else:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def _about(process: int, thread: int, name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": process, "tid": thread, "ts": 0, "args": args}


def _complete(e: FunctionEvent, began: int, process: int) -> dict[str, Any]:
    """An event with a beginning and a length, in microseconds."""
    args: dict[str, Any] = {"External id": e.id}
    facts = {
        "phase": e.phase, "Module": e.module, "Line": e.source, "Args": e.args,
        "Input Dims": e.input_shapes, "Input type": e.input_dtypes, "Call stack": ";".join(e.stack),
        "FLOPs": e.flops, "Bytes allocated": e.allocated, "Bytes freed": e.freed,
    }  # fmt: skip
    args.update((name, value) for name, value in facts.items() if value)
    if e.sequence_nr >= 0:
        args["Sequence number"] = e.sequence_nr
    if e.failed or e.unfinished:
        args["Ended by"] = "an exception" if e.failed else "the end of the recording"
    return {
        "ph": "X", "cat": _CATEGORIES.get(e.kind, "user_annotation"), "name": e.name, "pid": process,
        "tid": e.thread, "ts": (began + e.time_range.begin_ns) / 1e3,
        "dur": e.time_range.elapsed_us(), "args": args,
    }  # fmt: skip


def _flows(events: EventList, process: int) -> list[dict[str, Any]]:
    """Arrows from the call of an op to its node in the backward pass."""
    calls = {e.sequence_nr: e for e in events if e.kind == "op" and e.sequence_nr >= 0}
    made: list[dict[str, Any]] = []
    for e in events:
        call = calls.get(e.sequence_nr) if e.kind == "node" else None
        if call is None or call.time_range.begin_ns > e.time_range.begin_ns:
            continue
        for kind, end in (("s", call), ("f", e)):
            arrow = {
                "ph": kind, "id": e.sequence_nr, "cat": "fwdbwd", "name": "fwdbwd", "pid": process,
                "tid": end.thread, "ts": (events.began + end.time_range.begin_ns) / 1e3,
            }  # fmt: skip
            made.append(arrow | ({"bp": "e"} if kind == "f" else {}))
    return made


def _block(block: Any, began: int, process: int) -> list[dict[str, Any]]:
    """A block of memory that was given away or given back, and how much is in use after it."""
    at, address, size, live, thread, event = block
    ts = (began + at) / 1e3
    args = {"Addr": address, "Bytes": size, "Total Allocated": live, "Event": event}
    return [
        {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": process,
         "tid": thread, "ts": ts, "args": args},
        {"ph": "C", "name": "memory in use", "pid": process, "tid": 0, "ts": ts,
         "args": {"bytes": live}},
    ]  # fmt: skip
