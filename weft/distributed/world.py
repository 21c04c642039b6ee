"""``init_process_group`` and ``new_group``: the group of all processes, and subgroups."""

from __future__ import annotations

import itertools
import os
from datetime import timedelta

from . import start
from .alone import Alone
from .groups import GroupMember, ProcessGroup, resolve, state
from .local import LocalWire
from .rendezvous import meeting_place
from .work import seconds_of, until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from .rendezvous import MeetingPlace

__all__ = [
    "Backend",
    "default_pg_timeout",
    "destroy_process_group",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "new_group",
]

default_pg_timeout = timedelta(minutes=30)
_numbers = itertools.count(1)


class Backend(str):
    """The name of a way to communicate: sockets on one machine, or MPI, which answers to both.

    >>> weft.distributed.Backend.GLOO, weft.distributed.Backend.MPI
    ('gloo', 'mpi')
    """

    GLOO = "gloo"
    MPI = "mpi"


def is_available() -> bool:
    """Say whether there are process groups: always, for a program that runs alone needs no MPI.

    >>> weft.distributed.is_available()
    True
    """
    return True


def is_mpi_available() -> bool:
    """Say whether mpi4py is installed, without which a program runs alone.

    >>> weft.distributed.is_mpi_available() in (True, False)
    True
    """
    import importlib.util

    return importlib.util.find_spec("mpi4py") is not None


def is_gloo_available() -> bool:
    """Say whether ``backend="gloo"`` is accepted: it is.

    >>> weft.distributed.is_gloo_available()
    True
    """
    return True


def is_nccl_available() -> bool:
    """Say whether GPUs can communicate: there are none.

    >>> weft.distributed.is_nccl_available()
    False
    """
    return False


def is_torchelastic_launched() -> bool:
    """Say whether torchrun started this process; ``weft launch`` is another.

    >>> weft.distributed.is_torchelastic_launched()
    False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_initialized() -> bool:
    """Say whether ``init_process_group`` was called.

    >>> weft.distributed.is_initialized()
    False
    """
    return "world" in state


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Make the group of all processes of this program.

    A program that was started by ``python -m weft launch -n 2 program.py`` or by mpiexec has as
    many processes as that says, and communicates over MPI. Otherwise ``world_size`` says how many
    processes of this machine meet, and they communicate over sockets. One that was started alone
    is a group of one.

    Args:
        backend: ``"gloo"`` or None, or ``"mpi"`` for MPI only.
        init_method: where processes meet: ``env://`` (the default: at MASTER_ADDR and MASTER_PORT
            of the environment), ``tcp://127.0.0.1:port`` or ``file://path``. Under MPI they have
            met when the program begins, so it is checked for its form only.
        timeout: how long an operation may wait for other ranks (default: 30 minutes).
        world_size: how many processes there are (default: WORLD_SIZE of the environment).
        rank: which of them this is (default: RANK of the environment).
        store: a ``Store`` to meet at, instead of ``init_method``.
        group_name: must be empty.
        pg_options: must be None.
        device_id: must be None: there is one device.

    >>> import weft.distributed as dist
    >>> dist.init_process_group("gloo")
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    what = "init_process_group"
    if is_initialized():
        raise ValueError(
            f"{what}: there is a process group already; destroy_process_group() ends it"
        )
    name = None if backend is None else _backend(backend, what)
    seconds = seconds_of(timeout, what, default_pg_timeout.total_seconds())
    for unused, value in (("pg_options", pg_options), ("device_id", device_id)):
        _none(value, unused, what)
    _none(group_name or None, "group_name", what)
    place = meeting_place(init_method, store, what)
    wanted = {"rank": rank, "world_size": world_size}
    for key, value in place.said.items():
        wanted[key] = value if wanted[key] < 0 else wanted[key]
    for key, variable in (("rank", "RANK"), ("world_size", "WORLD_SIZE")):
        if wanted[key] < 0 and os.environ.get(variable, "").isdecimal():
            wanted[key] = int(os.environ[variable])
    if start.mpi_size() is not None:
        state["world"] = _over_mpi(wanted, name or Backend.MPI, seconds, what)
    elif wanted["world_size"] > 1 or wanted["rank"] > 0:
        state["world"] = _over_sockets(wanted, name, place, seconds, what)
    else:
        state["world"] = ProcessGroup(Alone(), [0], name or Backend.MPI, seconds, "world")


def _over_sockets(
    wanted: dict[str, int], name: str | None, place: MeetingPlace, seconds: float, what: str
) -> ProcessGroup:
    rank, size = wanted["rank"], wanted["world_size"]
    if name == Backend.MPI:
        raise RuntimeError(
            f"{what}: rank {rank} of {size} processes is asked for, but this process was started "
            f"without MPI. Start the program by {start.LAUNCH}, or give backend='gloo'"
        )
    if not 0 <= rank < size:
        raise ValueError(
            f"{what}: rank must be from 0 to world_size - 1, got rank {rank} and world_size {size}: "
            "give both as arguments, or as RANK and WORLD_SIZE in the environment"
        )
    wire = place.meet(rank, size, seconds, what)
    return ProcessGroup(wire, list(range(size)), Backend.GLOO, seconds, "world")


def _over_mpi(wanted: dict[str, int], name: str, seconds: float, what: str) -> ProcessGroup:
    from .mpi import MpiWire

    all_of_us = start.others(seconds)
    is_now = {"rank": all_of_us.rank, "world_size": all_of_us.size}
    for key, value in wanted.items():
        if value >= 0 and value != is_now[key]:
            raise ValueError(
                f"{what}: {key} is {is_now[key]} according to MPI, got {value} from the argument "
                "or the environment"
            )
    comm, request = all_of_us.control.Idup()
    world = ProcessGroup(MpiWire(comm), list(range(all_of_us.size)), name, seconds, "world")
    until(request.Test, world, what, seconds)
    return world


def _backend(backend: str, what: str) -> str:
    name = str(backend).lower().removeprefix("cpu:")
    if name not in (Backend.GLOO, Backend.MPI):
        raise ValueError(
            f"{what}: backend must be 'gloo' or 'mpi' or None, got {backend!r}"
            + (": there is no GPU to communicate" if "nccl" in name else "")
        )
    return name


def _none(value: Any, name: str, what: str) -> None:
    if value is not None:
        raise NotImplementedError(f"{what}: {name} is not supported, got {value!r}")


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group, after what is under way in it; without an argument, all of them.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False
    """
    what = "destroy_process_group"
    found = resolve(group, what)
    if found is None:
        return
    ended = list(state) if found is state["world"] else [k for k, g in state.items() if g is found]
    for name in reversed(ended):
        one = state[name]
        try:
            if not one.broken:
                one.drain(what)
        finally:
            del state[name]
            one.wire.free(last=name == "world", broken=one.broken is not None)


