"""``cond``, ``while_loop`` and ``scan``: eager, in traces, saved, and differentiated."""

from __future__ import annotations

import doctest
import importlib
import io
import random
from typing import Any

import pytest

import weft
from weft import nn


def test_cond_differentiates_what_it_calls() -> None:
    x = weft.tensor([2.0], requires_grad=True)
    weft.cond(x > 1, lambda x: x * x, lambda x: x, (x,)).backward()
    assert x.grad is not None and x.grad.tolist() == [4]
    assert weft.cond(False, lambda: 1, lambda: 2) == 2
    with pytest.raises(RuntimeError, match="one element"):
        weft.cond(weft.ones(2), weft.sin, weft.cos, (x,))


def chosen(x: Any) -> Any:
    return weft.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))


def test_a_trace_keeps_both_branches() -> None:
    f = weft.jit.trace(chosen, (weft.ones(2),))
    assert [n.op for n in f.graph] == ["sum", "gt", "cond"]
    assert "mul" in repr(f.graph) and "sub" in repr(f.graph)
    for sign in (1, -1):
        assert weft.equal(f(weft.ones(2) * sign), chosen(weft.ones(2) * sign))
    compiled = weft.compile(chosen)
    for sign in (1, -1, 1, -1, 1, -1, 1, -1):
        assert weft.equal(compiled(weft.ones(2) * sign), chosen(weft.ones(2) * sign))
    assert (
        weft.jit.trace(lambda x: weft.cond(True, weft.neg, weft.sin, (x,)), (weft.ones(2),))(
            weft.ones(2)
        ).sum()
        == -2
    )


def collatz(n: Any, steps: Any) -> Any:
    def body(n: Any, steps: Any) -> Any:
        half = weft.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, (n,))
        return half, steps + 1

    return weft.while_loop(lambda n, steps: n > 1, body, (n, steps))


def test_loops_with_branches_inside() -> None:
    zero = weft.tensor(0)
    f = weft.jit.trace(collatz, (weft.tensor(1), zero))
    for n, steps in ((1, 0), (6, 8), (7, 16), (27, 111)):
        assert f(weft.tensor(n), zero)[1].item() == steps == collatz(weft.tensor(n), zero)[1].item()


def rnn(w: Any, xs: Any, reverse: bool = False) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = (h @ w + x).tanh()
        return h, {"y": h * 2}

    return weft.scan(step, weft.zeros(3, dtype=xs.dtype), xs, reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_is_the_loop_that_it_stands_for(reverse: bool) -> None:
    w, xs = weft.randn(3, 3), weft.randn(5, 3)
    h, ys = weft.zeros(3), []
    for i in reversed(range(5)) if reverse else range(5):
        h = (h @ w + xs[i]).tanh()
        ys.append(h * 2)
    want = weft.stack(ys[::-1] if reverse else ys)
    carry, out = rnn(w, xs, reverse)
    assert weft.equal(carry, h) and weft.equal(out["y"], want)
    traced = weft.jit.trace(lambda w, xs: rnn(w, xs, reverse), (weft.randn(3, 3), weft.randn(5, 3)))
    carry, out = traced(w, xs)
    assert weft.equal(carry, h) and weft.equal(out["y"], want)


def loops(w: Any, x: Any) -> Any:
    _, y = weft.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, (y @ w).tanh()), (weft.tensor(0), x)
    )
    return weft.cond(y.sum() > 0, lambda y: y.exp(), lambda y: y * w.sum(), (y,)).sum()


@pytest.mark.parametrize(
    "f", [loops, lambda w, x: rnn(w, x.unsqueeze(0).expand(4, 3))[1]["y"].sum()]
)
def test_gradients(f: Any) -> None:
    w, x = (weft.randn(*s, dtype=weft.float64, requires_grad=True) for s in ((3, 3), (3,)))
    assert weft.autograd.gradcheck(f, (w, x)) and weft.autograd.gradgradcheck(f, (w, x))
    traced = weft.jit.trace(f, (w, x))
    for _ in range(4):
        given = [weft.randn_like(t).requires_grad_() for t in (w, x)]
        want = weft.autograd.grad(f(*given), given)
        got = weft.autograd.grad(traced(*given), given)
        assert all(weft.equal(a, b) for a, b in zip(want, got))


