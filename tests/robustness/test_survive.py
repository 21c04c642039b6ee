"""weft survives: deep graphs, wide graphs, failures, cycles, impossible sizes, forks and Ctrl-C."""

from __future__ import annotations

import copy
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import pytest
from robustness.growth import assert_linear
from robustness.interrupting import ctrl_c_at

import weft
from weft import _C

MILLION = 1_000_000


pytestmark = pytest.mark.usefixtures("settled")


def counts() -> tuple[int, int, int]:
    """Live bytes, nodes and tensors."""
    s = _C._memory_stats()
    return s["live"], s["nodes"], s["tensors"]


# ---- deep and wide ------------------------------------------------------------------------------


def deep_chain(n: int) -> None:
    x = weft.ones(1, requires_grad=True)
    y = x
    for _ in range(n):
        y = y + 1
    assert _C._memory_stats()["nodes"] >= n
    assert "AddBackward0" in repr(y) and repr(y.detach()) == f"tensor([{n + 1}.])"
    again = copy.deepcopy(y.detach())
    assert again.item() == y.item() == n + 1
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(y)
    y.sum().backward()
    assert x.grad is not None and x.grad.item() == 1
    z = x
    for _ in range(n // 4):
        z = z.neg()
    del z, y  # never walked: freed from its end


def in_thread(f: Callable[[], None], stack: int) -> None:
    """Run ``f`` in a thread with a small stack; what it raises is raised here."""
    failed: list[BaseException] = []

    def body() -> None:
        try:
            f()
        except BaseException as e:
            failed.append(e)

    before = threading.stack_size(stack)
    try:
        t = threading.Thread(target=body)
        t.start()
    finally:
        threading.stack_size(before)
    t.join()
    if failed:
        raise failed[0]


def test_a_million_nodes() -> None:
    before = counts()
    deep_chain(MILLION)
    assert counts() == before


def test_a_deep_chain_on_a_small_stack() -> None:
    before = counts()
    in_thread(lambda: deep_chain(MILLION), 512 * 1024)
    assert counts() == before


def test_a_deep_chain_of_saved_tensors_and_views() -> None:
    """Each node keeps its input, each input its node; every second step is a view."""
    before = counts()

    def body() -> None:
        x = weft.ones(2, requires_grad=True)
        y = x
        for _ in range(50_000):
            y = (y * y)[:]
        y.sum().backward()
        assert x.grad is not None and x.grad.shape == (2,)
        y = x
        for _ in range(50_000):
            y = (y * y)[:]

    in_thread(body, 512 * 1024)
    assert counts() == before


def test_a_deep_chain_of_functions() -> None:
    class Same(weft.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: weft.Tensor) -> weft.Tensor:
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: weft.Tensor) -> weft.Tensor:
            return g

    before = counts()

    def body() -> None:
        x = weft.ones(1, requires_grad=True)
        y = x
        for _ in range(20_000):
            y = Same.apply(y)
        del y
        y = x
        for _ in range(2_000):
            y = Same.apply(y)
        y.backward()
        assert x.grad is not None and x.grad.item() == 1

    in_thread(body, 512 * 1024)
    assert counts() == before


def test_a_deep_chain_of_in_place_changes() -> None:
    before = counts()

    def body() -> None:
        x = weft.ones(3, requires_grad=True)
        y = x * 1
        for _ in range(20_000):
            y[0].add_(1)
        y.sum().backward()
        assert x.grad is not None and x.grad.tolist() == [1, 1, 1]

    in_thread(body, 512 * 1024)
    assert counts() == before


def uses(n: int) -> None:
    x = weft.ones(4, requires_grad=True)
    parts = [x * 2 for _ in range(n)]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    total.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0 * n] * 4


def test_many_uses_of_one_tensor_take_linear_time() -> None:
    assert_linear(uses, 1000, 100_000)


# ---- memory -------------------------------------------------------------------------------------


def test_impossible_sizes_name_the_bytes() -> None:
    gc.collect()
    before = counts()
    with pytest.raises(MemoryError, match=str(4 << 50)):
        weft.empty(1 << 50)
    with pytest.raises(MemoryError, match=str(8 << 45)):
        weft.zeros(1 << 30, 1 << 15, dtype=weft.float64)
    x = weft.ones(1)
    with pytest.raises(MemoryError, match=str(4 << 50)):
        x.expand(1 << 50).clone()
    with pytest.raises(MemoryError, match=str(4 << 50)):
        x.expand(1 << 50) + 1
    del x
    assert counts() == before


