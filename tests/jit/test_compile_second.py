"""Derivatives of higher order through compiled calls: those of eager calls, or a reason why not."""

from __future__ import annotations

import dataclasses
import gc
import threading
import time
import weakref
from typing import Any

import pytest
from jit.compile_calls import runs, warm

import weft
from weft import nn
from weft.autograd import grad

CALLS = 7  # two are captured, the others replayed


pytestmark = pytest.mark.filterwarnings("ignore:compile")


@pytest.fixture(autouse=True)
def _seed() -> None:
    weft.manual_seed(3)


def same(a: Any, b: Any) -> bool:
    """Whether these are equal bit for bit, and missing in the same places."""
    if a is None or b is None or isinstance(a, (list, tuple)):
        return a is b or (a is not None and b is not None and all(map(same, a, b)))
    return weft.equal(a, b)


def check(eager: Any, compiled: Any, use: Any, make: Any, least: int = CALLS - 2) -> None:
    """Compare what ``use`` gives of both, with new inputs each time."""
    for _ in range(CALLS):
        inputs = make()
        want, got = use(eager, *inputs), use(compiled, *inputs)
        assert same(want, got)
    assert runs(compiled) >= least


def mlp(activation: Any, *last: Any) -> Any:
    """A small network."""
    return nn.Sequential(nn.Linear(4, 8), activation(), nn.Linear(8, 8), activation(), *last)


def leaf(*shape: int) -> Any:
    """A random input that wants a gradient."""
    return weft.randn(*shape, requires_grad=True)


def gradients(model: Any, *inputs: Any) -> list[Any]:
    """Take all gradients away, and return them."""
    tensors = [*model.parameters(), *inputs]
    found = [t.grad for t in tensors]
    for t in tensors:
        t.grad = None
    return found


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU, nn.GELU])
def test_gradient_penalty(activation: Any) -> None:
    """The norm of the input's gradient is part of the loss."""
    model = mlp(activation, nn.Linear(8, 1))

    def use(f: Any, x: Any) -> Any:
        y = f(x)
        (g,) = grad(y.sum(), x, create_graph=True)
        loss = y.mean() + 10 * ((g.norm(dim=1) - 1) ** 2).mean()
        loss.backward()
        return [loss, g, gradients(model, x)]

    check(model, weft.compile(model), use, lambda: (leaf(5, 4),))


def test_products_with_the_hessian() -> None:
    """Of a loss, by all parameters."""
    model, loss = mlp(nn.Tanh, nn.Linear(8, 3)), nn.CrossEntropyLoss()
    params = list(model.parameters())

    def use(f: Any, x: Any, y: Any, vectors: Any) -> Any:
        first = grad(loss(f(x), y), params, create_graph=True)
        return grad(first, params, vectors)

    def make() -> Any:
        return weft.randn(6, 4), weft.randint(3, (6,)), [weft.randn_like(p) for p in params]

    check(model, weft.compile(model), use, make)


def test_mixed_partials_and_third_derivatives() -> None:
    """By the input and the parameters, in both orders."""
    model = mlp(nn.Tanh, nn.Linear(8, 1))
    params = list(model.parameters())

    def use(f: Any, x: Any) -> Any:
        first = grad(f(x).sum(), [x, *params], create_graph=True)
        by_x = grad(first[1].sum(), x, create_graph=True, retain_graph=True)
        by_params = grad(first[0].square().sum(), params, create_graph=True, allow_unused=True)
        third = grad(by_params[0].sum(), [x, *params], allow_unused=True)
        return [first, by_x, by_params, third]

    check(model, weft.compile(model), use, lambda: (leaf(3, 4),))


def test_backward_with_create_graph() -> None:
    """Gradients arrive in the leaves, and have a graph there."""
    model = mlp(nn.Tanh, nn.Linear(8, 1))

    def use(f: Any, x: Any) -> Any:
        f(x).sum().backward(create_graph=True)
        first = gradients(model, x)
        sum((g * g).sum() for g in first).backward()
        return [first, gradients(model, x)]

    check(model, weft.compile(model), use, lambda: (leaf(3, 4),))


def test_inputs_that_depend_on_parameters() -> None:
    """What is beyond an input is walked once, by the walk outside."""
    model = mlp(nn.Tanh, nn.Linear(8, 4))
    params = list(model.parameters())

    def use(f: Any, x: Any) -> Any:
        y = f(f(x) + model[0].weight.sum(0))
        first = grad(y.square().sum(), [x, *params], create_graph=True)
        return [first, grad(sum((g * g).sum() for g in first), [x, *params])]

    check(model, weft.compile(model), use, lambda: (leaf(3, 4),))


