"""Tensors in memory that processes share: moved with their views, sent without a copy, gone with the last process."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
import weft.multiprocessing as mp
from weft import _C, nn

ROOT = Path(weft.__file__).parents[1]
METHODS = ["fork", "spawn", "forkserver"]


def double(t: Any, done: Any) -> None:
    """What a process does with a tensor."""
    t.mul_(2)
    done.put(t.sum().item())


def answer(asked: Any, answers: Any) -> None:
    """A process that sends back views of what it gets, until it gets None."""
    while (t := asked.get()) is not None:
        t.add_(1)
        answers.put((t, t[..., :1], {"shape": tuple(t.shape)}))
    answers.put(asked.get())  # wait until the parent has all


def test_views_move_along() -> None:
    x = weft.arange(12.0).reshape(3, 4)
    row, column = x[1], x[:, 2]
    assert not row.is_shared() and row.share_memory_() is row
    assert x.is_shared() and column.is_shared() and x.untyped_storage().is_shared()
    x[1, 2] = 100
    assert row[2] == 100 and column[1] == 100
    assert x.share_memory_().tolist()[2] == [8, 9, 10, 11]


def test_empty_and_sparse() -> None:
    assert not weft.empty(0, 3).share_memory_().is_shared()
    with pytest.raises(NotImplementedError, match=r"layout torch\.sparse_coo"):
        weft.eye(2).to_sparse().share_memory_()


def test_memory_that_numpy_looks_at_stays() -> None:
    x = weft.zeros(3)
    a = x.numpy()
    with pytest.raises(
        RuntimeError, match="1 NumPy array, memoryview or DLPack capsule looks at it"
    ):
        x.share_memory_()
    del a
    b = np.zeros(3)
    y = weft.from_numpy(b).share_memory_()  # the tensor leaves NumPy's memory
    y += 1
    assert b.sum() == 0 and y.sum() == 3


def test_gradients_and_compiled_programs_go_on() -> None:
    model = nn.Linear(3, 2)
    fast = weft.compile(model)
    x = weft.randn(4, 3)
    before = [fast(x) for _ in range(4)][-1]
    model.share_memory()
    assert all(p.is_shared() for p in model.parameters())
    assert weft.equal(fast(x), before)
    fast(x).sum().backward()
    weft.optim.SGD(model.parameters(), lr=0.1).step()
    assert not weft.equal(fast(x), before) and weft.equal(fast(x), model(x))


def moved(x: weft.Tensor) -> None:
    _C._move_memory(x, bytearray(x.nbytes))


def grown(x: weft.Tensor) -> None:
    x.resize_(2 * x.numel()).resize_(x.numel() // 2)


KERNELS: dict[str, Any] = {
    "reads": lambda x: x.sin().sum().item(),
    "reads twice": lambda x: weft.add(x, x).sum().item(),
    "writes": lambda x: x.add_(1).sum().item(),
    "out": lambda x: weft.add(weft.ones(x.shape), 1, out=x).sum().item(),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("move", [moved, weft.Tensor.share_memory_, grown])
def test_kernels_of_other_threads_go_on(move: Any, kernel: str) -> None:
    """Memory neither moves nor goes while a kernel is at work on it, without the interpreter's lock."""
    rng = random.Random(kernel)
    n, before = 3_000_000, weft.get_num_threads()
    weft.set_num_threads(1)
    try:
        for _ in range(6):
            x, results = weft.ones(n), []
            wanted = KERNELS[kernel](weft.ones(n))
            y, started = x.detach(), threading.Event()  # what resizes x leaves y as it is

            def work(y: weft.Tensor, started: threading.Event, results: list[Any]) -> None:
                started.set()
                results.append(KERNELS[kernel](y))

            thread = threading.Thread(target=work, args=(y, started, results))
            thread.start()
            started.wait()
            time.sleep(rng.random() * 0.01)
            move(x)
            other = [weft.zeros(n) for _ in range(2)]  # perhaps in the memory that x has left
            thread.join()
            assert results == [pytest.approx(wanted, rel=1e-5)]
            assert not any(o.any() for o in other)
    finally:
        weft.set_num_threads(before)


