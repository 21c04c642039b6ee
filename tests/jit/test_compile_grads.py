"""Gradients that a compiled step sets lie in its own memory, until somebody keeps one."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft
import weft.nn.functional as F
from weft import nn


def trained(steps: int, compiled: bool, keep: Any) -> tuple[list[Any], list[Any], Any]:
    """Train; return what ``keep`` gave after each step, the losses and the step."""
    weft.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 8))
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    x, y = weft.randn(32, 64), weft.randint(0, 8, (32,))

    def step() -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = weft.compile(step) if compiled else step
    kept, losses = [], []
    for i in range(steps):
        losses.append(run())
        kept.append(keep(i, model))
    return kept, losses, run


def same(a: Any, b: Any) -> bool:
    return np.asarray(a.detach()).tobytes() == np.asarray(b.detach()).tobytes()


def test_a_kept_gradient_stays_as_it_is() -> None:
    """Whoever keeps gradients of earlier steps finds what was there, however often the step runs."""

    def keep(i: int, model: Any) -> Any:
        return [p.grad for p in model.parameters()] if i % 3 == 1 or i > 8 else []

    want, losses, _ = trained(14, False, keep)
    got, compiled, run = trained(14, True, keep)
    assert sum(v["calls"] for v in run.report().specializations) > 8
    assert all(same(a, b) for x, y in zip(want, got) for a, b in zip(x, y))
    assert all(same(a, b) for a, b in zip(losses, compiled))


def test_views_and_arrays_of_gradients_stay() -> None:
    """A view, or an array of NumPy, keeps the memory it looks into."""

    def keep(i: int, model: Any) -> Any:
        g = model[0].weight.grad
        return (g[3:5], g.numpy()) if i in (4, 7) else None

    want, got = trained(12, False, keep)[0], trained(12, True, keep)[0]
    for i in (4, 7):
        assert same(want[i][0], got[i][0]) and np.array_equal(want[i][1], got[i][1])


def test_gradients_outlive_the_step() -> None:
    """The memory is there for as long as a gradient is."""
    grads = [p.grad for p in trained(6, False, lambda i, m: m)[0][-1].parameters()]
    kept = trained(6, True, lambda i, m: m)[0][-1]
    got = [p.grad for p in kept.parameters()]
    del kept
    weft.randn(1 << 16)
    assert all(same(a, b) for a, b in zip(grads, got))


def test_old_losses_keep_little_memory() -> None:
    """A loss that is kept keeps itself, not the memory of the step."""
    before = weft.memory_allocated()
    _, losses, _ = trained(40, True, lambda i, m: None)
    assert len({id(t) for t in losses}) == 40
    weft.empty_cache()
    assert weft.memory_allocated() - before < 1 << 20
