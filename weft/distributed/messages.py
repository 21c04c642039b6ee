"""Messages from one rank to another."""

from __future__ import annotations

import weft

from .alone import Alone
from .collectives import returned, told
from .groups import NOTE_SIZE, ProcessGroup, checked_tensor, padded, taking_part
from .mpi import LAST_TAG
from .work import DistError, Work, lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from weft import Tensor

    Steps = Generator[Any, None, None]

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Start to send a tensor to another rank, which calls ``recv`` or ``irecv``.

    Args:
        tensor: what to send; it must not change before the end.
        dst: the global number of the other rank.
        group: the ranks among which it is (default: all).
        tag: tells messages apart; both sides must give the same.
        group_dst: instead of ``dst``, the number in the group.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.isend(weft.ones(2), dst=0)
    Traceback (most recent call last):
    ValueError: isend: rank 0 cannot send to itself
    >>> dist.destroy_process_group()
    """
    return _send(tensor, dst, group, tag, group_dst, "isend")


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to another rank, which calls ``recv`` or ``irecv``. As ``isend``, and wait.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.send(weft.ones(2), dst=3)
    Traceback (most recent call last):
    ValueError: send: dst must be one of the ranks [0], got 3
    >>> dist.destroy_process_group()
    """
    work = _send(tensor, dst, group, tag, group_dst, "send")
    if work is not None:
        work.wait()


def _send(tensor: Tensor, dst: Any, group: Any, tag: int, group_dst: Any, what: str) -> Work | None:
    g = taking_part(group, what)
    if g is None:
        return None
    x, to = checked_tensor(tensor, what), g.local(dst, group_dst, what, "dst")
    if to == g.rank():
        raise ValueError(f"{what}: rank {g.global_rank} cannot send to itself")
    text = (
        f"{what} {told(x)} from rank {g.global_rank} to rank {g.ranks[to]}, tag {_tag(tag, what)}"
    )
    return _start(g, Work(g, text, _sending(g, text, x, to, tag)))


def _tag(tag: int, what: str) -> int:
    if not 0 <= tag < LAST_TAG:
        raise ValueError(f"{what}: tag must be from 0 to {LAST_TAG - 1}, got {tag}")
    return tag


def _start(g: ProcessGroup, work: Work) -> Work:
    with lock:
        g.messages.append(work)
    g.progress()
    return work


def _sending(g: ProcessGroup, text: str, x: Tensor, to: int, tag: int) -> Steps:
    assert not isinstance(g.wire, Alone)
    memory, note = x.contiguous(), padded(text)
    yield g.wire.send(note, memory, to, tag)
    del memory, note  # until here they are read


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Start to receive a tensor from another rank.

    Args:
        tensor: what to fill: of the dtype and the number of elements that are sent.
        src: the global number of the other rank (default: any).
        group: the ranks among which it is (default: all).
        tag: tells messages apart; both sides must give the same.
        group_src: instead of ``src``, the number in the group.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.irecv(weft.ones(2), src=0)
    Traceback (most recent call last):
    ValueError: irecv: rank 0 cannot receive from itself
    >>> dist.destroy_process_group()
    """
    return _receive(tensor, src, group, tag, group_src, "irecv")


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from another rank, whose number is returned. As ``irecv``, and wait.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.recv(weft.ones(2))
    Traceback (most recent call last):
    ValueError: recv: rank 0 is alone: nobody sends
    >>> dist.destroy_process_group()
    """
    work = _receive(tensor, src, group, tag, group_src, "recv")
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


