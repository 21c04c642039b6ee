"""Several threads in one compiled program: each call has an instance of its own, and eager's bits."""

from __future__ import annotations

import gc
import os
import threading
from typing import Any

import pytest
from robustness.test_threads import together

import weft
from weft import _C, nn

SERVING = 8  # threads


def programs(fast: Any) -> list[Any]:
    return [p[0] for v in fast.specializations for p in v.programs()]


def same(got: Any, want: Any) -> bool:
    if isinstance(want, (tuple, list)):
        return len(got) == len(want) and all(map(same, got, want))
    return got.dtype == want.dtype and weft.equal(got, want)


class Wide(nn.Module):
    """Layers whose kernels let other threads run."""

    def __init__(self, width: int = 96) -> None:
        super().__init__()
        weft.manual_seed(0)
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.lines = nn.Sequential(nn.Linear(16 * 64, width), nn.GELU(), nn.Linear(width, 5))

    def forward(self, x: Any) -> Any:
        """Return scores of images."""
        return self.lines(self.norm(self.conv(x)).relu().flatten(1)).softmax(1)


def ready(fast: Any, *args: Any) -> None:
    """Call it until it is a program."""
    for _ in range(5):
        fast(*args)
    assert any(v.ready for v in fast.specializations), fast.reasons


@pytest.mark.parametrize("threads", [1, 2])
def test_eight_threads_serve_one_model(threads: int) -> None:
    """Every answer is eager's, bit for bit, and instances are reused."""
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        model = Wide().eval()
        fast = weft.compile(lambda x: model(x))
        xs = [weft.randn(128, 3, 8, 8) for _ in range(SERVING)]
        with weft.no_grad():
            ready(fast, xs[0])
            want = [model(x) for x in xs]

        def serve(i: int) -> bool:
            with weft.no_grad():
                return all(
                    same(fast(xs[(i + k) % SERVING]), want[(i + k) % SERVING]) for k in range(25)
                )

        assert all(together(serve, SERVING))
        (program,) = programs(fast)
        assert 1 <= program.instances <= SERVING + 1
        with weft.no_grad():
            for _ in range(600):  # one thread alone needs one
                fast(xs[0])
        assert program.instances == 1
    finally:
        weft.set_num_threads(before)


def test_threads_go_back_through_one_program() -> None:
    """Forward and backward passes of several threads through shared weights: each adds its gradient."""
    model, other = Wide().eval(), Wide().eval()
    fast = weft.compile(lambda x: model(x))
    xs = [weft.randn(128, 3, 8, 8) for _ in range(4)]
    grads = []
    for _ in range(4):
        fast(xs[0]).square().sum().backward()
    for x in xs:
        x.requires_grad_()
        other(x).square().sum().backward()
        grads.append(x.grad)
        x.grad = None

    def work(i: int) -> bool:
        good = True
        for _ in range(6):
            (g,) = weft.autograd.grad(fast(xs[i]).square().sum(), (xs[i],))
            good = good and same(g, grads[i])
        return good

    assert all(together(work, 4))


def training(seed: int) -> tuple[Any, Any]:
    weft.manual_seed(seed)
    net = nn.Sequential(nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 300))
    optimizer = weft.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, net


def test_training_steps_run_one_after_the_other() -> None:
    """What several threads do to the weights is what as many steps of one thread do."""
    x = weft.randn(300, 300)
    (eager, plain), (compiled, net) = training(3), training(3)
    fast = weft.compile(compiled)
    for _ in range(4):
        assert same(fast(x), eager(x))
    want = sorted(eager(x).item() for _ in range(24))

    def work(_: int) -> list[float]:
        return [fast(x).item() for _ in range(6)]

    got = sorted(loss for losses in together(work, 4) for loss in losses)
    assert got == want
    assert all(same(p, q) for p, q in zip(net.parameters(), plain.parameters()))
    assert sum(p.instances for p in programs(fast)) == 1


