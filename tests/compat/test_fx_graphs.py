"""Graphs of ``weft.fx`` that are changed: by hand, by patterns, by passes; and random programs."""

from __future__ import annotations

import copy
import operator
import pickle
import random
import subprocess
import sys
from typing import Any

import pytest
from weft.fx import symbolic_trace
from weft.fx.passes.shape_prop import ShapeProp
from weft.fx.passes.split_module import split_module

import weft
import weft.nn.functional as F
from weft import fx, nn
from weft.utils._pytree import tree_leaves

X = weft.linspace(-2, 2, 12).reshape(3, 4)


class Net(nn.Module):
    """A small model of all kinds of nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.out = nn.Linear(4, 4), nn.Linear(4, 2)
        self.scale = nn.Parameter(weft.full((4,), 0.5))

    def forward(self, x: Any) -> Any:
        y = weft.relu(self.lin(x) * self.scale)
        return self.out(F.relu(y + x).neg())


def test_relu_becomes_gelu() -> None:
    gm = symbolic_trace(Net())
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.target in (weft.relu, F.relu):
            with gm.graph.inserting_after(node):
                made = gm.graph.call_function(F.gelu, (node.args[0],))
            assert [u.name for u in node.replace_all_uses_with(made)] == [
                u.name for u in made.users
            ]
            gm.graph.erase_node(node)
    gm.graph.lint()
    gm.recompile()
    h = F.gelu(gm.lin(X) * gm.scale)
    assert weft.equal(gm(X), gm.out(F.gelu(h + X).neg()))
    assert "relu" not in gm.code


def test_order_of_inserted_nodes() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    result = graph.output(x)
    with graph.inserting_before(result):
        a = graph.call_method("neg", (x,))
        b = graph.call_function(operator.add, (a, 1))
    with graph.inserting_after(x):
        graph.call_method("abs", (x,), {})
    graph.call_method("sum", (b,))
    assert [n.name for n in graph.nodes] == ["x", "abs_1", "neg", "add", "output", "sum_1"]
    assert next(n.name for n in reversed(graph.nodes)) == "sum_1"
    last = next(iter(reversed(graph.nodes)))
    result.prepend(last)
    assert graph.output_node() is result and result.prev is last and last.next is result
    x.append(last)
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        graph.lint()
    graph.erase_node(last)
    graph.lint()
    assert len(graph.nodes) == 5 and a < b and not b < a
    assert graph.find_nodes(op="call_method", target="neg") == [a]


def test_arguments() -> None:
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    z = graph.call_function(weft.cat, ([x, y, x],), {"dim": 0})
    assert z.all_input_nodes == [x, y] and list(x.users) == [z]
    z.replace_input_with(x, y)
    assert z.args == ([y, y, y],) and not x.users
    z.update_kwarg("dim", 1)
    z.update_arg(0, [x])
    z.insert_arg(1, 3)
    assert z.args == ([x], 3) and z.kwargs == {"dim": 1} and not y.users
    with pytest.raises(TypeError, match="does not support mutation"):
        z.args[0].append(y)
    with pytest.raises(TypeError, match="does not support mutation"):
        z.kwargs["dim"] = 2
    with pytest.raises(RuntimeError, match="still had 1 users"):
        graph.erase_node(x)
    with pytest.raises(RuntimeError, match="another graph"):
        fx.Graph().call_method("neg", (x,))
    with pytest.raises(ValueError, match="Callable is expected"):
        graph.create_node("call_function", "relu")
    with pytest.raises(AssertionError, match="is not one of"):
        graph.create_node("call", "relu")
    assert fx.map_arg(z.args, lambda n: n.name) == (["x"], 3)


def test_dead_code() -> None:
    def f(x: Any) -> Any:
        y = x.clone()
        y.add_(1)
        unused = x * 2
        unused = unused + 1
        weft.relu(x)
        return y

    gm = symbolic_trace(f)
    assert gm.graph.eliminate_dead_code()
    gm.recompile()
    assert [n.name for n in gm.graph.nodes] == ["x", "clone", "add_", "output"]
    assert weft.equal(gm(X), X + 1) and not gm.graph.eliminate_dead_code()


def test_replace_pattern() -> None:
    class Model(nn.Module):
        def forward(self, x: Any, w1: Any, w2: Any) -> Any:
            a = weft.cat([w1, w2]).sum()
            b = weft.cat([w1, w2]).sum()
            return x + a.max() + b.max()

    gm = symbolic_trace(Model())
    found = fx.replace_pattern(
        gm, lambda w1, w2: weft.cat([w1, w2]).sum(), lambda w1, w2: weft.stack([w1, w2])
    )
    assert len(found) == 2 and gm.code.count("stack(") == 2 and "cat" not in gm.code
    w = weft.arange(3.0)
    assert weft.equal(gm(X, w, w + 1), X + 3 + 3)
    gm.graph.lint()


def test_patterns_that_do_not_fit() -> None:
    gm = symbolic_trace(lambda x: (weft.relu(x).neg(), weft.relu(x) + 1, x.neg().neg().neg()))
    # Its relu is used twice, or its argument is another: nothing is replaced.
    assert not fx.replace_pattern(gm, lambda x: weft.relu(x) + 2, lambda x: x)
    assert len(fx.replace_pattern(gm, lambda x: x.neg().neg(), lambda x: x.abs())) == 1
    assert weft.equal(gm(X)[2], X.neg().abs())  # the last two of three
    shared = symbolic_trace(lambda x: (lambda r: r.neg() + r)(weft.relu(x)))
    assert not fx.replace_pattern(shared, lambda x: weft.relu(x).neg(), lambda x: x)
    chain = symbolic_trace(lambda x: weft.relu(weft.relu(weft.relu(x))))
    assert len(fx.replace_pattern(chain, lambda x: weft.relu(x), lambda x: x + 1)) == 3
    assert weft.equal(chain(X), X + 1 + 1 + 1)


def test_replacement_with_modules() -> None:
    class Double(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fresh = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return self.fresh(x)

    gm, new = symbolic_trace(lambda x: weft.relu(x)), Double()
    fx.replace_pattern(gm, lambda x: weft.relu(x), new)
    assert weft.equal(gm(X), new(X)) and gm.fresh is not new.fresh


def fuse(model: nn.Module) -> nn.Module:
    """Fold batch norms into the convolutions before them, as the tutorial does."""
    gm = symbolic_trace(copy.deepcopy(model))
    modules = dict(gm.named_modules())
    for node in gm.graph.nodes:
        if node.op != "call_module" or not isinstance(modules[node.target], nn.BatchNorm2d):
            continue
        before = node.args[0]
        if before.op != "call_module" or len(before.users) > 1:
            continue
        conv, bn = modules[before.target], modules[node.target]
        factor = bn.weight / weft.sqrt(bn.running_var + bn.eps)
        conv.weight = nn.Parameter(conv.weight * factor.reshape(-1, 1, 1, 1))
        bias = weft.zeros_like(bn.running_mean) if conv.bias is None else conv.bias
        conv.bias = nn.Parameter((bias - bn.running_mean) * factor + bn.bias)
        node.replace_all_uses_with(before)
        gm.graph.erase_node(node)
    gm.recompile()
    gm.delete_all_unused_submodules()
    return gm


def test_fusion_of_convolution_and_batch_norm() -> None:
    from weft.vision.models import resnet18

    weft.manual_seed(0)
    model = resnet18()
    with weft.no_grad():
        model(weft.randn(4, 3, 32, 32))
        model.eval()
        fused = fuse(model)
        x = weft.randn(1, 3, 32, 32)
        assert weft.allclose(fused(x), model(x), rtol=1e-3, atol=1e-3)
    assert not any(isinstance(m, nn.BatchNorm2d) for m in fused.modules())


def test_shape_prop() -> None:
    gm = symbolic_trace(Net())
    same = ShapeProp(gm).propagate(X)
    assert weft.equal(same, gm(X))
    shapes = {n.name: tuple(n.meta["tensor_meta"].shape) for n in gm.graph.nodes}
    assert shapes["lin"] == (3, 4) and shapes["out"] == (3, 2)
    meta = gm.graph.find_nodes(op="call_module", target="out")[0].meta["tensor_meta"]
    assert meta.dtype is weft.float32 and meta.requires_grad and meta.stride == (2, 1)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_split_module(parts: int) -> None:
    gm = symbolic_trace(Net())
    order = {n: i for i, n in enumerate(gm.graph.nodes)}
    names: dict[str, str] = {}
    cut = split_module(gm, gm, lambda n: order[n] * parts // len(order), names)
    assert weft.equal(cut(X), gm(X)) and len(list(cut.children())) == parts
    assert set(names.values()) == {"lin", "out", "scale"}
    with pytest.raises(RuntimeError, match="cycle"):
        split_module(gm, gm, lambda n: order[n] % 2)


def test_interpreter_errors_name_the_node() -> None:
    gm = symbolic_trace(Net())
    with pytest.raises(RuntimeError, match="While executing %lin"):
        fx.Interpreter(gm).run(weft.ones(3, 3))
    with pytest.raises(RuntimeError, match="positional argument for parameter x"):
        fx.Interpreter(gm).run()


def test_tracer_of_one_s_own() -> None:
    class Through(fx.Tracer):
        def is_leaf_module(self, m: Any, name: str) -> bool:
            return name == "out"

    model = Net()
    graph = Through().trace(model)
    assert "linear" in [n.name for n in graph.nodes] and "lin_weight" in [
        n.name for n in graph.nodes
    ]
    gm = fx.GraphModule(model, graph)
    assert weft.equal(gm(X), model(X)) and sorted(gm.state_dict()) == sorted(model.state_dict())


def test_members_and_text() -> None:
    model = Net()
    model.register_buffer("hidden", weft.ones(4), persistent=False)
    model.forward = None  # type: ignore[assignment]  # the class's own is traced
    gm = symbolic_trace(model)
    assert gm.add_submodule("a.b", nn.ReLU()) and isinstance(gm.a.b, nn.ReLU)
    gm.delete_all_unused_submodules()
    assert not hasattr(gm, "a") and not gm.delete_submodule("a")
    assert "class Net(weft.nn.Module):" in gm.print_readable(print_output=False)
    assert "(lin): Linear" in str(gm) and "def forward" in str(gm)
    gm.training = False
    assert not copy.deepcopy(gm).training and not pickle.loads(pickle.dumps(gm)).training
    assert weft.equal(copy.copy(gm)(X), gm(X)) and copy.copy(gm).lin is gm.lin


def test_proxies_made_by_hand() -> None:
    """As generated layers and decompositions use them: no trace is running."""
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x", weft.Tensor))
    tracer = fx.proxy.GraphAppendingTracer(graph)
    y = fx.Proxy(graph.placeholder("y"), tracer=tracer)
    made = weft.cat([weft.einsum("ij->ij", x), F.relu(y)], dim=1).reshape(x.shape[0], -1)
    made = weft.where(made > 0, made, 0.0) * weft.ones(4).sum().item()
    assert nn.Linear(4, 2)(X).shape == (3, 2) and weft.equal(X.relu(), X.clamp(min=0))
    graph.output(made.node)
    gm = fx.GraphModule(nn.Module(), graph)
    want = weft.cat([X, X.relu()], dim=1)
    assert weft.equal(gm(X, X), weft.where(want > 0, want, 0.0) * 4)
    del x, y, made, tracer
    assert F.relu.__code__.co_filename.endswith("activation.py")
    assert not fx.intercept._depth and weft._C._observe(None) is None


def test_decomposition_by_proxies() -> None:
    rules = {weft.relu: lambda x: (x > 0) * x, F.relu: lambda x, inplace: weft.maximum(x, x * 0)}
    model = Net()
    old, new, env = fx.Tracer().trace(model), fx.Graph(), {}
    tracer = fx.proxy.GraphAppendingTracer(new)
    for node in old.nodes:
        if node.op == "call_function" and node.target in rules:
            args = [fx.Proxy(env[a], tracer) if isinstance(a, fx.Node) else a for a in node.args]
            env[node] = rules[node.target](*args, **node.kwargs).node
        else:
            env[node] = new.node_copy(node, lambda n: env[n])
    gm = fx.GraphModule(model, new)
    assert weft.equal(gm(X), model(X)) and "relu" not in gm.code and "maximum" in gm.code


# ---- random programs ------------------------------------------------------------------------------


class Program(nn.Module):
    """A random program over tensors of one shape: its steps are drawn, and then always the same."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rng = random.Random(seed)
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Tanh(), nn.LayerNorm(4)])
        self.w = nn.Parameter(weft.linspace(-1, 1, 4))
        self.register_buffer("b", weft.arange(4.0))
        self.inner = Program(seed + 1000) if seed < 1000 and seed % 3 == 0 else None
        self.steps = [(self.rng.randrange(len(STEPS)), *self.picks()) for _ in range(14)]

    def picks(self) -> tuple[float, float, float]:
        return self.rng.random(), self.rng.random(), self.rng.random()

    def forward(self, x: Any, y: Any, *, k: float = 2.0) -> Any:
        values = [x, y]
        for step, p, q, r in self.steps:
            a, b = values[int(p * len(values))], values[int(q * len(values))]
            values.append(STEPS[step](self, a, b, 0.5 + r, k))
        kept = values[-3:]
        return {"last": kept[-1], "rest": (kept[0], [kept[1]])}


