"""The pass ``fuse``: what becomes one loop, what must not, and the same bits as without it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jit.codegen_rows import same

import weft
from weft import nn
from weft.jit import passes, trace
from weft.nn import functional as F


@pytest.fixture(autouse=True)
def kernels(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that all tests of this file share."""
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path_factory.getbasetemp() / "fuse-kernels"))


def leaves(x: Any) -> Iterator[weft.Tensor]:
    """The tensors of a result."""
    if isinstance(x, weft.Tensor):
        yield x
    else:
        for part in x:
            yield from leaves(part)


def ops(graph: Any) -> list[str]:
    return [node.op for node in graph]


def fused(function: Callable[..., Any], *inputs: weft.Tensor) -> Any:
    """Trace and fuse a function; the graph must give the bits and strides of the plain graph."""
    plain = trace(function, inputs).graph
    graph = passes.fuse(plain)
    graph.verify()
    for given in (inputs, [_another(t) for t in inputs]):
        want = plain.run(*[t.detach().clone() for t in given])
        got = graph.run(*[t.detach().clone() for t in given])
        for a, b in zip(leaves(got), leaves(want), strict=True):
            assert same(a, b)
            assert a.stride() == b.stride()
    return graph


def _another(t: weft.Tensor) -> weft.Tensor:
    t = t.detach()
    return (t * 3 - 1).to(t.dtype) if t.dtype != weft.bool else ~t


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of a function and its gradient."""

    def both(x: weft.Tensor, *others: weft.Tensor) -> Any:
        y = function(x, *others).sum()
        return y, weft.autograd.grad(y, x)[0]

    return both


def formula(x: weft.Tensor, w: weft.Tensor) -> weft.Tensor:
    y = (x * w + 1.5).tanh() * x.sigmoid() - (x * x + 1).log()
    return y.exp() * 0.5 + x.abs().sqrt()


SHAPES = [(1,), (7,), (16,), (3, 5), (40, 70), (300, 7), (2, 3, 70), (70_000,), (512, 200)]


@pytest.mark.parametrize("shape", SHAPES)
def test_formula_with_its_gradient_is_one_loop(shape: tuple[int, ...]) -> None:
    """Forward, sum and backward are one op: what backward reads never goes to memory."""
    x, w = weft.randn(shape, requires_grad=True), weft.randn(shape)
    assert ops(fused(gradient(formula), x, w)) == ["fused"]


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_second_derivatives(dtype: weft.dtype) -> None:
    """A gradient of a gradient, as a trace has it."""

    def f(x: weft.Tensor) -> Any:
        (g,) = weft.autograd.grad((x.tanh() * x.sin()).sum(), x, create_graph=True)
        return weft.autograd.grad(g.square().sum(), x)[0]

    graph = fused(f, weft.randn(33, dtype=dtype, requires_grad=True))
    assert ops(graph) == ["fused"]


def mixed(x: weft.Tensor, n: weft.Tensor, b: weft.Tensor) -> Any:
    y = (x.sin() * x.double()).float().to(weft.int64)
    z = weft.where((x > 0) & b, n + y, 3)
    return z, (z * 2 - n).clamp(-5, 5), ~b | (n == 2), x.masked_fill(b, 2.0), (x.float() + n) / 3


def test_dtypes() -> None:
    """Floats, integers and truth values in one loop."""
    x, n, b = weft.randn(50), weft.randint(-5, 5, (50,)), weft.randn(50) > 0
    assert ops(fused(mixed, x, n, b)) == ["fused"]
    assert ops(fused(mixed, x.double(), n.int(), b)) == ["fused"]


def test_layouts() -> None:
    """Permuted, strided and repeated operands; results lie as eager's do."""

    def f(x: weft.Tensor, y: weft.Tensor, c: weft.Tensor, s: weft.Tensor) -> Any:
        z = (x.t() * 2 + y).tanh() * c + s
        return z, z.amax(-1), (z * y).sum(), (z + 1).mean(-1), (z[:, ::2] * 3 - 1).exp()

    for m, n in ((70, 90), (10, 9)):
        fused(f, weft.randn(m, n), weft.randn(n, m), weft.randn(n, 1), weft.randn(()))
    fused(
        f,
        weft.randn(70, 90).t().contiguous().t(),
        weft.randn(90, 70),
        weft.randn(90, 1),
        weft.randn(()),
    )


