"""Gradients of a result that other results were computed from: all of it, as after an eager call."""

from __future__ import annotations

from typing import Any

import pytest
from jit.compile_calls import bits, runs
from robustness.growth import assert_linear

import weft
from weft.autograd import grad

CALLS = 6  # two are captured, the others replayed
pytestmark = pytest.mark.usefixtures("quiet")


def features(x: Any) -> Any:
    """Features, a score that is computed from them, and one that is not."""
    h = x.tanh()
    return h, (h * h * 3).sum(), x.exp().sum()


def check(use: Any, f: Any = features) -> None:
    """Compare what ``use`` notes of a function and of the same one compiled."""
    fast = weft.compile(f)
    for turn in range(CALLS):
        found = []
        for g in (f, fast):
            weft.manual_seed(turn)
            x = weft.randn(3, 4, requires_grad=True)
            noted: list[Any] = []
            try:
                use(g, x, noted.append)
            except RuntimeError as e:
                noted.append(str(e).partition(":")[0])
            found.append(bits([*noted, x.grad]))
        assert found[0] == found[1], turn
    assert runs(fast) >= CALLS - 2, fast.reasons


@pytest.mark.parametrize("create", [False, True])
def test_gradients_of_features(create: bool) -> None:
    """As a map of what a score depends on is made."""

    def use(f: Any, x: Any, note: Any) -> None:
        h, score, other = f(x)
        note(grad(score, h, retain_graph=True, create_graph=create))
        note(grad(score + h.sum() + other, [h, x], retain_graph=True, create_graph=create))
        note(grad(other, h, retain_graph=True, allow_unused=True))
        (score + other).backward(inputs=[h], retain_graph=True)
        note(h.grad)
        (score + other).backward()

    check(use)


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("late", [False, True])
def test_hooks_on_features(create: bool, late: bool) -> None:
    """They are told the whole gradient, once, and what they return goes on."""

    def use(f: Any, x: Any, note: Any) -> None:
        h, score, other = f(x)
        if late:  # the call has nodes of its own by then
            note(grad(score, x, create_graph=True))

        def double(g: Any) -> Any:
            note(g.detach())
            return g * 2

        handle = h.register_hook(double)
        h.retain_grad()
        (score + h.sum()).backward(retain_graph=True, create_graph=create)
        note([h.grad.detach(), x.grad.detach()])
        note(grad(score, x, retain_graph=True))
        handle.remove()
        other.backward(retain_graph=True)
        (score + h.sum()).backward()
        note(h.grad.detach())
        x.grad = x.grad.detach()

    check(use)


def test_hooks_on_what_nobody_goes_through() -> None:
    """Nothing else than before: the call is not recomputed, even if it could not be."""

    def f(x: Any) -> Any:
        h = weft.nn.functional.dropout(x.tanh(), 0.5)
        return h, h.sum() * 2

    def use(f: Any, x: Any, note: Any) -> None:
        h, score = f(x)
        score.register_hook(note)
        score.backward(retain_graph=True)
        h.register_hook(note)
        h.sum().backward()

    check(use, f)


def test_hooks_on_what_leads_nowhere() -> None:
    """A walk to some inputs leaves results alone from which none of them can be reached."""

    def f(x: Any, w: Any) -> Any:
        h = x.tanh()
        return h, h * 2, w.exp(), h * w

    def use(f: Any, x: Any, note: Any) -> None:
        w = x.detach().clone().requires_grad_()
        results = f(x, w)
        for i, t in enumerate(results):
            t.retain_grad()
            t.register_hook(lambda g, i=i: note(i))
        total = (results[0] * results[1] * results[2] + results[3]).sum()
        note(grad(total, [w], retain_graph=True)[0])
        for t in results:
            note(t.grad)
        note(grad(total, [x, results[2]])[0])
        for t in results:
            note(t.grad)

    check(use, f)


def test_where_it_cannot_be_had() -> None:
    """A call that draws random numbers is not recomputed: that is said, instead of a part."""

    def f(x: Any) -> Any:
        h = weft.nn.functional.dropout(x.tanh(), 0.5)
        return h, h.sum() * 2

    fast = weft.compile(f)
    for turn in range(CALLS):
        x = weft.randn(3, requires_grad=True)
        h, score = fast(x)
        if turn < 2:
            assert grad(score, h)[0].tolist() == [2.0] * 3
            continue
        with pytest.raises(NotImplementedError, match="of a result that another one"):
            grad(score, h, retain_graph=True)
        h.register_hook(lambda g: None)
        with pytest.raises(NotImplementedError, match="random numbers"):
            score.backward()


def test_second_derivatives_reach_hooks() -> None:
    """By way of what the derivative of an op reads, too."""

    def use(f: Any, x: Any, note: Any) -> None:
        h, score, _ = f(x)
        h.register_hook(lambda g: note(g.detach()))
        (g,) = grad(score, x, create_graph=True)
        g.square().sum().backward()

    check(use)
    check(use, lambda x: (x.norm(), x.norm() * 2, x.sum()))


def test_parts_that_were_freed() -> None:
    """Stay so where the call gets nodes of its own."""

    def two(x: Any) -> Any:
        return x.tanh(), x.exp().sin(), x * 2

    def use(f: Any, x: Any, note: Any) -> None:
        a, b, c = f(x)
        a.sum().backward()
        note(grad(b.sum(), x, create_graph=True))
        note(grad(c.sum(), x, create_graph=True))
        note(grad(a.sum() + b.sum(), x, create_graph=True))

    check(use, two)


def test_long_chains() -> None:
    """Calls get nodes of their own in one go, not one by one."""
    fast = weft.compile(lambda h: (h.tanh(), h * 1.01))

    def chain(count: int) -> None:
        x = weft.randn(4, requires_grad=True)
        h, total = x, 0
        for _ in range(count):
            a, h = fast(h)
            total = total + a.sum()
        (g,) = grad(total, x, create_graph=True)
        g.sum().backward()

    assert_linear(chain, 50, 5000)
