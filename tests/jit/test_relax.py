"""``compile(exact=False)``: what holds for real numbers, and what it must leave alone."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import pytest
from jit.compile_calls import bits, runs

import weft
from weft import jit, nn
from weft.jit.passes import RELAXED, relax, remove_dead, run_passes

pytestmark = pytest.mark.usefixtures("quiet")


def relaxed(f: Any, *inputs: Any) -> list[Any]:
    """The ops of a function, with their numbers, after the pass."""
    graph = run_passes(jit.trace(f, inputs).graph, (relax, remove_dead))
    return [(node.op, *[a for a in node.args if isinstance(a, (int, float))]) for node in graph]


def scaled(x: Any) -> Any:
    """A chain of sums and products."""
    return 3 * (x * 2 / 4) + 1 - 3 + x


@pytest.mark.parametrize(
    ("f", "ops"),
    [
        (lambda x: (x * 2 / 4 * 3).exp(), [("mul", 1.5), ("exp",)]),
        (lambda x: (x + 1 - 3 + 2).exp(), [("exp",)]),
        (lambda x: ((x.exp() + 0).log() * 2).sin(), [("mul", 2.0), ("sin",)]),
        (lambda x: x.log().exp().sin(), [("sin",)]),
        (scaled, [("mul", 1.5), ("add", -2.0), ("add",)]),
        (lambda x: x.exp().log(), [("exp",), ("log",)]),  # a result is another tensor than the input
        (lambda x: x / 0, [("div", 0)]),
        (lambda x: 2 - x, [("sub", 2)]),
        (lambda x: 1 / x, [("div", 1)]),
        (lambda x: x * 1e-20 * 1e-20 * 1e30, [("mul", 1e-20), ("mul", 1e-20 * 1e30)]),
        (lambda x: x * 1e200 * 1e200, [("mul", 1e200), ("mul", 1e200)]),
    ],
)  # fmt: skip
def test_ops(f: Any, ops: list[Any]) -> None:
    """What becomes of some formulas."""
    assert relaxed(f, weft.ones(2)) == ops


def test_integers_and_other_types() -> None:
    """Only where numbers and results are of the type of the tensor."""
    assert relaxed(lambda x: x * 2 * 3, weft.ones(2, dtype=weft.int64)) == [("mul", 2), ("mul", 3)]
    assert relaxed(lambda x: x / 2 / 3, weft.ones(2, dtype=weft.int64))[0] == ("div", 2)


def test_memory_that_is_written_to() -> None:
    """A value that changes between two ops is not read later than it was."""

    def f(x: Any) -> Any:
        y = x * 2
        z = y * 3
        y.add_(1)
        return z * 4, y

    x = weft.rand(3)
    graph = run_passes(jit.trace(f, (x.clone(),)).graph, RELAXED)
    for got, want in zip(graph.run(x), f(x)):
        assert weft.allclose(got, want)


def test_random_chains() -> None:
    """Within rounding, whatever is joined."""
    rng = random.Random(3)
    for _ in range(60):
        steps = [
            (rng.choice(("add", "sub", "mul", "div")), rng.choice((0.5, 1, 2, -3.0, 0.25, 7)))
            for _ in range(rng.randrange(1, 9))
        ]

        def f(x: Any, steps: Any = steps) -> Any:
            kept = []
            for i, (op, number) in enumerate(steps):
                x = getattr(weft, op)(x, number)
                if i % 3 == 2:
                    kept.append(x.tanh())
                    x = x.exp().log() if i % 2 else x
            return [x, *kept]

        x = weft.rand(5, dtype=weft.float64) + 0.5
        made = run_passes(jit.trace(f, (x,)).graph, RELAXED).run(x)
        for got, want in zip(made, f(x)):
            assert weft.allclose(got, want, rtol=1e-9, atol=1e-9), steps


def test_training() -> None:
    """A step, with gradients and an optimiser, within rounding; with ``exact`` in every bit."""

    def learn(**options: Any) -> Any:
        weft.manual_seed(2)
        model = nn.Linear(4, 3)
        optimizer = weft.optim.Adam(model.parameters(), lr=0.05)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = ((model(x) * 2 / 3 + 1 - 2).exp().log() / 5).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        fast = weft.compile(step, **options) if options else step
        losses = [fast(weft.full((2, 4), 0.1 * i)) for i in range(12)]
        if options:
            assert runs(fast) >= 8, fast.reasons
        return [*losses, *model.parameters()]

    eager = learn()
    assert bits(learn(exact=True)) == bits(eager)
    for got, want in zip(learn(exact=False), eager):
        assert weft.allclose(got, want, rtol=1e-4, atol=1e-5)


def test_it_is_kept_by_copies() -> None:
    """A copy of a compiled module or function is as exact as it was."""
    for model in (weft.compile(nn.Linear(2, 2), exact=False), weft.compile(nn.Linear(2, 2))):
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert other.compiled.exact == model.compiled.exact
    function = weft.compile(scaled, exact=False)
    assert not copy.deepcopy(function).exact
    assert not pickle.loads(pickle.dumps(function)).exact