def test_where_memory_may_move_to() -> None:
    """Random buffers, the wrong ones among them: the values are the same, or it is refused."""
    rng = random.Random(3)
    for _ in range(300):
        x = weft.arange(float(rng.randrange(1, 30)))
        view, wanted = x[rng.randrange(x.numel()) :], x.tolist()
        whole = bytearray(4 * x.numel() + rng.randrange(-3, 9))
        buffer: Any = rng.choice(
            [whole, bytes(whole), memoryview(whole)[1:], memoryview(whole)[::2], x, None, "x"]
        )
        bytes_of = memoryview(buffer) if type(buffer) in (bytearray, memoryview) else None
        if bytes_of and bytes_of.c_contiguous and bytes_of.nbytes >= x.nbytes:
            _C._move_memory(rng.choice([x, view]), buffer)
            if buffer is whole and rng.random() < 0.5:  # again, to where it overlaps with itself
                more = bytearray(x.nbytes + 4)
                _C._move_memory(x, memoryview(more)[: x.nbytes])
                _C._move_memory(x, memoryview(more)[4:])
                assert weft.tensor(memoryview(more)[4:].cast("f").tolist()).tolist() == wanted
        else:
            with pytest.raises((RuntimeError, TypeError, ValueError, BufferError)):
                _C._move_memory(x, buffer)
        del buffer, whole, bytes_of
        gc.collect(0)
        assert x.tolist() == wanted and view.tolist() == wanted[len(wanted) - view.numel() :]


@pytest.mark.parametrize("method", METHODS)
def test_a_process_changes_a_tensor(method: str) -> None:
    context = mp.get_context(method)
    t, done = weft.ones(2, 3), context.Queue()
    if method == "fork":  # arguments are inherited, not sent
        t.share_memory_()
    process = context.Process(target=double, args=(t, done))
    process.start()
    assert done.get(timeout=60) == 12
    process.join()
    assert process.exitcode == 0 and t.is_shared() and t.tolist() == [[2, 2, 2], [2, 2, 2]]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_random_tensors_come_back_as_views_of_the_same_memory(method: str) -> None:
    """Shapes, dtypes and layouts at random; what comes back lies in the memory that was sent."""
    rng = random.Random(0)
    context = mp.get_context(method)
    asked, answers = context.Queue(), context.Queue()
    process = context.Process(target=answer, args=(asked, answers))
    process.start()
    for _ in range(60):
        dtype = rng.choice([weft.float32, weft.float64, weft.int64, weft.int8, weft.bfloat16])
        shape = [rng.randrange(1, 5) for _ in range(rng.randrange(1, 4))]
        whole = weft.arange(1 + 2 * int(np.prod(shape)), dtype=dtype)
        t = whole[rng.randrange(2) :][: int(np.prod(shape))].reshape(shape)
        if rng.random() < 0.5:
            t = t.transpose(0, -1)
        if rng.random() < 0.3:
            t = t[..., ::2]
        expected = t + 1
        asked.put(t)
        back, part, told = answers.get(timeout=60)
        assert back.shape == t.shape and back.stride() == t.stride() and back.dtype == t.dtype
        assert weft.equal(back, expected) and weft.equal(t, expected)
        assert told == {"shape": tuple(t.shape)}
        back.zero_()
        assert not t.any() and not part.any()
    asked.put(None)
    asked.put("end")
    assert answers.get(timeout=60) == "end"
    process.join()


def test_a_parameter_stays_one() -> None:
    queue = mp.get_context("fork").SimpleQueue()
    p = nn.Parameter(weft.ones(2))
    queue.put(p)
    q = queue.get()
    assert type(q) is nn.Parameter and q.requires_grad and q.is_leaf
    with weft.no_grad():
        q.add_(1)
    assert p.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="is no leaf cannot go to another process"):
        queue.put(p * 2)


