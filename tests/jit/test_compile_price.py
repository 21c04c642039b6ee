"""Which calls are worth a program: counted, with a clock of the test's own."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import nn
from weft.jit.compile import function, price
from weft.nn import functional as F


class Clock:
    """Every eager call takes so many seconds by it."""

    def __init__(self) -> None:
        self.seconds, self._now = 1e-9, 0.0
        self._ends = itertools.cycle((False, True))

    def __call__(self) -> float:
        self._now += self.seconds if next(self._ends) else 0.0
        return self._now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Calls that take nearly no time, so that nothing but a first signature is worth it."""
    made = Clock()
    monkeypatch.setattr(price, "WORTH", 10.0)
    monkeypatch.setattr(price, "clock", made)
    return made


@pytest.fixture
def captures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All captures, of whichever function."""
    made: list[Any] = []

    class Counted(function.Capture):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr(function, "Capture", Counted)
    return made


def step_of_training() -> Callable[[weft.Tensor, weft.Tensor], weft.Tensor]:
    weft.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = weft.optim.SGD(model.parameters(), lr=0.01)

    def step(x: weft.Tensor, y: weft.Tensor) -> weft.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def test_many_batch_sizes(clock: Clock, captures: list[Any]) -> None:
    """199 of them, five times each in a random order: no capture pays, and one warning says so."""
    sizes = [n for n in range(1, 200) for _ in range(5)]
    random.Random(0).shuffle(sizes)
    data = [(weft.randn(n, 8), weft.randint(0, 3, (n,))) for n in range(200)]
    eager, compiled = step_of_training(), weft.compile(step_of_training())
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for n in sizes:
            assert weft.equal(compiled(*data[n]), eager(*data[n]))
    assert len(captures) == 0
    assert [str(w.message) for w in seen] == [
        "compile: step runs eagerly: calls differ in shapes or numbers more often than programs for "
        "each would pay"
    ]
    assert compiled.reasons == [str(seen[0].message).split(": ", 2)[2]]


def test_a_cache_that_grows(clock: Clock, captures: list[Any]) -> None:
    def decode(x: weft.Tensor, past: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        past = weft.cat([past, x], 1)
        return F.scaled_dot_product_attention(x, past, past), past

    compiled = weft.compile(decode)
    x = start = weft.randn(1, 1, 8)
    past = weft.zeros(1, 0, 8)
    with pytest.warns(UserWarning, match="more often than programs"):
        for _ in range(300):
            x, past = compiled(x, past)
    assert len(captures) == 0
    want, past = start, weft.zeros(1, 0, 8)
    for _ in range(300):
        want, past = decode(want, past)
    assert weft.equal(x, want)


def test_one_signature_is_captured_at_once(clock: Clock, captures: list[Any]) -> None:
    compiled = weft.compile(lambda x: (x * 2).relu().sum())
    found = []
    for _ in range(6):
        compiled(weft.arange(4.0))
        found.append(len(captures))
    assert found == [0, 1, 2, 2, 2, 2]
    assert [v.ready for v in compiled.variants] == [True]
    compiled(weft.arange(5.0))  # one more
    assert compiled(weft.arange(4.0)).item() == 12 and len(captures) == 2


def test_signatures_that_have_taken_long_enough(clock: Clock, captures: list[Any]) -> None:
    clock.seconds = 1e6
    compiled = weft.compile(lambda x: (x * 2).relu().sum())
    for n in (*range(1, 11), *range(1, 11), *range(1, 11), *range(1, 11)):
        assert compiled(weft.ones(n)).item() == 2 * n
    assert len(captures) == 20 and all(v.ready for v in compiled.variants)


def test_after_a_rest_it_looks_again(clock: Clock, captures: list[Any]) -> None:
    compiled = weft.compile(lambda x: (x * 2).relu().sum())
    with pytest.warns(UserWarning, match="more often than programs"):
        for n in range(1, 33):
            compiled(weft.ones(n))
    clock.seconds = 1e6
    for _ in range(32 * 32 + 5):
        assert compiled(weft.ones(40)).item() == 80
    assert len(captures) == 2 and any(v.ready for v in compiled.variants)


def test_after_a_program_was_dropped_its_calls_are_counted_from_zero(
    clock: Clock, captures: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function, "_MOST_VARIANTS", 2)
    clock.seconds = 1e6
    compiled = weft.compile(lambda x: (x * 2).relu().sum())
    for n in (1, 2, 3):
        for _ in range(4):
            compiled(weft.ones(n))
    assert len(captures) == 6 and len(compiled.variants) == 2
    clock.seconds = 1e-9
    for _ in range(10):
        assert compiled(weft.ones(1)).item() == 2
    assert len(captures) == 6
