"""What Python can see of a compiled call is watched: changed values, effects, arguments, aliases."""

from __future__ import annotations

import argparse
import collections
import contextlib
import contextvars
import dataclasses
import functools
import io
import itertools
import logging
import os
import queue
import random
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from jit.compile_calls import runs

import weft
from weft import nn

ONE = weft.ones(1)


pytestmark = pytest.mark.filterwarnings("ignore:compile")


# ---- values that code reads --------------------------------------------------------------------


class Slotted:
    __slots__ = ("__hidden", "s")

    def set(self, s: float) -> None:
        self.s = self.__hidden = s

    def get(self) -> float:
        return self.__hidden


class WithList:
    values: ClassVar[list[float]] = [2.0]


class Computed:
    def __getattr__(self, name: str) -> float:
        return STORE[name]


STORE = {"s": 2.0}
WATCHED: dict[str, Callable[[], tuple[Any, Any]]] = {}  # (f, set)


def watched(make: Callable[[], tuple[Any, Any]]) -> Any:
    WATCHED[make.__name__] = make
    return make


@watched
def namespace() -> Any:
    a = argparse.Namespace(s=2.0)
    return lambda x: x * a.s, lambda s: setattr(a, "s", s)


@watched
def slots() -> Any:
    a = Slotted()
    return lambda x: x * a.s, a.set


@watched
def private_slots() -> Any:
    a = Slotted()
    return lambda x: x * a.get(), a.set


@watched
def partial() -> Any:
    d = {"s": 2.0}

    def f(x: Any, k: int) -> Any:
        return x * d["s"] * k

    return functools.partial(f, k=1), lambda s: d.update(s=s)


@watched
def partial_inside() -> Any:
    d = {"s": 2.0}
    inner = functools.partial(lambda x, k: x * d["s"] * k, k=1)
    return lambda x: inner(x), lambda s: d.update(s=s)


@watched
def compiled_inside() -> Any:
    d = {"s": 2.0}
    inner = weft.compile(lambda x: x * d["s"])
    return lambda x: inner(x) * 1, lambda s: d.update(s=s)


@watched
def long_list() -> Any:
    values = [2.0] * 500
    return lambda x: x * values[3], lambda s: values.__setitem__(3, s)


@watched
def list_of_a_class() -> Any:
    return lambda x: x * WithList.values[0], lambda s: WithList.values.__setitem__(0, s)


