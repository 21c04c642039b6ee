"""Compiled functions under exceptions, re-entrance, threads, fork, Ctrl-C, copies and deletion."""

from __future__ import annotations

import copy
import gc
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import types
from functools import partial
from typing import Any

import pytest
from jit.compile_calls import runs
from robustness.crashes import in_child

import weft
import weft.nn.functional as F
from weft import _C, nn
from weft.jit.compile.python_state import State

pytestmark = pytest.mark.filterwarnings("ignore:compile")


def same(a: Any, b: Any) -> bool:
    return a is b if a is None or b is None else weft.equal(a, b)


# ---- exceptions --------------------------------------------------------------------------------


def test_an_exception_in_the_middle_leaves_what_eager_leaves() -> None:
    """Gradients taken away before it, kept before it, set before it; updates before it."""

    def before(p: Any, i: Any, j: Any) -> Any:
        found = F.embedding(j, p.detach()).sum()
        p.grad = None
        F.embedding(i, p).sum().backward()
        return found

    def after_clearing(p: Any, i: Any, j: Any) -> Any:
        p.grad = None
        found = F.embedding(j, p.detach()).sum()
        F.embedding(i, p).sum().backward()
        return found

    def after_setting(p: Any, i: Any, j: Any) -> Any:
        p.grad = None
        (F.embedding(i, p).sum() * 3).backward()
        with weft.no_grad():
            p.add_(1)
        return F.embedding(j, p.detach()).sum()

    def accumulating(p: Any, i: Any, j: Any) -> Any:
        F.embedding(i, p).sum().backward()
        return F.embedding(j, p.detach()).sum()

    for f in (before, after_clearing, after_setting, accumulating):
        found = []
        for compiled in (False, True):
            p = nn.Parameter(weft.ones(3, 2))

            def step(i: Any, j: Any, p: Any = p, f: Any = f) -> Any:
                return f(p, i, j)

            g = weft.compile(step) if compiled else step
            for turn in range(6):
                g(weft.tensor([turn % 3]), weft.tensor([1]))
            with pytest.raises(IndexError):
                g(weft.tensor([2]), weft.tensor([7]))
            found.append((p.grad, p.detach()))
            g(weft.tensor([0]), weft.tensor([1]))
            found[-1] += (p.grad,)
        for a, b in zip(*found):
            assert same(a, b), (f.__name__, found)


def test_python_exceptions() -> None:
    """While it is captured, and in a branch that a value selects; nothing is left recording."""

    def f(x: Any) -> Any:
        if x.sum() < 0:
            raise ValueError("negative")
        return x.sqrt()

    compiled = weft.compile(f)
    for turn in range(20):
        x = weft.full((2,), 4.0 if turn % 3 else -4.0)
        if turn % 3:
            assert compiled(x).tolist() == [2.0, 2.0]
        else:
            with pytest.raises(ValueError, match="negative"):
                compiled(x)
        assert _C._recorder() is None and weft.is_grad_enabled()
    assert runs(compiled) > 5


# ---- re-entrance -------------------------------------------------------------------------------


def test_compiled_in_compiled_and_in_itself() -> None:
    """The outer one holds the ops of the inner; recursion ends."""
    inner = weft.compile(lambda x: x * 2)

    def outer(x: Any, depth: int) -> Any:
        return inner(x) + 1 if depth == 0 else compiled(x, depth - 1) * 3

    compiled = weft.compile(outer)
    for _ in range(5):
        assert compiled(weft.ones(1), 2).item() == 27.0
        assert inner(weft.ones(1)).item() == 2.0
    assert runs(compiled) == 3 and runs(inner) == 3


def test_compiled_in_a_trace_and_a_trace_in_compiled() -> None:
    """A trace holds its ops, before and after it was captured."""
    f = weft.compile(lambda x: (x * 2).tanh())
    x = weft.randn(3)
    want = (x * 2).tanh()
    for _ in range(3):
        traced = weft.jit.trace(f, (weft.ones(3),))
        assert same(traced(x), want)
        f(x), f(x)
    g = weft.compile(lambda x: traced(x) + 1)
    for _ in range(5):
        assert same(g(x), want + 1)


def test_a_hook_calls_the_function_again() -> None:
    """While a backward pass of its own result runs."""
    w = nn.Parameter(weft.ones(2))
    f = weft.compile(lambda x: (x * w).sum())
    seen = []
    for _ in range(5):
        x = weft.ones(2, requires_grad=True)
        x.register_hook(lambda g: seen.append(f(weft.ones(2)).item()))
        f(x).backward()
    assert seen == [2.0] * 5 and w.grad.tolist() == [5.0, 5.0]


# ---- threads, processes, interruption ----------------------------------------------------------


