"""Passes over static graphs: what they leave out, what they must not touch, the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import nn
from weft.jit import optimize, passes, trace


def ops(graph: Any) -> list[str]:
    """The ops of a graph, in order."""
    return [node.op for node in graph]


def unused(x: weft.Tensor) -> weft.Tensor:
    x.exp().sum()
    return x + 1


def twice(x: weft.Tensor) -> weft.Tensor:
    return (x * 2).tanh() + (x * 2).tanh() * (x * 3)


def neutral(x: weft.Tensor) -> weft.Tensor:
    return (1 * (x * 1.0) / 1 - 0).pow(1).neg().mul(1).neg().exp()


def double_minus(x: weft.Tensor) -> weft.Tensor:
    return (-x).neg().exp() + (-x).exp()


def lists(x: weft.Tensor) -> weft.Tensor:
    return weft.cat([x * 2, x * 2, x * 3])


def nothing_to_do(x: weft.Tensor) -> weft.Tensor:
    return x.sin() * x.cos()


CASES: list[tuple[Callable[..., Any], list[str]]] = [
    (unused, ["add"]),
    (twice, ["mul", "tanh", "mul", "mul", "add"]),
    (neutral, ["exp"]),
    (double_minus, ["exp", "neg", "exp", "add"]),
    (lists, ["mul", "mul", "join"]),
    (nothing_to_do, ["sin", "cos", "mul"]),
]


@pytest.mark.parametrize(("function", "left"), CASES)
def test_what_is_left(function: Callable[..., Any], left: list[str]) -> None:
    """The ops that are needed are left; values are equal bit for bit, gradients too."""
    x = weft.randn(4, requires_grad=True)
    traced = trace(function, (x,))
    before = repr(traced.graph)
    optimized = traced.optimize()
    assert sorted(ops(optimized.graph)) == sorted(left)
    assert repr(traced.graph) == before
    assert optimized(x).equal(function(x))
    wanted, got = (weft.autograd.grad(f(x).sum(), x)[0] for f in (function, optimized))
    assert weft.allclose(got, wanted)
    assert repr(optimized.optimize().graph) == repr(optimized.graph)
    assert optimized.__name__ == function.__name__


def test_producers_are_of_the_new_graph() -> None:
    """A value of the new graph was made by a node of the new graph."""
    graph = optimize(twice, (weft.ones(3),)).graph
    for node in graph:
        assert all(v.producer is node for v in node.outputs)
        made = {id(n) for n in graph}
        assert all(v.producer is None or id(v.producer) in made for v in node.inputs())


def test_parameters_are_read_when_it_runs() -> None:
    """Weights are no constants to fold: after a step the graph gives new results."""
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    x = weft.randn(5, 3)
    f = optimize(net, (x,))
    sgd = weft.optim.SGD(net.parameters(), lr=0.5)
    before = f(x)
    before.square().sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    sgd.step()
    assert f(x).equal(net(x))
    assert not f(x).equal(before)


def test_unread_constants_go() -> None:
    """A tensor from outside that only dead ops read is not kept."""
    far = weft.ones(3)

    def f(x: weft.Tensor) -> weft.Tensor:
        far.exp()
        return x + 1

    assert len(trace(f, (weft.ones(3),)).graph.constants) == 1
    assert optimize(f, (weft.ones(3),)).graph.constants == []


def test_random_ops_stay() -> None:
    """Ops that draw are neither shared nor left out: the stream of numbers is the same."""

    def f(x: weft.Tensor) -> weft.Tensor:
        weft.rand_like(x)
        nn.functional.dropout(x)
        return weft.rand_like(x) - weft.rand_like(x) + nn.functional.dropout(x)

    x = weft.ones(50)
    g = optimize(f, (x,))
    assert ops(g.graph).count("rand_like") == 3
    weft.manual_seed(3)
    wanted, next_wanted = f(x), weft.rand(1)
    weft.manual_seed(3)
    assert g(x).equal(wanted)
    assert weft.rand(1).equal(next_wanted)


def test_results_stay_apart() -> None:
    """Two results, or a result and an input, that had memory of their own keep it."""

    def f(x: weft.Tensor) -> Any:
        return x + 1, x + 1, x * 1, (x * 1).view(-1), (x + 2).view(-1), (x + 2).view(-1)

    x = weft.zeros(2)
    results = optimize(f, (x,))(x)
    for t in results:
        t.fill_(7)
    assert x.tolist() == [0, 0]
    assert len({t.data_ptr() for t in results}) == 6


def test_a_result_may_share_with_what_stays_inside() -> None:
    """One of two equal values leaves the graph: one op is enough."""
    f = optimize(lambda x: (x.exp(), x.exp() * 2), (weft.zeros(2),))
    assert ops(f.graph) == ["exp", "mul"]
    assert [t.tolist() for t in f(weft.zeros(2))] == [[1, 1], [2, 2]]


def test_in_place_graphs_are_left_alone() -> None:
    """What is written to may be seen from elsewhere: nothing is shared or left out."""

    def f(x: weft.Tensor) -> weft.Tensor:
        y = x * 2
        z = x * 2
        y.view(-1).add_(1)
        return y + z * 1

    traced = trace(f, (weft.ones(2),))
    for improve in passes.PASSES:
        assert improve(traced.graph) is traced.graph
    assert traced.optimize()(weft.ones(2)).tolist() == [5, 5]


def test_modes_and_kinds_keep_ops_apart() -> None:
    """An op under no_grad is not that with gradients; 1 and 1.0, 0.0 and -0.0 are not the same."""

    def f(x: weft.Tensor) -> weft.Tensor:
        with weft.no_grad():
            y = (x * 1).exp()
        return y * x.exp() + (x * 0.0) / (x * -0.0 + x)

    x = weft.tensor([1.0, 2.0], requires_grad=True)
    g = optimize(f, (x,))
    assert g(x).equal(f(x))
    wanted, got = (weft.autograd.grad(h(x).sum(), x)[0] for h in (f, g))
    assert got.equal(wanted)
    whole = optimize(lambda n: (n * 1.0).exp() + n * 1, (weft.arange(3),))
    assert whole(weft.arange(3)).dtype == weft.float32
    assert ops(whole.graph)[0] == "mul"


def test_structures_come_back() -> None:
    """The structure of the results is that of the function."""
    x = weft.tensor([[3.0, 1.0], [2.0, 5.0]])
    got = optimize(lambda x: {"m": weft.max(x, 1), "l": [x + 1]}, (x,))(x)
    assert got["m"][0].tolist() == [3, 5]
    assert got["l"][0].equal(x + 1)


def test_wrong_calls() -> None:
    """What cannot be optimised is named."""
    with pytest.raises(TypeError, match=r"optimize: needs a function .*, got a int"):
        optimize(2)
    with pytest.raises(TypeError, match=r"optimize: needs a function .*, got no example_inputs"):
        optimize(twice)
    traced = trace(twice, (weft.ones(2),))
    assert ops(optimize(traced).graph) == ops(traced.optimize().graph)
    with pytest.raises(TypeError, match="optimize: twice is traced"):
        optimize(traced, (weft.ones(2),))


def test_simplify_leaves_what_reads_memory_that_changes() -> None:
    """``x * 1`` is a copy where x is written to afterwards."""

    def f(x: Any, y: Any) -> Any:
        kept = x * 1.0
        x.copy_(y)
        return kept.exp()

    g = weft.jit.trace(f, (weft.ones(2), weft.zeros(2))).graph
    assert [n.op for n in passes.simplify(g)] == ["mul", "copy_", "exp"]


def test_dead_code_keeps_what_parts_of_fused_ops_name() -> None:
    """A view that only the parts of a fused op name stays, for the graph can be taken apart again."""

    def f(x: Any) -> Any:
        seen = x.detach()
        x.sort(1)
        return seen.abs() + 0.1

    g = passes.run_passes(weft.jit.trace(f, (weft.ones(2, 3),)).graph, passes.STEPS)
    g.unfuse()
    g.verify()


def test_optimize_takes_a_tensor() -> None:
    """The graph that a tensor has recorded becomes static: a function of its leaves."""
    x, y = (weft.tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in range(2))
    table = weft.ones(3, 2)
    w = weft.cat([x * y + y, x * y]).view(2, 3) @ table
    static = optimize(w)
    assert [n.op for n in static.graph].count("mul") == 1
    assert static.optimize().graph.nodes[0].line.partition(":")[0] == __file__
    assert weft.equal(static(x, y), w)
    again = static(x * 2, y)
    assert weft.equal(again, weft.cat([x * 2 * y + y, x * 2 * y]).view(2, 3) @ table)
    assert "mul" in repr(static)


def test_optimize_of_a_tensor_says_what_it_cannot() -> None:
    """No history, ops of which not all was kept, chance, and functions of the user's own."""
    x = weft.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="has no history"):
        optimize(weft.ones(3))
    for lost in (x + weft.ones(3), nn.functional.dropout(x), x.masked_fill(x > 0, 2.0) * 2):
        try:
            static = optimize(lost)
        except RuntimeError as e:
            assert "does not keep all" in str(e) and "optimize(f, example_inputs)" in str(e)
        else:
            assert weft.equal(static(x), lost)
    with pytest.raises(TypeError, match="takes no example_inputs"):
        optimize(x * 2, (x,))

    class Twice(weft.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    with pytest.raises(NotImplementedError, match="Twice"):
        optimize(Twice.apply(x) + 1)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        optimize(y)
