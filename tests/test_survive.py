"""weft survives: deep graphs, wide graphs, failures, cycles, impossible sizes, forks and Ctrl-C."""

from __future__ import annotations

import copy
import gc
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import _C

MILLION = 1_000_000


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
    in_thread(lambda: deep_chain(300_000), 512 * 1024)
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


def uses(n: int) -> float:
    x = weft.ones(4, requires_grad=True)
    start = time.perf_counter()
    parts = [x * 2 for _ in range(n)]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    total.sum().backward()
    took = time.perf_counter() - start
    assert x.grad is not None and x.grad.tolist() == [2.0 * n] * 4
    return took


def test_many_uses_of_one_tensor_take_linear_time() -> None:
    uses(1000)
    small = min(uses(10_000) for _ in range(3))
    assert uses(100_000) < 40 * small + 0.2


# ---- nothing is left behind ---------------------------------------------------------------------


class Boom(Exception):
    pass


def boom(*args: Any) -> Any:
    raise Boom


def leaf(*shape: int) -> weft.Tensor:
    return weft.ones(*(shape or (3,)), requires_grad=True)


class Cube(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: weft.Tensor) -> weft.Tensor:
        y = x * x
        ctx.save_for_backward(x, y)
        return y * x

    @staticmethod
    def backward(ctx: Any, g: weft.Tensor) -> weft.Tensor:
        _, y = ctx.saved_tensors
        return 3 * g * y


class HoldsItsOutput(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: weft.Tensor) -> weft.Tensor:
        ctx.y = x * 2
        return ctx.y

    @staticmethod
    def backward(ctx: Any, g: weft.Tensor) -> weft.Tensor:
        return g * 2


class FailsForward(Cube):
    @staticmethod
    def forward(ctx: Any, x: weft.Tensor) -> weft.Tensor:
        ctx.save_for_backward(x, x * 2)
        ctx.other = x * 3
        raise Boom


class FailsBackward(Cube):
    @staticmethod
    def backward(ctx: Any, g: weft.Tensor) -> weft.Tensor:
        _ = ctx.saved_tensors, g * 2
        raise Boom


class Box:
    def __init__(self, *items: Any) -> None:
        self.items = items


PATTERNS: list[Callable[[], Any]] = []


def pattern(f: Callable[[], Any]) -> Callable[[], Any]:
    PATTERNS.append(f)
    return f


@pattern
def forward_and_backward() -> None:
    x = leaf()
    (x * x).sum().backward()


@pattern
def abandoned_graph() -> None:
    x = leaf()
    for _ in range(10):
        x = (x * x).exp()


@pattern
def backward_twice_with_retain() -> None:
    x = leaf()
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()


@pattern
def retained_graph_abandoned() -> None:
    (leaf() ** 2).sum().backward(retain_graph=True)


@pattern
def create_graph() -> None:
    x = leaf()
    (g,) = weft.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = weft.autograd.grad(g.sum(), x, create_graph=True)
    h.sum().backward()


@pattern
def create_graph_in_backward_makes_a_cycle_that_is_broken() -> None:
    x = leaf()
    (x**3).sum().backward(create_graph=True)  # x.grad has a history that leads to x
    x.grad = None


@pattern
def create_graph_cycle_left_to_the_collector() -> None:
    x = leaf()
    x.note = "has attributes"
    (x**3).sum().backward(create_graph=True)


@pattern
def second_backward_fails() -> None:
    y = leaf().exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@pattern
def shape_error_in_forward() -> None:
    x = leaf()
    y = x * 2
    with pytest.raises(RuntimeError):
        y + weft.ones(4)


@pattern
def exception_between_ops() -> None:
    x = leaf()
    try:
        y = (x * x).exp()
        _ = y + 1
        raise Boom
    except Boom:
        pass


@pattern
def changed_in_place_before_backward() -> None:
    y = leaf() * 2
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        z.backward()


@pattern
def exception_in_function_forward() -> None:
    with pytest.raises(Boom):
        FailsForward.apply(leaf() * 2)


@pattern
def exception_in_function_backward() -> None:
    y = FailsBackward.apply(leaf() * 2).exp()
    with pytest.raises(Boom):
        y.sum().backward()


@pattern
def function() -> None:
    Cube.apply(leaf()).sum().backward()
    Cube.apply(leaf())


@pattern
def function_with_create_graph() -> None:
    x = leaf()
    (g,) = weft.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    g.sum().backward()


@pattern
def function_ctx_holds_its_output() -> None:
    HoldsItsOutput.apply(leaf()).sum().backward()
    HoldsItsOutput.apply(leaf())