def test_threads_capture_and_run_at_once() -> None:
    """Training in four threads, each with its model; one function for all; printing stays itself."""
    said = print
    shared = weft.compile(lambda x, w: (x @ w).tanh().sum())
    wrong: list[Any] = []

    def work(seed: int) -> None:
        try:
            generator = weft.Generator().manual_seed(seed)
            w = weft.rand(8, 8, generator=generator)
            p = nn.Parameter(w.clone())
            q = nn.Parameter(w.clone())
            opts = [weft.optim.SGD([t], lr=0.1) for t in (p, q)]

            def step(p: Any, opt: Any, x: Any) -> Any:
                opt.zero_grad()
                loss = (x @ p).square().mean()
                loss.backward()
                opt.step()
                return loss

            mine = weft.compile(lambda x: step(p, opts[0], x))
            for i in range(30):
                x = weft.rand(4 + i % 2, 8, generator=generator)
                if not same(mine(x), step(q, opts[1], x)) or not same(p, q):
                    wrong.append((seed, i))
                if not same(shared(x, w), (x @ w).tanh().sum()):
                    wrong.append((seed, i, "shared"))
        except Exception as e:
            wrong.append(e)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and print is said


def test_threads_call_while_python_changes() -> None:
    """What one thread captures anew, others do not see by halves."""
    c = types.SimpleNamespace(k=1.0)
    fast = weft.compile(lambda x: x * c.k)
    x, over = weft.ones(3), threading.Event()
    wrong: list[Any] = []

    def work() -> None:
        try:
            while not over.is_set():
                if (k := fast(x)[0].item()) not in (1, 2, 3):
                    wrong.append(k)
        except Exception as e:
            wrong.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for i in range(60):
            c.k = 1.0 + i % 3
            assert fast(x)[0].item() == c.k
            time.sleep(0.002)
    finally:
        sys.setswitchinterval(interval)
        over.set()
        for t in threads:
            t.join()
    assert not wrong


def test_changes_by_other_threads_are_no_side_effects() -> None:
    """What another thread sets while a call is captured, no replay sets again or puts back."""

    def attempt() -> None:
        c = types.SimpleNamespace(k=1.0)
        fast = weft.compile(lambda x: x * c.k)
        x, over = weft.ones(3), threading.Event()

        def work() -> None:
            while not over.is_set():
                fast(x)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        try:
            for i in range(60):
                c.k = want = 1.0 + i % 3
                assert fast(x)[0].item() == c.k == want
                time.sleep(0.0003)
        finally:
            over.set()
            for t in threads:
                t.join()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(5):
            attempt()
    finally:
        sys.setswitchinterval(interval)


def _counts() -> Any:
    calls = 0

    def f(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x + calls

    return f


_SPACE, _ITEMS, _LAYER = types.SimpleNamespace(k=1.0), {"k": 1.0}, nn.Dropout()


@pytest.mark.parametrize(
    ("f", "is_own"),
    [
        (lambda x: x * _SPACE.k, False),
        (lambda x: x * _ITEMS["k"], False),
        (lambda x: _LAYER(x), False),
        (lambda x: x * _SPACE.k + setattr(_SPACE, "k", 3.0), True),
        (lambda x: x * setattr(_SPACE, "".join("k"), 3.0), True),
        (lambda x: x * _ITEMS.update(k=3.0), True),
        (lambda x: _LAYER.train()(x), True),
        (_counts(), True),
    ],
)
def test_who_may_change_what(f: Any, is_own: bool) -> None:
    """Only what code of the function sets can be a side effect of its call."""
    _SPACE.k = _ITEMS["k"] = 1.0
    _LAYER.training = False
    state = State(f, [])
    assert not state.broken()
    _SPACE.k = _ITEMS["k"] = 2.0
    _LAYER.training = True
    for cell in f.__closure__ or ():
        cell.cell_contents += 1
    assert state.broken()
    assert all(map(state.stores.may_set, state.broken())) == is_own


def test_after_fork() -> None:
    """What was captured before runs in the child; the child captures anew too."""
    model = nn.Linear(4, 4)
    f = weft.compile(lambda x: model(x).relu().sum())
    x = weft.randn(64, 4)
    for _ in range(4):
        want = f(x)

    def child() -> int:
        good = all(same(f(x), want) for _ in range(3))
        g = weft.compile(lambda x: model(x).tanh().sum())
        return 0 if good and all(same(g(x), model(x).tanh().sum()) for _ in range(4)) else 1

    assert in_child(child) == 0
    assert same(f(x), want)


@pytest.mark.usefixtures("ctrl_c")
def test_interrupted() -> None:
    """Ctrl-C leaves a long compiled call; the function works afterwards, gradients are whole."""
    program = """
        import weft
        from weft import nn
        p = nn.Parameter(weft.ones(256, 256))
        def f(x):
            p.grad = None
            y = x
            for _ in range(400):
                y = (y @ p).tanh()
            y.sum().backward()
        g = weft.compile(f)
        x = weft.randn(256, 256)
        for _ in range(4):
            g(x)
        assert sum(v["calls"] for v in g.report().specializations) == 1
        try:
            print("ready", flush=True)
            while True:
                g(x)
        except KeyboardInterrupt:
            assert p.grad is None or p.grad.shape == p.shape
            g(x)
            got = p.grad
            f(x)
            assert weft.equal(p.grad, got)
            print("interrupted", flush=True)
        """
    p = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert p.stdout is not None and p.stdout.readline() == "ready\n"
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=600)
    finally:
        p.kill()
    assert out == "interrupted\n", err


