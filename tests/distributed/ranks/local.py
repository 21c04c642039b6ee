"""Run by test_local.py on several ranks of one machine: what only sockets need to be tested for."""

from __future__ import annotations

import os
import signal
import sys
import time

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


{"large": large, "messages": messages, "killed": killed, "mismatched": mismatched}[what]()
print(f"rank {rank} is done", flush=True)
