"""Tracing by ``weft.fx``: the traced module equals the module, bit for bit; graphs can be changed."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import threading
import traceback
from typing import Any, NamedTuple

import pytest
from weft.fx import symbolic_trace
from weft.fx.proxy import TraceError

import weft
import weft.nn.functional as F
from weft import fx, nn
from weft.utils._pytree import tree_leaves


def same(a: Any, b: Any) -> None:
    """Assert that two results are equal, bit for bit."""
    left, right = tree_leaves(a), tree_leaves(b)
    assert len(left) == len(right) and type(a) is type(b)
    for p, q in zip(left, right):
        if isinstance(p, weft.Tensor):
            assert p.dtype == q.dtype and weft.equal(p, q)
        else:
            assert p == q


def agrees(model: Any, *args: Any, **kwargs: Any) -> fx.GraphModule:
    """Assert that the trace of a model, and every copy of it, does what the model does."""
    traced = symbolic_trace(model)
    traced.graph.lint()
    want = model(*args, **kwargs)
    same(traced(*args, **kwargs), want)
    same(copy.deepcopy(traced)(*args, **kwargs), want)
    loaded = pickle.loads(pickle.dumps(traced))
    assert loaded.code == traced.code
    same(loaded(*args, **kwargs), want)
    same(symbolic_trace(traced)(*args, **kwargs), want)
    if not kwargs:
        same(fx.Interpreter(traced).run(*args), want)
        same(fx.Transformer(traced).transform()(*args), want)
    return traced


class Pair(NamedTuple):
    first: Any
    second: Any


class Block(nn.Module):
    """Arguments and results of many kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.seq = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.register_buffer("table", weft.arange(4.0))
        self.scale = nn.Parameter(weft.full((4,), 1.5))
        self.constant = weft.ones(4)
        self.act = F.gelu

    def forward(self, x: Any, y: Any = 3.0, *, flag: Any = None) -> Any:
        z = F.relu(self.lin(x)) + self.scale * y
        z = weft.cat([z, self.seq(z)], dim=-1)
        a, b = z.chunk(2, -1)
        w = z[:, None, 1:3][..., 0]
        q = self.scale.expand(x.size(0), -1) + self.table * x - self.constant
        t = weft.arange(4) + x.sum()
        v = (-(2 - x)).transpose(0, 1).contiguous()
        v += 1
        r = weft.zeros(x.shape[0], dtype=weft.float64, device=x.device)
        m = math.sqrt(x.size(1))
        n = {"a": ~(x > 0), "b": [weft.einsum("ij->i", x), x @ x.T], "c": self.act(x)}
        m = m * weft.tensor([2.0]) ** x
        return {"z": z, "rest": (a[0], b, w, q, t, v, r, m, n), "pair": Pair(x, float("inf"))}


class Attention(nn.Module):
    """In the style of transformers: optional arguments, dicts, masks, heads."""

    def __init__(self, d: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.size = heads, d // heads
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.norm = nn.LayerNorm(d)
        self.mlp = nn.ModuleDict({"up": nn.Linear(d, 2 * d), "down": nn.Linear(2 * d, d)})
        self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(2)])

    def split(self, x: Any) -> Any:
        return x.view(x.size(0), x.size(1), self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, x: Any, mask: Any = None, **kwargs: Any) -> dict[str, Any]:
        h = self.norm(x)
        q, k, v = self.split(self.q(h)), self.split(self.k(h)), self.split(self.v(h))
        scores = weft.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.size)
        scores = scores.masked_fill(scores.tril() == 0, float("-inf"))
        probs = nn.functional.softmax(scores, dim=-1, dtype=weft.float32).to(q.dtype)
        y = (probs @ v).transpose(1, 2).reshape(x.shape)
        x = x + y
        x = x + self.mlp["down"](F.silu(self.mlp["up"](x)))
        for layer in self.layers:
            x = layer(x).clamp(min=-1.0, max=1.0)
        return {"last": x[:, -1], "all": x, "probs": probs}


def test_arguments_of_many_kinds() -> None:
    model = Block()
    x = weft.randn(4, 4)
    traced = agrees(model, x)
    same(traced(x, 2.0), model(x, 2.0))
    assert {"scale", "table", "lin.weight"} <= set(traced.state_dict())
    assert traced.lin is model.lin


def test_attention() -> None:
    agrees(Attention(), weft.randn(2, 5, 8))


@pytest.mark.parametrize(
    "name", ["resnet18", "mobilenet_v2", "vgg11", "squeezenet1_1", "densenet121", "alexnet"]
)
def test_vision_models(name: str) -> None:
    import weft.vision.models as models

    if not hasattr(models, name):
        pytest.skip(f"weft.vision.models has no {name}")
    model = getattr(models, name)().eval()
    traced = symbolic_trace(model)
    assert list(traced.state_dict()) == list(model.state_dict())
    x = weft.randn(1, 3, 64, 64)
    with weft.no_grad():
        same(traced(x), model(x))


