"""PyTorch's older profiler, ``weft.autograd.profiler``: the one of ``weft.profiler``, with its own arguments."""

from __future__ import annotations

from typing import Any, NoReturn

from weft.profiler.events import EventList, FunctionEvent, FunctionEventAvg
from weft.profiler.profile import profile as _profile
from weft.profiler.recording import record_function

__all__ = [
    "EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "load_nvprof", "profile",
    "record_function",
]  # fmt: skip


class profile:
    """Records ops while it is entered.

    Args:
        enabled: False: nothing is recorded.
        use_cuda: refused, there is no such device here.
        use_device: the same, of any device but the CPU.
        record_shapes: events know the shapes of their arguments.
        with_flops: count floating-point operations.
        profile_memory: tables show memory.
        with_stack: events know the lines of Python that led to them.
        with_modules: events know their module; here they always do.
        use_kineto: which of PyTorch's recorders: here there is one.
        use_cpu: must be True.

    >>> with weft.autograd.profiler.profile() as prof:
    ...     y = weft.ones(2) * 2
    >>> [e.name for e in prof.function_events]
    ['ones', 'mul']
    """

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None,
        record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_modules: bool = False, use_kineto: bool = False,
        use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
    ) -> None:  # fmt: skip
        """Record nothing yet."""
        if use_cuda or use_device not in (None, "cpu"):
            raise NotImplementedError("autograd.profiler.profile: there is no device but the CPU")
        if not use_cpu:
            raise NotImplementedError(
                "autograd.profiler.profile: use_cpu=False leaves nothing to record"
            )
        self.enabled = enabled
        self.function_events: EventList | None = None
        self._entered = False
        self._profile = _profile(
            record_shapes=record_shapes, with_flops=with_flops, profile_memory=profile_memory,
            with_stack=with_stack, with_modules=with_modules, acc_events=acc_events,
            experimental_config=experimental_config,
        )  # fmt: skip

    def __enter__(self) -> profile | None:
        """Start, unless it is disabled."""
        if not self.enabled:
            return None
        if self._entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._entered = True
        self._profile.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop."""
        if self.enabled:
            self._profile.stop()
            self.function_events = self._profile.events()

    def __getattr__(self, name: str) -> Any:
        """Give what profiles have: ``key_averages``, ``table``, ``export_chrome_trace`` and others."""
        if name.startswith("_"):
            raise AttributeError(name)
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        if hasattr(self._profile, name):
            return getattr(self._profile, name)
        return getattr(self.function_events, name)

    def __repr__(self) -> str:
        """Return the table."""
        return "<unfinished profile>" if self.function_events is None else str(self.function_events)

    __str__ = __repr__


class emit_nvtx:
    """Marks for NVIDIA's profilers, of which there are none on a CPU."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        """Raise NotImplementedError."""
        raise NotImplementedError(
            "emit_nvtx: there is no device but the CPU; use weft.profiler.profile"
        )


class emit_itt:
    """Marks for Intel's VTune, which weft does not write."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        """Raise NotImplementedError."""
        raise NotImplementedError("emit_itt: use weft.profiler.profile")


def load_nvprof(path: str) -> NoReturn:
    """Raise NotImplementedError: there are no files of NVIDIA's profiler to read."""
    raise NotImplementedError("load_nvprof: there is no device but the CPU")
