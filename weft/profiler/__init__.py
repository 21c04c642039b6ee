"""Where time and memory go: ``weft.profiler``, with PyTorch's names.

>>> from weft.profiler import profile, record_function
>>> model, x = weft.nn.Linear(4, 2), weft.ones(3, 4)
>>> with profile(record_shapes=True) as prof:
...     with record_function("step"):
...         model(x).sum().backward()
>>> {"linear", "sum", "LinearBackward0"} <= {a.key for a in prof.key_averages()}
True

Beyond PyTorch: each event knows its line, its module and its phase; ``prof.report("module")``,
``prof.verdict()``, ``prof.flame("flame.svg")``, and ``python -m weft profile script.py``.
"""

from __future__ import annotations

from .events import EventList, FunctionEvent, FunctionEventAvg
from .profile import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from .recording import record_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "EventList",
    "ExecutionTraceObserver",
    "FunctionEvent",
    "FunctionEventAvg",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def kineto_available() -> bool:
    """Return whether profiles can be recorded, which PyTorch asks of its library; here always.

    >>> weft.profiler.kineto_available()
    True
    """
    return True


class ExecutionTraceObserver:
    """PyTorch's recorder of graphs that are replayed elsewhere, which weft does not have."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Raise NotImplementedError."""
        raise NotImplementedError("ExecutionTraceObserver: use weft.jit.trace for graphs")