def _in_place(m: Any, a: Any, b: Any, r: float, k: float) -> Any:
    c = a.clone()
    c += b
    c.mul_(r)
    return c


def _parts(m: Any, a: Any, b: Any, r: float, k: float) -> Any:
    left, right = a.chunk(2, dim=-1)
    return weft.cat([right, left + b[:, :2]], dim=1)


def _inner(m: Any, a: Any, b: Any, r: float, k: float) -> Any:
    return a if m.inner is None else m.inner(a, b, k=r)["last"]


STEPS: list[Any] = [
    lambda m, a, b, r, k: a + b,
    lambda m, a, b, r, k: r - a * k,
    lambda m, a, b, r, k: a / (b.abs() + 1),
    lambda m, a, b, r, k: weft.where(a > b, a, -b),
    lambda m, a, b, r, k: m.layers[int(r * 2)](a),
    lambda m, a, b, r, k: m.w * a + m.b * b,
    lambda m, a, b, r, k: m.b - a,
    lambda m, a, b, r, k: F.softmax(a, dim=-1) @ a.mT @ b,
    lambda m, a, b, r, k: weft.clamp(a, min=-r, max=r),
    lambda m, a, b, r, k: F.linear(a, m.layers[0].weight, m.w),
    lambda m, a, b, r, k: a.view(a.shape[0], -1).reshape(b.size()).contiguous(),
    lambda m, a, b, r, k: weft.stack((a, b)).mean(0),
    lambda m, a, b, r, k: weft.einsum("ij,ij->ij", a, b),
    lambda m, a, b, r, k: a[:, [3, 2, 1, 0]] * b[0],
    lambda m, a, b, r, k: F.gelu(a) if r < 1 else F.leaky_relu(b, r),
    lambda m, a, b, r, k: a.masked_fill(b < 0, r).roll(1, 0),
    lambda m, a, b, r, k: weft.maximum(a, b).cumsum(dim=1).sigmoid(),
    lambda m, a, b, r, k: a.sort(dim=-1).values + b.max(1, keepdim=True).values,
    lambda m, a, b, r, k: weft.full((a.size(0), 1), r) + a.type_as(b).to(b.dtype),
    _in_place,
    _parts,
    _inner,
]