@pattern
def function_ctx_holds_its_output_deep_in_a_graph() -> None:
    y = HoldsItsOutput.apply(leaf())
    z = (y * y).sum()
    del y
    z.backward()


@pattern
def exception_in_a_tensor_hook() -> None:
    x = leaf()
    y = x * 2
    y.register_hook(boom)
    with pytest.raises(Boom):
        (y * y).sum().backward()


@pattern
def exception_in_a_leaf_hook() -> None:
    x = leaf()
    x.register_hook(boom)
    with pytest.raises(Boom):
        (x * x).sum().backward()


@pattern
def exception_in_node_hooks() -> None:
    for register in ("register_hook", "register_prehook"):
        y = leaf().exp()
        getattr(y.grad_fn, register)(boom)
        with pytest.raises(Boom):
            y.sum().backward()


@pattern
def exception_in_a_post_accumulate_hook() -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(boom)
    with pytest.raises(Boom):
        (x * x).sum().backward()


@pattern
def hooks_that_were_removed() -> None:
    x = leaf()
    big = weft.ones(1000)
    handle = x.register_hook(lambda g: big.sum() * g)
    handle.remove()
    (x * x).sum().backward()


@pattern
def hook_closure_holds_the_leaf() -> None:
    x = leaf()
    x.register_hook(lambda g: g * x.detach())
    (x * x).sum().backward()


@pattern
def hook_closure_holds_the_tensor() -> None:
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g * y.detach())
    (y * y).sum().backward()


@pattern
def hook_closure_holds_a_later_tensor() -> None:
    x = leaf()
    y = x * 2
    z = (y * y).sum()
    y.register_hook(lambda g: g * z.detach())
    z.backward()


@pattern
def node_hook_closure_holds_the_node() -> None:
    y = leaf().exp()
    node = y.grad_fn
    node.register_hook(lambda a, b: node.name() and None)
    y.sum().backward()


@pattern
def handle_kept_as_an_attribute() -> None:
    x = leaf()
    x.handle = x.register_hook(lambda g: x.detach() * g)


@pattern
def tensor_is_its_own_attribute() -> None:
    x = leaf()
    x.me = x
    (x * x).sum().backward()


@pattern
def attribute_leads_to_what_was_made_of_it() -> None:
    x = leaf()
    x.loss = (x * x).sum()


@pattern
def two_tensors_know_each_other() -> None:
    x, y = leaf(), leaf()
    x.other, y.other = y, x
    x.product = x * y


@pattern
def user_object_and_tensor_know_each_other() -> None:
    x = leaf()
    x.box = Box(x, (x * 2).exp())
    box = Box()
    box.items = (box, x * 3)


@pattern
def retain_grad() -> None:
    x = leaf()
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad is not None


@pattern
def saved_tensor_hooks() -> None:
    x = leaf()
    with weft.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = (x * 2).exp()
    y.sum().backward()
    with weft.autograd.graph.saved_tensors_hooks(lambda t: [t], lambda t: t[0]):
        (x * 2).exp()


@pattern
def failing_pack_hook() -> None:
    with (
        weft.autograd.graph.saved_tensors_hooks(boom, boom),
        pytest.raises(Boom),
    ):
        leaf().exp()


@pattern
def failing_unpack_hook() -> None:
    with weft.autograd.graph.saved_tensors_hooks(lambda t: t, boom):
        y = leaf().exp()
    with pytest.raises(Boom):
        y.sum().backward()


@pattern
def pack_hook_keeps_the_output() -> None:
    with weft.autograd.graph.saved_tensors_hooks(lambda t: Box(t), lambda b: b.items[0]):
        y = leaf().exp()
    y.keep = y


@pattern
def views_and_in_place() -> None:
    y = leaf(4, 4) * 1
    v = y[1:3].t()
    v.mul_(2)
    y[0] = 5
    (y * y).sum().backward()


@pattern
def nodes_held_by_python() -> None:
    y = (leaf() * 2).exp()
    n = y.grad_fn
    nodes = [n]
    while n.next_functions:
        n = n.next_functions[0][0]
        nodes.append(n)
    assert nodes[-1].variable.requires_grad


@pattern
def anomaly() -> None:
    x = weft.zeros(1, requires_grad=True)
    with weft.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="nan"):
        ((x * 0) / x).sum().backward()


@pattern
def inference_mode_and_no_grad() -> None:
    with weft.inference_mode():
        y = leaf() * 2
    with weft.no_grad():
        _ = leaf() * y
    with pytest.raises(RuntimeError):
        leaf() * y


@pattern
def trace() -> None:
    f = weft.jit.trace(lambda x: (x * 2).exp().sum(), (weft.ones(3),))
    f(weft.ones(3))
    with pytest.raises(Boom):
        weft.jit.trace(boom, (weft.ones(3),))


