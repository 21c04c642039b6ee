"""Which calls are worth a program, by the policy that users have: counted, with a clock of the test's own."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft
from weft import nn
from weft.jit import cost_model
from weft.jit.compile import function
from weft.nn import functional as F


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


class Sequences(nn.Module):
    """An LSTM and a layer on its last result."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.last = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        return self.last(self.lstm(x)[0][:, -1])


MODELS: dict[str, tuple[tuple[int, ...], Callable[[], nn.Module]]] = {
    "mlp": ((8,), lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))),
    "cnn": (
        (1, 8, 8),
        lambda: nn.Sequential(
            *(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
            *(nn.Dropout(0.2), nn.Linear(36, 3)),
        ),
    ),
    "lstm": ((5, 4), Sequences),
}
OPTIMIZERS: dict[str, Callable[[Any], weft.optim.Optimizer]] = {
    "sgd": lambda parameters: weft.optim.SGD(parameters, lr=0.01),
    "adam": lambda parameters: weft.optim.Adam(parameters, lr=0.01),
}


class Training:
    """A model, an optimiser and the step that trains it."""

    def __init__(self, model: str = "mlp", optimizer: str = "sgd") -> None:
        weft.manual_seed(0)
        self.shape, make = MODELS[model]
        self.model = make()
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())

    def step(self, x: weft.Tensor, y: weft.Tensor) -> weft.Tensor:
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def batch(self, n: int) -> tuple[weft.Tensor, weft.Tensor]:
        return weft.randn(n, *self.shape), weft.randint(0, 3, (n,))