def equal(a: Any, b: Any) -> bool:
    left, right = tree_leaves(a), tree_leaves(b)
    return len(left) == len(right) and all(
        weft.allclose(p, q, rtol=0, atol=0, equal_nan=True) for p, q in zip(left, right)
    )


@pytest.mark.parametrize("seed", range(200))
def test_random_programs(seed: int) -> None:
    weft.manual_seed(seed)
    program = Program(seed)
    x, y = weft.randn(3, 4), weft.randn(3, 4)
    want = program(x, y)
    gm = symbolic_trace(program)
    gm.graph.lint()
    assert equal(gm(x, y), want) and equal(gm(x, y, 0.5), program(x, y, k=0.5))
    assert equal(pickle.loads(pickle.dumps(gm))(x, y), want)
    assert equal(fx.Interpreter(gm).run(x, y), want)
    assert equal(fx.Transformer(gm).transform()(x, y), want)
    rng = random.Random(seed)
    order = {n: i for i, n in enumerate(gm.graph.nodes)}
    cuts = sorted(rng.randrange(len(order)) for _ in range(2))
    if not any(n.is_impure() for n in gm.graph.nodes if n.op == "call_method"):
        cut = split_module(gm, gm, lambda n: sum(order[n] > c for c in cuts))
        assert equal(cut(x, y), want)
    gm.graph.eliminate_dead_code()
    gm.recompile()
    assert equal(gm(x, y), want)
    if want["last"].requires_grad and hasattr(gm, "w"):
        a, b = (weft.autograd.grad(m(x, y)["last"].sum(), m.w, allow_unused=True)[0]
                for m in (program, gm))  # fmt: skip
        assert (a is None and b is None) or weft.allclose(a, b, rtol=0, atol=0, equal_nan=True)