def test_hooks_and_kept_gradients_of_inputs() -> None:
    """They see each gradient once."""
    model = mlp(nn.Tanh, nn.Linear(8, 1))

    def use(f: Any, x: Any) -> Any:
        seen: dict[str, Any] = {}
        inner = x * 2
        y = f(inner)

        def note(name: str, g: Any) -> None:
            assert name not in seen
            seen[name] = g.detach()

        inner.retain_grad()
        inner.register_hook(lambda g: note("inner", g))
        handle = model[0].weight.register_hook(lambda g: note("weight", g))
        y.sum().backward(create_graph=True)
        handle.remove()
        return [
            seen["inner"],
            seen["weight"],
            inner.grad.detach(),
            [g.detach() for g in gradients(model, x)],
        ]

    check(model, weft.compile(model), use, lambda: (leaf(3, 4),))
    compiled = weft.compile(model)
    for _ in range(4):
        inner = leaf(3, 4) * 2
        inner.retain_grad()
        compiled(inner).sum().backward()
        assert inner.grad.abs().sum() > 0 and same(inner.grad, grad(model(inner).sum(), inner)[0])


def test_several_results_and_structures() -> None:
    """Gradients of some results only; arguments in containers; parts that share one node."""

    @dataclasses.dataclass
    class Pair:
        a: Any
        b: Any

    def f(pair: Any, scale: float, *, more: Any) -> Any:
        left, right = (pair.a * more["w"]).sin().chunk(2)
        return {"x": left * scale, "y": [right.exp() * pair.b, 3]}, left.detach()

    def use(f: Any, a: Any, b: Any, w: Any) -> Any:
        found = []
        for which in ("x", "y", "both"):
            made, _ = f(Pair(a, b), 0.5, more={"w": w})
            parts = {"x": [made["x"]], "y": made["y"][:1], "both": [made["x"], made["y"][0]]}[which]
            total = sum(p.sum() for p in parts)
            first = grad(total, [a, b, w], create_graph=True, allow_unused=True)
            second = sum((g * g).sum() for g in first if g is not None)
            found.append([first, grad(second, [a, b, w], allow_unused=True)])
        return found

    check(f, weft.compile(f), use, lambda: (leaf(6), leaf(3), leaf(6)))


def test_decisions_and_recurrent_layers() -> None:
    """A call of several segments; a layer whose derivative is an op of its own."""
    layer = nn.GRU(3, 4, batch_first=True)

    def f(x: Any) -> Any:
        y = layer(x)[0].tanh()
        return y * 2 if y.sum() > 0 else y * 3

    def use(f: Any, x: Any) -> Any:
        (g,) = grad(f(x).sum(), x, create_graph=True)
        g.square().sum().backward()
        return [g, gradients(layer, x)]

    check(f, weft.compile(f), use, lambda: (leaf(2, 5, 3),), CALLS - 4)


def test_autocast_and_default_dtype_are_those_of_the_call() -> None:
    """The function is recomputed as it ran."""
    model = mlp(nn.Tanh, nn.Linear(8, 1))

    def use(f: Any, x: Any) -> Any:
        with weft.autocast("cpu", dtype=weft.bfloat16):
            y = f(x) * weft.ones(1)
        weft.set_default_dtype(weft.float64)
        try:
            (g,) = grad(y.sum(), x, create_graph=True)
        finally:
            weft.set_default_dtype(weft.float32)
        g.square().sum().backward()
        return [y, g, gradients(model, x)]

    check(model, weft.compile(model), use, lambda: (leaf(5, 4),))


def test_as_the_function_transforms_use_it() -> None:
    """A Hessian, and the first order after it."""
    model = mlp(nn.Tanh, nn.Linear(8, 1))
    compiled = weft.compile(model)

    def use(f: Any, x: Any) -> Any:
        hessian = weft.autograd.functional.hessian(lambda x: f(x).sum(), x)
        return [hessian, grad(f(x).sum(), x)]

    check(model, compiled, use, lambda: (leaf(4),))


# ---- what is refused ---------------------------------------------------------------------------


def called(f: Any, *args: Any) -> Any:
    """Return the result of a call that was made from what was captured."""
    for _ in range(4):
        y = f(*args)
    assert type(y.grad_fn).__name__ == "CompiledBackward0" or "Compiled" in repr(y.grad_fn)
    return y.sum()


