"""Run by test_local.py on several ranks of one machine: what only sockets need to be tested for."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from datetime import timedelta

import pytest

import weft
import weft.distributed as dist

what, method = sys.argv[1], sys.argv[2]
dist.init_process_group("gloo", init_method=method)
rank, size = dist.get_rank(), dist.get_world_size()


def large() -> None:
    """50 MB to each other at once, by messages and by collectives; sums do not depend on timing."""
    n = 50_000_000 // 4
    x, y = weft.full((n,), float(rank)), weft.empty(n)
    after, before = (rank + 1) % size, (rank - 1) % size
    dist.send(x, after)  # all send first
    assert dist.recv(y, before) == before and y.eq(before).all()
    works = [dist.irecv(y, before), dist.isend(x, after)]
    assert all(work.wait() for work in works) and y.eq(before).all()
    weft.manual_seed(rank)
    z = weft.randn(1_000_003)
    sums = []
    for i in range(3):
        time.sleep(0.02 * ((rank + i) % size))
        sums.append(z.clone())
        dist.all_reduce(sums[-1])
    parts = [weft.empty(z.shape) for _ in range(size)]
    dist.all_gather(parts, z)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert all(x.equal(total) for x in sums)


def messages() -> None:
    """Tags tell messages apart, whatever the order; any source; a message of the wrong size."""
    if rank == 0:
        first, second = weft.empty(2), weft.empty(3, dtype=weft.int64)
        for r in range(1, size):
            dist.recv(second, r, tag=7)
            dist.recv(first, r, tag=3)
            assert second.eq(r).all() and first.eq(-r).all()
        seen = {dist.recv(first, tag=9) for _ in range(1, size)}
        assert seen == set(range(1, size))
        with pytest.raises(dist.DistError, match=r"does not fit: (i?send) float32 \(5,\)"):
            dist.recv(first, 1)
    else:
        dist.send(weft.full((2,), -float(rank)), 0, tag=3)
        dist.send(weft.full((3,), rank), 0, tag=7)
        dist.send(weft.ones(2), 0, tag=9)
        if rank == 1:
            dist.send(weft.ones(5), 0)
    dist.barrier()


def killed() -> None:
    """One rank is killed while a process forked from it lives: all others name it, soon."""
    victim = int(sys.argv[3])
    dist.barrier()
    if rank == victim:
        if os.fork() == 0:
            time.sleep(8)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    with pytest.raises(dist.DistBackendError, match=f"waits for rank {victim}, whose program"):
        dist.all_reduce(weft.ones(1000))
    assert time.monotonic() - began < 5
    with pytest.raises(dist.DistBackendError, match=f"cannot go on: rank {victim} has ended"):
        dist.barrier()


def mismatched() -> None:
    """Ranks that make different calls learn of both, and can go on."""
    with pytest.raises(dist.DistError) as caught:
        dist.all_reduce(weft.ones(2)) if rank == 0 else dist.broadcast(weft.ones(3), 0)
    assert "rank 0: all_reduce float32 (2,) SUM" in str(caught.value)
    assert ": broadcast float32 (3,) src=0" in str(caught.value)
    x = weft.ones(2)
    dist.all_reduce(x)
    assert x.eq(size).all()


def late() -> None:
    """Who waits too long for a rank that lives says so; a monitored barrier names it."""
    hasty = dist.new_group(timeout=timedelta(seconds=0.5))
    dist.barrier()
    if rank == 1:
        time.sleep(4)
        return
    if rank == 0:
        with pytest.raises(dist.DistBackendError, match=r"rank 1 did not come within 0\.5 s"):
            dist.monitored_barrier(timeout=timedelta(seconds=0.5))
    with pytest.raises(
        dist.DistBackendError, match=rf"rank {rank} has waited 0\.5 s for the other"
    ):
        dist.all_reduce(weft.ones(3), group=hasty)


def apart() -> None:
    """Groups do not disturb each other; a forked process leaves the group's sockets alone."""
    halves = [dist.new_group([r for r in range(size) if r % 2 == i]) for i in range(2)]
    mine = halves[rank % 2]
    if rank == 0:
        pid = os.fork()
        if pid == 0:
            dist.destroy_process_group()
            os._exit(0 if not dist.is_initialized() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    works = []
    for i in range(5):
        x, y = weft.full((40_000,), 1.0 + rank), weft.full((3,), float(i))
        works.append((dist.all_reduce(x, group=mine, async_op=True), x))
        works.append((dist.all_reduce(y, async_op=True), y))
    for i, (work, x) in reversed(list(enumerate(works))):
        assert work.wait()
        among = [r + 1 for r in range(size) if r % 2 == rank % 2]
        assert x.eq(i // 2 * size if i % 2 else sum(among)).all()
    dist.destroy_process_group()
    dist.init_process_group(init_method=method)  # at the same place
    x = weft.ones(1)
    dist.all_reduce(x)
    assert x.item() == size
    with tempfile.TemporaryDirectory() as folder:
        path = [folder]
        dist.broadcast_object_list(path)
        store = dist.FileStore(f"{path[0]}/store", size)
        for times in range(1, 3):  # a program's own store, twice
            dist.destroy_process_group()
            dist.init_process_group(store=store, rank=rank, world_size=size)
            dist.all_reduce(x)
            assert x.item() == size ** (times + 1)
        dist.barrier()


{
    "large": large,
    "late": late,
    "apart": apart,
    "messages": messages,
    "killed": killed,
    "mismatched": mismatched,
}[what]()
print(f"rank {rank} is done", flush=True)
