"""One tensor given for several arguments of a compiled function: another program than for several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jit.compile_calls import runs

import weft
import weft.nn.functional as F
from weft import nn
from weft.autograd import grad


@pytest.fixture(autouse=True)
def _seed() -> None:
    weft.manual_seed(3)


def bits(*tensors: Any) -> list[Any]:
    return [None if t is None else np.ascontiguousarray(t.detach()).tobytes() for t in tensors]


def test_attention_of_a_sequence_to_itself() -> None:
    """The usual call: f(x, x, x)."""
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    fast = weft.compile(layer)
    found: list[Any] = [[], []]
    for _ in range(6):
        x = weft.randn(2, 5, 8)
        for f, seen in zip((layer, fast), found):
            h = x.clone().requires_grad_()
            y, weights = f(h, h, h)
            (y.square().sum() + weights.sum()).backward()
            seen.append(bits(y, weights, h.grad, *[p.grad for p in layer.parameters()]))
            layer.zero_grad()
    assert found[0] == found[1] and runs(fast) == 4 and not fast.reasons


def use(f: Any, *tensors: Any) -> list[Any]:
    """A call and its gradients, of tensors some of which may be the same."""
    leaves = list({id(t): t for t in tensors}.values())
    for t in leaves:
        t.grad = None
    y = f(*tensors)
    y.square().sum().backward()
    return bits(y, *[t.grad for t in leaves])


def test_each_pattern_is_its_own() -> None:
    """Gradients are added up in the order of eager ones, whichever arguments are the same."""

    def f(a: Any, b: Any, c: Any) -> Any:
        return a * 0.3 + b.sin() * c + (a * b).tanh() - c.exp() * 0.1 + b * 0.7

    fast = weft.compile(f)
    for _ in range(6):
        x, y, z = (weft.randn(7, requires_grad=True) for _ in range(3))
        for given in [(x, y, z), (x, x, x), (x, x, y), (x, y, x), (y, x, x)]:
            assert use(f, *given) == use(fast, *given)
    assert runs(fast) == 20 and len(fast.specializations) == 5 and not fast.reasons


def test_the_last_program_is_not_taken_for_another_pattern() -> None:
    """Each call decides anew."""
    fast = weft.compile(lambda a, b: a.mul_(2) + b)
    for _ in range(4):
        assert fast(weft.ones(1), weft.ones(1)).item() == 3
    for _ in range(4):
        x = weft.ones(1)
        assert fast(x, x).item() == 4
    assert fast(weft.ones(1), weft.ones(1)).item() == 3
    assert runs(fast) == 5


def test_siamese_networks() -> None:
    """Pairs of which some are the same; in lists, and by keyword."""
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))

    def f(pair: Any, *, anchor: Any) -> Any:
        one, two = (net(x) for x in pair)
        return F.triplet_margin_loss(net(anchor), one, two)

    fast = weft.compile(f)
    for turn in range(9):
        x, y = weft.randn(3, 4), weft.randn(3, 4)
        given = {"anchor": (x, y)[turn % 2]}
        found = []
        for g in (f, fast):
            net.zero_grad()
            loss = g([x, y], **given)
            loss.backward()
            found.append(bits(loss, *[p.grad for p in net.parameters()]))
        assert found[0] == found[1]
    assert runs(fast) == 5


def test_decisions_and_gradients_inside() -> None:
    """A call of several segments; gradients that the call sets."""

    def f(a: Any, b: Any) -> Any:
        (a * b).sum().backward()
        return a * 2 if b.sum() > 0 else a - b

    fast = weft.compile(f)
    for turn in range(8):
        found = []
        for g in (f, fast):
            x = weft.full((3,), 1.0 if turn % 2 else -1.0).requires_grad_()
            y = g(x, x)
            y.sum().backward()
            found.append(bits(y, x.grad))
        assert found[0] == found[1]
    assert runs(fast) > 0


def test_second_derivatives() -> None:
    """The call is recomputed with the same tensor for both."""

    def f(a: Any, b: Any) -> Any:
        return (a.sin() * b).sum()

    fast = weft.compile(f)
    for _ in range(5):
        x = weft.randn(4, requires_grad=True)
        found = []
        for g in (f, fast):
            (first,) = grad(g(x, x), x, create_graph=True)
            found.append(bits(first, *grad(first.square().sum(), x)))
        assert found[0] == found[1]
    assert runs(fast) == 3


def test_a_result_that_is_given_back() -> None:
    """The caller gets its own tensor."""
    fast = weft.compile(lambda a, b: (b, a + b))
    for _ in range(5):
        x = weft.ones(2)
        same, total = fast(x, x)
        assert same is x and total.tolist() == [2.0, 2.0]
    assert runs(fast) == 3
