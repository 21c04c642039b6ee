"""Run by test_local.py on several ranks: a random program of collectives, with NumPy as its oracle.

All ranks draw the same program and the same inputs of all ranks, so that each knows what must come.
"""

from __future__ import annotations

import functools
import sys

import numpy as np

import weft
import weft.distributed as dist
from weft.distributed import ReduceOp

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
draw = np.random.default_rng(int(sys.argv[1]))
DTYPES = [np.float32, np.float64, np.int8, np.uint8, np.int16, np.int32, np.int64, np.bool_,
          np.complex64]  # fmt: skip
groups = [(None, list(range(size)))]
for n in range(2, size + 1):
    ranks = sorted(draw.choice(size, n, replace=False).tolist())
    groups.append((dist.new_group(ranks), ranks))


def numbers(shape: tuple[int, ...], kind: type) -> np.ndarray:
    """Small numbers: products of several are exact."""
    x = np.asarray(draw.integers(-4, 5, shape))
    return np.asarray(x > 0) if kind is np.bool_ else x.astype(kind)


def reduced(parts: list[np.ndarray], op: ReduceOp) -> np.ndarray:
    """In the order of the ranks."""
    truth = parts[0].dtype == np.bool_
    f = {
        ReduceOp.SUM: np.add, ReduceOp.PRODUCT: np.multiply, ReduceOp.MIN: np.minimum,
        ReduceOp.MAX: np.maximum, ReduceOp.BAND: np.bitwise_and, ReduceOp.BOR: np.bitwise_or,
        ReduceOp.BXOR: np.bitwise_xor, ReduceOp.AVG: np.add,
    }[op]  # fmt: skip
    x = functools.reduce(f, parts)
    assert x.dtype == parts[0].dtype or truth
    return (x / len(parts)).astype(x.dtype) if op is ReduceOp.AVG else x


def ops_of(kind: type) -> list[ReduceOp]:
    """What makes sense for numbers of a kind."""
    found = [ReduceOp.SUM, ReduceOp.PRODUCT]
    if kind is not np.complex64:
        found += [ReduceOp.MIN, ReduceOp.MAX]
    if np.dtype(kind).kind in "fc":
        return [*found, ReduceOp.AVG]
    return [*found, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR]


def one(group: object, ranks: list[int]) -> None:
    """Draw a call; do it if this rank takes part; compare."""
    kind = DTYPES[draw.integers(len(DTYPES))]
    shape = tuple(int(n) for n in draw.integers(0, 5, draw.integers(0, 4)))
    if draw.random() < 0.15:
        shape = (int(draw.integers(20_000, 200_000)),)
    name = NAMES[draw.integers(len(NAMES))]
    n, root = len(ranks), int(draw.integers(len(ranks)))
    op = ops_of(kind)[draw.integers(len(ops_of(kind)))]
    inputs = [[numbers(shape, kind) for _ in range(n)] for _ in range(n)]
    sends = draw.integers(0, 4, (n, n)).tolist()
    later = draw.random() < 0.5
    if rank not in ranks:
        return
    me, src = ranks.index(rank), ranks[root]
    firsts = [row[0] for row in inputs]
    x = weft.from_numpy(firsts[me].copy())
    mine = [weft.from_numpy(part.copy()) for part in inputs[me]]
    outs = [weft.empty(shape, dtype=x.dtype) for _ in range(n)]
    options = {"group": group, "async_op": later}
    columns = [[inputs[r][c] for r in range(n)] for c in range(n)]
    if name == "all_reduce":
        work, got, wanted = dist.all_reduce(x, op, **options), [x], [reduced(firsts, op)]
    elif name == "reduce":
        work, got = dist.reduce(x, src, op, **options), [x]
        wanted = [reduced(firsts, op) if me == root else firsts[me]]
    elif name == "broadcast":
        work, got, wanted = dist.broadcast(x, src, **options), [x], [firsts[root]]
    elif name == "all_gather":
        work, got, wanted = dist.all_gather(outs, x, **options), outs, firsts
    elif name == "gather":
        work = dist.gather(x, outs if me == root else None, dst=src, **options)
        got, wanted = (outs, firsts) if me == root else ([], [])
    elif name == "scatter":
        work = dist.scatter(x, mine if me == root else None, src=src, **options)
        got, wanted = [x], [inputs[root][me]]
    elif name == "reduce_scatter":
        work, got = dist.reduce_scatter(x, mine, op, **options), [x]
        wanted = [reduced(columns[me], op)]
    elif name == "all_to_all":
        work, got, wanted = dist.all_to_all(outs, mine, **options), outs, columns[me]
    else:
        assert name == "uneven all_to_all"
        rows = [np.arange(sum(sends[r])) * 10 + r for r in range(n)]
        gets = [sends[r][me] for r in range(n)]
        out = weft.empty(sum(gets), dtype=weft.int64)
        work = dist.all_to_all_single(out, weft.from_numpy(rows[me]), gets, sends[me], **options)
        starts = [sum(sends[r][:me]) for r in range(n)]
        parts = [rows[r][starts[r] : starts[r] + gets[r]] for r in range(n)]
        got, wanted = [out], [np.concatenate(parts)]
    if later:
        work.wait()
    for a, b in zip(got, wanted, strict=True):
        if op is ReduceOp.AVG and kind is np.complex64:  # complex quotients round differently
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-6)
            continue
        assert a.numpy().tobytes() == b.tobytes(), (name, op, ranks, kind, shape, a, b)


NAMES = ["all_reduce", "reduce", "broadcast", "all_gather", "gather", "scatter", "reduce_scatter",
         "all_to_all", "uneven all_to_all"]  # fmt: skip
print("begin", flush=True)
for _ in range(int(sys.argv[2])):
    one(*groups[draw.integers(len(groups))])
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} is done", flush=True)