def test_empty() -> None:
    """Nothing in, nothing out; the sum of nothing."""
    fused(gradient(formula), weft.randn(0, requires_grad=True), weft.randn(0))
    fused(gradient(formula), weft.randn(4, 0, requires_grad=True), weft.randn(4, 0))


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: (x * 2).exp().sum(), ["fused"]),
        (lambda x: (x * 2).exp().mean(-1), ["fused"]),
        (lambda x: (x * 2).exp().amax(-1, keepdim=True), ["fused"]),
        (lambda x: (x * 2).exp().max(), ["fused"]),
        (lambda x: (x * 2).exp().sum(0), ["fused", "sum.dim"]),
        (lambda x: (x * 2).exp().sum((0, 1)), ["fused"]),
        (lambda x: ((x * 2).exp().sum(), (x * 2).exp().mean()), ["fused", "mean"]),
        (lambda x: x.exp(), ["exp"]),
        (lambda x: (x.exp(), x.log()), ["fused"]),
        (lambda x: (x * 2 + 1) @ (x * 3 - 1).t() + 1, ["fused", "transpose", "matmul", "add"]),
        (lambda x: weft.rand_like(x * 2 + 1) * x + 1, ["fused", "rand_like", "fused"]),
        (lambda x: (x.half() * 2 + 1).float(), ["cast", "mul", "add", "cast"]),
        (lambda x: F.relu(x * 2 + x.detach()), ["fused"]),
    ],
)
def test_what_is_joined(function: Callable[..., Any], left: list[str]) -> None:
    """Ops that stay, in any order."""
    x = weft.randn(40, 40).abs()
    plain = trace(function, (x,)).graph
    graph = passes.fuse(plain)
    assert sorted(ops(graph)) == sorted(left)
    if "rand_like" not in left:
        fused(function, x)


def test_reasons() -> None:
    """What stays by itself is named, with the reason."""

    def f(x: weft.Tensor) -> Any:
        y = x.half() * 2
        z = x * 2
        z.add_(1)
        return y, z, x.int() > 0.5, weft.special.i0e(x)

    reasons: list[tuple[str, str]] = []
    passes.fuse(trace(f, (weft.randn(5),)).graph, reasons)
    text = "\n".join(f"{node}: {why}" for node, why in reasons)
    for part in (
        "float16 is not compiled", "it changes a tensor in place", "gt compares int32 and float",
        "special_i0e has no row",
    ):  # fmt: skip
        assert part in text


def test_cycles() -> None:
    """What a loop gives goes through another op and comes back: two loops."""

    def f(x: weft.Tensor) -> Any:
        a = x * 2 + 1
        b = a.cumsum(0) * a
        return b - a.exp()

    assert ops(fused(f, weft.randn(30))) == ["fused", "cumsum", "fused"]


def test_many_results_are_cut() -> None:
    """More results than an op can have: several loops."""

    def f(x: weft.Tensor) -> Any:
        out = []
        for k in range(30):
            x = (x * 0.5 + k).tanh()
            out.append(x)
        return out

    graph = fused(f, weft.randn(20))
    assert set(ops(graph)) == {"fused"} and len(graph.nodes) >= 4


def test_long_chains_are_cut() -> None:
    """No loop is longer than can be compiled in a moment."""

    def f(x: weft.Tensor) -> Any:
        for k in range(500):
            x = x * 0.5 + k
        return x

    graph = fused(f, weft.randn(20))
    assert set(ops(graph)) == {"fused"} and 10 < len(graph.nodes) < 40


# ---- memory that is changed


def test_in_place_changes_stay_in_order() -> None:
    """Nothing moves across a change of what it reads."""

    def f(x: weft.Tensor, y: weft.Tensor) -> Any:
        a = x * 2 + 1
        b = a.exp()
        a.add_(1)
        c = a.exp() * b
        y.mul_(2)
        d = y * c + 1
        view = d.view(-1)
        e = d * 3 + 1
        view.zero_()
        return a, b, c, d, e, d * 2 + 1, y + 1

    fused(f, weft.randn(4, 5), weft.randn(4, 5))


def test_inputs_may_be_the_same_tensor() -> None:
    """A change of one input may be one of another."""

    def f(x: weft.Tensor, y: weft.Tensor) -> Any:
        a = x * 2 + 1
        y.add_(1)
        return a, x * 2 + 1

    graph = passes.fuse(trace(f, (weft.ones(3), weft.ones(3))).graph)
    t = weft.ones(3)
    first, second = graph.run(t, t)
    assert first.tolist() == [3.0] * 3 and second.tolist() == [5.0] * 3


