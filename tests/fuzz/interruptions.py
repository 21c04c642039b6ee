"""Kernels that are disturbed: by handlers that compute, Ctrl-C, forks, other threads, other numbers of threads.

The oracle is the result of the same work undisturbed and on one thread: every result is bit-equal to it, Ctrl-C leaves
a process that works, children end in time. A case disturbs its work ``times`` times.
"""

from __future__ import annotations

import functools
import os
import random
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from robustness.interrupting import alarms

import weft
from weft import nn
from weft.nn import functional as F

COUNTS: Counter[str] = Counter()  # for the tally
SHARE = 30  # cases in `make test`: each of them is disturbed several times

Results = list[weft.Tensor]
Work = Callable[[], Results]

_DEADLINE = 60.0  # seconds by the clock, also on a busy machine: for what takes milliseconds
_SIZES = (40, 130, 300)


def _draw(*shape: int, dtype: weft.dtype = weft.float32) -> weft.Tensor:
    return weft.randn(*shape, dtype=dtype, generator=weft.Generator().manual_seed(sum(shape)))


def _matmul(n: int) -> Work:
    a, b = _draw(2 * n, n), _draw(n, 2 * n)
    return lambda: [a @ b, b.T @ a.T]


def _double_matmul(n: int) -> Work:
    a = _draw(n, n, dtype=weft.float64)
    return lambda: [a @ a, a.T @ a, a @ a[0]]


def _linear(n: int) -> Work:
    x, w, b = _draw(2 * n, n), _draw(n, n), _draw(n)
    return lambda: [F.linear(x, w, b), F.linear(x, w, b).relu()]


def _attention(n: int) -> Work:
    q, k, v = _draw(2, 3, n, 16), _draw(2, 3, n, 16).flip(0), _draw(2, 3, n, 16).flip(2)
    return lambda: [F.scaled_dot_product_attention(q, k, v, is_causal=c) for c in (False, True)]


def _lstm(n: int) -> Work:
    weft.manual_seed(n)
    layer, x = nn.LSTM(32, 48), _draw(8, n, 32)

    def work() -> Results:
        y, _ = layer(x)
        return [y.detach(), *weft.autograd.grad(y.square().sum(), list(layer.parameters()))]

    return work


def _conv(n: int) -> Work:
    x, w3, w2, few = (
        _draw(2, 16, n, 24),
        _draw(32, 16, 3, 3),
        _draw(24, 16, 2, 2),
        _draw(8, 6, 3, 3),
    )

    def work() -> Results:
        with weft.no_grad():
            y = F.conv2d(x, w3, padding=1)
            return [y, F.conv2d(y[:, :16].relu(), w2), F.conv2d(x[:, :6], few), y.sum((2, 3))]

    return work


def _sort(n: int) -> Work:
    x = _draw(n, n + 7)
    return lambda: [*x.sort(0), *x.sort(1), x.median(1).values, x.topk(5).values]


def _reductions(n: int) -> Work:
    x = _draw(n, 3 * n)
    return lambda: [
        x.sum(),
        x.sum(0),
        x.var(1),
        x.softmax(0),
        x.cumsum(1),
        x.logsumexp(1),
        x.norm(),
    ]


def _backward(n: int) -> Work:
    x, w = _draw(n, n).requires_grad_(), _draw(n, n).requires_grad_()

    def work() -> Results:
        y = ((x @ w).tanh() * x.exp()).softmax(1)
        return list(weft.autograd.grad((y * y).sum(), [x, w]))

    return work


def _compiled(n: int) -> Work:
    weft.manual_seed(n)
    model = nn.Sequential(nn.Linear(n, 64), nn.Tanh(), nn.LayerNorm(64), nn.Linear(64, n))
    x = _draw(2 * n, n)

    def step() -> Results:
        model.zero_grad()
        y = model(x)
        y.square().mean().backward()
        return [y.detach(), *(p.grad.clone() for p in model.parameters())]

    f = weft.compile(step)
    for _ in range(3):
        f()
    return f


def _traced(n: int) -> Work:
    weft.manual_seed(n)
    model, x = nn.Sequential(nn.Linear(n, n), nn.GELU(), nn.Linear(n, 32)), _draw(3 * n, n)
    f = weft.jit.trace(model, (x,))

    def work() -> Results:
        with weft.no_grad():
            return [f(x)]

    return work


