"""How a distributed program starts and ends: MPI is loaded once, ranks leave together or abort.

A process that ends tells the others, so that none waits for it in vain; one that ends by an error
takes them along. A process that is killed is seen by mpiexec, which ends the rest.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

__all__ = ["LAUNCH", "Others", "environment", "mpi_size", "others"]

LAUNCH = "python -m weft launch -n 2 program.py (or mpiexec -n 2 python program.py)"

# What mpiexec of MPICH and of Open MPI, and srun, tell a process: in the words of torchrun.
_TOLD = {
    "RANK": ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"),
    "WORLD_SIZE": ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE"),
    "LOCAL_RANK": ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "LOCAL_WORLD_SIZE": ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"),
}


def environment() -> dict[str, str]:
    """Return RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE as MPI told them to this process.

    >>> from weft.distributed.start import environment
    >>> sorted(environment())  # started alone
    []
    """
    found = {}
    for name, sources in _TOLD.items():
        value = next((os.environ[s] for s in sources if s in os.environ), None)
        if value is not None:
            found[name] = value
    return found


def mpi_size() -> int | None:
    """Return how many processes MPI started; None if this one was not started by MPI.

    >>> from weft.distributed.start import mpi_size
    >>> mpi_size() is None
    True
    """
    told = environment()
    if "WORLD_SIZE" in told:
        return int(told["WORLD_SIZE"])
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized():
        return int(mpi.COMM_WORLD.Get_size())
    return 0 if "RANK" in told else None  # 0: one of several, MPI will say of how many


class Others:
    """The other processes of this program: which of them have ended."""

    def __init__(self, mpi: Any) -> None:
        """Begin to listen for farewells, and to say one."""
        self.mpi = mpi
        self.control = mpi.COMM_WORLD.Dup()
        _unname_shared_memory()  # all processes have it by now
        self.rank, self.size = self.control.Get_rank(), self.control.Get_size()
        self.pid = os.getpid()
        self.gone: dict[int, float] = {}  # rank: when its farewell came
        self.hopeless = False  # one of them does not answer: do not wait for its farewell
        self._farewells: list[Any] = []

    def listen(self) -> None:
        """Note the farewells that have come."""
        status = self.mpi.Status()
        while self.control.Iprobe(source=self.mpi.ANY_SOURCE, status=status):
            self.control.Recv(bytearray(1), source=status.Get_source())
            self.gone[status.Get_source()] = time.monotonic()

    def leave(self) -> None:
        """Say farewell, and wait until all have: MPI ends for all of them together."""
        if os.getpid() != self.pid or self.mpi.Is_finalized():
            return  # a forked process is no rank
        if self.hopeless:
            self.abort()
        everyone = [r for r in range(self.size) if r != self.rank]
        self._farewells = [self.control.Isend(b"x", dest=r) for r in everyone]
        while len(self.gone) < len(everyone):
            self.listen()
            time.sleep(0.002)

    def abort(self) -> None:
        """End all processes of the program at once."""
        if os.getpid() != self.pid or self.mpi.Is_finalized():
            return
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass  # closed, or none
        time.sleep(0.1)  # lets mpiexec forward what was printed
        self.control.Abort(1)


def _unname_shared_memory() -> None:
    """Take the names off the memory by which MPICH's processes meet, lest a killed one leave them."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            paths = {line.split()[-1] for line in maps if "/dev/shm/mpich_shm_" in line}
    except OSError:
        return  # no Linux
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            pass  # another process was faster


_others: list[Others] = []


def others(timeout: float = 1800.0) -> Others:
    """Return the other processes. The first call starts MPI, and waits until all have done so."""
    if not _others:
        found = Others(_load_mpi(timeout))
        if found.size > 1:
            import atexit

            atexit.register(found.leave)
            _abort_on_error(found)
        _others.append(found)
    return _others[0]


def _load_mpi(timeout: float) -> Any:
    """Import mpi4py, which starts MPI. Should the others never come, the program ends."""
    import faulthandler

    watched = sys.__stderr__ is not None
    try:  # MPI_Init cannot be interrupted but from a thread without Python
        if sys.__stderr__ is not None:
            faulthandler.dump_traceback_later(timeout, exit=True, file=sys.__stderr__)
    except (OSError, OverflowError, ValueError):
        watched = False  # standard error is no file, or the timeout is endless
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(
            "weft.distributed: this process was started as one of several by MPI, for which weft "
            f"needs mpi4py: pip install weft[distributed] ({error})",
            name="mpi4py",
        ) from error
    finally:
        if watched:
            faulthandler.cancel_dump_traceback_later()
    if MPI.Is_finalized():
        raise RuntimeError("weft.distributed: MPI was finalized, and cannot be started again")
    if not MPI.Is_initialized():
        MPI.Init_thread()
    return MPI


def _abort_on_error(all_of_us: Others) -> None:
    """Let an error that ends this process end the others, once it is printed."""
    tell = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        try:
            tell(kind, error, trace)
            if os.getpid() == all_of_us.pid:
                print(f"rank {all_of_us.rank} of {all_of_us.size} ended by {kind.__name__}; "
                      "the others are ended too", file=sys.stderr)  # fmt: skip
        finally:
            all_of_us.abort()

    sys.excepthook = hook
