"""Passes for networks: what they fold, join and lift, and what they must leave alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import weft
from weft import nn
from weft.jit import passes, trace
from weft.nn import functional as F


def ops(graph: Any) -> list[str]:
    """The ops of a graph, in order; those in place with an underscore."""
    return [n.op + "_" * (n.inplace and not n.op.endswith("_")) for n in graph]


def frozen(f: Callable[..., Any], *inputs: Any) -> Any:
    """The graph of a function whose constants are frozen."""
    graph = trace(f, inputs).graph
    graph.frozen = True
    return graph


# ---- in place -----------------------------------------------------------------------------------


def test_in_place_ops_on_fresh_memory_are_lifted() -> None:
    """Chains of them, and copies; the values are the same."""

    def f(x: Any) -> Any:
        y = (x * 2).add_(1).relu_()
        y.copy_(y.clamp(0, 6))
        return F.hardtanh(y.sub_(x), -1.0, 1.0, True)

    graph = trace(f, (weft.randn(4),)).graph
    lifted = passes.out_of_place(graph)
    assert not any(name.endswith("_") for name in ops(lifted))
    x = weft.randn(4)
    assert lifted.run(x).equal(f(x))


HELD = weft.zeros(3)


def changes_input(x: Any) -> Any:
    return x.add_(1) * 2


def changes_constant(x: Any) -> Any:
    HELD.add_(x)
    return HELD * 2


def seen_before(x: Any) -> Any:
    y = x * 2
    z = y.view(-1)
    y.add_(1)
    return z + y


def through_a_view(x: Any) -> Any:
    y = x * 2
    y[1:].mul_(3)
    return y + 1


def result_seen_twice(x: Any) -> Any:
    y = x * 2
    return y.view(3, 1), y.add_(1)


def other_kind(x: Any) -> Any:
    return (x * 2).lt_(0.5) + x


@pytest.mark.parametrize(
    "f",
    [changes_input, changes_constant, seen_before, through_a_view, result_seen_twice, other_kind],
)
def test_in_place_ops_that_others_see_stay(f: Callable[..., Any]) -> None:
    """And the results are right."""
    graph = trace(f, (weft.ones(3),)).graph
    lifted = passes.run_passes(graph, passes.LAYERS)
    assert [n for n in ops(lifted) if n.endswith("_")] == [n for n in ops(graph) if n[-1] == "_"]
    HELD.zero_()
    want = f(weft.tensor([0.1, 0.5, 2.0]))
    want = tuple(t.clone() for t in (want if isinstance(want, tuple) else (want,)))
    HELD.zero_()
    got = lifted.run(weft.tensor([0.1, 0.5, 2.0]))
    got = got if isinstance(got, tuple) else (got,)
    assert all(a.equal(b) for a, b in zip(got, want))


def random_program(seed: int) -> tuple[Callable[..., Any], list[Any]]:
    """A program with views, changes in place and constants; the constants."""
    rng = Random(seed)
    plan = [(rng.randrange(11), rng.random(), rng.random()) for _ in range(14)]
    held = [weft.randn(3, 3), weft.randn(3, 3).abs()]

    def f(x: Any) -> Any:
        pool = [x * 1.5, x + 0, held[0], held[1] * 2]
        for kind, r, s in plan:
            a, b = pool[int(r * len(pool))], pool[int(s * len(pool))]
            if kind == 0:
                pool.append(a + b)
            elif kind == 1:
                pool.append(a.t())
            elif kind == 2:
                a.mul_(0.5)
            elif kind == 3:
                pool.append(a.add_(b))
            elif kind == 4:
                pool.append(F.linear(a, held[0], held[1][0]).relu_())
            elif kind == 5:
                pool.append(F.gelu(F.linear(a, b)))
            elif kind == 6:
                pool.append(F.linear(a, held[1]))
            elif kind == 7:
                a.copy_(b.tanh())
            elif kind == 8:
                pool.append(held[0].exp().sum() * a)
            elif kind == 9:
                pool.append(F.hardswish(a.clone()).sigmoid_())
            else:
                pool.append(a * 1 + 0)
        return tuple(t * 2 for t in pool[-3:])

    return f, held


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part: int) -> None:
    """Every pass, one after the other, keeps every bit, with constants live and frozen."""
    for seed in range(25 * part, 25 * part + 25):
        f, held = random_program(seed)
        begin = [t.clone() for t in held]

        def afresh(run: Any, *args: Any, held: Any = held, begin: Any = begin) -> Any:
            for t, value in zip(held, begin):
                t.copy_(value)
            return run(*args)

        with weft.no_grad():
            x = weft.randn(3, 3)
            want = [*afresh(f, x), *(t.clone() for t in held)]
            for chain in (passes.LAYERS, passes.INFERENCE):
                graph = afresh(trace, f, (x,)).graph
                graph.frozen = chain is passes.INFERENCE
                for t, value in zip(held, begin):
                    t.copy_(value)
                for improve in chain:
                    graph = improve(graph)
                    graph.verify()
                    for run in (lambda x, g=graph: g._run_ops((x,)), graph.run):
                        got = [*afresh(run, x), *held]
                        same = (a.nan_to_num().equal(b.nan_to_num()) for a, b in zip(got, want))
                        assert all(same), (seed, improve)
                    afresh(lambda: None)


# ---- constants ----------------------------------------------------------------------------------


def test_constants_are_folded() -> None:
    """Whole trees of them; what is made without inputs too; only that while they are live."""
    w = weft.randn(3, 3)

    def f(x: Any) -> Any:
        return x @ (w.t() * 2).exp() + weft.arange(3.0).softmax(0)

    x = weft.randn(2, 3)
    live = trace(f, (x,)).graph
    assert ops(passes.fold(live)) == [op for op in ops(live) if op not in ("arange", "softmax")]
    graph = passes.fold(frozen(f, x))
    assert ops(graph) == ["matmul", "add"] or len(graph.nodes) == 2
    assert graph.run(x).equal(f(x))


def test_what_is_not_folded() -> None:
    """Random numbers, what is written in place, results, and constants that change."""
    w, count = weft.ones(2), weft.zeros(2)

    def f(x: Any) -> Any:
        count.add_(1)
        noise = weft.rand_like(w)
        buffer = (w * 2).add_(1)
        return x + noise, x * buffer, w * 3, x + count * 2, (w + 1).view(1, 2)

    graph = passes.fold(frozen(f, weft.ones(2)))
    kept = ops(graph)
    assert kept.count("mul") == 4 and "rand_like" in kept and kept.count("add_") == 2
    a, b = graph.run(weft.ones(2)), graph.run(weft.ones(2))
    assert not a[0].equal(b[0]) and a[2].equal(b[2]) and a[2] is not b[2]
    a[2].fill_(7)
    a[4].fill_(7)
    assert graph.run(weft.ones(2))[2].tolist() == [3, 3] and b[4].tolist() == [[2, 2]]


# ---- batch norm ---------------------------------------------------------------------------------


def settled(norm: Any) -> Any:
    """A batch norm that has seen data, in the mode of evaluation."""
    norm.running_mean.copy_(weft.randn(norm.num_features))
    norm.running_var.copy_(weft.rand(norm.num_features) + 0.3)
    if norm.affine:
        with weft.no_grad():
            norm.weight.copy_(weft.randn(norm.num_features))
            norm.bias.copy_(weft.randn(norm.num_features))
    return norm


NETS: list[tuple[Callable[[], list[Any]], tuple[int, ...]]] = [
    (lambda: [nn.Conv2d(3, 6, 3, bias=False), nn.BatchNorm2d(6)], (2, 3, 8, 8)),
    (lambda: [nn.Conv2d(4, 6, 3, 2, 1, groups=2), nn.BatchNorm2d(6, affine=False)], (1, 4, 9, 9)),
    (lambda: [nn.Conv1d(3, 5, 2, dilation=2), nn.BatchNorm1d(5, eps=0.1)], (2, 3, 12)),
    (lambda: [nn.Conv3d(1, 2, 2), nn.BatchNorm3d(2)], (1, 1, 4, 4, 4)),
    (lambda: [nn.Linear(5, 7, bias=False), nn.BatchNorm1d(7)], (4, 5)),
    (lambda: [nn.Linear(5, 7), nn.BatchNorm1d(7)], (4, 5)),
]


@pytest.mark.parametrize(("layers", "shape"), NETS)
def test_batch_norm_is_folded(layers: Callable[[], list[Any]], shape: tuple[int, ...]) -> None:
    """Of every kind; the results are equal up to rounding, in float64 as in float32."""
    for dtype, tolerance in ((weft.float32, 2e-6), (weft.float64, 1e-13)):
        layer, norm = layers()
        net = nn.Sequential(layer, settled(norm)).to(dtype).eval()
        x = weft.randn(*shape, dtype=dtype)
        with weft.no_grad():
            graph = passes.fold_batch_norm(frozen(net, x))
            assert len(graph.nodes) == 1
            want = net(x)
            assert (graph.run(x) - want).abs().max() <= tolerance * want.abs().max()


def test_batch_norm_that_is_not_folded() -> None:
    """Of batch statistics, over another dimension, of what others read, and with live weights."""
    conv, norm = nn.Conv2d(2, 3, 1), settled(nn.BatchNorm2d(3)).eval()
    x = weft.randn(2, 2, 4, 4)

    def both(x: Any) -> Any:
        y = conv(x)
        return norm(y) + y

    with weft.no_grad():
        live = trace(nn.Sequential(conv, norm), (x,)).graph
        assert passes.fold_batch_norm(live) is live
        kept = frozen(both, x)
        assert passes.fold_batch_norm(kept) is kept
        other = nn.Sequential(nn.Linear(4, 6), settled(nn.BatchNorm1d(5)).eval())
        kept = frozen(other, weft.randn(2, 5, 4))
        assert passes.fold_batch_norm(kept) is kept
        own = nn.Sequential(conv, nn.BatchNorm2d(3, track_running_stats=False)).eval()
        kept = frozen(own, x)
        assert passes.fold_batch_norm(kept) is kept


# ---- activations --------------------------------------------------------------------------------

ACTIVATIONS = {
    "linear_relu": F.relu,
    "linear_tanh": weft.tanh,
    "linear_sigmoid": weft.sigmoid,
    "linear_gelu": F.gelu,
    "linear_gelu_tanh": lambda y: F.gelu(y, approximate="tanh"),
    "linear_silu": F.silu,
    "linear_mish": F.mish,
    "linear_hardswish": F.hardswish,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_joined(name: str) -> None:
    """The same bits, the same gradients, with a bias and without, also of NaN and infinities."""
    for bias in (True, False):
        layer = nn.Linear(6, 5, bias=bias)
        x = weft.randn(4, 6, requires_grad=True)

        def f(x: Any, layer: Any = layer) -> Any:
            return ACTIVATIONS[name](layer(x)) * 2

        graph = passes.join_activations(trace(f, (x,)).graph)
        assert ops(graph) == [name, "mul"]
        assert graph.run(x).equal(f(x))
        given = [x, *layer.parameters()]
        want, got = (weft.autograd.grad(g(x).sum(), given) for g in (f, graph.run))
        assert all(a.equal(b) for a, b in zip(got, want))
        with weft.no_grad():
            odd = weft.randn(4, 6)
            odd[0], odd[1, 0], odd[2, 0] = float("nan"), float("inf"), -0.0
            graph = passes.join_activations(trace(f, (odd,)).graph)
            assert weft.equal(graph.run(odd).nan_to_num(7.0), f(odd).nan_to_num(7.0))
            assert weft.equal(graph.run(odd).isnan(), f(odd).isnan())


def test_activations_that_are_not_joined() -> None:
    """What the layer gives is read elsewhere, or leaves, or gradients end between them."""
    layer = nn.Linear(2, 2)

    def twice(x: Any) -> Any:
        y = layer(x)
        return y.relu() + y

    def leaves(x: Any) -> Any:
        y = layer(x)
        return y.relu(), y

    def cut(x: Any) -> Any:
        y = layer(x)
        with weft.no_grad():
            return y.relu()

    for f in (twice, leaves, cut):
        graph = trace(f, (weft.ones(1, 2),)).graph
        assert passes.join_activations(graph) is graph


def test_in_place_activations_are_joined() -> None:
    """Lifted first, then joined."""
    layer = nn.Linear(2, 2)
    graph = trace(lambda x: F.relu(layer(x), inplace=True), (weft.ones(1, 2),)).graph
    assert ops(passes.run_passes(graph, passes.LAYERS)) == ["linear_relu"]


# ---- dropout, zeros -----------------------------------------------------------------------------


def test_dropout_goes() -> None:
    """Of modules that were traced in the mode of training; what is changed after it is a copy."""
    net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Dropout(0.9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = trace(net, (weft.ones(2, 3),)).graph
        changed = trace(nn.Sequential(nn.Dropout(0.5), nn.ReLU(True)), (weft.ones(2),)).graph
    assert passes.drop_dropout(graph) is graph
    graph.frozen = changed.frozen = True
    assert ops(passes.drop_dropout(graph)) == ["linear"]
    dropped = passes.drop_dropout(changed)
    assert ops(dropped) == ["clone", "relu_"]
    x = -weft.ones(2)
    assert dropped.run(x).tolist() == [0, 0] and x.tolist() == [-1, -1]
    wanted = trace(nn.Sequential(nn.Flatten()).eval(), (weft.ones(2, 3),)).graph
    wanted = trace(lambda x: F.dropout(x, 0.5, training=True), (weft.ones(2),)).graph
    wanted.frozen = True
    assert passes.drop_dropout(wanted) is wanted


def test_signed_zeros() -> None:
    """x + 0 goes only where it changes no bit; x - -0.0 is no x."""
    x = weft.tensor([-0.0, 0.0, 1.0])

    def left(f: Any, x: Any = x) -> int:
        graph = passes.simplify(trace(lambda x: f(x) * 2, (x,)).graph)
        want = f(x) * 2
        assert graph.run(x).equal(want)
        if x.is_floating_point():
            assert weft.signbit(graph.run(x)).equal(weft.signbit(want))
        return len(graph.nodes)

    assert left(lambda x: x + 0) == 2
    assert left(lambda x: x + 0.0) == 2
    assert left(lambda x: x + -0.0) == 1
    assert left(lambda x: x - 0.0) == 1
    assert left(lambda x: x - -0.0) == 2
    assert left(lambda x: x.exp() + 0) == 2
    assert left(lambda x: 0 + x.abs()) == 2
    assert left(lambda x: x + 0, weft.arange(3)) == 1


def test_history_holds_no_tensors() -> None:
    """What passes did is remembered, without the weights of that time."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    graph = passes.run_passes(trace(lambda x: weft.tanh(net[0](x)), (weft.ones(1, 2),)).graph,
                              passes.LAYERS)  # fmt: skip
    assert [step.name for step in graph.history] == [p.__name__ for p in passes.LAYERS]
    for step in graph.history:
        assert all(v.constant is None for g in step[1:] for v in g.constants)
    joined = next(s for s in graph.history if s.name == "join_activations")
    assert (len(joined.before.nodes), len(joined.after.nodes)) == (2, 1)
