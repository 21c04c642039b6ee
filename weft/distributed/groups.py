"""Process groups: their members, and the operations in progress between them."""

from __future__ import annotations

import os
import time
import warnings
from collections import deque

import weft
from weft import _C

from .work import GRACE, DistBackendError, DistError, Work, lock, until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any, TypeAlias

    from weft import Tensor

    from .alone import Alone
    from .local import LocalWire
    from .mpi import MpiWire

    Wire: TypeAlias = Alone | LocalWire | MpiWire

__all__ = ["GroupMember", "ProcessGroup", "group"]

NOTE_SIZE = 256  # bytes that say what a rank is about to do


class ProcessGroup:
    """Several processes that work together. Made by ``init_process_group`` and ``new_group``.

    The collectives of a group run one after the other, in the order of their calls.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.group.WORLD.rank(), dist.group.WORLD.size()
    (0, 1)
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, wire: Wire, ranks: list[int], backend: str, timeout: float, name: str
    ) -> None:
        """Take the connection, the global numbers of its ends, and how long to wait for them."""
        self.wire, self.ranks, self.backend, self.timeout = wire, ranks, backend, timeout
        self._name = name
        self.global_rank = ranks[wire.rank]
        self.broken: str | None = None
        self._pid = os.getpid()
        self._queue: deque[Work] = deque()
        self.messages: list[Work] = []

    def __repr__(self) -> str:
        """Name the ranks."""
        return f"<ProcessGroup {self._name}: rank {self.global_rank} of {self.ranks}>"

    def rank(self) -> int:
        """Return the number of this process in the group.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> dist.group.WORLD.rank()
        0
        >>> dist.destroy_process_group()
        """
        return self.wire.rank

    def size(self) -> int:
        """Return the number of processes.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> dist.group.WORLD.size()
        1
        >>> dist.destroy_process_group()
        """
        return self.wire.size

    def name(self) -> str:
        """Return the name of the backend.

        >>> import weft.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.group.WORLD.name()
        'gloo'
        >>> dist.destroy_process_group()
        """
        return self.backend

    # ---- what is under way ----------------------------------------------------------------------

    def usable(self, what: str) -> None:
        """Raise if nothing can be done with this group here and now."""
        if self.broken:
            raise DistBackendError(f"{what}: the group {self.ranks} cannot go on: {self.broken}")
        if os.getpid() != self._pid:
            raise DistError(
                f"{what}: this process was forked from rank {self.global_rank}, which alone can "
                "take part"
            )
        recorder = _C._recorder()
        if recorder is not None:  # a static program would leave the other processes out
            recorder.lost(f"weft.distributed.{what}", _C._here())

    def run(
        self, text: str, steps: Generator[Any, None, None], async_op: bool = False
    ) -> Work | None:
        """Start a collective after those before it; wait for it unless ``async_op``."""
        work = Work(self, text, steps)
        with lock:
            self._queue.append(work)
        self.progress()
        if async_op:
            return work
        work.wait()
        return None

    def progress(self) -> None:
        """Go on with what is under way, as far as it goes without waiting."""
        with lock, weft.no_grad():
            while self._queue and self._queue[0]._advance():
                self._queue.popleft()
            if self.messages:
                self.messages = [work for work in self.messages if not work._advance()]

    def agree(self, text: str) -> Generator[Any, None, None]:
        """Go on when all ranks are about to do the same; else raise, on all of them alike.

        It is what keeps numbers of another shape or dtype out of a rank's memory.
        """
        if self.wire.size == 1:
            return
        request, notes = self.wire.exchange(padded(text))
        yield request
        if notes == notes[:NOTE_SIZE] * self.wire.size:
            return
        told: dict[str, list[int]] = {}
        for i, rank in enumerate(self.ranks):
            call = (
                notes[i * NOTE_SIZE : (i + 1) * NOTE_SIZE].rstrip(b"\0").decode("utf-8", "replace")
            )
            told.setdefault(call, []).append(rank)
        lines = [
            f"  rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}: {call}"
            for call, ranks in told.items()
        ]
        raise DistError(
            f"{text.partition(' ')[0]}: the ranks of {self.ranks} do not agree on what to do; this "
            f"is rank {self.global_rank}\n" + "\n".join(lines)
        )

    def check_alive(self, text: str) -> None:
        """Raise if a rank of this group has ended a while ago: it will not take part."""
        if self.wire.size == 1:
            return
        with lock:
            ended, now = self.wire.ended(), time.monotonic()
            gone = [r for r in self.ranks if now - ended.get(r, now) > GRACE]
        if gone:
            raise self.without(gone, text)

    def without(self, gone: list[int], text: str) -> DistBackendError:
        """Return the error that some ranks of this group have ended; nothing more is done with it."""
        self.broken = f"rank {gone[0]} has ended"
        return DistBackendError(
            f"{text}: rank {self.global_rank} waits for rank {', '.join(map(str, gone))}, "
            "whose program has ended. Do all ranks make the same calls, as often?"
        )

    def give_up(self, why: str) -> None:
        """Do nothing more with a group of which a rank does not answer."""
        self.broken = why
        self.wire.give_up()

    def drain(self, what: str) -> None:
        """Wait for all that is under way."""
        until(self.idle, self, what, self.timeout)

    def idle(self) -> bool:
        """Say whether nothing is under way, after going on with it."""
        self.progress()
        return not self._queue and not self.messages

    # ---- ranks ----------------------------------------------------------------------------------

    def local(self, rank: int | None, local: int | None, what: str, name: str) -> int:
        """Return the number in this group of a rank given as a global or a local one."""
        if (rank is None) == (local is None):
            raise ValueError(f"{what}: give either {name} or group_{name}, got {rank} and {local}")
        if local is not None:
            if not 0 <= local < self.wire.size:
                raise ValueError(
                    f"{what}: group_{name} must be from 0 to {self.wire.size - 1}, got {local}"
                )
            return local
        if rank not in self.ranks:
            raise ValueError(f"{what}: {name} must be one of the ranks {self.ranks}, got {rank}")
        return self.ranks.index(rank)


def padded(text: str) -> bytes:
    """Return a text as a note of fixed length; a longer one ends in its checksum.

    >>> from weft.distributed.groups import padded
    >>> len(padded("barrier")), len(padded("x" * 1000))
    (256, 256)
    """
    note = text.encode()
    if len(note) > NOTE_SIZE:
        from hashlib import sha256

        note = note[: NOTE_SIZE - 20] + b" .." + sha256(note).hexdigest()[:17].encode()
    return note.ljust(NOTE_SIZE, b"\0")


# ---- those that exist ---------------------------------------------------------------------------

state: dict[str, ProcessGroup] = {}  # by name; "world" is the default one


class _World(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before ``init_process_group``."""
        return state.get("world")


