"""Run by test_ranks.py on several ranks: every collective gives what the inputs of all say."""

from __future__ import annotations

import functools
import operator

import pytest

import weft
import weft.distributed as dist
from weft.distributed import ReduceOp

DTYPES = [
    weft.float32, weft.float64, weft.float16, weft.bfloat16, weft.int8, weft.int16, weft.int32,
    weft.int64, weft.uint8, weft.bool, weft.complex64, weft.complex128,
]  # fmt: skip

dist.init_process_group("gloo", init_method="env://")
rank, size = dist.get_rank(), dist.get_world_size()


def of(r: int, dtype: weft.dtype = weft.float32, shape: tuple[int, ...] = (2, 3)) -> weft.Tensor:
    """What a rank puts in."""
    n = weft.Size(shape).numel()
    return ((weft.arange(n) * 3 + r * 5) % 7).view(shape).to(dtype)


def twin(op: ReduceOp, dtype: weft.dtype) -> weft.Tensor:
    """What a reduction must give, computed by one rank in the widest type."""
    inexact = dtype.is_floating_point or dtype.is_complex
    if dtype == weft.bool:
        wide, any_of = [of(r, dtype) for r in range(size)], (ReduceOp.SUM, ReduceOp.MAX)
        f = operator.or_ if op in (*any_of, ReduceOp.BOR) else operator.and_
        f = operator.xor if op is ReduceOp.BXOR else f
        return functools.reduce(f, wide)
    wide = [of(r).to(weft.float64 if inexact else weft.int64) for r in range(size)]
    f = {
        ReduceOp.SUM: operator.add, ReduceOp.AVG: operator.add, ReduceOp.PRODUCT: operator.mul,
        ReduceOp.MIN: weft.minimum, ReduceOp.MAX: weft.maximum, ReduceOp.BAND: operator.and_,
        ReduceOp.BOR: operator.or_, ReduceOp.BXOR: operator.xor,
    }[op]  # fmt: skip
    x = functools.reduce(f, wide)
    return (x / size if op is ReduceOp.AVG else x).to(dtype)


def nothing_has_a_name() -> None:
    """The memory that MPICH's processes share would not survive them, were they killed."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        shared = [line for line in maps if "/dev/shm/mpich" in line]
    assert all("(deleted)" in line for line in shared), shared


def reductions() -> None:
    """Each dtype by each operation; what makes no sense raises, naming both."""
    for dtype in DTYPES:
        inexact = dtype.is_floating_point or dtype.is_complex
        for op in ReduceOp:
            bits = op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
            unordered = dtype.is_complex and op in (ReduceOp.MIN, ReduceOp.MAX)
            x = of(rank, dtype)
            if (bits and inexact) or unordered or (op is ReduceOp.AVG and not inexact):
                with pytest.raises(ValueError, match=rf"ReduceOp\.{op.name} needs"):
                    dist.all_reduce(x, op)
                continue
            dist.all_reduce(x, op)
            assert x.allclose(twin(op, dtype), rtol=1e-2), (dtype, op, x)
            y = of(rank, dtype)
            dist.reduce(y, size - 1, op)
            wanted = twin(op, dtype) if rank == size - 1 else of(rank, dtype)
            assert y.allclose(wanted, rtol=1e-2), (dtype, op, y)


def small_floats() -> None:
    """Sums of 16-bit floats are rounded once: a half ulp from each rank is not lost."""
    for dtype, one in ((weft.bfloat16, 256.0), (weft.float16, 2048.0)):
        x = weft.tensor([one if rank == 0 else one / 2 / 256 * (256 / one)]).to(dtype)
        values = [one] + [one / 2 / 256 * (256 / one)] * (size - 1)
        dist.all_reduce(x)
        assert x.equal(weft.tensor([sum(values)]).to(dtype)), x


def layouts() -> None:
    """Transposed, strided, empty and zero-dimensional tensors; a parameter's version moves on."""
    x = weft.zeros(3, 4)
    part = x.t()[::2]
    part.fill_(rank + 1.0)
    dist.all_reduce(part)
    total = size * (size + 1) / 2
    assert x[:, ::2].eq(total).all() and x[:, 1::2].eq(0).all()
    empty, number = weft.empty(0, 3), weft.tensor(float(rank))
    dist.all_reduce(empty)
    dist.all_reduce(number)
    assert number.item() == size * (size - 1) / 2
    p = weft.nn.Parameter(weft.full((3,), float(rank)))
    before = p._version
    dist.broadcast(p, src=1)
    assert p.eq(1).all() and (rank == 1 or p._version > before)
    big = weft.full((300_000,), float(rank))
    dist.all_reduce(big, ReduceOp.AVG)
    assert big.eq((size - 1) / 2).all()