def run_together(eager: Training, compiled: Training, f: Any, sizes: Any) -> Iterator[None]:
    """Train two models with the same batches and random numbers; all that they have is the same."""
    for i, n in enumerate(sizes):
        x, y = eager.batch(n)
        weft.manual_seed(i)
        want = eager.step(x, y)
        weft.manual_seed(i)
        assert weft.equal(f(x, y), want)
        yield
    ours, theirs = compiled.model.state_dict(), eager.model.state_dict()
    assert all(weft.equal(ours[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_ordinary_training(
    model: str, optimizer: str, shipped_price: None, captures: list[Any]
) -> None:
    """The first step is eager, two or three are captured, and all after them are programs."""
    eager, compiled = Training(model, optimizer), Training(model, optimizer)
    f = weft.compile(compiled.step)
    together = run_together(eager, compiled, f, [6] * 12)
    found = [len(captures) for _ in together]
    assert found[:3] == [0, 1, 2] and found[3:] == [found[3]] * 9 and found[3] <= 3
    assert [v.ready for v in f.specializations] == [True] and not f.reasons
    assert sum(v["calls"] for v in f.report().specializations) >= 8


def test_a_loader_with_a_smaller_last_batch(clock: Any, captures: list[Any]) -> None:
    """Epochs of five batches: the usual ones are programs, before the others are worth it."""
    clock.seconds = 1e-4
    eager, compiled = Training(), Training()
    f = weft.compile(compiled.step)
    for _ in run_together(eager, compiled, f, [8, 8, 8, 8, 3] * 4):
        pass
    usual = [v for v in f.report().specializations if v["calls"]]
    assert len(usual) == 1 and usual[0]["calls"] >= 12 and len(captures) <= 3


def many_sizes() -> list[int]:
    """199 batch sizes, five times each in a random order."""
    sizes = [n for n in range(1, 200) for _ in range(5)]
    random.Random(0).shuffle(sizes)
    return sizes


@pytest.mark.parametrize("seconds", [1e-9, 3e-4])
def test_many_batch_sizes(seconds: float, clock: Any, captures: list[Any]) -> None:
    """Of short calls no program for one size pays: one for all sizes serves them."""
    clock.seconds = seconds
    eager, other = Training(), Training()
    compiled = weft.compile(other.step)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in run_together(eager, other, compiled, many_sizes()):
            pass
    assert len(captures) == 0
    assert not seen and not compiled.reasons
    assert sum(d.replays for d in compiled.any_size) > len(many_sizes()) // 2


def test_many_batch_sizes_of_long_calls(
    clock: Any, captures: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Captures of them take at most a tenth of what eager calls have taken, and programs may be dropped."""
    clock.seconds, capture = 0.1, 0.01
    monkeypatch.setattr(cost_model.CostModel, "note_capture", lambda self, _: None)
    monkeypatch.setattr(cost_model, "_USUAL", capture)
    eager, other = Training(), Training()
    compiled = weft.compile(other.step)
    for _ in run_together(eager, other, compiled, many_sizes()):
        pass
    assert not compiled.reasons
    assert 0 < len(captures) * capture < 0.1 * len(many_sizes()) * clock.seconds


@pytest.mark.parametrize("seconds", [1e-4, 2e-3])
@pytest.mark.parametrize("count", [2, 8])
def test_a_few_signatures_in_turn(
    count: int, seconds: float, clock: Any, captures: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """None was alone when it came again: each gets a program once its calls have taken long enough."""
    clock.seconds = seconds
    monkeypatch.setattr(cost_model.CostModel, "note_capture", lambda self, _: None)
    compiled = weft.compile(lambda x: (x * 2).relu().sum())
    eagerly = round(cost_model.WORTH * cost_model._STEPS * cost_model._USUAL / seconds)
    for k in range(eagerly + 5):
        assert [compiled(weft.ones(n)).item() for n in range(count)] == [
            2 * n for n in range(count)
        ]
        assert k > eagerly - 3 or not captures
    assert len(captures) == 2 * count and all(v.ready for v in compiled.specializations)
    assert not compiled.reasons


def test_many_signatures_of_long_calls(clock: Any, captures: list[Any]) -> None:
    """Beside a call of some milliseconds, a look at its signature is nothing: there is no rest."""
    clock.seconds = 2e-3
    compiled = weft.compile(lambda x: (x * 2).relu().sum())
    for n in (*range(1, 101), *[7] * 400):
        assert compiled(weft.ones(n)).item() == 2 * n
    assert len(captures) == 2 and not compiled.reasons


def test_a_cache_that_grows(clock: Any, captures: list[Any]) -> None:
    def decode(x: weft.Tensor, past: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        past = weft.cat([past, x], 1)
        return F.scaled_dot_product_attention(x, past, past), past

    compiled = weft.compile(decode)
    x = start = weft.randn(1, 1, 8)
    past = weft.zeros(1, 0, 8)
    for _ in range(300):
        x, past = compiled(x, past)
    assert len(captures) == 0 and not compiled.reasons
    assert [(d.captures, d.replays > 290) for d in compiled.any_size] == [(2, True)]
    want, past = start, weft.zeros(1, 0, 8)
    for _ in range(300):
        want, past = decode(want, past)
    assert weft.equal(x, want)


def test_one_signature_is_captured_at_once(clock: Any, captures: list[Any]) -> None:
    compiled = weft.compile(lambda x: (x * 2).relu().sum())
    found = []
    for _ in range(6):
        compiled(weft.arange(4.0))
        found.append(len(captures))
    assert found == [0, 1, 2, 2, 2, 2]
    assert [v.ready for v in compiled.specializations] == [True]
    compiled(weft.arange(5.0))  # one more
    assert compiled(weft.arange(4.0)).item() == 12 and len(captures) == 2


def test_signatures_that_have_taken_long_enough(clock: Any, captures: list[Any]) -> None:
    clock.seconds = 1e6
    compiled = weft.compile(lambda x: (x * 2).relu().sum())
    for n in (*range(1, 11), *range(1, 11), *range(1, 11), *range(1, 11)):
        assert compiled(weft.ones(n)).item() == 2 * n
    assert len(captures) == 20 and all(v.ready for v in compiled.specializations)


def test_after_a_rest_it_looks_again(clock: Any, captures: list[Any]) -> None:
    compiled = weft.compile(lambda x: (x * 2).relu().sum())
    for n in range(1, 41):
        compiled(weft.ones(n))
    clock.seconds = 1e6
    for _ in range(32 * 32 + 5):
        assert compiled(weft.ones(40)).item() == 80
    assert len(captures) == 2 and any(v.ready for v in compiled.specializations)


def test_after_a_program_was_dropped_its_calls_are_counted_from_zero(
    clock: Any, captures: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function, "_MOST_SPECIALIZATIONS", 2)
    clock.seconds = 1e6
    compiled = weft.compile(lambda x: (x * 2).relu().sum())
    for n in (1, 2, 3):
        for _ in range(4):
            compiled(weft.ones(n))
    assert len(captures) == 6 and len(compiled.specializations) == 2
    clock.seconds = 1e-9
    for _ in range(10):
        assert compiled(weft.ones(1)).item() == 2
    assert len(captures) == 6


def test_no_circle_of_dropping_and_capturing(
    clock: Any, captures: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More signatures in turn than programs are kept: each capture costs more calls than the one before."""
    monkeypatch.setattr(function, "_MOST_SPECIALIZATIONS", 2)
    monkeypatch.setattr(cost_model.CostModel, "note_capture", lambda self, _: None)
    clock.seconds = (
        cost_model.WORTH * cost_model._STEPS * cost_model._USUAL / 2
    )  # two calls are worth a program
    compiled = weft.compile(lambda x: (x * 2).relu().sum())
    rounds = []
    for _ in range(4):
        before = len(captures)
        for _ in range(100):
            for n in (1, 2, 3):
                assert compiled(weft.ones(n)).item() == 2 * n
        rounds.append(len(captures) - before)
    assert rounds[0] > 0 and sum(rounds[1:]) <= rounds[0]
