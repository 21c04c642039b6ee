"""A program that was started alone is a group of one, without MPI. Errors say what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta

import pytest

import weft
import weft.distributed as dist
import weft.nn.parallel.distributed
from weft.distributed import ReduceOp, start
from weft.distributed.alone import Alone
from weft.distributed.local import LocalWire
from weft.distributed.mpi import MpiWire


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A group of one."""
    dist.init_process_group()
    yield
    dist.destroy_process_group()


def test_collectives(group: None) -> None:
    """Each gives what one rank has; 16-bit floats and strange layouts included."""
    x = weft.arange(6.0).view(2, 3).t()
    before = x.clone()
    for op in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX):
        dist.all_reduce(x, op)
        dist.reduce(x, 0, op)
    dist.broadcast(x, 0)
    assert x.equal(before)
    half = x.to(weft.bfloat16)
    dist.all_reduce(half, ReduceOp.AVG)
    assert half.equal(before.to(weft.bfloat16))
    for move in (
        lambda out: dist.all_gather([out], x),
        lambda out: dist.all_gather_into_tensor(out, x),
        lambda out: dist.gather(x, [out]),
        lambda out: dist.scatter(out, [x]),
        lambda out: dist.reduce_scatter(out, [x]),
        lambda out: dist.reduce_scatter_tensor(out, x),
        lambda out: dist.all_to_all([out], [x]),
        lambda out: dist.all_to_all_single(out, x),
    ):
        out = weft.zeros(3, 2)
        move(out)
        assert out.equal(before)
    dist.monitored_barrier()