class Gated(nn.Module):
    """Its branches read parameters, which stay those of the module."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return weft.cond(
            x.mean() > 0, lambda x: self.a(x), lambda x: self.b(x).relu() + self.a.bias, (x,)
        )


def test_modules_saved_optimized_and_frozen() -> None:
    model = Gated().eval()
    x = weft.randn(2, 3)
    traced = weft.jit.trace(model, x)
    file = io.BytesIO()
    weft.jit.save(traced, file)
    file.seek(0)
    loaded = weft.jit.load(file)
    ways = [
        traced,
        loaded,
        weft.jit.freeze(weft.jit.trace(model, x)),
        weft.jit.optimize_for_inference(weft.jit.trace(model, x)),
    ]
    for sign in (1, -1):
        given = x.abs() * sign
        with weft.no_grad():
            want = model(given)
            for way in ways:
                assert weft.allclose(way(given), want, rtol=1e-6, atol=1e-6)
    assert sorted(n for n, _ in loaded.named_parameters()) == [
        "a.bias",
        "a.weight",
        "b.bias",
        "b.weight",
    ]
    with weft.no_grad():
        model.a.weight.add_(1.0)
    assert weft.equal(traced(x.abs()), model(x.abs()))


def test_random_numbers_in_branches() -> None:
    def f(x: Any) -> Any:
        return weft.cond(
            x.sum() > 0, lambda x: x + weft.rand_like(x), lambda x: x - weft.rand_like(x), (x,)
        )

    weft.manual_seed(0)
    traced = weft.jit.trace(f, (weft.ones(3),)).optimize()
    for sign in (1, -1):
        results = []
        for g in (f, traced):
            weft.manual_seed(7)
            results.append(g(weft.ones(3) * sign))
        assert weft.equal(*results)


def test_what_a_trace_refuses() -> None:
    x = weft.ones(2)

    def trace(f: Any) -> Any:
        return weft.jit.trace(f, (x,))

    with pytest.raises(RuntimeError, match="shares memory with one from outside"):
        trace(lambda x: weft.cond(x.sum() > 0, lambda x: x, lambda x: x * 2, (x,)))
    with pytest.raises(RuntimeError, match="same structure, shapes and dtypes"):
        trace(lambda x: weft.cond(x.sum() > 0, lambda x: x.sum(), lambda x: x * 2, (x,)))
    with pytest.raises(RuntimeError, match="writes in place"):
        trace(lambda x: weft.cond(x.sum() > 0, lambda x: x.add_(1), lambda x: x * 2, (x,)))
    with pytest.raises(TypeError, match="must return tensors, got a int"):
        trace(lambda x: weft.cond(x.sum() > 0, lambda x: 1, lambda x: 2, (x,)))
    with pytest.raises(TypeError, match="cond_fn must give a tensor"):
        trace(lambda x: weft.while_loop(lambda x: False, lambda x: (x * 2,), (x,)))
    with pytest.raises(TypeError, match="operands must be tensors, got a int"):
        trace(lambda x: weft.cond(x.sum() > 0, weft.mul, weft.add, (x, 2)))
    assert weft._C._recorder() is None


def test_errors() -> None:
    one = weft.tensor(1)
    with pytest.raises(RuntimeError, match="in structure, shapes and dtypes"):
        weft.while_loop(lambda i: i < 3, lambda i: (i + 0.5,), (one,))
    with pytest.raises(TypeError, match="carried_inputs must be a tuple"):
        weft.while_loop(lambda i: i < 3, lambda i: (i + 1,), one)
    with pytest.raises(RuntimeError, match="one element"):
        weft.while_loop(lambda i: i < 3, lambda i: (i,), (weft.ones(2),))
    with pytest.raises(TypeError, match=r"must return \(carry, y\)"):
        weft.scan(lambda c, x: c, one, weft.ones(2))
    with pytest.raises(ValueError, match="one size in dimension 0"):
        weft.scan(lambda c, x: (c, c), one, [weft.ones(2), weft.ones(3)])
    with pytest.raises(ValueError, match="no elements"):
        weft.scan(lambda c, x: (c, c), one, weft.ones(0))


@pytest.mark.parametrize("name", ["weft.ops.control", "weft.jit.control_flow"])
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), extraglobs={"weft": weft})
    assert found.attempted and not found.failed


# ---- random programs: the trace of one example beside eager calls on others ----------------------


class Program:
    """A random function of two tensors with control flow in control flow."""

    def __init__(self, rng: random.Random) -> None:
        self.w = weft.randn(3, generator=weft.Generator().manual_seed(rng.randrange(10**6)))
        self.steps = self.block(rng, 3)

    def block(self, rng: random.Random, depth: int) -> list[Any]:
        kinds = ["unary", "binary", "outside"] + (["cond", "while", "scan"] * 2 if depth else [])
        made = []
        for _ in range(rng.randrange(1, 4)):
            kind = rng.choice(kinds)
            inner = (
                [self.block(rng, depth - 1), self.block(rng, depth - 1)]
                if kind in ("cond", "while", "scan")
                else []
            )
            made.append(
                (kind, rng.choice(["tanh", "sin", "neg", "sigmoid"]), rng.uniform(-1, 1), inner)
            )
        return made

    def run(self, block: list[Any], a: Any, b: Any) -> tuple[Any, Any]:
        for kind, name, number, inner in block:
            if kind == "unary":
                a = getattr(weft, name)(a)
            elif kind == "binary":
                a, b = (a * b).tanh(), a - b * 0.5
            elif kind == "outside":
                b = b * self.w
            elif kind == "cond":
                a, b = weft.cond(a.sum() > number, *(self.inside(i) for i in inner), (a, b))
            elif kind == "while":
                _, a, b = weft.while_loop(
                    lambda n, a, b: (n < 3) & (a.sum() < 2),
                    lambda n, a, b, body=inner[0]: (n + 1, *self.inside(body)(a, b)),
                    (weft.tensor(0), a, b),
                )
            else:

                def step(carry: Any, x: Any, inner: Any = inner) -> Any:
                    made = self.inside(inner[0])(carry, x * self.w)
                    return made[0], made[1]

                a, ys = weft.scan(step, a, weft.stack([a, b]))
                b = ys.mean(0)
        return a, b

    def inside(self, block: list[Any]) -> Any:
        return lambda a, b: tuple(t * 1 for t in self.run(block, a, b))

    def __call__(self, a: Any, b: Any) -> Any:
        return self.run(self.steps, a, b)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    weft.manual_seed(seed)
    program = Program(rng)
    traced = weft.jit.trace(program, (weft.randn(3), weft.randn(3)))
    ways = [traced, traced.optimize()]
    for _ in range(4):
        given = [weft.randn(3).requires_grad_() for _ in range(2)]
        results = []
        for way in (program, *ways):
            out = way(*given)
            loss = sum((t * t).sum() for t in out)
            grads = weft.autograd.grad(loss, given, allow_unused=True)
            results.append([*out, *(weft.zeros(3) if g is None else g for g in grads)])
        for other in results[1:]:
            assert all(weft.equal(x, y) for x, y in zip(results[0], other))


@pytest.mark.parametrize("operands", [weft.ones(1), None, 3, {"x": weft.ones(1)}])
def test_operands_of_cond_are_a_tuple(operands: Any) -> None:
    """A tensor would be taken apart along its first dimension."""
    with pytest.raises(TypeError, match="cond: operands must be a tuple, got"):
        weft.cond(weft.tensor(True), lambda x: x + 1, lambda x: -x, operands)


def test_branches_of_cond_are_functions() -> None:
    """Also the one that is not taken."""
    for branches in ((abs, 2), (2, abs)):
        with pytest.raises(TypeError, match="cond: both branches must be functions, got int"):
            weft.cond(weft.tensor(True), *branches, (weft.ones(1),))
