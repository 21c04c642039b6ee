"""Whole training steps, compiled: ``weft.compile`` against PyTorch, eager and compiled, and JAX's jit.

The networks are those of ``train.py``; their twins for JAX are in ``jax_models.py``. What PyTorch's
compiler makes of them is measured with ``WEFT_BENCH_TORCH_COMPILE=1`` only, as it takes half a minute
for each network and number of threads.
"""

from __future__ import annotations

import gc
import importlib
import os
import random
import tempfile
import threading
import time
import timeit
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from bench import dispatch, static, train
from bench.fresh import in_fresh_process
from bench.harness import MEANS, Mean, Row, Setup, Stmt, Value, register
from bench.memory import COMPILED, give_back, growth, resident
from bench.models import Setting, build

TORCH_COMPILE = ("compile",) if os.environ.get("WEFT_BENCH_TORCH_COMPILE") == "1" else ()
#: Group, task, and how many times faster than its peers a compiled training step has to be.
STEPS: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("small", "linear_regression", {"torch:eager": 15.0, "jax": 2.5}),
    ("small", "mlp", {"torch:eager": 15.0, "jax": 2.5}),
    ("small", "rnn", {"torch:eager": 15.0, "jax": 2.5}),
    ("small", "dqn", {"torch:eager": 6.0, "jax": 2.0}),
    ("small", "lenet", {"torch:eager": 2.5, "jax": 3.0}),
    ("large", "wide_mlp", {"best": 1.1}),
    ("large", "resnet18", {"best": 1.1}),
    ("large", "lstm_tagger", {"best": 1.2}),
    ("large", "gru_seq2seq", {"best": 1.2}),
    ("large", "transformer", {"best": 1.2}),
    ("large", "gpt", {"best": 1.2}),
)
#: How JAX is used, where more than one way is worth a try.
JAX_MODES: dict[str, tuple[str, ...]] = {
    "rnn": ("jit", "jit unroll 10"),
    "lenet": ("jit", "jit channels_last"),
    "resnet18": ("jit", "jit channels_last"),
    "lstm_tagger": ("jit", "jit unroll 5"),
    "gru_seq2seq": ("jit", "jit unroll 4"),
}
FIRST = 0.3  # seconds that the first call may take more than an eager one
CACHED = 0.1  # and where kernels are on the disk already
ABOVE = 2e-6  # seconds that a call may take above a call of an empty Python function
MEMORY = 1 / 0.8
SERVED = 64  # answers
SERVING = 1 / 1.8  # of one thread's time, that 8 threads may take on two cores
FLAT = 1 << 20  # bytes that a process may grow over 5,000 calls of 1,000 shapes


def torch_modes(task: str) -> tuple[str, ...]:
    """How PyTorch trains: ways that are eager, and compiled if that was asked for.

    >>> torch_modes("gpt")[:2]
    ('eager', 'eager fused')
    """
    eager = (mode if mode == "eager" else f"eager {mode}" for mode in train.modes_of(task))
    return *eager, *TORCH_COMPILE


def warmed(work: Callable[[], Any]) -> Callable[[], Any]:
    """A compiled function after the calls in which it is captured."""
    for _ in range(COMPILED):
        work()
    return work


# ------------------------------------------------------------------------------------------- steps


def new_step(lib: Any, task: str, mode: str) -> Callable[[], Any]:
    """A training step that was never taken."""
    if lib.__name__ == "jax":
        from bench.jax_models import Drawn, training_step

        options: dict[str, Any] = {"channels_last": mode.endswith("channels_last")}
        if "unroll" in mode:
            options["unroll"] = int(mode.split()[-1])
        return training_step(task, Drawn(lr=train.STILL, **options))
    if mode == "compile":
        compiled: Callable[[], Any] = lib.compile(build(task, Setting(lib, lr=train.STILL)).step)
        return compiled
    options = train.options_of(mode.removeprefix("eager "))
    return build(task, Setting(lib, lr=train.STILL, **options)).step