def _called(n: int) -> Work:
    """A compiled function and its gradients, which threads call at the same time."""
    weft.manual_seed(n)
    w, x = _draw(n, n).requires_grad_(), _draw(2 * n, n)
    f = weft.compile(lambda x: ((x @ w).tanh() * x).softmax(1))

    def work() -> Results:
        y = f(x)
        return [y.detach(), *weft.autograd.grad(y.square().sum(), [w])]

    for _ in range(3):
        work()
    return work


def _inference(n: int) -> Work:
    """Convolutions that are joined with what follows them."""
    weft.manual_seed(n)
    layers: list[nn.Module] = []
    for k in (1, 3, 1):
        layers += [nn.Conv2d(8, 8, k, padding=k // 2, groups=8 if k > 1 else 1)]
        layers += [nn.BatchNorm2d(8), nn.SiLU()]
    x = _draw(2, 8, n, 16)
    f = weft.jit.optimize_for_inference(weft.jit.trace(nn.Sequential(*layers).eval(), (x,)))

    def work() -> Results:
        with weft.no_grad():
            return [f(x)]

    return work


def _control(n: int) -> Work:
    """A trace with control flow in it."""
    x, w = _draw(6, n), _draw(n, n) / n

    def decides(x: weft.Tensor) -> weft.Tensor:
        def body(i: weft.Tensor, x: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
            return i + 1, weft.cond(x.sum() > 0, lambda x: x @ w, lambda x: x.sin() + 1, (x,))

        _, x = weft.while_loop(lambda i, x: i < 4, body, (weft.tensor(0), x))
        return weft.scan(lambda c, y: (c + y, c.tanh() * y), x[0] * 0, x)[1]

    f = weft.jit.trace(decides, (x,))
    return lambda: [f(x)]


_WORKS = {
    "matmul": _matmul,
    "double matmul": _double_matmul,
    "linear": _linear,
    "attention": _attention,
    "lstm": _lstm,
    "conv": _conv,
    "sort": _sort,
    "reductions": _reductions,
    "backward": _backward,
    "compiled": _compiled,
    "traced": _traced,
    "called": _called,
    "inference": _inference,
    "control flow": _control,
}
_ONE_AT_A_TIME = ("compiled",)  # it sets .grad, which threads would share


@functools.lru_cache(maxsize=64)
def _built(name: str, n: int) -> tuple[Work, Results]:
    """Some work, and what it gives undisturbed."""
    weft.set_num_threads(1)
    work = _WORKS[name](n)
    return work, work()


def _check(name: str, results: Results, expected: Results, when: str) -> None:
    for i, (r, e) in enumerate(zip(results, expected, strict=True)):
        assert r.equal(e), f"result {i} of {name} differs {when}"


# ---- what disturbs ------------------------------------------------------------------------------


def computing() -> Callable[[], None]:
    """The body of a handler, which computes and checks what it computes."""
    work, expected = _built("matmul", _SIZES[0])
    sort, sorted_ = _built("sort", _SIZES[0])

    def compute() -> None:
        _check("matmul", work(), expected, "in a handler")
        _check("sort", sort(), sorted_, "in a handler")

    return compute


def _until(done: Callable[[], bool], f: Callable[[], None]) -> None:
    end = time.monotonic() + _DEADLINE
    while not done():
        assert time.monotonic() < end, "no disturbance came"
        f()


def _by_alarms(case: Any, work: Work, expected: Results) -> None:
    again = lambda: _check(case["work"], work(), expected, "beside a handler")  # noqa: E731
    with alarms(computing(), case["delay"]) as calls:
        _until(lambda: len(calls) >= case["times"], again)


def _sender(delay: float) -> threading.Thread:
    def send() -> None:
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)

    return threading.Thread(target=send)


def _by_ctrl_c(case: Any, work: Work, expected: Results) -> None:
    for i in range(case["times"]):
        sender = _sender(case["delay"] * (i + 1))
        try:
            sender.start()
            _until(lambda: False, lambda: _check(case["work"], work(), expected, "before Ctrl-C"))
        except KeyboardInterrupt:
            pass
        sender.join()
        _check(case["work"], work(), expected, "after Ctrl-C")


def _by_handled_ctrl_c(case: Any, work: Work, expected: Results) -> None:
    calls: list[int] = []
    again = lambda: _check(case["work"], work(), expected, "beside a handler")  # noqa: E731
    compute = computing()

    def handler(*_: object) -> None:
        compute()
        calls.append(1)

    usual = signal.signal(signal.SIGINT, handler)
    try:
        for _ in range(case["times"]):
            before = len(calls)
            sender = _sender(case["delay"])
            sender.start()
            _until(lambda before=before: len(calls) > before, again)
            sender.join()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert len(calls) == case["times"], "a handler ran more than once for a signal"


@contextmanager
def _noise(work: Work, count: int) -> Iterator[list[BaseException]]:
    """Other threads that do the same; what they raised."""
    stop, failed = threading.Event(), list[BaseException]()

    def body() -> None:
        try:
            while not stop.is_set():
                work()
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=body) for _ in range(count)]
    for t in threads:
        t.start()
    try:
        yield failed
    finally:
        stop.set()
        for t in threads:
            t.join()


