"""Times of small pieces of code: ``Timer``, its ``Measurement`` and the table of ``Compare``.

>>> from weft.utils.benchmark import Timer
>>> measured = Timer("x + x", globals={"x": weft.ones(4)}).timeit(100)
>>> 0 < measured.median < 1e-2
True
"""

from __future__ import annotations

from typing import Any

from .compare import Compare
from .measurement import Measurement, TaskSpec, ordered_unique, select_unit, trim_sigfig
from .timer import Language, Timer, timer

__all__ = [
    "CallgrindStats", "Compare", "FunctionCount", "FunctionCounts", "FuzzedParameter",
    "FuzzedSparseTensor", "FuzzedTensor", "Fuzzer", "Language", "Measurement", "ParameterAlias",
    "TaskSpec", "Timer", "ordered_unique", "select_unit", "timer", "trim_sigfig",
]  # fmt: skip

_LACKING = {
    "Fuzzer": "use weft.testing.make_tensor with sizes of your choice",
    "FuzzedParameter": "use the random module",
    "FuzzedTensor": "use weft.testing.make_tensor",
    "FuzzedSparseTensor": "use weft.testing.make_tensor(...).to_sparse()",
    "ParameterAlias": "use the random module",
    "CallgrindStats": "run valgrind --tool=callgrind yourself",
    "FunctionCount": "run valgrind --tool=callgrind yourself",
    "FunctionCounts": "run valgrind --tool=callgrind yourself",
}


def _lacking(name: str, instead: str) -> type:
    """Return a class of PyTorch's name that says, when it is used, what to do instead."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        """Raise NotImplementedError."""
        raise NotImplementedError(f"utils.benchmark.{name}: {instead}")

    return type(name, (), {"__init__": refuse, "__doc__": f"PyTorch's {name}, which weft lacks."})


def __getattr__(name: str) -> Any:
    """Make the classes that weft lacks on first use."""
    if name in _LACKING:
        globals()[name] = _lacking(name, _LACKING[name])
        return globals()[name]
    raise AttributeError(f"module 'weft.utils.benchmark' has no attribute '{name}'")