def test_results_are_apart() -> None:
    """Results that are equal are not the same memory, and no input."""
    graph = fused(lambda x: (x * 1.5 + 1, x * 1.5 + 1), weft.randn(5))
    a, b = graph.run(weft.ones(5))
    a.zero_()
    assert b.tolist() == [2.5] * 5


def test_random_ops_draw_the_same() -> None:
    """Random ops keep their order, and the stream."""

    def f(x: weft.Tensor) -> Any:
        return weft.rand_like(x) * 2 + 1, x * 3 + weft.randn_like(x), F.dropout(x * 2 + 1, 0.5)

    x = weft.randn(50)
    plain = trace(f, (x,)).graph
    graph = passes.fuse(plain)
    for seed in (0, 1):
        found = []
        for g in (plain, graph):
            weft.manual_seed(seed)
            found.append(g.run(x))
        assert all(same(a, b) for a, b in zip(*map(leaves, found), strict=True))


# ---- gradients through a fused graph, other passes, files


def test_gradient_through_a_fused_graph() -> None:
    """Asked for gradients, a graph runs the ops that its loops stand for; those without stay so."""

    def f(x: weft.Tensor) -> Any:
        y = (x * 2 + 1).exp()
        with weft.no_grad():
            z = y * 3 + x
        return y * x.detach() + z

    x = weft.randn(6, requires_grad=True)
    graph = passes.fuse(trace(f, (x,)).graph)
    assert ops(graph) == ["fused"]
    (got,) = weft.autograd.grad(graph.run(x).sum(), x)
    (want,) = weft.autograd.grad(f(x).sum(), x)
    assert weft.equal(got, want)
    (known,) = weft.autograd.grad(graph.run(x).sum(), x)
    assert weft.equal(known, want)


def test_other_passes_and_copies() -> None:
    """A fused graph can be copied, improved again and unfused."""
    import copy

    x = weft.randn(9)
    graph = fused(gradient(formula), weft.randn(9, requires_grad=True), weft.randn(9))
    want = graph.run(x, x)
    unfused = copy.deepcopy(graph)
    unfused.unfuse()
    unfused.verify()
    assert "fused" not in ops(unfused)
    for other in (copy.deepcopy(graph), passes.run_passes(graph), passes.fuse(graph), unfused):
        assert all(same(a, b) for a, b in zip(leaves(want), leaves(other.run(x, x)), strict=True))


def test_saved(tmp_path: Path) -> None:
    """A file holds the ops, not the code."""
    f = trace(formula, (weft.randn(5), weft.randn(5)))
    want = f(weft.ones(5), weft.ones(5))
    f.graph = passes.fuse(f.graph)
    weft.jit.save(f, tmp_path / "f.pt")
    loaded = weft.jit.load(tmp_path / "f.pt")
    assert "fused" not in ops(loaded.graph) and same(want, loaded(weft.ones(5), weft.ones(5)))


def test_module_that_changes_its_dtype() -> None:
    """Loops are made for dtypes: after ``double()`` the ops run one by one."""

    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(weft.ones(5) * 3, requires_grad=False)

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            return (x * self.w + 1).tanh()

    traced = trace(Scale(), (weft.randn(5),))
    traced.__dict__["_graph"] = passes.fuse(traced.graph)
    assert ops(traced.graph) == ["fused"]
    x = weft.randn(5, dtype=weft.float64)
    assert same(traced(x.float()), (x.float() * 3 + 1).tanh())
    traced.double()
    assert weft.allclose(traced(x), (x * 3 + 1).tanh())


def test_constants_are_live() -> None:
    """A tensor from outside that is changed later is seen."""
    scale = weft.ones(())
    graph = passes.fuse(trace(lambda x: x * scale + 1, (weft.ones(3),)).graph)
    assert graph.run(weft.ones(3)).tolist() == [2.0] * 3
    scale.fill_(5)
    assert graph.run(weft.ones(3)).tolist() == [6.0] * 3