@watched
def patched_method() -> Any:
    class Scale(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2.0

    def put(s: float) -> None:
        Scale.forward = lambda self, x: x * s  # type: ignore[method-assign]

    return Scale(), put


@watched
def a_set() -> Any:
    flags: set[str] = set()
    return (
        lambda x: x * (3.0 if "three" in flags else 2.0),
        lambda s: flags.add("three") if s == 3 else flags.clear(),
    )


@watched
def a_deque() -> Any:
    last: collections.deque[float] = collections.deque([0.0, 2.0], maxlen=2)
    return lambda x: x * last[-1], last.append


@watched
def array() -> Any:
    a = np.array([2.0])
    return lambda x: x * float(a[0]), lambda s: a.__setitem__(0, s)


@watched
def attribute_function() -> Any:
    c = Computed()
    return lambda x: x * c.s, lambda s: STORE.update(s=s)


@watched
def context_variable() -> Any:
    v: contextvars.ContextVar[float] = contextvars.ContextVar("v", default=2.0)
    return lambda x: x * v.get(), v.set


@watched
def of_the_thread() -> Any:
    v = threading.local()
    return lambda x: x * v.s, lambda s: setattr(v, "s", s)


@watched
def cached() -> Any:
    d = {"s": 2.0}

    @functools.lru_cache
    def get() -> float:
        return d["s"]

    def put(s: float) -> None:
        d["s"] = s
        get.cache_clear()

    return lambda x: x * get(), put


@watched
def environment() -> Any:
    return (
        lambda x: x * float(os.environ["WEFT_TEST_SCALE"]),
        lambda s: os.environ.update(WEFT_TEST_SCALE=str(s)),
    )


@watched
def layers() -> Any:
    model = nn.Sequential(nn.Identity())

    def put(s: float) -> None:
        while len(model) < s:
            model.append(Plus())
        while len(model) > s:
            del model[-1]

    class Plus(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1

    return model, put


@watched
def default_dtype() -> Any:
    def f(x: Any) -> Any:
        return x * (2 if weft.ones(1).dtype == weft.float32 else 3)

    return f, lambda s: weft.set_default_dtype(weft.float32 if s == 2 else weft.float64)


@pytest.mark.parametrize("name", WATCHED)
def test_what_code_reads_is_watched(name: str) -> None:
    """Two captures, calls replayed, then another value: never a stale one."""
    f, put = WATCHED[name]()
    compiled = weft.compile(f)
    try:
        for s in (2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 2.0, 2.0):
            put(s)
            assert compiled(ONE).item() == s
    finally:
        put(2.0)


# ---- effects -----------------------------------------------------------------------------------

EFFECTS: dict[str, Callable[[], tuple[Any, Any]]] = {}  # (what it does, how often it was done)


def effect(make: Callable[[], tuple[Any, Any]]) -> Any:
    EFFECTS[make.__name__] = make
    return make


@effect
def logs() -> Any:
    text, logger = io.StringIO(), logging.getLogger("weft.test_compile")
    logger.setLevel(logging.INFO)
    logger.handlers, logger.propagate = [logging.StreamHandler(text)], False
    return lambda: logger.info("hello"), lambda: text.getvalue().count("hello")


@effect
def writes() -> Any:
    text = io.StringIO()

    def write() -> None:
        with contextlib.redirect_stdout(text):
            sys.stdout.write("hello")

    return write, lambda: text.getvalue().count("hello")


@effect
def prints() -> Any:
    text = io.StringIO()
    return lambda: print("hello", file=text), lambda: text.getvalue().count("hello")


@effect
def adds_to_a_set() -> Any:
    seen: set[int] = set()
    return lambda: seen.add(len(seen)), lambda: len(seen)


@effect
def appends_to_a_deque() -> Any:
    seen: collections.deque[int] = collections.deque()
    return lambda: seen.append(1), lambda: len(seen)


@effect
def puts_into_a_queue() -> Any:
    q: queue.Queue[int] = queue.Queue()
    return lambda: q.put(1), q.qsize


@effect
def puts_into_a_simple_queue() -> Any:
    q: queue.SimpleQueue[int] = queue.SimpleQueue()
    return lambda: q.put(1), q.qsize


@effect
def counts() -> Any:
    box = {"n": 0}

    def count() -> None:
        box["n"] += 1

    return count, lambda: box["n"]


@effect
def steps_an_iterator() -> Any:
    counter = itertools.count(1)
    box = [0]

    def step() -> None:
        box[0] = next(counter)

    return step, lambda: box[0]


@pytest.mark.parametrize("name", EFFECTS)
def test_effects_happen_in_every_call(name: str) -> None:
    """Such a call runs eagerly; a counter is a slot, which a replay sets."""
    do, times = EFFECTS[name]()

    def f(x: Any) -> Any:
        do()
        return x * 2

    compiled = weft.compile(f)
    for i in range(8):
        assert compiled(ONE).item() == 2
        assert times() == i + 1
    assert runs(compiled) == (4 if name == "counts" else 0)


def test_warnings_are_given_in_every_call() -> None:
    """As filters say: here always."""

    def f(x: Any) -> Any:
        warnings.warn("careful", stacklevel=1)
        return x * 2

    compiled = weft.compile(f)
    for _ in range(6):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            compiled(ONE)
        assert any(str(w.message) == "careful" for w in seen)


@pytest.mark.parametrize("kind", ["random", "Random", "numpy", "Generator", "count", "clock"])
def test_what_differs_from_call_to_call(kind: str) -> None:
    """A decision of Python that is the same for a while, and then another one."""
    begin = time.monotonic()
    own, array, counter = random.Random(0), np.random.default_rng(0), itertools.count()
    toss: dict[str, Callable[[], bool]] = {
        "random": lambda: random.random() < 0.9,
        "Random": lambda: own.random() < 0.9,
        "numpy": lambda: bool(np.random.rand() < 0.9),
        "Generator": lambda: bool(array.random() < 0.9),
        "count": lambda: next(counter) < 20,
        "clock": lambda: time.monotonic() - begin < 0.05,
    }
    if kind == "clock":
        coin = toss[kind]

        def f(x: Any) -> Any:
            return x * 2 if coin() else x * 3

        compiled = weft.compile(f)
        for _ in range(5):
            compiled(ONE)
        time.sleep(0.06)
        assert compiled(ONE).item() == 3
        return
    found = []
    for compile in (False, True):
        random.seed(1), np.random.seed(1), own.seed(1)
        array, counter = np.random.default_rng(1), itertools.count()
        coin = toss[kind]
        g: Any = functools.partial(tossed, coin)
        g = weft.compile(g) if compile else g
        found.append([g(ONE).item() for _ in range(40)])
    assert found[0] == found[1] and set(found[0]) == {2.0, 3.0}


def tossed(coin: Callable[[], bool], x: Any) -> Any:
    return x * 2 if coin() else x * 3


# ---- arguments and results ---------------------------------------------------------------------


def test_containers_that_are_changed() -> None:
    """A dict that gets a key, a list that grows, an item that is replaced."""

    def add_key(d: Any) -> Any:
        d["y"] = d["x"] * 2
        return d["y"] + 1

    def append(items: Any) -> Any:
        items.append(items[0] * 2)
        return items[0]

    def replace(items: Any) -> Any:
        items[0] = items[0] * 2
        return items[0] + 1

    for f, make in ((add_key, lambda: {"x": weft.ones(1)}), (append, lambda: [weft.ones(1)]),
                    (replace, lambda: [weft.ones(1)])):  # fmt: skip
        compiled = weft.compile(f)
        for _ in range(6):
            want, got = make(), make()
            assert weft.equal(f(want), compiled(got))
            assert str(want) == str(got)


def test_a_container_that_comes_back() -> None:
    """It is the caller's own."""
    f = weft.compile(lambda d: d)
    for _ in range(4):
        d = {"x": weft.ones(1)}
        assert f(d) is d


Pair = collections.namedtuple("Pair", "x y")


@dataclasses.dataclass
class Batch:
    x: Any
    y: Any
    scale: float = 1.0


def test_structures_as_arguments() -> None:
    """Named tuples, dataclasses, nested lists and dicts: their tensors are inputs."""
    f = weft.compile(lambda p: p.x * p.y)
    for make in (Pair, Batch):
        for i in range(6):
            assert f(make(weft.full((1,), float(i)), weft.ones(1))).item() == i
    assert runs(f) == 8
    g = weft.compile(lambda b, *rest, k=2: b.x * b.scale * k + rest[0]["a"][0])
    for i in range(12):
        x = weft.full((1,), float(i))
        got = g(Batch(x, x, scale=1.0 + i // 6), {"a": [x]}, k=2 + i // 4)
        assert got.item() == i * (1.0 + i // 6) * (2 + i // 4) + i


def test_a_list_is_not_a_tensor() -> None:
    """What was captured for one structure is not used for another."""
    f = weft.compile(lambda a: a[0] * 2)
    for _ in range(4):
        assert f([weft.ones(2)]).shape == (2,)
    for _ in range(4):
        assert f(weft.ones(2)).shape == ()


def test_inputs_that_are_also_reached_in_another_way() -> None:
    """A view of a weight, the same memory twice, a gradient."""
    p = weft.ones(2, 2)
    f = weft.compile(lambda x: x * p)
    for _ in range(4):
        f(p.view(2, 2))
        f(p)
    assert f(weft.full((2, 2), 3.0)).tolist() == [[3.0] * 2] * 2
    x, w = weft.ones(2), nn.Parameter(weft.ones(2))
    g = weft.compile(lambda a, b: (a * a * b * w).sum())
    for _ in range(4):
        g(x, x.view(2)).backward()
    w.grad = None
    g(weft.full((2,), 3.0), weft.full((2,), 2.0)).backward()
    assert w.grad.tolist() == [18.0, 18.0]
    h = weft.compile(lambda d: d * w.grad)
    for _ in range(4):
        h(w.grad)
    assert h(weft.ones(2)).tolist() == [18.0, 18.0]


def test_a_number_is_returned_by_a_function_that_calls_itself() -> None:
    """`return x.item()` leaves the function only at its outermost level."""

    def f(x: Any, n: int) -> float:
        if n == 0:
            return x.sum().item()
        return g(x, n - 1) * 2

    g = weft.compile(f)
    for _ in range(5):
        assert g(weft.ones(3), 2) == 12.0


def test_methods_defaults_and_keywords() -> None:
    """Compiled methods; defaults that are changed; positional and keyword calls."""

    class Scaler:
        def __init__(self, s: float) -> None:
            self.s = s

        @weft.compile
        def scale(self, x: Any, by: float = 1.0) -> Any:
            return x * self.s * by

    a, b = Scaler(2.0), Scaler(3.0)
    for i in range(10):
        assert (a.scale(ONE).item(), b.scale(ONE, by=2.0).item()) == (2.0 + i // 5, 6.0)
        if i == 4:
            a.s = 3.0

    def f(x: Any, h: list[float] = [1.0]) -> Any:  # noqa: B006
        h[0] += 1
        return x * h[0]

    compiled = weft.compile(f)
    assert [compiled(ONE).item() for _ in range(12)] == [2.0 + i for i in range(12)]


def test_generators_and_profilers() -> None:
    """A generator function is run by who iterates; under a profiler nothing is captured."""

    def f(x: Any) -> Any:
        for i in range(3):
            yield x * i

    compiled = weft.compile(f)
    for _ in range(5):
        assert [t.item() for t in compiled(ONE)] == [0.0, 1.0, 2.0]
    g = weft.compile(lambda x: x * 2)
    calls = []
    sys.setprofile(lambda *event: calls.append(event))
    try:
        for _ in range(4):
            assert g(ONE).item() == 2
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
    assert g.specializations == [] and calls


def test_seeds_and_states_inside() -> None:
    """Setting a generator is no op: such calls run eagerly, with the same numbers."""

    def seeded(x: Any) -> Any:
        weft.manual_seed(3)
        return x + weft.rand(2)

    def put_back(x: Any) -> Any:
        state = weft.get_rng_state()
        y = weft.rand(2)
        weft.set_rng_state(state)
        return x + y

    own = weft.Generator()

    def of_its_own(x: Any) -> Any:
        own.manual_seed(1)
        return x + weft.rand(2, generator=own)

    for f in (seeded, put_back, of_its_own):
        want, compiled = f(ONE), weft.compile(f)
        state = weft.get_rng_state()
        for _ in range(6):
            weft.set_rng_state(state)
            assert weft.equal(compiled(ONE), f(ONE))
        assert want.shape == (2,)


def test_values_that_are_never_the_same_run_eagerly_and_it_is_said() -> None:
    """Not captured again and again without a word."""
    holder = argparse.Namespace(turn=0)

    def f(x: Any) -> Any:
        return x + holder.turn

    compiled = weft.compile(f)
    with pytest.warns(UserWarning, match=r"'holder'\.turn is another one in each call"):
        for holder.turn in range(20):
            assert compiled(ONE).item() == 1 + holder.turn
    assert len(compiled.specializations) < 12