def _child(case: Any, work: Work, expected: Results) -> int:
    """Fork a child that does the work; return its number."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        weft.set_num_threads(case["threads"])
        code = 0 if all(r.equal(e) for r, e in zip(work(), expected, strict=True)) else 2
    finally:
        os._exit(code)


def _by_forks(case: Any, work: Work, expected: Results) -> None:
    if os.environ.get("WEFT_SANITIZE"):  # its allocator may hold a lock in the child
        return
    warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads: that is the point
    with _noise(work, case["others"]) as failed:
        for _ in range(case["times"]):
            pid, end = _child(case, work, expected), time.monotonic() + _DEADLINE
            while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
                if time.monotonic() > end:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    raise AssertionError(f"a child in {case['work']} does not end")
                time.sleep(0.001)
            assert ended[1] == 0, f"a child in {case['work']} ended with status {ended[1]}"
    assert not failed, failed


def _by_thread_counts(case: Any, work: Work, expected: Results) -> None:
    rng = random.Random(case["times"])

    def change() -> None:
        weft.set_num_threads(rng.choice((1, 2, 3, 5, 9)))
        time.sleep(case["delay"] / 10)

    with _noise(change, 1) as failed:
        for _ in range(case["times"]):
            _check(case["work"], work(), expected, "while the number of threads changes")
    assert not failed, failed


def _by_threads(case: Any, work: Work, expected: Results) -> None:
    check = lambda: _check(case["work"], work(), expected, "in several threads")  # noqa: E731
    with _noise(check, case["others"] + 1) as failed:
        for _ in range(case["times"]):
            check()
    assert not failed, failed


_DISTURBANCES = {
    "alarms": _by_alarms,
    "ctrl-c": _by_ctrl_c,
    "handled ctrl-c": _by_handled_ctrl_c,
    "forks": _by_forks,
    "thread counts": _by_thread_counts,
    "threads": _by_threads,
}
_WITH_THREADS = ("forks", "threads")


def generate(rng: random.Random) -> Any:
    """Some work, and what disturbs it how often."""
    disturbance = rng.choice(list(_DISTURBANCES))
    names = [n for n in _WORKS if disturbance not in _WITH_THREADS or n not in _ONE_AT_A_TIME]
    return {
        "work": rng.choice(names),
        "size": rng.choice(_SIZES),
        "by": disturbance,
        "times": rng.randint(3, 10),
        "delay": rng.choice((0.001, 0.003, 0.008)),
        "threads": rng.choice((1, 2, 2, 3)),
        "others": rng.randint(1, 2),
    }


def check(case: Any) -> None:
    """Disturb the work; compare all results."""
    work, expected = _built(case["work"], case["size"])
    weft.set_num_threads(case["threads"])
    _DISTURBANCES[case["by"]](case, work, expected)
    COUNTS[f"disturbances by {case['by']}"] += case["times"]
    weft.set_num_threads(case["threads"])
    _check(case["work"], work(), expected, "afterwards")


def shrink(case: Any) -> Iterator[Any]:
    """Smaller work, fewer disturbances, fewer threads."""
    for name, least in (("size", _SIZES[0]), ("times", 1), ("threads", 1), ("others", 1)):
        if case[name] > least:
            yield {**case, name: least}
