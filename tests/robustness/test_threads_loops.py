"""Parallel loops and the threads that help them: same results on any number, forks, failures, Ctrl-C, exit."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator

import pytest
from robustness.interrupting import ctrl_c_at
from robustness.test_threads import together

import weft
from weft import _C

COUNTS = (1, 2, 3, 7)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = weft.get_num_threads()
    yield
    weft.set_num_threads(before)


def run(program: str, timeout: float = 600) -> str:
    """What a process prints that ends well and silently."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def draw(*shape: int) -> weft.Tensor:
    return weft.randn(*shape, generator=weft.Generator().manual_seed(1))


def lstm_gradients() -> weft.Tensor:
    layer = weft.nn.LSTM(64, 96)
    for p in layer.parameters():  # not by the default generator, which threads share
        p.data = draw(*p.shape) / 8
    out, _ = layer(draw(5, 80, 64))
    out.square().sum().backward()
    return weft.cat([p.grad.flatten() for p in layer.parameters()])


def adam_step() -> weft.Tensor:
    p = weft.nn.Parameter(draw(300_001))
    p.grad = draw(300_001).flip(0)
    weft.optim.Adam([p]).step()
    return p.detach()


WORK: dict[str, Callable[[], weft.Tensor]] = {
    "matmul": lambda: draw(301, 257) @ draw(257, 190),
    "vector times matrix": lambda: draw(3000) @ draw(3000, 700),
    "many small matmuls": lambda: draw(90, 40, 33) @ draw(90, 33, 50),
    "dot": lambda: draw(200_003).dot(draw(200_003).flip(0)),
    "pointwise": lambda: (draw(200_003) * 3).exp().tanh(),
    "pointwise, turned": lambda: draw(600, 501).T + draw(501, 600),
    "sum": lambda: draw(700_001).sum(),
    "sum of columns": lambda: draw(3000, 130).sum(0),
    "softmax": lambda: draw(300, 1000).softmax(1),
    "cumsum": lambda: draw(500, 700).cumsum(0),
    "sort": lambda: draw(300, 500).sort().values,
    "layer norm": lambda: weft.nn.functional.layer_norm(draw(700, 300), (300,)),
    "random numbers": lambda: draw(300_000),
    "attention": lambda: weft.nn.functional.scaled_dot_product_attention(
        draw(2, 3, 200, 16), draw(2, 3, 200, 16), draw(2, 3, 200, 16)
    ),
    "convolution": lambda: weft.conv2d(draw(9, 6, 30, 30), draw(8, 6, 3, 3)),
    "convolution in float64": lambda: weft.conv2d(
        draw(9, 6, 30, 30).double(), draw(8, 6, 3, 3).double()
    ),
    "LSTM, back": lstm_gradients,
    "Adam": adam_step,
}


@pytest.mark.parametrize("name", WORK)
def test_results_are_the_same_on_any_number_of_threads(name: str) -> None:
    results = []
    for threads in (*COUNTS, 2):
        weft.set_num_threads(threads)
        results.append(WORK[name]())
    assert all(r.equal(results[0]) for r in results)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 64, 1000])
@pytest.mark.parametrize("threads", COUNTS)
def test_every_item_runs_once(n: int, threads: int) -> None:
    weft.set_num_threads(threads)
    for microseconds in (0, 20 if n < 100 else 1):
        ran_on = _C._try_loop(n, microseconds)
        assert len(ran_on) == n
        assert all(0 <= t < threads for t in ran_on)


def test_a_helper_comes() -> None:
    weft.set_num_threads(2)
    assert any(1 in _C._try_loop(50, 1000) for _ in range(100))


@pytest.mark.parametrize("threads", COUNTS)
def test_a_failing_item_ends_the_loop(threads: int) -> None:
    weft.set_num_threads(threads)
    for failing in (0, 1, 37, 99):
        with pytest.raises(ValueError, match=f"item {failing} fails"):
            _C._try_loop(100, 20, failing)
        assert min(_C._try_loop(100)) >= 0


def test_more_threads_than_there_can_be() -> None:
    weft.set_num_threads(100_000)
    assert weft.get_num_threads() == 100_000
    assert min(_C._try_loop(10)) >= 0
    assert WORK["sort"]().shape == (300, 500)


def test_helpers_are_kept_and_not_made_anew() -> None:
    def tasks() -> int:
        return len(os.listdir("/proc/self/task"))

    weft.set_num_threads(5)
    _C._try_loop(100, 10)
    most = tasks()
    for threads in (2, 5, 1, 3, 5) * 10:
        weft.set_num_threads(threads)
        _C._try_loop(100)
    assert tasks() <= most


def test_signals_are_left_to_python() -> None:
    printed = run(
        """
        import os, pathlib, weft
        weft.set_num_threads(3)
        tasks = pathlib.Path("/proc/self/task")
        names = []
        while names.count("weft helper\\n") < 2:  # they tell their names when they first run
            weft._C._try_loop(10)
            names = [(task / "comm").read_text() for task in tasks.iterdir()]
        for task in tasks.iterdir():
            lines = (task / "status").read_text().splitlines()
            status = dict(line.split(":", 1) for line in lines)
            helper, blocked = status["Name"].strip() == "weft helper", int(status["SigBlk"], 16) >> 1 & 1
            if helper or int(task.name) == os.getpid():  # a sanitizer has a thread of its own
                print(helper, bool(blocked))
        """
    )
    assert sorted(printed.splitlines()) == ["False False", "True True", "True True"]