def moves() -> None:
    """Gather, scatter and exchange, for each dtype, contiguous or not."""
    for dtype in DTYPES:
        mine, shape = of(rank, dtype), (2, 3)
        out = [weft.zeros(3, 2, dtype=dtype).t() for _ in range(size)]
        dist.all_gather(out, mine)
        assert all(x.equal(of(r, dtype)) for r, x in enumerate(out)), dtype
        for whole_shape in ((size * 2, 3), (size, 2, 3)):
            whole = weft.zeros(whole_shape, dtype=dtype)
            dist.all_gather_into_tensor(whole, mine.t().contiguous().t())
            assert whole.view(size, 2, 3).equal(weft.stack([of(r, dtype) for r in range(size)]))
        out = [weft.zeros(shape, dtype=dtype) for _ in range(size)] if rank == 1 else None
        dist.gather(mine, out, dst=1)
        assert out is None or all(x.equal(of(r, dtype)) for r, x in enumerate(out))
        got = weft.zeros(3, 2, dtype=dtype).t()
        dist.scatter(got, [of(r + 1, dtype) for r in range(size)] if rank == 0 else None, src=0)
        assert got.equal(of(rank + 1, dtype))
        outs = [weft.zeros(r + 1, 2, dtype=dtype) for r in range(size)]
        dist.all_to_all(outs, [of(rank * 10 + r, dtype, (rank + 1, 2)) for r in range(size)])
        assert all(x.equal(of(r * 10 + rank, dtype, (r + 1, 2))) for r, x in enumerate(outs))
    x = weft.arange(size * 2.0).view(size, 2) + rank * 100
    out = weft.zeros(size, 2)
    dist.all_to_all_single(out, x)
    assert out.equal(weft.stack([weft.arange(2.0) + 2 * rank + r * 100 for r in range(size)]))
    rows = list(range(1, size + 1))
    x = weft.full((sum(rows),), float(rank))
    out = weft.zeros((rank + 1) * size)
    dist.all_to_all_single(out, x, [rank + 1] * size, rows)
    assert out.equal(weft.arange(float(size)).repeat_interleave(rank + 1))


def shares() -> None:
    """Reduce and scatter, also of 16-bit floats and averages."""
    for dtype in (weft.float32, weft.bfloat16, weft.int64):
        out = weft.zeros(2, 3, dtype=dtype)
        dist.reduce_scatter(out, [of(rank + r, dtype) for r in range(size)])
        wanted = sum(of(r + rank, weft.float64) for r in range(size))
        assert out.equal(wanted.to(dtype)), (dtype, out)
        whole = weft.cat([of(rank + r, dtype) for r in range(size)])
        out.zero_()
        dist.reduce_scatter_tensor(out, whole, ReduceOp.MAX)
        most = weft.stack([of(r + rank, weft.float64) for r in range(size)]).amax(0)
        assert out.equal(most.to(dtype))
    out = weft.zeros(3)
    dist.reduce_scatter_tensor(out, weft.full((size, 3), float(rank)), ReduceOp.AVG)
    assert out.eq((size - 1) / 2).all()


def asynchronous() -> None:
    """Many under way at once end in their order; one that nobody waits for ends as well."""
    xs = [weft.full((k + 1,), float(rank + k)) for k in range(20)]
    works = [dist.all_reduce(x, async_op=True) for x in xs]
    assert all(work.wait() and work.is_completed() and work.is_success() for work in works)
    base = size * (size - 1) / 2
    assert all(x.eq(base + k * size).all() for k, x in enumerate(xs))
    left = weft.ones(3)
    dist.all_reduce(left, async_op=True)
    dist.barrier()
    assert left.eq(size).all()