@pattern
def subclass_that_only_the_graph_holds() -> None:
    class Special(weft.Tensor):
        pass

    x = _C._make_subclass(Special, weft.ones(3), True)
    x.tag = [x]
    y = (x * x).sum()
    del x
    y.backward()


@pytest.mark.parametrize("f", PATTERNS, ids=lambda f: f.__name__)
def test_nothing_is_left_behind(f: Callable[[], Any]) -> None:
    f()  # whatever is made once and kept
    gc.collect()
    before = counts()
    f()
    f()
    gc.collect()
    gc.collect()
    assert counts() == before


def test_there_are_thirty_patterns() -> None:
    assert len(PATTERNS) >= 30


def test_without_cycles_nothing_waits_for_the_collector() -> None:
    cyclic = ("holds", "its_own", "attribute", "know", "collector", "only_the_graph", "pack_hook_keeps")
    gc.collect()
    gc.disable()
    try:
        for f in PATTERNS:
            if any(word in f.__name__ for word in cyclic) or "exception" in f.__name__:
                continue
            before = counts()
            f()
            if counts() != before:
                gc.collect()  # a traceback may be in a cycle; what remains is a leak
            assert counts() == before, f.__name__
    finally:
        gc.enable()


def test_the_counters_see_a_leak() -> None:
    before = counts()
    kept = leaf() * 2
    assert counts() > before
    del kept
    assert counts() == before


def test_removing_a_hook_frees_its_closure_at_once() -> None:
    x = leaf()
    before = counts()
    big = weft.ones(1000)
    handle = x.register_hook(lambda g, big=big: g * big.sum())
    del big
    assert counts() > before
    handle.remove()
    assert counts() == before


def test_saved_tensors_are_freed_while_backward_runs() -> None:
    n, k = 64, 1 << 16
    x = weft.ones(k, requires_grad=True)
    y = x
    for _ in range(n):
        y = y.exp() * 1e-9
    held = weft.memory_allocated()
    weft.reset_peak_memory_stats()
    y.sum().backward()
    assert weft.max_memory_allocated() < held + 8 * k * 4
    assert weft.memory_allocated() < held - (n - 4) * k * 4


# ---- memory ---------------------------------------------------------------------------------------


def test_impossible_sizes_name_the_bytes() -> None:
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
    """The k-th allocation fails, for every k of a step: an error, nothing kept, and it works again after."""
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


# ---- processes and signals ------------------------------------------------------------------------


def run(program: str, timeout: float = 30) -> subprocess.CompletedProcess[str]:
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


def interrupt(program: str, delay: float = 0.4) -> float:
    """Send Ctrl-C while ``program`` works; return the seconds until KeyboardInterrupt."""
    p = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert p.stdout is not None
        assert p.stdout.readline() == "ready\n"
        time.sleep(delay)
        sent = time.time()
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=30)
    finally:
        p.kill()
    assert out.startswith("interrupted "), (out, err)
    return float(out.split()[1]) - sent


INTERRUPTED = {
    "a loop of ops": """
        import time, weft
        a = weft.ones(200, 200)
        print("ready", flush=True)
        try:
            while True:
                a = (a @ a).tanh() + 1
        except KeyboardInterrupt:
            print("interrupted", time.time())
        """,
    "backward of small nodes": """
        import time, weft
        x = weft.ones(1, requires_grad=True)
        y = x
        for _ in range(200000):
            y = y + 1
        say = iter([lambda: print("ready", flush=True)])
        y.register_hook(lambda g: next(say, int)() and None)
        try:
            while True:
                y.backward(retain_graph=True)
        except KeyboardInterrupt:
            print("interrupted", time.time())
        """,
    "backward of large nodes": """
        import time, weft
        w = weft.ones(400, 400, requires_grad=True)
        y = w
        for _ in range(2000):
            y = (y @ w).tanh()
        y.register_hook(lambda g: print("ready", flush=True))
        try:
            y.sum().backward()
            print("finished")
        except KeyboardInterrupt:
            print("interrupted", time.time())
        """,
    "a trace": """
        import time, weft
        def f(x):
            print("ready", flush=True)
            while True:
                x = x * 1
        try:
            weft.jit.trace(f, (weft.ones(3),))
        except KeyboardInterrupt:
            (weft.ones(1) * 2).item()  # the recorder is gone
            print("interrupted", time.time())
        """,
}


@pytest.mark.parametrize("name", list(INTERRUPTED))
def test_ctrl_c(name: str) -> None:
    assert interrupt(INTERRUPTED[name], 0.3) < 0.5