def test_many_python_threads_at_once() -> None:
    """One has the helpers, the others work alone; then the next has them."""
    weft.set_num_threads(3)
    names = ("matmul", "sum", "sort", "pointwise", "attention")
    alone = {name: WORK[name]() for name in names}

    def work(i: int) -> bool:
        for _ in range(4):
            if min(_C._try_loop(200, 1)) < 0:
                return False
            if i == 0:
                with pytest.raises(ValueError, match="item 9 fails"):
                    _C._try_loop(20, 5, 9)
        return all(WORK[name]().equal(alone[name]) for name in names)

    assert together(work, 6) == [True] * 6


# Large enough to let other threads run meanwhile; most have memory for each of their threads.
LONG_WORK: dict[str, Callable[[], weft.Tensor]] = {
    "sum": WORK["sum"],
    "sort": lambda: draw(700, 301).sort(1).values,
    "sort of columns": lambda: draw(301, 700).sort(0).indices,
    "attention": lambda: weft.nn.functional.scaled_dot_product_attention(
        draw(2, 4, 300, 32), draw(2, 4, 300, 32), draw(2, 4, 300, 32)
    ),
    "convolution in float64": lambda: weft.conv2d(
        draw(16, 6, 32, 32).double(), draw(8, 6, 3, 3).double()
    ),
    "3x3 convolution": lambda: weft.conv2d(draw(8, 32, 24, 24), draw(32, 32, 3, 3)),
    "convolution of few channels": lambda: weft.conv2d(draw(40, 4, 30, 30), draw(8, 4, 3, 3)),
    "LSTM, back": lstm_gradients,
}


@pytest.mark.parametrize("name", LONG_WORK)
def test_the_number_changes_while_others_compute(name: str) -> None:
    expected, done = LONG_WORK[name](), threading.Event()

    def work(i: int) -> bool:
        if i == 0:
            k = 0
            while not done.wait(0.0001):
                weft.set_num_threads((1, 9, 2, 30)[k := (k + 1) % 4])
            return True
        try:
            return all(LONG_WORK[name]().equal(expected) for _ in range(15))
        finally:
            done.set()

    assert all(together(work, 3))


def test_weights_that_change_while_they_are_packed() -> None:
    """What is kept of them afterwards was made of the last ones."""
    x, w = draw(4, 32, 30, 30), draw(32, 32, 3, 3)
    new = [draw(32, 32, 3, 3) * k for k in range(1, 5)]

    def work(i: int) -> None:
        for k in range(4):
            if i == 0:
                w.copy_(new[k])
            else:
                with weft.no_grad():
                    weft.conv2d(x, w)

    for _ in range(40):
        together(work, 3)
        with weft.no_grad():
            assert weft.conv2d(x, w).equal(weft.conv2d(x, new[3].clone()))


def test_tiny_numbers_count_as_zero_on_helpers_too() -> None:
    weft.set_num_threads(3)
    x = weft.full((1_000_000,), 1e-310, dtype=weft.float64)
    image, kernel = weft.full((4, 16, 40, 40), 1e-20), weft.full((16, 16, 3, 3), 1e-20)
    for _ in range(2):
        assert (x * 1.0).all()
        assert weft.conv2d(image, kernel).all()
        can = weft.set_flush_denormal(True)
        try:
            assert not can or not (x * 1.0).any()
            assert not can or not weft.conv2d(image, kernel).any()
        finally:
            weft.set_flush_denormal(False)


def test_fork_while_another_thread_is_in_a_loop() -> None:
    printed = run(
        """
        import os, threading, warnings, weft
        warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads: that is the point
        weft.set_num_threads(3)
        go = True
        def noise():
            while go:
                weft._C._try_loop(300, 5)
        t = threading.Thread(target=noise)
        t.start()
        ok = 0
        for k in range(4):
            pid = os.fork()
            if pid == 0:
                good = weft.get_num_threads() == 1
                good = good and set(weft._C._try_loop(50, 10)) == {0}
                weft.set_num_threads(3)
                good = good and all(0 <= t < 3 for _ in range(20) for t in weft._C._try_loop(50, 50))
                x = weft.nn.functional.conv2d(weft.ones(8, 16, 20, 20), weft.ones(16, 16, 3, 3))
                good = good and x.sum().item() == 8 * 16 * 18 * 18 * 144
                os._exit(0 if good else 1)
            ok += os.waitpid(pid, 0)[1] == 0
        go = False
        t.join()
        print(ok)
        """
    )
    assert printed == "4\n"


def test_a_process_ends_while_daemons_are_in_loops() -> None:
    program = """
        import threading, weft
        weft.set_num_threads(3)
        p = weft.nn.Parameter(weft.ones(1 << 18))
        p.grad = weft.ones(1 << 18)
        step = weft.optim.SGD([p], lr=0.1).step
        works = (lambda: weft._C._try_loop(1000, 10), lambda: p + p, step)
        begun = threading.Barrier(len(works) + 1)
        def noise(work):
            work()
            begun.wait()
            while True:
                work()
        for work in works:
            threading.Thread(target=noise, args=(work,), daemon=True).start()
        begun.wait()
        print("end")
        """
    for _ in range(3):
        assert run(program) == "end\n"


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_in_a_loop_leaves_the_helpers_in_order() -> None:
    weft.set_num_threads(3)
    with pytest.raises(KeyboardInterrupt), ctrl_c_at(3):
        _C._try_loop(1_000_000, 1000)
    assert min(_C._try_loop(1000)) >= 0
    assert WORK["sum"]().item() == WORK["sum"]().item()