def test_random_numbers_and_changes_in_place_are_refused() -> None:
    """They would be drawn, or made, once more. The first derivative is as ever."""
    for model, text in (
        (nn.Sequential(nn.Linear(4, 4), nn.Dropout()), "dropout.* draws random numbers"),
        (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), "changes a tensor in place"),
    ):
        x = leaf(5, 4)
        y = called(weft.compile(model), x)
        before = [b.clone() for b in model.buffers()]
        with pytest.raises(NotImplementedError, match=text):
            grad(y, x, create_graph=True)
        assert all(map(weft.equal, before, model.buffers()))
        grad(called(weft.compile(model), x), x)
        model.eval()
        assert grad(called(weft.compile(model), x), x, create_graph=True)[0].shape == x.shape


def test_gradients_set_inside_are_refused() -> None:
    """They would be set twice."""
    p = nn.Parameter(weft.ones(3))

    def f(x: Any) -> Any:
        p.grad = None
        (p * 2).sum().backward()
        return p.sin() * x

    x = leaf(3)
    y = called(weft.compile(f), x)
    with pytest.raises(NotImplementedError, match="sets gradients"):
        grad(y, x, create_graph=True)


@pytest.mark.parametrize("what", ["input", "weight", "bias", "data"])
def test_what_was_changed_since_is_refused(what: str) -> None:
    """Also what the first derivative does not read: the bias."""
    model = nn.Linear(4, 4)
    x = leaf(5, 4)
    y = called(weft.compile(model), x)
    with weft.no_grad():
        if what == "data":
            model.bias.data = weft.ones(4)
        else:
            {"input": x, "weight": model.weight, "bias": model.bias}[what].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        grad(y, x, create_graph=True)


def test_changes_in_place_between_pieces_calls_are_refused() -> None:
    """The same for a call that was cut at a decision."""
    bias = nn.Parameter(weft.ones(4))

    def f(x: Any) -> Any:
        y = (x * 2 + bias).exp()
        return y * 2 if y.sum() > 0 else y

    x = leaf(4)
    y = called(weft.compile(f), x)
    with weft.no_grad():
        bias.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        grad(y, x, create_graph=True, retain_graph=True)
    assert grad(y, x)[0].shape == (4,)  # the first does not read it


def test_another_state_of_python_is_refused() -> None:
    """The message says what has changed."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    x = leaf(5, 4)
    y = called(weft.compile(model), x)
    model[1].training = False
    with pytest.raises(RuntimeError, match="training has changed since the call"):
        grad(y, x, create_graph=True)


def test_what_is_used_up_keeps_nothing() -> None:
    """A graph that was walked cannot be walked again, and lets its inputs go."""
    model = weft.compile(nn.Sequential(nn.Linear(4, 4), nn.Tanh()))
    x = leaf(5, 4)
    y = called(model, x)
    grad(y, x)
    with pytest.raises(RuntimeError, match="second time"):
        grad(y, x, create_graph=True)
    given = weft.randn(5, 4)
    seen = weakref.ref(given)
    y = model(given).sum()
    y.backward()
    del given
    gc.collect()
    assert seen() is None


def test_a_hook_unfolds_what_a_walk_will_reach() -> None:
    """The walk goes on along the nodes that were made meanwhile."""

    def f(x: Any) -> Any:
        return x.sin() * w, x.cos()

    w, x = nn.Parameter(weft.ones(4)), leaf(4)
    fast = weft.compile(f)
    warm(fast, x)

    def use(f: Any) -> Any:
        y, z = f(x)
        last = y * 2
        found: list[Any] = []
        last.register_hook(lambda g: found.extend(grad(y, [w, x], weft.ones(4), create_graph=True)))
        return [*grad((last + z).sum(), [w, x], retain_graph=True), *found]

    assert same(use(f), use(fast))


def test_threads_walk_and_unfold_one_call() -> None:
    """A walk that is in a compiled call ends it before another one gives it other edges."""
    w, x = nn.Parameter(weft.randn(128, 128)), weft.randn(128, 128)

    def f(x: Any) -> Any:
        for _ in range(6):
            x = (x @ w).tanh()
        return x.sum(), x.square().mean()

    fast = weft.compile(f)
    warm(fast, x)
    want = grad(f(x)[0], w)[0]
    for i in range(40):
        loss, _ = fast(x)
        found: list[Any] = []

        def walk(pause: float, loss: Any = loss, found: Any = found, **how: Any) -> None:
            time.sleep(pause)
            found.append(grad(loss, w, **how)[0])

        ways: list[Any] = [{"retain_graph": True}, {"create_graph": True}]
        threads = [
            threading.Thread(target=walk, args=(pause,), kwargs=how)
            for pause, how in zip((0, i % 20 * 1e-4), ways)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(found) == 2 and all(weft.equal(g, want) for g in found)