def test_every_thread_gets_its_turn() -> None:
    """A thread that takes one step after the other does not keep others out."""
    x = weft.randn(300, 300)
    fast = weft.compile(training(1)[0])
    ready(fast, x)
    begun, turns = threading.Event(), [0, 0]

    def work(i: int) -> None:
        if i == 0:
            begun.wait()
            while turns[0] < 10_000 and turns[1] < 3:  # the other one takes milliseconds for them
                fast(x)
                turns[0] += 1
        else:
            begun.set()
            while turns[1] < 3:
                fast(x)
                turns[1] += 1

    together(work, 2)
    assert turns[0] < 10_000


def test_numbers_of_each_call() -> None:
    """Learning rates are those of the call, whichever instance runs it."""
    nets = [training(5), training(5)]
    x = weft.randn(300, 300)
    steps = []
    for _, net in nets:
        optimizer = weft.optim.Adam(net.parameters(), lr=0.01)

        def step(x: Any, net: Any = net, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        steps.append((step, optimizer))
    fast = weft.compile(steps[1][0])
    for k in range(10):
        for _, optimizer in steps:
            optimizer.param_groups[0]["lr"] = 0.01 / (k + 1)
        assert same(fast(x), steps[0][0](x)), k


def test_a_call_that_fails_leaves_the_others_alone() -> None:
    """An index out of range in one thread; right answers in the others."""
    table = weft.randn(300, 300)
    fast = weft.compile(lambda x, i: (x @ table).tanh()[i] * 2)
    x, good, bad = weft.randn(300, 300), weft.tensor([0, 7]), weft.tensor([0, 900])
    with weft.no_grad():
        want = (x @ table).tanh()[good] * 2
        ready(fast, x, good)

    def work(i: int) -> bool:
        with weft.no_grad():
            for _ in range(12):
                if i % 2:
                    with pytest.raises(IndexError):
                        fast(x, bad)
                elif not same(fast(x, good), want):
                    return False
        return True

    assert all(together(work, 4))


def test_traced_and_fused_graphs_too() -> None:
    """What runs as a program runs from all threads."""
    x = weft.randn(300, 300)
    traced = weft.jit.trace(lambda x: (x @ x).tanh().sum(0) * 2 + 1, (x,))
    with weft.no_grad():
        want = (x @ x).tanh().sum(0) * 2 + 1
        traced(x)
    assert all(together(lambda _: all(same(traced(x), want) for _ in range(20)), SERVING))


def test_no_memory_for_another_instance() -> None:
    """The error goes to the call that needs it, and later calls are right."""
    model = Wide().eval()
    fast = weft.compile(lambda x: model(x))
    x = weft.randn(128, 3, 8, 8)
    with weft.no_grad():
        ready(fast, x)
        want = model(x)
        for n in range(3):
            _C._fail_allocation_after(n)
            try:
                try:
                    assert same(fast(x), want)
                except MemoryError:
                    pass
            finally:
                _C._fail_allocation_after(-1)
            assert same(fast(x), want)


def test_instances_leave_nothing_behind() -> None:
    """Memory of all instances goes with the program."""

    def once() -> None:
        model = Wide().eval()
        fast = weft.compile(lambda x: model(x))
        x = weft.randn(128, 3, 8, 8)
        with weft.no_grad():
            ready(fast, x)

        def serve(_: int) -> None:
            with weft.no_grad():
                for _ in range(4):
                    fast(x)

        together(serve, 4)

    once()
    gc.collect()
    before = _C._memory_stats()["live"]
    once()
    gc.collect()
    assert _C._memory_stats()["live"] == before


def test_a_child_of_a_process_whose_threads_train() -> None:
    """fork while others hold the program: the child's calls do not wait for threads that it does not have."""
    x = weft.randn(300, 300)
    fast = weft.compile(training(2)[0])
    ready(fast, x)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            fast(x)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    for t in threads:
        t.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                try:
                    weft.set_num_threads(1)
                    for _ in range(3):
                        fast(x)
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        for t in threads:
            t.join(60)