def test_star_arguments() -> None:
    def f(x: Any, *args: Any, k: Any = 2, **kwargs: Any) -> Any:
        return x * k + args[0] - kwargs["b"]

    traced = symbolic_trace(f)
    x = weft.randn(3)
    targets = [n.target for n in traced.graph.nodes if n.op == "placeholder"]
    assert targets == ["x", "k", "*args", "**kwargs"]
    same(traced(x, 2, x + 1, b=x * 3), f(x, x + 1, b=x * 3))


def test_gradients_and_training() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))
    other = symbolic_trace(copy.deepcopy(model))
    x = weft.randn(5, 3)
    model(x).sum().backward()
    other(x).sum().backward()
    for (name, p), (other_name, q) in zip(model.named_parameters(), other.named_parameters()):
        assert name == other_name and weft.equal(p.grad, q.grad)
    for b, c in zip(model.buffers(), other.buffers()):
        assert weft.equal(b, c)
    other.eval()
    assert not other.get_submodule("1").training


def test_generated_code() -> None:
    f = eval("lambda x, input=None: weft.relu(x + 1).sum(0)[1:, None]", {"weft": weft})
    assert symbolic_trace(f).code == (
        "\n\n\ndef forward(self, x, input = None):\n"
        "    input_1 = input\n"
        "    add = x + 1;  x = None\n"
        "    relu = weft.relu(add);  add = None\n"
        "    sum_1 = relu.sum(0);  relu = None\n"
        "    getitem = sum_1[(slice(1, None, None), None)];  sum_1 = None\n"
        "    return getitem\n    "
    )


def test_tracebacks_show_generated_code() -> None:
    traced = symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    with pytest.raises(RuntimeError) as e:
        traced(weft.ones(3, 3))
    text = "".join(traceback.format_exception(e.value))
    assert "<eval_with_key>" in text and 'getattr(self, "0")(input' in text


def control(x: Any) -> Any:
    if x.sum() > 0:  # the line of the message
        return x
    return -x


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (control, TraceError, "test_fx.py"),
        (lambda x: [i + 1 for i in x], TraceError, "cannot be iterated"),
        (eval("lambda x: len(x)", {}), RuntimeError, "'len' is not supported"),
        (lambda x: x and 1, TraceError, "control flow"),
        (lambda x: weft.add(*x), TraceError, "cannot be iterated"),
        (lambda x: {"a": object()}, NotImplementedError, "argument of type"),
        (lambda x: nn.Linear(2, 2)(x), NameError, "not installed as a submodule"),
    ],
)
def test_what_cannot_be_traced(f: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        symbolic_trace(f)
    untouched()


def untouched() -> None:
    """Assert that nothing of a trace is left behind."""
    assert "__call__" not in vars(nn.Module) and "__getattribute__" not in vars(nn.Module)
    assert math.sqrt(4.0) == 2.0 and type(math.sqrt).__name__ == "builtin_function_or_method"
    assert F.relu.__code__.co_filename.endswith("activation.py")
    assert weft.equal(weft.ones(2) + 1, weft.full((2,), 2.0))


def test_the_line_of_control_flow() -> None:
    line = control.__code__.co_firstlineno + 1
    with pytest.raises(TraceError, match=rf"test_fx.py:{line}, in control"):
        symbolic_trace(control)


def test_concrete_args() -> None:
    def f(x: Any, flag: Any, n: Any = None) -> Any:
        return x if flag else -x

    traced = symbolic_trace(f, concrete_args={"flag": False, "n": None})
    x = weft.randn(2)
    same(traced(x, False), -x)
    with pytest.raises(AssertionError, match="specialized to have value False"):
        traced(x, True)
    with pytest.raises(AssertionError, match="specialized to have value None"):
        traced(x, False, 1)
    with pytest.raises(TypeError, match="no argument"):
        symbolic_trace(f, concrete_args={"flagg": True})


@fx.wrap
def leaf(x: Any, n: int) -> Any:
    return x * n if x.sum() > 0 else x


fx.wrap("len")


def test_wrap() -> None:
    traced = symbolic_trace(lambda x: leaf(x, len(x)) + 1)
    assert [n.target for n in traced.graph.nodes][1:4] == [len, leaf, operator.add]
    same(traced(weft.ones(3)), weft.full((3,), 4.0))
    again = symbolic_trace(traced)
    assert [n.target for n in again.graph.nodes][1:3] == [len, leaf]
    assert len([1, 2]) == 2 and "len" not in globals()
    with pytest.raises(NotImplementedError):
        fx.wrap("leaf")


def test_threads_trace_at_once() -> None:
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for _ in range(10):
                model = Attention()
                x = weft.randn(2, 3, 8)
                same(symbolic_trace(model)(x), model(x))
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors
    untouched()
