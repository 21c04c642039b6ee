"""``make_dot`` and ``view.graph``: nodes, edges, names and places are those of the program."""

from __future__ import annotations

import gc
import re
from typing import Any

import pytest

import weft
from weft import nn
from weft.autograd import make_dot


class Net(nn.Module):
    """A body, a residual connection, a head that is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh())
        self.head = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        h = self.body(x)
        h = h + self.head(h)
        return self.head(h.exp())


def pairs(g: Any) -> list[tuple[str, str]]:
    """The edges by labels."""
    return [(g[e.src].label, g[e.dst].label) for e in g.edges]


def test_nodes_and_edges() -> None:
    """Every step with its shape, dtype, kind, line; edges follow the data."""
    w = weft.ones(2, 3, requires_grad=True, dtype=weft.float64)
    y = (w * 2).sum(0)
    g = make_dot(y)
    assert [(n.label, n.kind, n.shape, n.dtype) for n in g] == [
        ("w", "leaf", (2, 3), weft.float64),
        ("MulBackward0", "op", (2, 3), weft.float64),
        ("SumBackward0", "op", (3,), weft.float64),
        ("output", "output", (3,), weft.float64),
    ]
    assert pairs(g) == [
        ("w", "MulBackward0"), ("MulBackward0", "SumBackward0"), ("SumBackward0", "output"),
    ]  # fmt: skip
    assert "test_graphs.py:" in g.nodes[1].line and g.nodes[1].op == "MulBackward0"
    assert len(g) == 4 and list(g) == g.nodes == g.graph.nodes
    assert "n1" in repr(g.nodes[1]) and repr(g) == "<Graph of 4 nodes and 3 edges>"
    with pytest.raises(KeyError, match="n9"):
        g["n9"]


def test_names() -> None:
    """From a dict, from pairs, from a module, and found without being given."""
    net = nn.Linear(2, 1)
    y = net(weft.ones(1, 2))
    w, b = net.weight, net.bias
    wanted = {"parameter": ["weight", "bias"]}
    for params in (None, net, dict(net.named_parameters()), list(net.named_parameters())):
        g = make_dot(y, params)
        assert [n.label for n in g if n.kind == "parameter"] == wanted["parameter"]
    g = make_dot(y, {"mine": w, "yours": b})
    assert [n.label for n in g if n.kind == "parameter"] == ["mine", "yours"]
    with pytest.raises(TypeError, match=r"params\['a'\] must be a Tensor, not int"):
        make_dot(y, {"a": 1})
    with pytest.raises(TypeError, match="pairs of name and tensor"):
        make_dot(y, [1])


def test_names_of_unnamed() -> None:
    """A leaf that nothing names is shown by its kind."""
    y = weft.ones(2, requires_grad=True) * nn.Parameter(weft.ones(2))
    gc.collect()
    assert [n.label for n in make_dot(y)][:2] == ["leaf", "parameter"]


def test_names_among_odd_objects() -> None:
    """Dead proxies and modules that are half made do no harm."""
    import weakref

    layer = nn.Linear(2, 1)
    proxy = weakref.proxy(nn.Linear(1, 1))
    half = nn.Linear.__new__(nn.Linear)
    gc.collect()
    y = layer(weft.ones(1, 2))
    assert [n.label for n in make_dot(y)][:2] == ["weight", "bias"]
    del proxy, half


def test_several_roots_and_none() -> None:
    """Lists and dicts of tensors; leaves and tensors without history; nothing else."""
    a = weft.ones(1, requires_grad=True)
    g = make_dot({"first": a * 2, "second": a})
    assert pairs(g) == [("a", "MulBackward0"), ("MulBackward0", "first"), ("a", "second")]
    assert [n.label for n in make_dot([a * 1, a * 2]) if n.kind == "output"] == [
        "output 0", "output 1",
    ]  # fmt: skip
    alone = make_dot(weft.relu(weft.ones(3, 3)))
    assert [(n.kind, n.shape) for n in alone] == [("output", (3, 3))] and not alone.edges
    with pytest.raises(TypeError, match="takes a Tensor or several, not int"):
        make_dot(3)
    with pytest.raises(TypeError, match="output 1 must be a Tensor"):
        make_dot([a, None])


def test_modules_and_attributes() -> None:
    """Paths of modules, arguments of ops, tensors that are kept."""
    net, x = Net(), weft.randn(5, 3)
    g = make_dot(net(x).sum(), show_attrs=True, show_saved=True)
    by_path = {n.module: n.op for n in g if n.kind == "op"}
    assert by_path["Net.body.0"] == "LinearBackward0" and by_path["Net.head"] == "LinearBackward0"
    assert by_path["Net"] == "ExpBackward0" and by_path[""] == "SumBackward0"
    tanh = next(n for n in g if n.op == "TanhBackward0")
    assert tanh.shape == (5, 4)
    kept = [n for n in g if n.kind == "saved"]
    assert "x" in [n.label for n in kept] and (5, 4) in [n.shape for n in kept]
    y = make_dot(weft.ones(2, 3, requires_grad=True).sum((0, 1), keepdim=True), show_attrs=True)
    assert y.nodes[1].attributes == {"dim": "(0, 1)", "keepdim": "True"}
    short = make_dot(weft.ones(2, 3, requires_grad=True).sum((0, 1)), None, True, False, 4)
    assert short.nodes[1].attributes["dim"] == "(0,…"


def test_shapes_through_user_functions_and_slices() -> None:
    """A user's Function and a change of a slice know the shapes of what they read."""

    class Twice(weft.autograd.Function):
        """Doubles."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    a = weft.ones(2, 3, requires_grad=True)
    z = weft.zeros(4, 3, requires_grad=True).sin()
    z[1:3] = Twice.apply(a.exp())
    shapes = {n.op: n.shape for n in make_dot(z.sum()) if n.kind == "op"}
    assert shapes["ExpBackward0"] == (2, 3) and shapes["TwiceBackward"] == (2, 3)
    assert shapes["SinBackward0"] == (4, 3) and shapes["CopySlices"] == (4, 3)


def test_freed_graph() -> None:
    """After backward the graph can still be drawn; what was kept is gone, and that is said."""
    x = weft.ones(2, requires_grad=True)
    y = x.exp().sum()
    y.backward()
    assert [n.shape for n in make_dot(y)] == [(2,), (2,), (), ()]
    with pytest.raises(RuntimeError, match="ExpBackward0"):
        make_dot(y, show_saved=True)


def test_collapse() -> None:
    """Modules of a depth become one node for each call."""
    net, x = Net(), weft.randn(5, 3)
    g = weft.view.graph(net, x, depth=2)
    shared = ["head.weight", "head.bias"]  # of two calls: in neither of them
    assert [n.label for n in g] == ["x", "body", *shared, "head", "add", "exp", "head", "output"]
    flow = [pair for pair in pairs(g) if pair[0] not in shared]
    assert flow == [
        ("x", "body"), ("body", "head"), ("body", "add"), ("head", "add"), ("add", "exp"),
        ("exp", "head"), ("head", "output"),
    ]  # fmt: skip
    assert g.nodes[1].kind == "module" and g.nodes[1].shape == (5, 4)
    whole = make_dot(net(x), depth=1)
    assert [n.label for n in whole] == ["Net", "output"]
    with pytest.raises(ValueError, match="at least 1, got 0"):
        g.collapse(0)


def test_graph_of_a_module() -> None:
    """Inputs, parameters and ops by name; the module stays as it was."""
    net, x = Net(), weft.randn(5, 3)
    state = {k: v.clone() for k, v in net.state_dict().items()}
    rng = weft.get_rng_state()
    g = weft.view.graph(net, x)
    assert all(weft.equal(v, net.state_dict()[k]) for k, v in state.items())
    assert (weft.get_rng_state() == rng).all()
    labels = [n.label for n in g]
    assert labels[:3] == ["x", "body.0.weight", "body.0.bias"] and labels[-1] == "output"
    assert labels.count("head.weight") == 1 and labels.count("linear") == 3
    assert not [n for n in g if n.kind == "buffer"]
    counting = weft.view.graph(net, x, unused=True)
    assert "body.1.num_batches_tracked" in [n.label for n in counting if n.kind == "buffer"]


def test_graph_of_other_things() -> None:
    """Functions, static graphs, tensors, structures, and what cannot be traced to be run."""
    f = weft.jit.trace(lambda a, b: a @ b, (weft.ones(2, 3), weft.ones(3, 4)))
    for what in (f, f.graph):
        assert [n.label for n in weft.view.graph(what)] == ["x0", "x1", "matmul", "output"]
    g = weft.view.graph(lambda d, n: {"s": d["p"] + n}, ({"p": weft.ones(2)}, weft.ones(1)))
    assert [n.label for n in g] == ["d['p']", "n", "add", "output['s']"]
    x = weft.ones(1, requires_grad=True)
    assert weft.view.graph(x * 2).nodes[1].op == "MulBackward0"
    branch = weft.view.graph(lambda x: x * 2 if x.sum() > 0 else x, weft.ones(2))
    assert [n.label for n in branch if n.kind == "op"] == ["mul"]
    rnn = weft.view.graph(nn.LSTM(3, 4), weft.ones(5, 2, 3))
    assert "weight_hh_l0" in [n.label for n in rnn]
    given = weft.zeros(2)
    weft.view.graph(lambda x: x.add_(1), given)
    assert given.tolist() == [0, 0]
    with pytest.raises(TypeError, match="not int"):
        weft.view.graph(3)


def test_names_of_make_dot() -> None:
    """It is where the seeds look for it."""
    from weft.autograd.functional import make_dot as other

    assert other is make_dot is weft.view.make_dot
    with pytest.raises(AttributeError, match="nothing"):
        weft.autograd.functional.nothing  # noqa: B018


def test_several_arguments() -> None:
    def both(a: Any, b: Any, c: Any) -> Any:
        return a * b["x"] + c

    a, b, c = weft.ones(2), {"x": weft.ones(2)}, weft.ones(2)
    several, one = weft.view.graph(both, a, b, c), weft.view.graph(both, (a, b, c))
    assert several.source == one.source
    for what in (a, weft.jit.trace(lambda x: x + 1, (a,))):
        with pytest.raises(TypeError, match="is not called"):
            weft.view.graph(what, a, b)


def test_pictures_have_the_names_of_users() -> None:
    net = weft.nn.Sequential(
        weft.nn.Conv2d(1, 2, 3), weft.nn.BatchNorm2d(2), weft.nn.GELU(), weft.nn.MaxPool2d(2),
        weft.nn.AvgPool2d(3), weft.nn.Flatten(), weft.nn.LayerNorm(2),
    )  # fmt: skip
    x = weft.randn(2, 1, 8, 8)
    ops = [n for n in weft.view.graph(net, x) if n.kind == "op"]
    assert [n.label for n in ops] == [
        "conv2d", "batch_norm", "gelu", "max_pool2d", "avg_pool2d", "view", "layer_norm",
    ]  # fmt: skip
    assert all(len(n.shapes) == 1 for n in ops)  # no statistics, no indices
    both = weft.nn.MaxPool2d(2, return_indices=True)
    assert [len(n.shapes) for n in weft.view.graph(both, x) if n.kind == "op"] == [2]
    assert [n.label for n in weft.view.graph(lambda x: x[0, 1:], x) if n.kind == "op"] == [
        "getitem"
    ]
    line = weft.nn.Conv1d(1, 1, 2)
    assert "conv1d" in [n.label for n in weft.view.graph(line, weft.ones(1, 1, 4))]


def test_public_names_are_those_of_functions() -> None:
    from weft.view.traced import _PUBLIC

    known = {row["name"] for row in weft._C._ops()}
    assert known >= _PUBLIC.keys()
    names = {n.replace("#", str(d)) for n in _PUBLIC.values() for d in (2, 3)}
    there = set(dir(weft)) | set(dir(weft.nn.functional)) | {"getitem", "index", "recurrent"}
    assert names <= there, names - there


def test_nodes_of_the_tape_have_pytorchs_names() -> None:
    x, volume = weft.randn(2, 2, 4, 4), weft.randn(1, 2, 4, 4, 4)
    for module, input, name in (
        (weft.nn.Conv2d(2, 2, 1), x, "ConvolutionBackward0"),
        (weft.nn.BatchNorm2d(2), x, "NativeBatchNormBackward0"),
        (weft.nn.LayerNorm(4), x, "NativeLayerNormBackward0"),
        (weft.nn.GroupNorm(1, 2), x, "NativeGroupNormBackward0"),
        (weft.nn.MaxPool2d(2), x, "MaxPool2DWithIndicesBackward0"),
        (weft.nn.MaxPool3d(2), volume, "MaxPool3DWithIndicesBackward0"),
        (weft.nn.AvgPool3d(2), volume, "AvgPool3DBackward0"),
    ):
        y = module(input.requires_grad_())
        names, waiting = set(), [y.grad_fn]
        while waiting:
            node = waiting.pop()
            names.add(node.name())
            waiting += [n for n, _ in node.next_functions if n is not None]
        assert name in names


def test_show_names_members_and_the_lines_of_gradients(capsys: pytest.CaptureFixture[str]) -> None:
    layer, head = weft.nn.Linear(3, 4), weft.nn.Linear(4, 2)
    net = weft.nn.ModuleDict({"layer": layer, "head": head})

    def loss(x: Any) -> Any:
        hidden = net["layer"](x).tanh()
        return net["head"](hidden).sum()

    f = weft.compile(loss)
    for _ in range(4):
        f(weft.ones(2, 3)).backward()
    weft.jit.show(f)
    text = capsys.readouterr().out
    for name in ("layer.weight", "layer.bias", "head.weight", "head.bias"):
        assert f"= member {name}\n" in text
    assert "= constant\n" not in text
    first = loss.__code__.co_firstlineno
    walk = text.index("graph(%g")
    for part in (text[:walk], text[walk:]):
        at = {int(n) for n in re.findall(r"test_graphs\.py:(\d+)", part)}
        assert at == {first + 1, first + 2}
