"""fork while other threads compute: a child finds every lock free and waits for no thread of its parent."""

from __future__ import annotations

import os
from textwrap import dedent

import pytest
from robustness.test_threads_loops import run

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("WEFT_SANITIZE")),
    reason="a child may inherit a lock of the sanitizer's own allocator, and wait for it for ever",
)

PREPARED = """
    import os, signal, sys, threading, time, warnings
    import weft
    from weft.nn import functional as F
    warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads: that is the point
    weft.manual_seed(0)
    weft.set_num_threads(2)

    def forked(work, seconds=120):
        pid = os.fork()
        if pid == 0:
            try:
                os._exit(0 if work() else 1)
            except BaseException as e:
                print(type(e), e, flush=True)
                os._exit(2)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return "right" if status == 0 else f"status {status}"
            time.sleep(0.002)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return "hangs"

    def while_in(busy, work, forks):
        go = True
        def noise():
            while go:
                busy()
        threads = [threading.Thread(target=noise) for _ in range(2)]
        for t in threads:
            t.start()
        said = {forked(work) for _ in range(forks)}
        go = False
        for t in threads:
            t.join()
        print(*said)
"""

BUSY = {
    "work space of all sizes": """
        x = [weft.rand(n, n) for n in (90, 200, 350)]
        expected = [a @ a for a in x]
        busy = work = lambda: all((a @ a).equal(b) for a, b in zip(x, expected))
    """,
    "new convolutions": """
        import itertools
        sizes = itertools.cycle(range(16, 60))
        def busy():
            F.conv2d(weft.rand(2, 12, next(sizes), 20), weft.rand(24, 12, 2, 2))
        a, w = weft.rand(2, 12, 40, 20), weft.rand(24, 12, 2, 2)
        expected = F.conv2d(a, w)
        def work():
            busy()
            return weft.allclose(F.conv2d(a, w), expected, atol=1e-4)
    """,
    "packed kernels that change": """
        a, w = weft.rand(8, 32, 24, 24), weft.rand(32, 32, 3, 3)
        def busy():
            with weft.no_grad():
                w.copy_(weft.rand(32, 32, 3, 3))
                F.conv2d(a, w)
        def work():
            with weft.no_grad():
                w.copy_(weft.ones(32, 32, 3, 3))
                return weft.allclose(F.conv2d(a, w), F.conv2d(a, weft.ones(32, 32, 3, 3)))
    """,
    "images that lie channels last": """
        w = weft.rand(16, 16, 3, 3)
        a = F.conv2d(weft.rand(16, 16, 64, 64), w, padding=1)
        busy = lambda: F.conv2d(a, w)
        work = lambda: a.sum().item() > 0 and a[0, 0].tolist() is not None
    """,
    "a compiled function": """
        net = weft.nn.Sequential(weft.nn.Linear(300, 300), weft.nn.Tanh(), weft.nn.Linear(300, 300))
        f = weft.compile(lambda x: net(x).square().sum())
        x = weft.rand(400, 300)
        for _ in range(3):
            f(x).backward()
        expected = f(x)
        busy = lambda: f(x).backward()
        def work():
            y = f(x)
            y.backward()
            return y.equal(expected)
    """,
    "a traced module": """
        net = weft.nn.Sequential(weft.nn.Linear(300, 300), weft.nn.Tanh(), weft.nn.Linear(300, 300))
        x = weft.rand(400, 300)
        f = weft.jit.trace(net, (x,))
        with weft.no_grad():
            expected = f(x)
        def busy():
            with weft.no_grad():
                f(x)
        def work():
            with weft.no_grad():
                return f(x).equal(expected)
    """,
}


@pytest.mark.parametrize("name", BUSY)
def test_children_of_a_busy_process(name: str) -> None:
    program = dedent(PREPARED) + dedent(BUSY[name]) + "while_in(busy, work, 40)\n"
    assert run(program, 600) == "right\n"


def test_a_child_that_forks() -> None:
    program = """
        a = weft.rand(200, 200)
        expected = a @ a
        def work():
            weft.set_num_threads(2)
            return (a @ a).equal(expected) and forked(lambda: (a @ a).equal(expected)) == "right"
        while_in(lambda: a @ a, work, 10)
        """
    assert run(dedent(PREPARED) + dedent(program), 600) == "right\n"
