"""What a call does that ops do not show: it prints, reads a clock, files or the environment."""

from __future__ import annotations

import contextlib
import os
import sys
import types

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .capture import Capture

__all__ = ["is_profiled", "watching"]

# Modules of the interpreter whose functions, or the methods of whose objects, show or tell something
# that is another thing in each call.
_WORLD = {
    "_io", "_queue", "_random", "_socket", "_warnings", "contextvars", "fcntl", "io", "msvcrt", "nt",
    "posix", "queue", "random", "select", "signal", "socket", "time", "_time", "_contextvars",
}  # fmt: skip
_TELLING = {"print", "input", "breakpoint", "now", "today", "utcnow", "start_new_thread"}
_TELLING |= {"start_joinable_thread"}
_PURE = {"fspath", "getpid", "struct_time"}
_TELLERS = {"builtins", "datetime", "_datetime", "_thread"}
_OS = (os.__file__, "<frozen os>")


def is_profiled() -> bool:
    """Say whether somebody measures the calls of this thread: then nothing else can watch them."""
    return sys.getprofile() is not None


@contextlib.contextmanager
def watching(capture: Capture) -> Iterator[None]:
    """Note what a call does meanwhile that cannot be made again without Python."""
    numpy = sys.modules.get("numpy")
    drawn = numpy.random.get_state()[2] if numpy is not None else None
    sys.setprofile(_watcher(capture))
    try:
        yield
    finally:
        sys.setprofile(None)
    if numpy is not None and drawn is not None and numpy.random.get_state()[2] != drawn:
        capture.fail("it draws from numpy.random")


def _watcher(capture: Capture) -> Any:
    importing: list[Any] = []  # the frame of an import: what happens in it happens once

    def watch(frame: types.FrameType, event: str, arg: Any) -> None:
        if importing:
            if event == "return" and frame is importing[0]:
                importing.clear()
        elif event == "c_call":
            if capture.problem:
                return
            owner = arg.__self__
            if isinstance(owner, types.ModuleType) or owner is None:
                module = arg.__module__
            else:
                module = (owner if isinstance(owner, type) else type(owner)).__module__
            name = arg.__name__
            if (module in _WORLD and name not in _PURE) or (
                module in _TELLERS and name in _TELLING
            ):
                capture.fail(_told(owner, module, name))
        elif event == "call":
            code = frame.f_code
            if code.co_filename.startswith("<frozen importlib"):
                importing.append(frame)
            elif code.co_filename in _OS and not capture.problem:
                capture.fail(f"os.{code.co_name}() at {_C._here()}")

    return watch


def _told(owner: Any, module: str, name: str) -> str:
    """Return a reason that names what was called, and the line."""
    if module == "random":
        return f"it draws from Python's random at {_C._here()}"
    if not isinstance(owner, types.ModuleType) and owner is not None:
        module = (owner if isinstance(owner, type) else type(owner)).__name__
    name = name if module == "builtins" else f"{module.lstrip('_')}.{name}"
    return f"{name}() at {_C._here()}"