def test_the_graph_is_told(group: None) -> None:
    """Memory that is overwritten cannot be used by backward any more."""
    p = weft.ones(2, requires_grad=True)
    y = p * 2
    loss = (y * y).sum()
    out = y.detach()
    dist.all_gather([out], weft.zeros(2))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: dist.all_reduce([1.0]), TypeError, "all_reduce: tensor must be a Tensor, got list"),
        (lambda x: dist.all_reduce(x.to_sparse()), NotImplementedError, "must be dense"),
        (lambda x: dist.all_reduce(x, "sum"), TypeError, "op must be a ReduceOp"),
        (lambda x: dist.all_reduce(x, ReduceOp.BOR), ValueError, "BOR needs integers"),
        (lambda x: dist.all_reduce(x, group=3), TypeError, "group must be a ProcessGroup"),
        (lambda x: dist.broadcast(x, 1), ValueError, r"src must be one of the ranks \[0\], got 1"),
        (lambda x: dist.broadcast(x), ValueError, "give either src or group_src"),
        (lambda x: dist.reduce(x, group_dst=4), ValueError, "group_dst must be from 0 to 0, got 4"),
        (lambda x: dist.all_gather([], x), ValueError, "one tensor for each of 1 ranks, got 0"),
        (lambda x: dist.all_gather([x[:1]], x), ValueError, r"must be float32 \(2,\), got float32 \(1,\)"),
        (lambda x: dist.all_gather_into_tensor(x[:1], x), ValueError, r"\(2,\) or \(1, 2\) for 1"),
        (lambda x: dist.scatter(x), TypeError, "scatter_list must be a list of tensors"),
        (lambda x: dist.all_to_all_single(x, x, [1]), ValueError, r"add up to 2, got \[1\]"),
        (lambda x: dist.all_to_all([x], [x.double()]), ValueError, "float32 and float64"),
        (lambda x: dist.send(x, 0), ValueError, "cannot send to itself"),
        (lambda x: dist.P2POp(print, x, 0), ValueError, "op must be isend or irecv"),
        (lambda x: dist.batch_isend_irecv([]), ValueError, "must be a list of P2POp"),
        (lambda x: dist.new_group([0, 1]), ValueError, r"some of \[0\].*got \[0, 1\]"),
        (lambda x: dist.new_group([0, 0]), ValueError, "each at most once"),
        (lambda x: dist.barrier(device_ids=[0]), NotImplementedError, "device_ids"),
        (lambda x: dist.all_gather_object([], 1), ValueError, "a list of 1 places"),
        (lambda x: dist.init_process_group(), ValueError, "destroy_process_group"),
        (lambda x: dist.DistributedOptimizer(x), TypeError, "must be an Optimizer"),
    ],
)  # fmt: skip
def test_wrong_arguments(group: None, call, kind: type, text: str) -> None:
    """What was asked, the rule, the values."""
    with pytest.raises(kind, match=text):
        call(weft.ones(2))


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"backend": "nccl"}, ValueError, "got 'nccl': there is no GPU"),
        ({"backend": "smoke"}, ValueError, "must be 'gloo' or 'mpi' or None"),
        ({"init_method": "magic"}, ValueError, "must begin with env://"),
        ({"timeout": 3}, TypeError, r"must be a datetime\.timedelta, got 3"),
        ({"timeout": timedelta(0)}, ValueError, "must be positive"),
        ({"store": object()}, TypeError, "store must be a Store"),
        ({"store": dist.HashStore(), "init_method": "env://"}, ValueError, "either init_method or"),
        ({"world_size": 2}, ValueError, "got rank -1 and world_size 2"),
        ({"world_size": 2, "rank": 2}, ValueError, "got rank 2 and world_size 2"),
        ({"world_size": 2, "rank": 0, "backend": "mpi"}, RuntimeError, "started without MPI"),
        ({"world_size": 2, "rank": 0}, RuntimeError, "weft launch -n 2"),
        ({"world_size": 2, "rank": 1, "init_method": "tcp://192.0.2.1:1"}, RuntimeError,
         "'192.0.2.1' is not an address of this machine"),
    ],
)  # fmt: skip
def test_wrong_beginnings(options: dict, kind: type, text: str) -> None:
    """No group is left behind."""
    with pytest.raises(kind, match=text):
        dist.init_process_group(**options)
    assert not dist.is_initialized()


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """RANK and WORLD_SIZE without MPI are an error, unless they say that it is alone."""
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    dist.init_process_group("cpu:gloo", "env://")
    assert dist.get_backend() == "gloo"
    dist.destroy_process_group()
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(
        RuntimeError, match=r"rank 0 of 4 processes.* no MASTER_ADDR and no MASTER_PORT"
    ):
        dist.init_process_group()
    for name in ("PMI_RANK", "MPI_LOCALRANKID"):
        monkeypatch.setenv(name, "3")
    monkeypatch.setenv("PMI_SIZE", "4")
    assert start.environment() == {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3"}


@pytest.mark.parametrize(
    "call",
    [dist.get_rank, dist.barrier, dist.destroy_process_group, dist.new_group,
     lambda: dist.all_reduce(weft.ones(1)), lambda: dist.send(weft.ones(1), 0),
     lambda: weft.nn.parallel.DistributedDataParallel(weft.nn.Linear(1, 1)),
     lambda: weft.utils.data.DistributedSampler([1])],
)  # fmt: skip
def test_without_a_group(call) -> None:
    """Errors say what to call."""
    with pytest.raises(ValueError, match=r"call weft\.distributed\.init_process_group\(\) first"):
        call()


def test_static_programs_do_not_hide_it(group: None) -> None:
    """A trace would leave the other ranks out; a compiled function calls them each time."""

    def f(x: weft.Tensor) -> weft.Tensor:
        dist.all_reduce(x)
        return x + 1

    with pytest.raises(NotImplementedError, match=r"weft\.distributed\.all_reduce at .*in f"):
        weft.jit.trace(f, weft.ones(2))
    with pytest.raises(RuntimeError, match=r"not one program: weft\.distributed\.all_reduce"):
        weft.compile(f, fullgraph=True)(weft.ones(2))


def test_forked_processes_stay_out(group: None) -> None:
    """A worker of a DataLoader is no rank."""
    pid = os.fork()
    if pid == 0:
        try:
            dist.all_reduce(weft.ones(1))
        except dist.DistError as error:
            os._exit(7 if "forked from rank 0" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_mpi_is_not_needed() -> None:
    """Alone, mpi4py is not even looked for; launched without it, the extra to install is named."""
    code = (
        "import sys; sys.modules['mpi4py'] = None\n"
        "import weft.distributed as dist, weft\n"
        "dist.init_process_group('mpi'); dist.all_reduce(weft.ones(1)); print(dist.get_rank())"
    )
    environment = dict(os.environ)
    run = [sys.executable, "-c", code]
    alone = subprocess.run(run, env=environment, capture_output=True, text=True)
    assert alone.returncode == 0 and alone.stdout == "0\n", alone.stderr
    environment |= {"PMI_SIZE": "2", "PMI_RANK": "0"}
    lost = subprocess.run(run, env=environment, capture_output=True, text=True)
    assert lost.returncode == 1 and "ImportError" in lost.stderr
    assert "pip install weft[distributed]" in lost.stderr


def test_import_is_light() -> None:
    """Neither MPI nor NumPy, pickle's users aside, is loaded before it is needed."""
    code = (
        "import sys, weft.distributed; print([m for m in ('mpi4py', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_all_wires_have_the_same_calls() -> None:
    """What a group of one does is what several do over MPI or sockets."""
    calls = {n for n in vars(Alone) if not n.startswith("_")} - {"rank", "size"}
    assert calls <= set(vars(MpiWire)) and len(calls) == 14
    public = [{n for n in vars(wire) if not n.startswith("_")} for wire in (MpiWire, LocalWire)]
    assert public[0] == public[1] > calls