PROGRAM = """
import torch
from torch import fx
from torch.fx import Graph, GraphModule, Interpreter, Node, Proxy, Tracer, Transformer
from torch.fx import has_side_effect, map_arg, replace_pattern, symbolic_trace, wrap
from torch.fx._symbolic_trace import Tracer as Same
from torch.fx.graph_module import GraphModule
from torch.fx.immutable_collections import immutable_dict, immutable_list
from torch.fx.node import map_aggregate
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.passes.split_module import split_module
from torch.fx.proxy import Attribute, TraceError
import torch.nn.functional as F
from torch import relu, tanh
from torch.nn.functional import silu

@fx.wrap
def twice(x):
    return 2 * x if x.sum() > 0 else x

def f(x):
    return silu(tanh(relu(twice(x)))) + torch.ones(2) @ x

gm = symbolic_trace(f)
print(gm.code)
x = torch.randn(2, 2)
print(torch.equal(gm(x), f(x)), Same is Tracer)
"""


def test_as_a_program_for_pytorch(tmp_path: Any) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "weft", "run", str(path)], capture_output=True, text=True, check=True
    )
    assert "True True" in done.stdout and "torch.tanh(relu)" in done.stdout
    assert 'torch.fx._symbolic_trace.wrap("__main___twice")' in done.stdout
