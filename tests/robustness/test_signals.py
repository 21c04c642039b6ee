"""Signals: handlers that compute never touch what a kernel computes; Ctrl-C ends calls, and only by default."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable

import pytest
from robustness.interrupting import alarms, ctrl_c_at
from robustness.test_threads_loops import WORK, draw, run

import weft
from weft import _C

pytestmark = pytest.mark.usefixtures("two_threads")
ENOUGH = 6  # calls of a handler


def disturbed(work: Callable[[], object], handler: Callable[[], object]) -> None:
    """Repeat ``work`` until alarms have called ``handler`` often enough: counted, not by the clock."""
    with alarms(handler, 0.003) as calls:
        for _ in range(10_000):
            if len(calls) >= ENOUGH:
                return
            work()
    raise AssertionError(f"only {len(calls)} alarms came")


LARGE: dict[str, Callable[[], weft.Tensor]] = {
    "matmul": lambda: draw(700, 700) @ draw(700, 700),
    "matmul in float64": lambda: draw(500, 500).double() @ draw(500, 500).double(),
    "linear": lambda: weft.nn.functional.linear(draw(700, 700), draw(500, 700), draw(500)),
    "attention": lambda: weft.nn.functional.scaled_dot_product_attention(
        draw(2, 4, 500, 32), draw(2, 4, 500, 32), draw(2, 4, 500, 32)
    ),
    **{name: WORK[name] for name in ("LSTM, back", "sort", "convolution", "sum", "Adam")},
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", LARGE)
def test_handlers_that_compute(name: str, threads: int) -> None:
    """The results of a call, and those of the handlers that interrupt it, are what they always are."""
    inside, small = LARGE[name], draw(130, 130)
    weft.set_num_threads(threads)
    expected, product = inside(), small @ small
    wrong: list[str] = []

    def handler() -> None:
        if not (small @ small).equal(product):
            wrong.append("a handler's product")

    def work() -> None:
        if not inside().equal(expected):
            wrong.append(name)

    disturbed(work, handler)
    assert not wrong


def test_handlers_in_compiled_steps_and_walks() -> None:
    weft.manual_seed(0)
    model = weft.nn.Sequential(
        weft.nn.Linear(200, 300), weft.nn.Tanh(), weft.nn.Linear(300, 200), weft.nn.Softmax(1)
    )
    x = draw(300, 200)

    def step() -> list[weft.Tensor]:
        model.zero_grad()
        y = model(x)
        y.square().sum().backward()
        return [y.detach(), *(p.grad.clone() for p in model.parameters())]

    compiled = weft.compile(step)
    for _ in range(3):
        expected = compiled()
    small = draw(90, 90)

    def work() -> None:
        for f in (step, compiled):
            assert all(a.equal(b) for a, b in zip(f(), expected, strict=True))

    disturbed(work, lambda: (small @ small).softmax(1))


def in_loop(seconds: float, disturb: Callable[[], None]) -> list[int]:
    """A loop of about that long, and ``disturb`` called from another thread in its first part."""
    threading.Timer(0.05, disturb).start()
    return list(_C._try_loop(int(seconds * 1000), 2000))


def test_a_handler_for_ctrl_c_runs_once_and_after_the_call() -> None:
    """Not inside: it finds all elements changed, although the signal came while they were. What it raises arrives."""
    x = weft.full((1 << 24,), 3.0)
    complete: list[bool] = []

    class Mine(Exception):
        pass

    def handler(*_: object) -> None:
        complete.append(bool((x != 3).all()))
        raise Mine

    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(Mine), ctrl_c_at(1):
            x.lgamma_()
            time.sleep(0)  # at the latest
    finally:
        signal.signal(signal.SIGINT, before)
    assert complete == [True]


def test_waking_descriptors_get_one_byte() -> None:
    """As asyncio's loop, which calls its handler once for each byte."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    os.set_blocking(read, False)
    called: list[int] = []
    before = signal.signal(signal.SIGINT, lambda *_: called.append(1))
    descriptor = signal.set_wakeup_fd(write)
    try:
        in_loop(0.6, lambda: os.kill(os.getpid(), signal.SIGINT))
        while not called:  # on a machine that is very busy the signal may come late
            time.sleep(0.01)
        assert called == [1]
        assert os.read(read, 100) == bytes([signal.SIGINT])
    finally:
        signal.set_wakeup_fd(descriptor)
        signal.signal(signal.SIGINT, before)
        os.close(read)
        os.close(write)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_by_default_abandons_the_call() -> None:
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        in_loop(3600, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert time.monotonic() - start < 600  # the whole loop takes longer on any machine
    assert WORK["sum"]().item() == WORK["sum"]().item()


@pytest.mark.usefixtures("ctrl_c")
def test_what_an_interrupted_call_was_writing_counts_as_changed() -> None:
    x = weft.ones(1 << 24)
    before = x._version
    with pytest.raises(KeyboardInterrupt), ctrl_c_at(1):
        x.lgamma_()
    assert x._version == before + 1


def test_an_ignored_signal_is_ignored() -> None:
    printed = run(
        """
        import os, signal, threading, weft
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        print(min(weft._C._try_loop(200, 2000)) >= 0)
        """
    )
    assert printed == "True\n"


def test_the_signal_of_a_thread_that_computes_reaches_the_main_thread() -> None:
    """Only the main thread raises KeyboardInterrupt; another one that is in a kernel goes on."""
    program = """
        import os, signal, threading, weft
        weft.set_num_threads(2)
        done = []
        t = threading.Thread(target=lambda: done.append(min(weft._C._try_loop(300, 2000))))
        t.start()
        try:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            while True:
                weft._C._try_loop(100, 1000)
        except KeyboardInterrupt:
            t.join()
            print(done)
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=600,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.stdout in ("[0]\n", "[1]\n"), done.stderr
