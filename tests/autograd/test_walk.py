"""What the walk back computes: only what was asked for, and shares of one gradient together."""

from __future__ import annotations

from typing import Any

import pytest

import weft


def test_gradients_that_nobody_asked_for_are_not_computed() -> None:
    """A node gives nothing to inputs that lead to none of those asked for."""
    x, w = weft.randn(2, 3, requires_grad=True), weft.randn(4, 3, requires_grad=True)
    y = weft.nn.functional.linear(x.exp(), w)
    seen: list[tuple[bool, ...]] = []
    y.grad_fn.register_hook(lambda given, _: seen.append(tuple(g is not None for g in given)))
    for wanted in ([w], [x], [x, w]):
        grads = weft.autograd.grad(y.sum(), wanted, retain_graph=True)
        y.sum().backward(retain_graph=True)
        for t, g in zip(wanted, grads):
            assert weft.equal(g, t.grad)
        x.grad = w.grad = None
    assert [s[:2] for s in seen] == [
        (False, True), (True, True), (True, False), (True, True), (True, True), (True, True)
    ]  # fmt: skip


def used_often(times: int, hook: bool) -> tuple[list[Any], list[Any]]:
    """Gradients of a layer and a table that are used many times; as shares, or each by itself."""
    weft.manual_seed(0)
    layer, table = weft.nn.Linear(20, 30).double(), weft.nn.Embedding(40, 20).double()
    x = weft.randn(2, 20, dtype=weft.float64)
    total: Any = (layer.weight**2).sum() + table.weight[3].sum()
    for i in range(times):
        rows = table(weft.tensor([i % 7, 5]))
        y = layer(x + rows)
        for t in (rows, y):
            if hook:  # somebody looks at every gradient: none of them may wait
                t.grad_fn.register_hook(lambda given, _: None)
        total = total + (y.tanh() * (i + 1)).sum()
    seen: list[Any] = []
    layer.weight.register_hook(lambda g: seen.append(g.clone()))
    total.backward()
    return [p.grad for p in (*layer.parameters(), *table.parameters())], seen


@pytest.mark.parametrize("times", [1, 2, 5, 40])
def test_shares_of_a_weights_gradient_are_joined(times: int) -> None:
    """A layer used many times has the same gradient as if each use had been added by itself."""
    joined, seen = used_often(times, hook=False)
    single, _ = used_often(times, hook=True)
    for a, b in zip(joined, single):
        assert weft.allclose(a, b, rtol=1e-12, atol=1e-12)
    assert len(seen) == 1 and weft.equal(seen[0], joined[0])


def test_shares_keep_what_they_were_given() -> None:
    """Hooks that change inputs, indices and parameters during backward do not reach shares that wait."""
    layer, table = weft.nn.Linear(64, 64, bias=False), weft.nn.Embedding(1000, 8)
    first, index = weft.ones(1, 64), weft.tensor([2, 3])
    query = weft.nn.Parameter(weft.ones(4, 64))
    early = layer(first) + table(weft.tensor([1])).sum()
    z = weft.ones(1, requires_grad=True) * 1
    x = weft.full((1, 64), 2.0)
    total = layer(x).sum() + early.sum() + table(index).sum() + layer(query).sum() + z.sum()

    def change(_: Any) -> None:
        x.numpy()[:] = 100
        index.fill_(5)

    def step(p: Any) -> None:
        with weft.no_grad():
            p.sub_(p.grad)

    z.register_hook(change)
    query.register_post_accumulate_grad_hook(step)
    total.backward()
    assert weft.equal(layer.weight.grad, weft.full((64, 64), 2.0 + 1 + 4))
    rows = table.weight.grad.sum(1)
    assert rows[[1, 2, 3, 5]].tolist() == [8 * 64, 8, 8, 0]