# ---- as objects --------------------------------------------------------------------------------


def called(kept: dict[str, Any], x: Any) -> Any:
    return kept["model"](x)


def doubled(x: Any) -> Any:
    return x * 2


def test_copies_and_pickles() -> None:
    """Of functions and modules; a copy has nothing captured, and weights of its own."""
    f = weft.compile(doubled)
    model = weft.compile(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    x = weft.randn(3, 2)
    for _ in range(4):
        f(x), model(x)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert runs(other) == 0 and same(other(x), model(x))
        with weft.no_grad():
            other._orig_mod[0].weight.zero_()
        assert not same(other._orig_mod[0].weight, model._orig_mod[0].weight)
        for _ in range(4):
            assert same(other(x), other._orig_mod(x))
    again = pickle.loads(pickle.dumps(weft.compile(nn.Linear(2, 2))))
    assert again(x).shape == (3, 2)


def test_a_module_that_is_gone() -> None:
    """The function holds what it needs, and nothing after it is gone."""
    gc.collect()
    before = _C._memory_stats()["tensors"]
    kept = {"model": nn.Linear(16, 16)}
    f = weft.compile(partial(called, kept))
    x = weft.randn(2, 16)
    for _ in range(4):
        want = f(x).detach()
    del kept["model"]
    with pytest.raises(KeyError):
        f(x)
    assert want.shape == (2, 16)
    del f, kept, x, want
    gc.collect()
    assert _C._memory_stats()["tensors"] <= before


def made_and_dropped(kind: int) -> None:
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = weft.optim.Adam(model.parameters())
    x = weft.ones(4, 3)
    if kind == 0:

        @weft.compile
        def step(x: Any) -> Any:
            opt.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            opt.step()
            return loss

        for _ in range(4):
            step(x)
    elif kind == 1:
        compiled = weft.compile(model)
        for _ in range(4):
            compiled(x).sum().backward()
    elif kind == 2:
        model.again = weft.compile(lambda x: (model(x), x * 2) if x.sum() > 0 else x)
        for _ in range(4):
            model.again(x)
    else:
        two = weft.compile(lambda x: (model(x), model(x).tanh()))
        for _ in range(4):
            two(x)[1].sum().backward()


def test_made_and_dropped_many_times() -> None:
    """No tensor, node or byte is left behind."""
    for kind in range(4):
        for _ in range(3):
            made_and_dropped(kind)
    gc.collect()
    before = _C._memory_stats()
    for turn in range(200):
        made_and_dropped(turn % 4)
    gc.collect()
    after = _C._memory_stats()
    for key in ("tensors", "nodes", "live"):
        assert after[key] <= before[key], key


def test_a_thousand_sizes() -> None:
    """Right each time; memory and specialisations stay bounded; a size that comes back is captured again."""
    w = nn.Parameter(weft.randn(4))
    f = weft.compile(lambda x: (x * w).relu().sum())
    tensors = 0
    for n in range(1, 1001):
        x = weft.randn(n, 4)
        got = f(x)
        assert same(got, (x * w).relu().sum())
        if n == 200:
            gc.collect()
            tensors = _C._memory_stats()["tensors"]
    gc.collect()
    assert _C._memory_stats()["tensors"] <= tensors + 50
    assert len(f.report().specializations) <= 64
    for _ in range(4):
        f(weft.ones(300, 4))
    assert runs(f) >= 2


@pytest.mark.parametrize("change", [gc.disable, partial(gc.set_threshold, 123)])
def test_settings_of_garbage_collection_stay(change: Any) -> None:
    """What a function sets while it is captured is set afterwards; what it does not set is as before."""
    before = gc.isenabled(), gc.get_threshold()
    seen = []

    def f(x: Any) -> Any:
        if not seen:
            seen.append(gc.isenabled())
            change()
        return x * 2

    try:
        weft.compile(lambda x: x + 1)(weft.ones(2))
        assert (gc.isenabled(), gc.get_threshold()) == before
        weft.compile(f)(weft.ones(2))
        after = gc.isenabled(), gc.get_threshold()
    finally:
        gc.enable() if before[0] else gc.disable()
        gc.set_threshold(*before[1])
    assert seen == [before[0]]
    assert after == (
        (False, before[1]) if change is gc.disable else (before[0], (123, *before[1][1:]))
    )
