"""The side effects of a call: its C functions are judged by the table in ``weft/jit/effects.py``."""

from __future__ import annotations

import contextlib
import sys
import types

from weft import _C
from weft.jit import effects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .capture import Capture

__all__ = ["is_profiled", "noticing"]


def is_profiled() -> bool:
    """Say whether somebody measures the calls of this thread: then nothing else can see them."""
    return sys.getprofile() is not None


@contextlib.contextmanager
def noticing(capture: Capture) -> Iterator[None]:
    """Let a capture fail if the call has a side effect meanwhile, which a replay would leave out."""
    numpy = sys.modules.get("numpy")
    drawn = numpy.random.get_state()[2] if numpy is not None else None
    hook = _C.CallHook(_judge(capture), list(effects.OS_FILES))
    hook.start()
    try:
        yield
    finally:
        hook.stop()
    if numpy is not None and drawn is not None and numpy.random.get_state()[2] != drawn:
        capture.fail("it draws from numpy.random")


def _judge(capture: Capture) -> Callable[[Any], bool]:
    """Return what is asked whether a call of a C function, or of code in ``os``, may be left out."""

    def may_be_left_out(called: Any) -> bool:
        if capture.problem:
            return False
        if isinstance(called, types.CodeType):
            capture.fail(f"os.{called.co_name}() at {_C._here()}")
            return False
        name = effects.name_of_call(called)
        why = effects.refusal(name)
        if why:
            capture.fail(_reason(name, why))
        return not why

    return may_be_left_out


def _reason(name: str, why: str) -> str:
    """Return a reason that names what was called, and the line."""
    if name.startswith("_random."):
        return f"it draws from Python's random at {_C._here()}"
    if effects.effect_of(name) is None:
        return f"{why}, called at {_C._here()}"
    return f"{name.removeprefix('builtins.').lstrip('_')}() at {_C._here()}"