def _receive(
    tensor: Tensor, src: Any, group: Any, tag: int, group_src: Any, what: str
) -> Work | None:
    g = taking_part(group, what)
    if g is None:
        return None
    x = checked_tensor(tensor, what)
    anyone = src is None and group_src is None
    source = None if anyone else g.local(src, group_src, what, "src")
    if source == g.rank():
        raise ValueError(f"{what}: rank {g.global_rank} cannot receive from itself")
    if g.size() == 1:
        raise ValueError(f"{what}: rank {g.global_rank} is alone: nobody sends")
    sender = "any rank" if source is None else f"rank {g.ranks[source]}"
    text = f"{what} {told(x)} on rank {g.global_rank} from {sender}, tag {_tag(tag, what)}"
    search = _Search(g, source, tag)
    work = _Receiving(g, text, _receiving(g, text, x, search))
    work.search, search.work = search, work
    return _start(g, work)


class _Receiving(Work):
    search: _Search


class _Search:
    """Looks for a message as MPI's requests are asked: ``Test`` says whether it has come."""

    def __init__(self, g: ProcessGroup, source: int | None, tag: int) -> None:
        self.group, self.source, self.tag = g, source, tag
        self.found: tuple[Any, int, int] | None = None
        self.work: Work | None = None

    def Test(self) -> bool:
        """Take the message if it has come, unless one that was asked for earlier may want it."""
        for earlier in self.group.messages:
            if earlier is self.work:
                break
            if isinstance(earlier, _Receiving) and self._rivals(earlier.search):
                return False
        assert not isinstance(self.group.wire, Alone)
        self.found = self.group.wire.find(self.source, self.tag)
        return self.found is not None

    def _rivals(self, other: _Search) -> bool:
        same = other.source == self.source or None in (other.source, self.source)
        return other.found is None and other.tag == self.tag and same


def _receiving(g: ProcessGroup, text: str, x: Tensor, search: _Search) -> Steps:
    yield search
    assert search.found is not None and search.work is not None
    assert not isinstance(g.wire, Alone)
    message, source, size = search.found
    note = bytearray(NOTE_SIZE)
    memory = x.contiguous()
    fits = size == NOTE_SIZE + x.numel() * x.element_size()
    if not fits:  # nothing of it goes into the tensor
        memory = weft.empty(max(size - NOTE_SIZE, 0), dtype=weft.uint8)
    yield g.wire.receive(message, note, memory)
    sent = note.rstrip(b"\0").decode("utf-8", "replace")
    if not fits or sent.split()[1] != told(x).split()[0]:
        raise DistError(f"{text}: what came does not fit: {sent}")
    returned(x, memory)
    search.work._source = g.ranks[source]


class P2POp:
    """A message that ``batch_isend_irecv`` will start.

    Args:
        op: ``isend`` or ``irecv``.
        tensor: what to send or to fill.
        peer: the global number of the other rank.
        group: the ranks among which it is (default: all).
        tag: tells messages apart.
        group_peer: instead of ``peer``, the number in the group.

    >>> import weft.distributed as dist
    >>> dist.P2POp(dist.isend, weft.ones(2), 1).peer
    1
    """

    def __init__(
        self,
        op: Callable[..., Work | None],
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        """Keep what the message is."""
        if op not in (isend, irecv):
            raise ValueError(f"P2POp: op must be isend or irecv, got {op!r}")
        self.op, self.tensor, self.peer, self.group = op, tensor, peer, group
        self.tag, self.group_peer = tag, group_peer

    def __repr__(self) -> str:
        """Name the operation and the other rank."""
        return f"P2POp({self.op.__name__}, {told(self.tensor)}, peer={self.peer}, tag={self.tag})"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start several messages; return what to wait for.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.batch_isend_irecv([dist.P2POp(dist.isend, weft.ones(2), 0)])
    Traceback (most recent call last):
    ValueError: isend: rank 0 cannot send to itself
    >>> dist.destroy_process_group()
    """
    wrong = [op for op in p2p_op_list if not isinstance(op, P2POp)]
    if wrong or not p2p_op_list:
        got = repr(wrong[0]) if wrong else "an empty list"
        raise ValueError(f"batch_isend_irecv: p2p_op_list must be a list of P2POp, got {got}")
    works = [op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer) for op in p2p_op_list]
    return [work for work in works if work is not None]
