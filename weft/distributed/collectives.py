"""Collectives on one tensor of each rank: reduce, broadcast, wait for all.

Each is a chain of steps (see work.py): the ranks agree on what they are about to do, memory goes to
MPI, the result goes to where it belongs.
"""

from __future__ import annotations

import weft

from .alone import Alone
from .groups import ProcessGroup, checked_tensor, taking_part
from .mpi import LAST_TAG
from .reduce_op import ReduceOp, checked_op, name_of
from .work import DistBackendError, lock, seconds_of, until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from datetime import timedelta
    from typing import Any

    from weft import Tensor

    from .work import Work

    Steps = Generator[Any, None, None]

__all__ = ["all_reduce", "barrier", "broadcast", "monitored_barrier", "reduce"]


def told(x: Tensor) -> str:
    """Return what ranks tell each other of a tensor.

    >>> from weft.distributed.collectives import told
    >>> told(weft.zeros(2, 3))
    'float32 (2, 3)'
    """
    return f"{name_of(x.dtype)} {tuple(x.shape)}"


def staged(x: Tensor) -> Tensor:
    """Return memory in which MPI can reduce: the tensor's own, or a contiguous copy.

    16-bit floats are added as float32, and rounded once.
    """
    if x.dtype in (weft.float16, weft.bfloat16):
        return x.to(weft.float32).contiguous()
    return x.contiguous()


def finished(x: Tensor, memory: Tensor, op: ReduceOp, size: int) -> None:
    """Bring what was reduced to where it belongs."""
    if op is ReduceOp.AVG:
        memory.div_(size)
    returned(x, memory)


def returned(x: Tensor, memory: Tensor) -> None:
    """Copy to a tensor what lies in memory that stood in for it."""
    if memory is not x and memory.data_ptr() != x.data_ptr():
        x.copy_(memory)


def all_reduce(
    tensor: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce the tensors of all ranks, in place: every rank gets the result, to the same bit.

    Args:
        tensor: of the same shape and dtype on all ranks.
        op: what to do with the elements.
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> x = weft.tensor([1.0, 2.0])
    >>> dist.all_reduce(x)
    >>> x  # with one rank, as it was
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    what = "all_reduce"
    g = taking_part(group, what)
    if g is None:
        return None
    x = checked_tensor(tensor, what)
    return g.run(text := f"{what} {told(x)} {checked_op(op, x.dtype, what).name}",
                 _all_reduce(g, text, x, op), async_op)  # fmt: skip


def _all_reduce(g: ProcessGroup, text: str, x: Tensor, op: ReduceOp) -> Steps:
    yield from g.agree(text)
    memory = staged(x)
    yield g.wire.reduce_all(memory, op)
    finished(x, memory, op, g.size())


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce the tensors of all ranks into that of one; the others keep theirs.

    Args:
        tensor: of the same shape and dtype on all ranks.
        dst: the global number of the rank that gets the result.
        op: what to do with the elements.
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.
        group_dst: instead of ``dst``, the number in the group.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> x = weft.tensor([1.0, 2.0])
    >>> dist.reduce(x, dst=0)
    >>> dist.destroy_process_group()
    """
    what = "reduce"
    g = taking_part(group, what)
    if g is None:
        return None
    x, root = checked_tensor(tensor, what), g.local(dst, group_dst, what, "dst")
    text = f"{what} {told(x)} {checked_op(op, x.dtype, what).name} dst={g.ranks[root]}"
    return g.run(text, _reduce(g, text, x, op, root), async_op)


def _reduce(g: ProcessGroup, text: str, x: Tensor, op: ReduceOp, root: int) -> Steps:
    yield from g.agree(text)
    memory = staged(x)
    yield g.wire.reduce(memory, op, root)
    if g.rank() == root:
        finished(x, memory, op, g.size())


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the tensor of one rank to all others.

    Args:
        tensor: what to send on one rank, what to fill on the others: of one shape and dtype.
        src: the global number of the rank that sends.
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.
        group_src: instead of ``src``, the number in the group.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.broadcast(weft.ones(2), src=0)
    >>> dist.destroy_process_group()
    """
    what = "broadcast"
    g = taking_part(group, what)
    if g is None:
        return None
    x, root = checked_tensor(tensor, what), g.local(src, group_src, what, "src")
    text = f"{what} {told(x)} src={g.ranks[root]}"
    return g.run(text, _broadcast(g, text, x, root), async_op)


def _broadcast(g: ProcessGroup, text: str, x: Tensor, root: int) -> Steps:
    yield from g.agree(text)
    memory = x.contiguous()
    yield g.wire.broadcast(memory, root)
    if g.rank() != root:
        returned(x, memory)


def barrier(
    group: ProcessGroup | None = None, async_op: bool = False, device_ids: Any = None
) -> Work | None:
    """Wait until all ranks have come here.

    Args:
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.
        device_ids: must be None: there is one device.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.barrier()
    >>> dist.destroy_process_group()
    """
    if device_ids is not None:
        raise NotImplementedError(f"barrier: device_ids is not supported, got {device_ids!r}")
    g = taking_part(group, "barrier")
    return None if g is None else g.run("barrier", g.agree("barrier"), async_op)


def monitored_barrier(
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    wait_all_ranks: bool = False,
) -> None:
    """Wait until all ranks have come here; rank 0 of the group names those that are missing.

    Args:
        group: the ranks that take part (default: all).
        timeout: how long to wait (default: as long as the group says).
        wait_all_ranks: name all ranks that are missing, not only the first.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.monitored_barrier()
    >>> dist.destroy_process_group()
    """
    what = "monitored_barrier"
    g = taking_part(group, what)
    if g is None or g.size() == 1:
        return
    g.drain(what)
    seconds = seconds_of(timeout, what, g.timeout)
    if g.rank():
        _signal(g, 0, what, seconds)
        until(lambda: _signalled(g, 0), g, what, seconds)
        return
    waiting = list(range(1, g.size()))

    def all_here() -> bool:
        waiting[:] = [r for r in waiting if not _signalled(g, r)]
        return not waiting

    try:
        until(all_here, g, what, seconds)
    except DistBackendError as error:
        missing = [g.ranks[r] for r in waiting][: None if wait_all_ranks else 1]
        names = ", ".join(map(str, missing))
        raise DistBackendError(
            f"{what}: rank{'s' * (len(missing) > 1)} {names} did not come within {seconds:g} s"
        ) from error
    for r in range(1, g.size()):
        _signal(g, r, what, seconds)


def _signal(g: ProcessGroup, to: int, what: str, seconds: float) -> None:
    """Tell one rank that this one is here."""
    assert not isinstance(g.wire, Alone)
    request = g.wire.send(b"x", None, to, LAST_TAG)
    until(request.Test, g, what, seconds)


def _signalled(g: ProcessGroup, source: int) -> bool:
    """Say whether a rank has told that it is here, once for each time."""
    assert not isinstance(g.wire, Alone)
    with lock:
        found = g.wire.find(source, LAST_TAG)
        if found is None:
            return False
        request = g.wire.receive(found[0], bytearray(1))
        if request is not None:
            request.Wait()
        return True