def step(task: str) -> Setup:
    """A training step."""

    def setup(lib: Any, mode: str) -> Callable[[], object]:
        return warmed(new_step(lib, task, mode))

    return setup


def chain(both: bool) -> Setup:
    """The 41 tiny ops of ``dispatch.py`` there and back as one function, eager or compiled."""

    def setup(lib: Any, mode: str) -> Callable[[], object]:
        given = dispatch.chain(both)(lib, mode)
        assert isinstance(given, Stmt)
        x, b, steps = given.names["x"], given.names["b"], given.names["steps"]

        def there_and_back() -> None:
            y = x
            for _ in steps:
                y = (y * b).tanh()
            y.sum().backward()

        return warmed(lib.compile(there_and_back) if mode == "compile" else there_and_back)

    return setup


def formula(lib: Any, mode: str, count: int) -> Callable[[], object]:
    """Ten pointwise ops on ``count`` numbers, and their gradient."""
    start = 0.1
    if lib.__name__ == "jax":
        import jax.numpy as np
    else:
        np = lib

    def total(x: Any, y: Any) -> Any:
        z = (x * y + np.sin(x)) * np.exp(-y) / np.sqrt(1 + x * x)
        return z.sum()

    if lib.__name__ == "jax":
        x = np.linspace(start, 1.0, count, dtype="float32")
        y = x[::-1]
        derive = lib.jit(lib.value_and_grad(total, argnums=(0, 1)))
        return lambda: lib.block_until_ready(derive(x, y))
    x = np.linspace(start, 1.0, count)
    x, y = x.requires_grad_(), x.flip(0).requires_grad_()

    def there_and_back() -> Any:
        x.grad = y.grad = None
        z = total(x, y)
        z.backward()
        return z

    return warmed(lib.compile(there_and_back) if mode == "compile" else there_and_back)


# ------------------------------------------------------------------------------------- first calls


def first_call(module: str, task: str, mode: str) -> float:
    """Seconds that the first call that is captured takes more than an eager one does.

    Eager steps were taken before it in this process, so the first one's own costs are not counted:
    memory that is fresh, modules that are loaded late. JAX's are, as all its steps are compiled.
    No kernel is on the disk yet.
    """
    with tempfile.TemporaryDirectory() as empty:
        os.environ["WEFT_CACHE"] = empty
        return cached_call(module, task, mode)


def cached_call(module: str, task: str, mode: str) -> float:
    """The same in a process before which others have done it."""
    if module == "jax":
        first, *late = _calls(module, task, mode, COMPILED + 3)
        return max(first - min(late), 1e-9)
    eager = _calls(module, task, "eager", COMPILED)
    gc.collect()  # the memory of that network is there for the next one
    return max(max(_calls(module, task, mode, 2)) - min(eager), 1e-9)  # weft captures the second


def until_ready(module: str, task: str, mode: str) -> float:
    """Seconds that the first calls take more than as many later ones."""
    seconds = _calls(module, task, mode, COMPILED + 3)
    early, late = seconds[:COMPILED], seconds[COMPILED:]
    return max(sum(early) - COMPILED * min(late), 1e-9)


def _calls(module: str, task: str, mode: str, count: int) -> list[float]:
    """Seconds of each of the first calls."""
    lib = importlib.import_module(module)
    if module != "jax":
        lib.set_num_threads(2)
    work = new_step(lib, task, mode)
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


def first(function: Callable[[str, str, str], float], task: str) -> Setup:
    """What the first calls cost in a fresh process."""

    def setup(lib: Any, mode: str) -> Value:
        os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
        return Value(partial(in_fresh_process, function, lib.__name__, task, mode))

    return setup


# -------------------------------------------------------------------------------------- many sizes


