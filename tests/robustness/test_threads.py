"""Several Python threads: each on its own graph, and all on shared parameters."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import weft
from weft import _C

THREADS = 4


def together(f: Callable[[int], Any], n: int = THREADS, timeout: float = 600) -> list[Any]:
    """Run ``f(i)`` in ``n`` threads at once; raise what any of them raises."""
    results: list[Any] = [None] * n
    errors: list[BaseException] = []
    start = threading.Barrier(n)

    def body(i: int) -> None:
        try:
            start.wait()
            results[i] = f(i)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=body, args=(i,), daemon=True) for i in range(n)]
    for t in threads:
        t.start()
    end = time.monotonic() + timeout
    for t in threads:
        t.join(max(0.0, end - time.monotonic()))
    assert not any(t.is_alive() for t in threads), "a thread is stuck"
    if errors:
        raise errors[0]
    return results


def test_own_graphs() -> None:
    def work(i: int) -> list[float]:
        x = weft.full((50,), float(i + 1), requires_grad=True)
        for _ in range(50):
            y = x
            for _ in range(10):
                y = (y * x).tanh() + 1
            y.sum().backward()
        assert x.grad is not None
        return x.grad.tolist()

    alone = [work(i) for i in range(THREADS)]
    assert together(work) == alone


def test_own_graphs_of_large_tensors() -> None:
    """Beyond the size from which kernels let other threads run."""
    n = 1 << 17

    def work(i: int) -> float:
        x = weft.full((n,), 0.5 + i, requires_grad=True)
        for _ in range(5):
            ((x * x).exp() * 1e-3).sum().backward()
        assert x.grad is not None
        return x.grad.sum().item()

    alone = [work(i) for i in range(THREADS)]
    assert together(work) == alone


def shared_sum(size: int, rounds: int) -> None:
    w, b = weft.ones(size, requires_grad=True), weft.zeros(size, requires_grad=True)
    calls: list[int] = []
    w.register_post_accumulate_grad_hook(lambda p: calls.append(1))

    def work(i: int) -> None:
        for k in range(rounds):
            x = weft.full((size,), float(i + k + 1))
            # w is used twice: each walk must add its whole gradient once
            (w * x + b + w * 2).sum().backward()

    together(work)
    total = sum(i + k + 3 for i in range(THREADS) for k in range(rounds))
    assert w.grad is not None and b.grad is not None
    assert set(w.grad.tolist()) == {float(total)}
    assert set(b.grad.tolist()) == {float(THREADS * rounds)}
    assert len(calls) == THREADS * rounds


def test_shared_parameters_add_up_exactly() -> None:
    shared_sum(16, 100)


def test_large_shared_parameters_add_up_exactly() -> None:
    shared_sum(1 << 17, 8)


def test_one_graph_walked_by_all() -> None:
    x = weft.ones(1 << 16, requires_grad=True)
    y = ((x * 2).exp() * 3).sum()
    expected = weft.autograd.grad(y, x, retain_graph=True)[0].tolist()

    def work(i: int) -> bool:
        return all(
            weft.autograd.grad(y, x, retain_graph=True)[0].tolist() == expected for _ in range(10)
        )

    assert together(work) == [True] * THREADS


def test_interleaved_walks_do_not_mix() -> None:
    """Hooks hand the interpreter over in the middle of a walk, while gradients wait at a leaf."""
    w = weft.ones(4, requires_grad=True)

    def work(i: int) -> None:
        for _ in range(20):
            a = w * (i + 1)
            a.register_hook(lambda g: time.sleep(0.0005))
            (g,) = weft.autograd.grad((a + w * 10).sum(), w)
            assert g.tolist() == [i + 11.0] * 4

    together(work)
    assert w.grad is None


def test_modes_belong_to_their_thread() -> None:
    inside, done = threading.Event(), threading.Event()

    def work(i: int) -> bool:
        if i == 0:
            with weft.no_grad(), weft.inference_mode():
                inside.set()
                done.wait()
                return weft.is_grad_enabled()
        inside.wait()
        try:
            x = weft.ones(2, requires_grad=True)
            return weft.is_grad_enabled() and (x * 2).requires_grad and not (x * 2).is_inference()
        finally:
            done.set()

    assert together(work, 2) == [False, True]


def test_a_trace_sees_only_its_thread() -> None:
    stop = threading.Event()

    def noise() -> None:
        x = weft.ones(3)
        while not stop.is_set():
            x = x * 1.0

    t = threading.Thread(target=noise, daemon=True)
    t.start()
    try:
        for _ in range(20):
            f = weft.jit.trace(lambda x: (x + 1).exp(), (weft.ones(3),))
            assert [n.op for n in f.graph] == ["add", "exp"]
    finally:
        stop.set()
        t.join()


def test_hooks_of_saved_tensors_belong_to_their_thread() -> None:
    log: list[int] = []

    def work(i: int) -> None:
        x = weft.ones(3, requires_grad=True)
        if i == 0:
            with weft.autograd.graph.saved_tensors_hooks(lambda t: log.append(i) or t, lambda t: t):
                for _ in range(50):
                    x.exp()
                    time.sleep(0)
        else:
            for _ in range(50):
                x.exp()

    together(work, 2)
    assert log == [0] * 50


def test_threads_leave_nothing_behind() -> None:
    def work(i: int) -> None:
        x = weft.ones(100, requires_grad=True)
        for _ in range(20):
            (x * x).exp().sum().backward()

    together(work)
    s = _C._memory_stats()
    before = s["live"], s["nodes"], s["tensors"]
    together(work)
    s = _C._memory_stats()
    assert (s["live"], s["nodes"], s["tensors"]) == before


def test_graphs_are_freed_by_another_thread() -> None:
    made: list[weft.Tensor] = []

    def build() -> None:
        y = weft.ones(1, requires_grad=True)
        for _ in range(100_000):
            y = y + 1
        made.append(y)

    t = threading.Thread(target=build)
    t.start()
    t.join()
    x = made.pop()
    before = _C._memory_stats()["nodes"]
    assert before >= 100_000
    del x
    assert _C._memory_stats()["nodes"] <= before - 100_000