@pytest.mark.parametrize(
    "f",
    [
        lambda: weft.empty(1 << 62, 1 << 62),
        lambda: weft.empty(1 << 62, dtype=weft.float64),
        lambda: weft.empty(1 << 32, 1 << 32),
        lambda: weft.ones(1).expand(1 << 32, 1 << 32),
        lambda: weft.ones(1 << 10).expand(1 << 60, 1 << 10).reshape(-1),
        lambda: weft.ones(4).as_strided((1 << 40,), (1 << 40,)),
        lambda: weft.ones(4).repeat(1 << 62),
        lambda: weft.arange(1 << 62),
    ],
)
def test_sizes_that_do_not_fit_in_64_bits(f: Callable[[], Any]) -> None:
    gc.collect()
    before = counts()
    with pytest.raises((MemoryError, RuntimeError)) as caught:
        f()
    assert str(caught.value)
    del caught
    gc.collect()
    assert counts() == before


def training_step(w: weft.Tensor, b: weft.Tensor, x: weft.Tensor) -> None:
    h = (x @ w + b).tanh()
    h = h * h
    h[0].mul_(2)
    (h.sum() / 3).backward()


def test_any_allocation_may_fail() -> None:
    """For every k the k-th allocation of a step fails: nothing is kept, and it works again."""
    x = weft.ones(4, 4)
    w, b = weft.ones(4, 4, requires_grad=True), weft.ones(4, requires_grad=True)
    training_step(w, b, x)
    assert w.grad is not None and b.grad is not None
    good = (w.grad.clone(), b.grad.clone())
    w.grad = b.grad = None
    failures = 0
    for k in range(1000):
        gc.collect()
        before = counts()
        _C._fail_allocation_after(k)
        try:
            training_step(w, b, x)
        except MemoryError as e:
            assert "bytes" in str(e)
            failures += 1
        else:
            break
        finally:
            _C._fail_allocation_after(-1)
        w.grad = b.grad = None
        gc.collect()
        assert counts() == before, f"allocation {k}"
        assert w.detach().tolist() == [[1.0] * 4] * 4 and w._version == 0
    assert failures > 10
    w.grad = b.grad = None
    training_step(w, b, x)
    assert w.grad is not None and b.grad is not None
    assert w.grad.tolist() == good[0].tolist() and b.grad.tolist() == good[1].tolist()


def test_peak_and_cache() -> None:
    weft.empty_cache()
    assert _C._memory_stats()["cached"] == 0
    weft.reset_peak_memory_stats()
    held = weft.memory_allocated()
    assert weft.max_memory_allocated() == held
    x = weft.ones(1 << 16)
    del x
    assert weft.memory_allocated() == held
    assert weft.max_memory_allocated() >= held + (4 << 16)
    assert _C._memory_stats()["cached"] >= 4 << 16
    weft.empty_cache()
    assert _C._memory_stats()["cached"] == 0


@pytest.mark.skipif(bool(os.environ.get("WEFT_SANITIZE")), reason="freed memory is kept on purpose")
def test_work_space_for_long_vectors_is_freed() -> None:
    """64 MB for the elements of a column side by side are not kept by the thread."""
    done = run(
        """
        import pathlib, resource, weft
        weft.set_num_threads(1)
        def resident():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        x, w = weft.ones(1 << 24, 2), weft.ones(1 << 24, 1)
        before = resident()
        assert (x[None, :, 0] @ w).item() == 1 << 24
        print(resident() - before < 32 << 20)
        """
    )
    assert done.stdout == "True\n", done.stderr


# ---- processes and signals ----------------------------------------------------------------------


def run(program: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_fork_after_use() -> None:
    done = run(
        """
        import os, weft
        weft.set_num_threads(4)
        a = weft.ones(300, 300, requires_grad=True)
        big = weft.ones(1 << 21)

        def work():
            a.grad = None
            ((a @ a).tanh().sum() + (big * 2).sum()).backward()
            return (a @ a).sum().item() + (big + big).sum().item()

        expected = work()
        for threads in (None, 4):
            pid = os.fork()
            if pid == 0:
                if threads:
                    weft.set_num_threads(threads)
                ok = work() == expected and a.grad is not None
                grandchild = os.fork()
                if grandchild == 0:
                    os._exit(0 if work() == expected else 1)
                ok = ok and os.waitpid(grandchild, 0)[1] == 0
                os._exit(0 if ok else 1)
            assert os.waitpid(pid, 0)[1] == 0
        assert work() == expected
        print("survived")
        """
    )
    assert done.stdout == "survived\n", done.stderr


def interrupt(program: str) -> None:
    """Send Ctrl-C to ``program`` when it says that it is ready; it works until that arrives."""
    p = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert p.stdout is not None
        assert p.stdout.readline() == "ready\n"
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=600)
    finally:
        p.kill()
    assert out == "interrupted\n", (out, err)