def over_sizes(lib: Any, mode: str) -> Value:
    """How many times as long as eager steps a thousand compiled ones take, whose batch sizes vary."""
    sizes = [n for n in range(1, 200) for _ in range(5)]
    random.Random(0).shuffle(sizes)
    data = [(lib.randn(n, 32), lib.randint(0, 10, (n,))) for n in range(200)]

    def seconds(compiled: bool) -> float:
        model = lib.nn.Sequential(lib.nn.Linear(32, 64), lib.nn.ReLU(), lib.nn.Linear(64, 10))
        optimizer = lib.optim.SGD(model.parameters(), lr=train.STILL)

        def step(x: Any, y: Any) -> None:
            optimizer.zero_grad()
            lib.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()

        work = lib.compile(step) if compiled else step
        start = time.perf_counter()
        for n in sizes:
            work(*data[n])
        return time.perf_counter() - start

    def measure() -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it runs eagerly
            return seconds(True) / seconds(False)

    return Value(measure)


def growth_over_shapes(module: str) -> float:
    """Bytes by which a process grows from the 5,000th to the 10,000th call, of 1,000 shapes in turn."""
    lib = importlib.import_module(module)
    model = lib.nn.Sequential(lib.nn.Linear(16, 32), lib.nn.Tanh(), lib.nn.Linear(32, 4)).eval()
    work = lib.compile(lambda x: (model(x) * 2 + 1).sigmoid())
    lib.manual_seed(0)
    order = [1 + n % 1000 for n in range(10_000)]
    random.Random(0).shuffle(order)
    with lib.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs eagerly
        for n in order[:5000]:
            work(lib.ones(n, 16))
        gc.collect()
        give_back()
        before = resident("VmRSS")
        for n in order[5000:]:
            work(lib.ones(n, 16))
        gc.collect()
        give_back()
    return max(resident("VmRSS") - before, 1)


def memory_over_shapes(lib: Any, mode: str) -> Value:
    """How far a fresh process grows over calls of ever other shapes."""
    return Value(cache(partial(in_fresh_process, growth_over_shapes, lib.__name__)))


# ----------------------------------------------------------------------------------------- serving


