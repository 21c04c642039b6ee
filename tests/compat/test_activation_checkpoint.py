"""`weft.utils.checkpoint`: the same gradients with less memory."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import nn
from weft.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)


def network(dropout: float = 0.5) -> nn.Sequential:
    """Blocks with random numbers in them."""
    weft.manual_seed(1)
    return nn.Sequential(
        *(
            nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32), nn.Dropout(dropout))
            for _ in range(12)
        )
    )


def by_blocks(reentrant: bool) -> Callable[[Any, Any], Any]:
    """Each block checkpointed."""

    def run(net: Any, x: Any) -> Any:
        for block in net:
            x = checkpoint(block, x, use_reentrant=reentrant)
        return x

    return run


def sequential(reentrant: bool) -> Callable[[Any, Any], Any]:
    """Four segments."""
    return lambda net, x: checkpoint_sequential(net, 4, x, use_reentrant=reentrant)


def gradients(run: Callable[[Any, Any], Any]) -> tuple[int, list[Any]]:
    """The peak of memory above the start, and all gradients."""
    net = network()
    weft.manual_seed(7)
    x = weft.randn(500, 32, requires_grad=True)
    gc.collect()
    before = weft.memory_allocated()
    weft.reset_peak_memory_stats()
    run(net, x).pow(2).sum().backward()
    return weft.max_memory_allocated() - before, [x.grad, *(p.grad for p in net.parameters())]


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("way", [by_blocks, sequential])
def test_same_gradients_less_memory(way: Any, reentrant: bool) -> None:
    """Bit for bit the same, dropout included, at less than 60 % of the memory."""
    peak, wanted = gradients(lambda net, x: net(x))
    less, found = gradients(way(reentrant))
    assert all(weft.equal(a, b) for a, b in zip(wanted, found))
    assert less < 0.6 * peak, (less, peak)


def test_random_numbers_go_on() -> None:
    """Computing again does not change the numbers that are drawn afterwards."""
    x = weft.ones(5, requires_grad=True)
    after = []
    for run in (lambda f: f(x), lambda f: checkpoint(f, x, use_reentrant=False)):
        weft.manual_seed(3)
        run(lambda t: nn.functional.dropout(t, 0.5).exp()).sum().backward()
        after.append(weft.rand(1).item())
    assert after[0] == after[1]


def test_several_arguments_and_results() -> None:
    """Other arguments than tensors, keywords, tuples as results."""

    def f(a: Any, scale: float, b: Any = None) -> Any:
        return (a * scale).exp(), (a * b).sin() if b is not None else a.sin()

    for reentrant in (False, True):
        a = weft.linspace(0, 1, 4, requires_grad=True)
        kwargs = {} if reentrant else {"b": weft.full((4,), 2.0, requires_grad=True)}
        y, z = checkpoint(f, a, 0.5, use_reentrant=reentrant, **kwargs)
        (y.sum() + 3 * z.sum()).backward()
        found, a.grad = a.grad, None
        y, z = f(a, 0.5, **kwargs)
        (y.sum() + 3 * z.sum()).backward()
        assert weft.equal(found, a.grad)


def test_nested_and_retained() -> None:
    """A checkpoint in a checkpoint, and two walks over one graph."""
    x = weft.linspace(-1, 1, 6, requires_grad=True)

    def inner(t: Any) -> Any:
        return t.exp().sin()

    def outer(t: Any) -> Any:
        return checkpoint(inner, t * t, use_reentrant=False).tanh()

    y = checkpoint(outer, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    (wanted,) = weft.autograd.grad((x * x).exp().sin().tanh().sum(), x)
    assert weft.allclose(x.grad, 2 * wanted)


def test_without_recording() -> None:
    """Under no_grad the function just runs."""
    with weft.no_grad():
        for reentrant in (False, True):
            y = checkpoint(weft.exp, weft.ones(1, requires_grad=True), use_reentrant=reentrant)
            assert not y.requires_grad


def test_early_stop() -> None:
    """The second run ends when all is there, unless told otherwise."""
    runs: list[str] = []

    def f(t: Any) -> Any:
        y = t.exp()
        runs.append("end")
        return y

    x = weft.ones(1, requires_grad=True)
    checkpoint(f, x, use_reentrant=False).backward()
    assert len(runs) == 1
    with set_checkpoint_early_stop(False):
        checkpoint(f, x, use_reentrant=False).backward()
    assert len(runs) == 3


def test_a_function_that_changes_is_found_out() -> None:
    """Other shapes, or fewer tensors, in the second run."""
    x = weft.ones(4, requires_grad=True)
    for second in (lambda t: t[:2].exp(), lambda t: t + 1):
        turns = iter([weft.exp, second])
        y = checkpoint(lambda t, turns=turns: next(turns)(t), x, use_reentrant=False)
        with pytest.raises(CheckpointError):
            y.sum().backward()


def test_second_derivatives() -> None:
    """What is computed again has its place in the graph: leaves, inputs on the way, and results."""

    class Cube(weft.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * g

    def block(x: Any, w: Any) -> Any:
        y = weft.tanh(x @ w)
        return weft.nn.functional.gelu(Cube.apply(y * y.exp() + x.sum(0)))

    x, w = (weft.randn(3, 3, dtype=weft.float64, requires_grad=True) for _ in range(2))
    for twice in (False, True):
        found = []
        for f in (block, lambda x, w: checkpoint(block, x, w, use_reentrant=False)):
            y = f(f(x * 2, w), w) if twice else f(x * 2, w)
            first = weft.autograd.grad(y.sum(), (x, w), create_graph=True)
            found.append(first + weft.autograd.grad(sum((g * g).sum() for g in first), (x, w)))
        for a, b in zip(*found):
            assert weft.allclose(a, b, rtol=1e-12, atol=1e-12)


def test_refusals() -> None:
    """What cannot work says so."""
    x = weft.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="use_reentrant=False"):
        weft.autograd.grad(checkpoint(weft.exp, x, use_reentrant=True).sum(), x)
    with pytest.raises(RuntimeError, match="use_reentrant=False"):
        checkpoint(weft.exp, x, use_reentrant=True).sum().backward(inputs=[x])
    with pytest.raises(ValueError, match="foo"):
        checkpoint(weft.exp, x, use_reentrant=True, foo=1)
    with pytest.raises(NotImplementedError, match="debug"):
        checkpoint(weft.exp, x, use_reentrant=False, debug=True)
    with pytest.raises(ValueError, match="segments"):
        checkpoint_sequential([weft.exp], 2, x, use_reentrant=False)
    with pytest.warns(UserWarning, match="use_reentrant"):
        checkpoint(weft.exp, x)
    with pytest.warns(UserWarning, match="requires a gradient"):
        checkpoint(weft.exp, weft.ones(1), use_reentrant=True)