def messages() -> None:
    """Round the ring: in order for one tag, apart for several, from anyone, none mixed up."""
    right, left = (rank + 1) % size, (rank - 1) % size
    sends = [dist.isend(weft.full((3, 2), rank * 10.0 + k).t(), right) for k in range(4)]
    sends.append(dist.isend(weft.full((100_000,), rank, dtype=weft.int32), right, tag=7))
    wide = weft.zeros(100_000, dtype=weft.int32)
    seven = dist.irecv(wide, left, tag=7)
    gets = [weft.zeros(2, 3) for _ in range(4)]
    works = [dist.irecv(x, left) for x in gets]
    for work in reversed(works):  # the last first: it must not take the first message
        work.wait()
    seven.wait()
    assert [x[0, 0].item() for x in gets] == [left * 10.0 + k for k in range(4)]
    assert wide.eq(left).all() and seven.source_rank() == left
    for work in sends:
        work.wait()
    if rank == 0:
        seen = {}
        for _ in range(size - 1):
            x = weft.zeros(2, dtype=weft.bfloat16)
            source = dist.recv(x, tag=5)
            seen[source] = x[0].item()
        assert seen == {r: float(r) for r in range(1, size)}
    else:
        dist.send(weft.full((2,), rank).to(weft.bfloat16), 0, tag=5)
    out, mine = weft.zeros(2), weft.full((2,), float(rank))
    ops = [dist.P2POp(dist.isend, mine, right, tag=9), dist.P2POp(dist.irecv, out, left, tag=9)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert out.eq(left).all()


def objects() -> None:
    """Python objects, tensors among them, of different sizes."""
    mine = {"rank": rank, "text": "x" * rank * 50, "tensor": of(rank)}
    every = [None] * size
    dist.all_gather_object(every, mine)
    assert [x["rank"] for x in every] == list(range(size)) and every[1]["tensor"].equal(of(1))
    some = [None] * size if rank == 1 else None
    dist.gather_object(rank, some, dst=1)
    assert some is None or some == list(range(size))
    things = ["a", [1, 2], {"k": rank}] if rank == 1 else [None] * 3
    dist.broadcast_object_list(things, src=1)
    assert things == ["a", [1, 2], {"k": 1}]
    got = [None]
    dist.scatter_object_list(got, ["y" * r * 9 for r in range(size)] if rank == 0 else None)
    assert got == ["y" * rank * 9]


def groups() -> None:
    """Some ranks among themselves; the others are told, and do nothing."""
    last = dist.new_group([size - 1, size - 2])
    if rank < size - 2:
        assert last == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(last) == -1
        with pytest.warns(UserWarning, match="is not in the given group"):
            assert dist.all_reduce(weft.ones(1), group=last) is None
    else:
        assert dist.get_process_group_ranks(last) == [size - 2, size - 1]
        assert dist.get_rank(last) == rank - (size - 2) == dist.get_group_rank(last, rank)
        assert dist.get_global_rank(last, 1) == size - 1 and dist.get_world_size(last) == 2
        x = weft.full((2,), float(rank))
        dist.all_reduce(x, group=last)
        assert x.eq(2 * size - 3).all()
        dist.broadcast(x, src=size - 1, group=last)
        dist.broadcast(x, group_src=0, group=last)
        with pytest.raises(ValueError, match="src must be one of the ranks"):
            dist.broadcast(x, src=size, group=last)
        dist.destroy_process_group(last)
        with pytest.raises(ValueError, match="was destroyed"):
            dist.all_reduce(x, group=last)
    alone = [dist.new_group([r]) for r in range(size)][rank]
    dist.all_reduce(x := weft.ones(1), group=alone)
    assert x.item() == 1 and dist.get_world_size(alone) == 1
    if rank < 2:  # only its ranks call
        pair = dist.new_group([0, 1], use_local_synchronization=True)
        dist.barrier(group=pair)


def disagreements() -> None:
    """What does not fit raises on all ranks alike, and the group goes on."""
    odd = rank == 1
    cases = [
        (lambda: dist.all_reduce(weft.ones(4 if odd else 3)), r"float32 \(3,\).*float32 \(4,\)"),
        (lambda: dist.all_reduce(weft.ones(3).to(weft.int32 if odd else weft.float32)), "int32"),
        (lambda: dist.all_reduce(weft.ones(3), ReduceOp.MAX if odd else ReduceOp.SUM), "MAX"),
        (lambda: dist.barrier() if odd else dist.all_reduce(weft.ones(3)), "rank 1: barrier"),
        (lambda: dist.broadcast(weft.ones(3), src=int(odd)), "src=1"),
        (lambda: dist.new_group([0] if odd else [0, 1]), r"new_group \[0\]"),
        (lambda: dist.all_reduce(weft.ones([1] * 63 + [int(odd)])), "float32"),
    ]
    for call, text in cases:
        with pytest.raises(dist.DistError, match=r"(?s)do not agree.*rank.*" + text):
            call()
    with pytest.raises(dist.DistError, match=r"rank 1 sends 3 elements to rank 0, which expects 1"):
        dist.all_to_all([weft.zeros(1)] * size, [weft.zeros(3 if odd and r == 0 else 1)
                                                 for r in range(size)])  # fmt: skip
    if rank == 0:
        dist.send(weft.ones(5), 1)
        dist.send(weft.ones(4, dtype=weft.int32), 1)
        dist.send(weft.arange(4.0), 1)
    if rank == 1:
        x = weft.full((2, 2), 9.0)
        for sent in (r"float32 \(5,\)", r"int32 \(4,\)"):
            with pytest.raises(
                dist.DistError, match=rf"recv float32 \(2, 2\).*does not fit.*{sent}"
            ):
                dist.recv(x, 0)
        dist.recv(x, 0)
        assert x.equal(weft.arange(4.0).view(2, 2))
    dist.all_reduce(x := weft.ones(2))
    assert x.eq(size).all()


for check in (nothing_has_a_name, reductions, small_floats, layouts, moves, shares, asynchronous,
              messages, objects, groups, disagreements):  # fmt: skip
    check()
dist.monitored_barrier()
dist.destroy_process_group()
dist.init_process_group(rank=rank, world_size=size)  # again
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} is done")