def test_training_step() -> None:
    """A network with its gradients: the loops between its layers."""
    weft.manual_seed(0)
    net = nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.LayerNorm(64), nn.Linear(64, 3))
    for p in net.parameters():
        p.requires_grad_(True)

    def step(x: weft.Tensor, t: weft.Tensor) -> Any:
        y = net(x)
        loss = ((y - t) ** 2).mean() + 1e-3 * sum((p * p).sum() for p in net.parameters())
        grads = weft.autograd.grad(loss, list(net.parameters()))
        return [
            loss.detach(),
            *(p.detach() - 0.1 * (g + 0.01 * p.detach()) for p, g in zip(net.parameters(), grads)),
        ]

    x, t = weft.randn(32, 10), weft.randn(32, 3)
    plain = trace(step, (x, t)).graph
    graph = passes.fuse(plain)
    with weft.no_grad():
        want, got = plain.run(x, t), graph.run(x, t)
    assert all(same(a, b) for a, b in zip(want, got, strict=True))
    assert ops(graph).count("fused") >= 5 and len(graph.nodes) < len(plain.nodes) / 2


def test_threads() -> None:
    """Several threads run one graph at a time."""
    graph = fused(gradient(formula), weft.randn(5000, requires_grad=True), weft.randn(5000))
    xs = [weft.randn(5000) for _ in range(4)]
    want = [graph.run(x, x) for x in xs]
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(20):
            if not all(same(a, b) for a, b in zip(graph.run(xs[i], xs[i]), want[i])):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---- random programs


UNARY = [
    "exp",
    "tanh",
    "sigmoid",
    "abs",
    "neg",
    "sin",
    "square",
    "relu",
    "erf",
    "floor",
    "log1p",
    "sign",
]
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "atan2"]


def random_program(rng: random.Random) -> tuple[Callable[..., Any], list[weft.Tensor]]:
    """A program of pointwise ops, views, reductions, matrix products, in-place changes and gradients."""
    rows, cols = rng.choice([(1, 1), (3, 5), (4, 70), (33, 24), (2, 128)])
    shapes = [(rows, cols), (cols,), (rows, 1), (), (rows, cols)]
    dtype = rng.choice([weft.float32, weft.float32, weft.float64])
    inputs = [weft.randn(s, dtype=dtype) for s in shapes]
    inputs[0].requires_grad_(rng.random() < 0.6)
    seed = rng.randrange(1 << 30)

    def program(*given: weft.Tensor) -> Any:
        choose = random.Random(seed)
        values: list[weft.Tensor] = list(given)
        results = []
        for _ in range(choose.randrange(3, 25)):
            x, y = choose.choice(values), choose.choice(values)
            kind = choose.random()
            if kind < 0.35:
                v = getattr(weft, choose.choice(UNARY))(x)
            elif kind < 0.65:
                v = getattr(weft, choose.choice(BINARY))(x, y)
            elif kind < 0.72:
                v = weft.where(x > y, x, choose.choice([0.5, -1.0]))
            elif kind < 0.77:
                v = choose.choice(
                    [x.sum(), x.mean(), x.amax(-1, keepdim=True), x.sum(-1, keepdim=True)]
                )
            elif kind < 0.82:
                v = x.t().contiguous().t() if x.dim() == 2 else x.clone()
            elif kind < 0.86:
                v = (x > 0).to(x.dtype) * choose.choice([2.0, 3.0])
            elif kind < 0.90:
                v = x.cumsum(0) if x.dim() else x * 2
            elif kind < 0.95:
                v = x.detach() + choose.choice([0, 1, 2.5])
            elif not x.requires_grad and all(x is not g for g in given):
                v = x.mul_(0.5)
            else:
                v = x * 0.5
            values.append(v)
            if choose.random() < 0.25:
                results.append(v)
        last = values[-1]
        results.append(last)
        if given[0].requires_grad and last.requires_grad:
            total = (last * last).sum()
            results += weft.autograd.grad(
                total, [given[0]], allow_unused=True, materialize_grads=True
            )
        return results

    return program, inputs


@pytest.mark.parametrize("seed", range(150))
def test_random_programs(seed: int) -> None:
    """Programs with views, changes in place and gradients equal their plain graphs."""
    rng = random.Random(seed)
    weft.manual_seed(seed)
    program, inputs = random_program(rng)
    try:
        plain = trace(program, tuple(inputs)).graph
    except RuntimeError as error:  # a change in place of what backward needs
        assert "in place" in str(error) or "inplace" in str(error)
        return
    graph = passes.fuse(plain)
    want = plain.run(*[t.detach().clone() for t in inputs])
    got = graph.run(*[t.detach().clone() for t in inputs])
    for a, b in zip(want, got, strict=True):
        assert same(a, b) and a.stride() == b.stride()
