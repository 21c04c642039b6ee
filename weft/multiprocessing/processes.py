"""Processes that run one function, each with its number; an error in one ends all and is raised in the parent."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import weakref
from multiprocessing import connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

_PR_SET_PDEATHSIG = 1  # of Linux's prctl
_PATIENCE = 30.0  # seconds that processes have to end after SIGTERM


class ProcessException(Exception):
    """A process of ``spawn`` failed.

    >>> weft.multiprocessing.ProcessException("ended", 1, 4711).error_index
    1
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        """Keep which one it was."""
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> Any:
        """Pickle all that it knows."""
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process of ``spawn`` raised an exception; the message ends with its traceback.

    >>> issubclass(weft.multiprocessing.ProcessRaisedException, RuntimeError)
    False
    """

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        """Keep which one it was."""
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process of ``spawn`` ended with another code than 0, or by a signal.

    >>> weft.multiprocessing.ProcessExitedException("ended", 1, 4711, 3).exit_code
    3
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int,
        signal_name: str | None = None,
    ) -> None:  # fmt: skip
        """Keep which one it was, and how it ended."""
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        """Pickle all that it knows."""
        return type(self), (
            self.msg, self.error_index, self.pid, self.exit_code, self.signal_name,
        )  # fmt: skip


def _run(fn: Callable[..., Any], i: int, args: tuple[Any, ...], report: str, parent: int) -> None:
    """What a process does."""
    _end_with(parent)
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent has it too
    except Exception:
        with open(report, "w", encoding="utf-8") as file:
            file.write(traceback.format_exc())
        sys.exit(1)


def _end_with(parent: int) -> None:
    """Let the system end this process when its parent is gone."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent and multiprocessing.get_start_method(allow_none=True) != "forkserver":
        os.kill(os.getpid(), signal.SIGTERM)


class ProcessContext:
    """The processes that ``spawn(..., join=False)`` has started.

    >>> weft.multiprocessing.ProcessContext([], []).join()
    True
    """

    def __init__(self, processes: list[Any], reports: list[str]) -> None:
        """Take processes and the files in which they say what went wrong."""
        self.processes, self.error_files = processes, reports
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list[int]:
        """Return the numbers that the system gave them.

        >>> weft.multiprocessing.ProcessContext([], []).pids()
        []
        """
        return [int(p.pid) for p in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one process has ended; True once all have.

        Args:
            timeout: seconds to wait at most.
            grace_period: seconds that the others get to end by themselves when one has failed.

        >>> weft.multiprocessing.ProcessContext([], []).join(timeout=1.0)
        True
        """
        if not self.sentinels:
            return True
        failed: int | None = None
        for ended in connection.wait(list(self.sentinels), timeout=timeout):
            index = self.sentinels.pop(ended)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index if failed is None else failed
        if failed is None:
            return not self.sentinels
        self._end_all(grace_period)
        self._raise(failed)
        return False

    def _end_all(self, grace: float | None) -> None:
        """Let all processes end: by themselves, by SIGTERM, by SIGKILL."""
        self._wait(grace or 0.0)
        for end in ("terminate", "kill"):
            for p in self.processes:
                if p.is_alive():
                    getattr(p, end)()
            self._wait(_PATIENCE)
        for p in self.processes:
            p.join()

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for p in self.processes:
            p.join(max(0.0, deadline - time.monotonic()))

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        with open(self.error_files[index], encoding="utf-8") as file:
            said = file.read()
        if said:
            raise ProcessRaisedException(
                f"\n\n-- Process {index} raised an exception:\n{said}", index, process.pid
            )
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(
                f"process {index} (pid {process.pid}) was ended by signal {name}",
                index, process.pid, code, name,
            )  # fmt: skip
        raise ProcessExitedException(
            f"process {index} (pid {process.pid}) ended with exit code {code}",
            index, process.pid, code,
        )  # fmt: skip


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in processes with the numbers i = 0, 1, …, ``nprocs - 1``.

    Args:
        fn: a function that the processes can import, unless they are started by ``fork``.
        args: what follows the number.
        nprocs: how many processes.
        join: wait for all of them; else the result is a ``ProcessContext``.
        daemon: end them when the parent ends.
        start_method: ``"spawn"``, ``"fork"`` or ``"forkserver"``.

    >>> def work(i, x):
    ...     x[i] = i + 1
    >>> x = weft.zeros(2).share_memory_()
    >>> weft.multiprocessing.start_processes(work, (x,), nprocs=2, start_method="fork")
    >>> x
    tensor([1., 2.])
    """
    made: Any = multiprocessing.get_context(start_method)
    folder = tempfile.mkdtemp(prefix="weft-processes-")
    processes, reports = [], []
    for i in range(nprocs):
        report = os.path.join(folder, str(i))
        open(report, "w").close()
        process = made.Process(target=_run, args=(fn, i, args, report, os.getpid()), daemon=daemon)
        process.start()
        processes.append(process)
        reports.append(report)
    context = ProcessContext(processes, reports)
    weakref.finalize(context, shutil.rmtree, folder, ignore_errors=True)
    if not join:
        return context
    while not context.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in ``nprocs`` new processes; see ``start_processes``.

    >>> weft.multiprocessing.spawn(print, nprocs=0)
    """
    if start_method != "spawn":
        raise ValueError(
            f"spawn: start_method must be 'spawn', got {start_method!r}: use start_processes"
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method)