# None of them ends by itself.
INTERRUPTED = {
    "a loop of ops": """
        import weft
        a = weft.ones(200, 200)
        try:
            print("ready", flush=True)
            while True:
                a = (a @ a).tanh() + 1
        except KeyboardInterrupt:
            print("interrupted")
        """,
    "one op": """
        import weft
        x = weft.ones(1).expand(1 << 50)
        try:
            print("ready", flush=True)
            x.sum()
        except KeyboardInterrupt:
            print("interrupted")
        """,
    "backward": """
        import weft
        x = weft.ones(1, requires_grad=True)
        y = x
        for _ in range(200000):
            y = y + 1
        say = iter([lambda: print("ready", flush=True)])
        y.register_hook(lambda g: next(say, int)() or None)
        try:
            while True:
                y.backward(retain_graph=True)
        except KeyboardInterrupt:
            print("interrupted")
        """,
    "a trace": """
        import weft
        def f(x):
            print("ready", flush=True)
            while True:
                x = x * 1
        try:
            weft.jit.trace(f, (weft.ones(3),))
        except KeyboardInterrupt:
            (weft.ones(1) * 2).item()  # the recorder is gone
            print("interrupted")
        """,
}


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", list(INTERRUPTED))
def test_ctrl_c(name: str) -> None:
    interrupt(INTERRUPTED[name])


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(("nodes", "size"), [(1_000_000, 1), (200, 1 << 20)])
def test_ctrl_c_in_the_middle_of_backward(nodes: int, size: int) -> None:
    """A hook in the middle is reached, the leaf is not, and what follows is as before."""
    x = weft.ones(size, requires_grad=True)
    reached: list[str] = []
    x.register_hook(lambda g: reached.append("leaf"))
    y = x
    for i in range(nodes):
        y = y * 1.0
        if i == nodes - 3:

            def ask(g: weft.Tensor) -> None:
                reached.append("middle")
                _C._interrupt_at(1)

            y.register_hook(ask)
    with pytest.raises(KeyboardInterrupt), ctrl_c_at(0):  # none before the hook asks for it
        y.sum().backward()
    assert reached == ["middle"] and x.grad is None
    del y
    (x * 3).sum().backward()
    assert x.grad is not None and x.grad[0].item() == 3


# One call each, that would take some seconds in at most 1.1 GB.
LONG_CALLS: dict[str, tuple[Callable[[], weft.Tensor], Callable[[weft.Tensor], object]]] = {
    "sum": (lambda: weft.ones(1).expand(20_000_000_000), lambda x: x.sum()),
    "sum of columns": (lambda: weft.ones(1).expand(2000, 10_000_000), lambda x: x.sum(0)),
    "matmul": (lambda: weft.ones(1).expand(12_000, 12_000), lambda x: x @ x),
    "integer matmul": (
        lambda: weft.ones(4000, 4000, dtype=weft.int64),
        lambda x: x @ x,
    ),
    "many small matmuls": (
        lambda: weft.ones(1, 32, 4096).expand(150_000, 32, 4096),
        lambda x: weft.bmm(x, x[:1].mT.contiguous().expand(len(x), 4096, 32)),
    ),
    "sort": (lambda: weft.randn(1 << 24, dtype=weft.float64), lambda x: x.sort()),
    "a running sum": (lambda: weft.ones(1).expand(1 << 28), lambda x: x.logcumsumexp(0)),
    "a special function": (
        lambda: weft.ones(1).expand(1 << 28),
        lambda x: weft.special.gammainc(x, x),
    ),
    "softmax": (lambda: weft.ones(1).expand(1 << 14, 1 << 14), lambda x: x.softmax(0)),
    "random numbers": (lambda: weft.full((1,), 20.0).expand(1 << 26), lambda x: weft.poisson(x)),
}


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", list(LONG_CALLS))
def test_ctrl_c_inside_one_call(name: str) -> None:
    """The call asks for it again and again, and stops."""
    make, call = LONG_CALLS[name]
    x = make()
    try:
        with pytest.raises(KeyboardInterrupt), ctrl_c_at(3):
            call(x)
    finally:
        weft.empty_cache()
    assert (weft.ones(100) * 2).sum().item() == 200


@pytest.mark.usefixtures("ctrl_c")
def test_a_step_of_an_optimiser_is_not_cut_by_ctrl_c() -> None:
    """The signal comes from another thread, which runs while the step has let go of the lock."""
    p = weft.nn.Parameter(weft.zeros(20_000_000))
    p.grad = weft.ones(20_000_000)
    step = weft.optim.SGD([p], lr=1.0).step
    begun = threading.Event()

    def kill() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            begun.set()
            step()
    killer.join()
    assert p.min() == p.max()
    del p, step
    weft.empty_cache()