def served(lib: Any, mode: str) -> Value:
    """How long as many answers of one compiled model take in 8 threads, one thread's time being 1.

    Every call runs on the thread that makes it. On a machine with two free cores 0.5 is the best.
    """
    made = build("resnet18", Setting(lib), batch=1)
    work, x = lib.compile(made.model.eval()), made.inputs[0]

    def answer(count: int) -> None:
        with lib.no_grad():
            for _ in range(count):
                work(x)

    def seconds(threads: int) -> float:
        serving = [
            threading.Thread(target=answer, args=(SERVED // threads,)) for _ in range(threads)
        ]
        start = time.perf_counter()
        for t in serving:
            t.start()
        for t in serving:
            t.join()
        return time.perf_counter() - start

    def measure() -> float:
        before = lib.get_num_threads()
        lib.set_num_threads(1)
        try:
            answer(COMPILED)
            return seconds(8) / seconds(1)
        finally:
            lib.set_num_threads(before)

    return Value(measure)


# ------------------------------------------------------------------------------- answers and memory


def above_empty_call(lib: Any, mode: str, module: bool) -> Value:
    """Seconds of a compiled MLP's answer to one input, a call of an empty function taken off.

    What is compiled is the module itself, or a function that calls it.
    """
    made = build("mlp", Setting(lib), batch=1)
    model, x = made.model.eval(), made.inputs[0]
    work = model if module else lambda x: model(x)
    if mode == "compile":
        work = lib.compile(work)
    names = {"work": work, "x": x, "empty": lambda x: None}
    call, empty = (timeit.Timer(f"{name}(x)", globals=names) for name in ("work", "empty"))
    count = 200

    def measure() -> float:
        with lib.no_grad():
            call.timeit(COMPILED)
            full, bare = (min(t.repeat(10, count)) for t in (call, empty))
        return (full - bare) / count

    return Value(measure)


def answer(task: str) -> Setup:
    """What a compiled network says to a single input."""
    given = static.call(task, {})

    def setup(lib: Any, mode: str) -> Callable[[], object]:
        forward = given(lib, mode)
        assert callable(forward)
        return warmed(forward)

    return setup


def peak(task: str) -> Setup:
    """Bytes at the peak of a training step; measured once, since they hardly change."""

    def setup(lib: Any, mode: str) -> Value:
        options = {} if mode == "compile" else train.options_of(mode.removeprefix("eager "))
        arguments = (lib.__name__, task, options, mode == "compile")
        return Value(cache(partial(in_fresh_process, growth, *arguments)))

    return setup


# --------------------------------------------------------------------------------------- the rows


def declare(
    group: str,
    name: str,
    setups: dict[str, Setup],
    modes: dict[str, tuple[str, ...]],
    **options: Any,
) -> None:
    """A row in which weft compiles."""
    modes = {"weft": ("compile",), **modes}
    register(Row("compiled", group, name, setups, modes=modes, **options))


def _steps() -> None:
    for group, task, budget in STEPS:
        modes = {"torch": torch_modes(task), "jax": JAX_MODES.get(task, ("jit",))}
        setups = {"torch": step(task), "jax": step(task)}
        declare(group, task, setups, modes, threads=(1, 2), budget=budget)
    compiled = {"torch": ("eager", *TORCH_COMPILE), "jax": ("jit",)}
    for name, both in (("20_mul_tanh", False), ("20_mul_tanh_both", True)):
        setups = {"torch": chain(both), "jax": dispatch.chain_jax(both)}
        declare("small", name, setups, compiled, budget={"jax": 1.0})
    declare(
        "pointwise",
        "10_ops",
        {"torch": formula, "jax": formula},
        compiled,
        sizes={"1e6": {"count": 10**6}, "1.6e7": {"count": 16 * 10**6}},
        quick=("1e6",),
        threads=(1, 2),
        budget={"best": 1.0},
    )
    MEANS["compiled/small"] = Mean("jax", None)
    MEANS["compiled/large"] = Mean("best", 1.4)


def _first_calls() -> None:
    modes: dict[str, tuple[str, ...]] = {"torch": TORCH_COMPILE, "jax": ("jit",)}
    groups: tuple[tuple[str, Callable[[str, str, str], float], float], ...] = (
        ("first", first_call, FIRST),
        ("cached", cached_call, CACHED),
        ("ready", until_ready, FIRST),
    )
    for group, function, limit in groups:
        for _, task, _ in STEPS:
            setup = first(function, task)
            setups = {"weft": setup, "jax": setup, **({"torch": setup} if TORCH_COMPILE else {})}
            declare(group, task, setups, modes, threads=(2,), quick=(), limit=limit)


def _sizes() -> None:
    declare("sizes", "199_batches", {"weft": over_sizes}, {}, unit="x", limit=1.1)
    setups: dict[str, Setup] = {"weft": memory_over_shapes}
    declare("sizes", "memory_1000_shapes", setups, {}, unit="B", limit=FLAT, quick=())


def _serving() -> None:
    declare("serving", "8_threads", {"weft": served}, {}, unit="x", limit=SERVING, quick=())


def _answers() -> None:
    modes: dict[str, tuple[str, ...]] = {"torch": ("eager", *TORCH_COMPILE)}
    for name, module in (("mlp", False), ("mlp_module", True)):
        setups: dict[str, Setup] = {"torch": partial(above_empty_call, module=module)}
        declare("inference", name, setups, modes, limit=ABOVE)
    modes = {"torch": (*static.MODES, *TORCH_COMPILE)}
    setups = {"torch": answer("resnet18")}
    declare("inference", "resnet18", setups, modes, threads=(1, 2), budget={"torch": 1.3})


def _memory() -> None:
    for _, task, _ in STEPS:
        modes = {"torch": tuple(m for m in torch_modes(task) if m not in TORCH_COMPILE)}
        setups = {"torch": peak(task)}
        budget = {"torch:eager": MEMORY}
        declare("memory", task, setups, modes, threads=(2,), budget=budget, unit="B", quick=())


for declare_group in (_steps, _first_calls, _sizes, _serving, _answers, _memory):
    declare_group()