def test_what_arrives_twice_is_mapped_once() -> None:
    queue = mp.get_context("fork").SimpleQueue()
    x = weft.zeros(1000)
    for _ in range(50):
        queue.put(x)
    first = queue.get()
    for _ in range(49):
        assert queue.get().data_ptr() == first.data_ptr() == x.data_ptr()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_nothing_is_left() -> None:
    queue = mp.get_context("fork").SimpleQueue()
    queue.put(weft.zeros(10))
    queue.get()
    gc.collect()
    files, names = open_files(), set(os.listdir("/dev/shm"))
    for n in range(1, 200):
        queue.put(weft.zeros(n))
        queue.get()
    gc.collect()
    assert open_files() <= files + 2 and set(os.listdir("/dev/shm")) <= names


def test_a_pool_maps_tensors() -> None:
    with mp.get_context("fork").Pool(2) as pool:
        made = pool.map(square, [weft.full((3,), float(k)) for k in range(8)])
    assert [m[0].item() for m in made] == [k * k for k in range(8)]


def square(t: weft.Tensor) -> weft.Tensor:
    return t * t


def test_strategies() -> None:
    assert mp.get_all_sharing_strategies() == {mp.get_sharing_strategy()}
    with pytest.raises(NotImplementedError, match="ulimit -n"):
        mp.set_sharing_strategy("file_system")


# ---- spawn --------------------------------------------------------------------------------------


def train(i: int, model: nn.Module, steps: int) -> None:
    """Hogwild: each process steps on the same weights."""
    weft.manual_seed(i)
    optimizer = weft.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        x = weft.randn(16, 3)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


def test_hogwild() -> None:
    model = nn.Linear(3, 1)
    model.share_memory()
    mp.spawn(train, args=(model, 150), nprocs=2)
    assert weft.allclose(model.weight, weft.ones(1, 3), atol=0.05)


def fails(i: int, how: str) -> None:
    if i == 1:
        if how == "raises":
            raise ValueError("one is not two")
        if how == "exits":
            sys.exit(3)
        os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(60)


@pytest.mark.parametrize("method", METHODS)
def test_an_error_ends_all(method: str) -> None:
    begun = time.monotonic()
    with pytest.raises(mp.ProcessRaisedException, match="one is not two") as caught:
        mp.start_processes(fails, ("raises",), nprocs=3, start_method=method)
    assert caught.value.error_index == 1 and "def fails" not in str(caught.value)
    assert 'raise ValueError("one is not two")' in str(caught.value)
    assert time.monotonic() - begun < 50


def test_other_ends() -> None:
    with pytest.raises(mp.ProcessExitedException, match="exit code 3") as caught:
        mp.start_processes(fails, ("exits",), nprocs=2, start_method="fork")
    assert caught.value.exit_code == 3 and caught.value.signal_name is None
    with pytest.raises(mp.ProcessExitedException, match="signal SIGSEGV") as caught:
        mp.start_processes(fails, ("dies",), nprocs=2, start_method="fork")
    assert caught.value.exit_code == -signal.SIGSEGV and caught.value.signal_name == "SIGSEGV"


def test_a_context_can_be_waited_for() -> None:
    context = mp.spawn(fails, ("raises",), nprocs=1, join=False)
    assert context is not None and len(context.pids()) == 1
    assert not context.join(timeout=0.01)
    for p in context.processes:
        p.kill()
    with pytest.raises(mp.ProcessExitedException, match="SIGKILL"):
        context.join()


PARENT = """
import os, time
import weft.multiprocessing as mp

def sleep(i):
    time.sleep(100)

context = mp.start_processes(sleep, nprocs=2, join=False, start_method="fork")
print(*context.pids(), flush=True)
os.kill(os.getpid(), 9)
"""


def test_children_end_with_their_parent() -> None:
    run = subprocess.run([sys.executable, "-c", PARENT], capture_output=True, text=True, cwd=ROOT)
    pids = [int(p) for p in run.stdout.split()]
    assert len(pids) == 2, run.stderr
    deadline = time.monotonic() + 60
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs: a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_the_module_is_pythons_too() -> None:
    import multiprocessing

    assert mp.Queue.__doc__ == multiprocessing.Queue.__doc__ and mp.cpu_count() > 0
    assert set(multiprocessing.__all__) <= set(mp.__all__)