class group(metaclass=_World):
    """Holds the group of all processes as ``group.WORLD``.

    >>> weft.distributed.group.WORLD is None
    True
    """


class GroupMember(metaclass=_World):
    """Holds what ``new_group`` gives to a process that is not in the group.

    >>> weft.distributed.GroupMember.NON_GROUP_MEMBER
    -100
    """

    NON_GROUP_MEMBER = -100


def resolve(which: Any, what: str) -> ProcessGroup | None:
    """Return the group that is meant; None if this process is not in it.

    >>> from weft.distributed.groups import resolve
    >>> resolve(None, "barrier")
    Traceback (most recent call last):
    ValueError: barrier: there is no process group yet: call weft.distributed.init_process_group() first
    """
    world = state.get("world")
    if world is None:
        raise ValueError(
            f"{what}: there is no process group yet: call weft.distributed.init_process_group() "
            "first"
        )
    if which is None:
        return world
    if which == GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(which, ProcessGroup):
        raise TypeError(f"{what}: group must be a ProcessGroup or None, got {which!r}")
    if which not in state.values():
        raise ValueError(f"{what}: {which!r} was destroyed")
    return which


def taking_part(which: Any, what: str) -> ProcessGroup | None:
    """Return the group for an operation; None, with a warning, if this process is not in it."""
    found = resolve(which, what)
    if found is None:
        warnings.warn(
            f"{what}: rank {state['world'].global_rank} is not in the given group, and does nothing",
            stacklevel=3,
        )
        return None
    found.usable(what)
    return found


def checked_tensor(x: Any, what: str, name: str = "tensor") -> Tensor:
    """Return a dense tensor without its graph.

    >>> from weft.distributed.groups import checked_tensor
    >>> checked_tensor([1.0], "all_reduce")
    Traceback (most recent call last):
    TypeError: all_reduce: tensor must be a Tensor, got list
    """
    if not isinstance(x, weft.Tensor):
        raise TypeError(f"{what}: {name} must be a Tensor, got {type(x).__name__}")
    if x.layout is not weft.strided:
        raise NotImplementedError(f"{what}: {name} must be dense, got layout {x.layout}")
    return x.detach()
