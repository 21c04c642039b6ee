"""``init_process_group`` and ``new_group``: the group of all processes, and subgroups."""

from __future__ import annotations

import itertools
import os
from datetime import timedelta

from . import start
from .alone import Alone
from .groups import GroupMember, ProcessGroup, resolve, state
from .work import seconds_of, until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

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
    """The name of a way to communicate. weft has one, MPI, which answers to both of these.

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
    """Say whether ``backend="gloo"`` is accepted: it is, and means MPI.

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
    """Say whether PyTorch's own launcher started this process; ``weft launch`` is another.

    >>> weft.distributed.is_torchelastic_launched()
    False
    """
    return False


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
    many processes as that says. One that was started alone is a group of one, without MPI.

    Args:
        backend: ``"gloo"``, ``"mpi"`` or None, which all mean MPI.
        init_method: where processes would meet, as ``env://``, ``tcp://…`` or ``file://…``. Under
            MPI they have met when the program begins, so it is checked for its form only.
        timeout: how long an operation may wait for other ranks (default: 30 minutes).
        world_size: how many processes there are, if the program wants to be sure.
        rank: which of them this is, if the program wants to be sure.
        store: must be None.
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
    name, seconds = (
        _backend(backend, what),
        seconds_of(timeout, what, default_pg_timeout.total_seconds()),
    )
    for unused, value in (("store", store), ("pg_options", pg_options), ("device_id", device_id)):
        _none(value, unused, what)
    _none(group_name or None, "group_name", what)
    if init_method is not None and not str(init_method).startswith(("env://", "tcp://", "file://")):
        raise ValueError(
            f"{what}: init_method must begin with env://, tcp:// or file://, got {init_method!r}"
        )
    wanted = {"rank": rank, "world_size": world_size}
    for key, variable in (("rank", "RANK"), ("world_size", "WORLD_SIZE")):
        if wanted[key] < 0 and os.environ.get(variable, "").isdecimal():
            wanted[key] = int(os.environ[variable])
    if start.mpi_size() is None:
        _check_alone(wanted, what)
        state["world"] = ProcessGroup(Alone(), [0], name, seconds, "world")
        return
    state["world"] = _over_mpi(wanted, name, seconds, what)


def _check_alone(wanted: dict[str, int], what: str) -> None:
    if wanted["world_size"] > 1 or wanted["rank"] > 0:
        raise RuntimeError(
            f"{what}: rank {wanted['rank']} of {wanted['world_size']} processes is asked for, but "
            f"this process was started alone. Start the program by {start.LAUNCH}"
        )


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


def _backend(backend: str | None, what: str) -> str:
    if backend is None:
        return Backend.MPI
    name = str(backend).lower().removeprefix("cpu:")
    if name not in (Backend.GLOO, Backend.MPI):
        raise ValueError(
            f"{what}: backend must be 'gloo' or 'mpi', which both mean MPI, or None, got "
            f"{backend!r}" + (": there is no GPU to communicate" if "nccl" in name else "")
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
        if not isinstance(one.wire, Alone) and not one.broken:
            one.wire.comm.Free()


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
    name = _backend(world.backend if backend is None else backend, what)
    key = f"{group_desc or 'group'} {next(_numbers)}"
    if isinstance(world.wire, Alone):
        state[key] = ProcessGroup(Alone(), chosen, name, seconds, key)
        return state[key]
    if not use_local_synchronization:
        world.run(what, _all_call(world, f"{what} {chosen}"))
    if world.global_rank not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    from .mpi import MpiWire

    made = world.wire.comm.Create_group(world.wire.comm.Get_group().Incl(chosen))
    state[key] = ProcessGroup(MpiWire(made), chosen, name, seconds, key)
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