def new_group(
    ranks: list[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """Make a group of some processes. All processes must call it, in the same order.

    Args:
        ranks: the global numbers of its processes (default: all).
        timeout: how long its operations may wait (default: that of the group of all).
        backend: as for ``init_process_group``.
        pg_options: must be None.
        use_local_synchronization: only the processes of the group call it.
        group_desc: a name for people.
        device_id: must be None.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_process_group_ranks(dist.new_group([0]))
    [0]
    >>> dist.destroy_process_group()
    """
    what = "new_group"
    world = resolve(None, what)
    assert world is not None
    world.usable(what)
    _none(pg_options, "pg_options", what)
    _none(device_id, "device_id", what)
    chosen = sorted(world.ranks if ranks is None else ranks)
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(world.ranks):
        raise ValueError(
            f"{what}: ranks must be some of {world.ranks}, each at most once, got {ranks}"
        )
    seconds = seconds_of(timeout, what, world.timeout)
    name = world.backend if backend is None else _backend(backend, what)
    if name == Backend.MPI and isinstance(world.wire, LocalWire):
        raise ValueError(
            f"{what}: backend 'mpi' needs processes that were started by {start.LAUNCH}"
        )
    key = f"{group_desc or 'group'} {next(_numbers)}"
    if isinstance(world.wire, Alone):
        state[key] = ProcessGroup(Alone(), chosen, name, seconds, key)
        return state[key]
    if not use_local_synchronization:
        world.run(what, _all_call(world, f"{what} {chosen}"))
    if world.global_rank not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    state[key] = ProcessGroup(world.wire.part(chosen), chosen, name, seconds, key)
    return state[key]


def _all_call(world: ProcessGroup, text: str) -> Generator[Any, None, None]:
    yield from world.agree(text)


# ---- questions ----------------------------------------------------------------------------------


def get_rank(group: ProcessGroup | None = None) -> int:
    """Return the number of this process in a group; -1 if it is not in it.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_rank()
    0
    >>> dist.destroy_process_group()
    """
    found = resolve(group, "get_rank")
    return -1 if found is None else found.rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """Return the number of processes in a group; -1 if this one is not in it.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    found = resolve(group, "get_world_size")
    return -1 if found is None else found.size()


def get_backend(group: ProcessGroup | None = None) -> str:
    """Return the name of the backend that was asked for.

    >>> import weft.distributed as dist
    >>> dist.init_process_group("gloo")
    >>> dist.get_backend()
    'gloo'
    >>> dist.destroy_process_group()
    """
    return _in(group, "get_backend").backend


def get_process_group_ranks(group: ProcessGroup | None = None) -> list[int]:
    """Return the global numbers of the processes of a group.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_process_group_ranks(dist.group.WORLD)
    [0]
    >>> dist.destroy_process_group()
    """
    return list(_in(group, "get_process_group_ranks").ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the number in a group of a process given by its global number.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_group_rank(dist.group.WORLD, 0)
    0
    >>> dist.destroy_process_group()
    """
    what = "get_group_rank"
    return _in(group, what).local(global_rank, None, what, "rank")


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the global number of a process given by its number in a group.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_global_rank(dist.group.WORLD, 0)
    0
    >>> dist.destroy_process_group()
    """
    what = "get_global_rank"
    found = _in(group, what)
    return found.ranks[found.local(None, group_rank, what, "rank")]


def _in(group: ProcessGroup | None, what: str) -> ProcessGroup:
    found = resolve(group, what)
    if found is None:
        raise ValueError(f"{what}: this process is not in the given group")
    return found
