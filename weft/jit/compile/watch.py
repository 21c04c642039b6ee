"""What a call does that ops do not show: it prints, reads a clock, files or the environment."""

from __future__ import annotations

import contextlib
import os
import sys
import types

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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
    watch = _C.Watch(_teller(capture), list(_WORLD), list(_TELLERS), list(_TELLING), list(_OS))
    watch.start()
    try:
        yield
    finally:
        watch.stop()
    if numpy is not None and drawn is not None and numpy.random.get_state()[2] != drawn:
        capture.fail("it draws from numpy.random")


def _teller(capture: Capture) -> Callable[[Any], None]:
    """Return what is told of functions of the interpreter and of code that are called."""

    def tell(called: Any) -> None:
        if capture.problem:
            return
        if isinstance(called, types.CodeType):
            return capture.fail(f"os.{called.co_name}() at {_C._here()}")
        owner, name = called.__self__, called.__name__
        if isinstance(owner, types.ModuleType) or owner is None:
            module = called.__module__
        else:
            module = (owner if isinstance(owner, type) else type(owner)).__module__
        if module in _TELLERS or name not in _PURE:
            capture.fail(_told(owner, module, name))

    return tell


def _told(owner: Any, module: str, name: str) -> str:
    """Return a reason that names what was called, and the line."""
    if module == "random":
        return f"it draws from Python's random at {_C._here()}"
    if not isinstance(owner, types.ModuleType) and owner is not None:
        module = (owner if isinstance(owner, type) else type(owner)).__name__
    name = name if module == "builtins" else f"{module.lstrip('_')}.{name}"
    return f"{name}() at {_C._here()}"
