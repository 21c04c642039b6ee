"""Operations in progress between processes (``Work``): started, monitored, waited for."""

from __future__ import annotations

import os
import threading
import time
from datetime import timedelta

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from .groups import ProcessGroup

__all__ = ["DistBackendError", "DistError", "PeerEnded", "Work"]

GRACE = 2.0  # seconds that what an ended rank has sent may still be on its way

lock = threading.RLock()  # wires are used by one thread at a time


class DistError(RuntimeError):
    """Processes that do not agree, or an operation between them that failed.

    >>> issubclass(weft.distributed.DistError, RuntimeError)
    True
    """


class DistBackendError(DistError):
    """Another process ended, or did not answer in time.

    >>> issubclass(weft.distributed.DistBackendError, weft.distributed.DistError)
    True
    """


class PeerEnded(Exception):
    """A process that something is expected of has ended; the group's words for it follow."""

    def __init__(self, rank: int) -> None:
        """Keep its rank."""
        super().__init__(f"rank {rank} has ended")
        self.rank = rank


class Pause:
    """Waiting that is quick to notice and soon leaves the processor to others."""

    def __init__(self, sleep: Callable[[float], None]) -> None:
        """Begin to wait, by a way to sleep that may end early."""
        self.count, self.sleep = 0, sleep

    def __call__(self) -> bool:
        """Wait a little, longer each time; say whether it was long enough to look around."""
        self.count += 1
        if self.count < 20:
            return False
        if self.count < 60:
            os.sched_yield()
            return False
        self.sleep(min(2e-5 * (self.count - 59), 1e-3))
        return True


class Work:
    """An operation that was started: ``wait`` for it before its tensors are used.

    Between the calls of weft.distributed nothing moves on: a process that computes does not
    communicate.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> x = weft.ones(2)
    >>> work = dist.all_reduce(x, async_op=True)
    >>> work.wait(), work.is_completed()
    (True, True)
    >>> dist.destroy_process_group()
    """

    def __init__(self, group: ProcessGroup, text: str, steps: Generator[Any, None, None]) -> None:
        """Take the steps, each of which yields what must be done before the next one."""
        self._group, self._text, self._steps = group, text, steps
        self._request: Any = None
        self._done = False
        self._error: BaseException | None = None
        self._source = -1

    def __repr__(self) -> str:
        """Say what is done, and how far it is."""
        state = "under way" if not self._done else "failed" if self._error else "done"
        return f"<Work {self._text}: {state}>"

    def _advance(self) -> bool:
        """Go on as far as it goes without waiting; say whether this was all."""
        if self._done:
            return True
        try:
            while self._request is None or self._request.Test():
                self._request = next(self._steps)
            return False
        except StopIteration:
            pass
        except PeerEnded as ended:
            self._error = self._group.without([ended.rank], self._text)
        except Exception as error:
            self._error = error
        except BaseException as error:  # Ctrl-C: the steps are lost, and so is the order
            self._group.broken = f"{self._text} was interrupted"
            self._error, self._done = error, True
            raise
        self._done, self._request = True, None
        return True

    def is_completed(self) -> bool:
        """Say whether the operation is over, well or not.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> dist.barrier(async_op=True).is_completed()
        True
        >>> dist.destroy_process_group()
        """
        if not self._done:
            self._group.progress()
        return self._done

    def is_success(self) -> bool:
        """Say whether the operation ended well.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> dist.barrier(async_op=True).is_success()
        True
        >>> dist.destroy_process_group()
        """
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """Return the error by which the operation ended, if it did.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> dist.barrier(async_op=True).exception() is None
        True
        >>> dist.destroy_process_group()
        """
        return self._error

    def source_rank(self) -> int:
        """Return the rank that sent what was received; -1 for other operations.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> dist.barrier(async_op=True).source_rank()
        -1
        >>> dist.destroy_process_group()
        """
        return self._source

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the operation is over; raise its error, or one if it takes too long.

        Args:
            timeout: how long to wait; by default as long as the group says.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> dist.barrier(async_op=True).wait()
        True
        >>> dist.destroy_process_group()
        """
        seconds = seconds_of(timeout, "Work.wait", self._group.timeout)
        until(self.is_completed, self._group, self._text, seconds)
        if self._error is not None:
            raise self._error
        return True


def seconds_of(timeout: timedelta | None, what: str, default: float) -> float:
    """Return how many seconds a timeout is, or those of the default.

    >>> from datetime import timedelta
    >>> from weft.distributed.work import seconds_of
    >>> seconds_of(timedelta(minutes=1), "barrier", 1800)
    60.0
    """
    if timeout is None:
        return default
    if not isinstance(timeout, timedelta):
        raise TypeError(f"{what}: timeout must be a datetime.timedelta, got {timeout!r}")
    if timeout <= timedelta(0):
        raise ValueError(f"{what}: timeout must be positive, got {timeout}")
    return timeout.total_seconds()


def until(done: Any, group: ProcessGroup, text: str, seconds: float) -> None:
    """Wait until ``done()``; raise if a rank of the group has ended, or if it takes too long."""
    pause, began = Pause(group.wire.wait), time.monotonic()
    while True:
        try:
            if done():
                return
        except PeerEnded as ended:
            raise group.without([ended.rank], text) from None
        if not pause():
            continue
        group.check_alive(text)
        if time.monotonic() - began > seconds:
            group.give_up(f"{text} took more than {seconds:g} s")
            raise DistBackendError(
                f"{text}: rank {group.global_rank} has waited {seconds:g} s for the other ranks of "
                f"{group.ranks}. Do all of them get here? init_process_group(timeout=...) says "
                "how long to wait"
            )
