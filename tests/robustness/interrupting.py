"""Signals that arrive while weft computes: alarms whose handlers compute, and Ctrl-C inside of a loop."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weft import _C


@contextmanager
def alarms(handler: Callable[[], object], seconds: float) -> Iterator[list[int]]:
    """Call ``handler`` by SIGALRM, so long after the end of its last call; the list grows by one each time.

    A timer that repeats could leave a slow machine no time for anything but handlers.
    """
    calls: list[int] = []
    going = True

    def called(*_: object) -> None:
        handler()
        calls.append(1)
        signal.setitimer(signal.ITIMER_REAL, seconds if going else 0)

    before = signal.signal(signal.SIGALRM, called)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield calls
    finally:
        going = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def ctrl_c_at(n: int) -> Iterator[None]:
    """Ctrl-C arrives when a loop checks for it for the n-th time: in its middle, on any machine."""
    _C._interrupt_at(n)
    try:
        yield
    finally:
        _C._interrupt_at(0)
