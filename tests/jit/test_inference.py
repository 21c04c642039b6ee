"""optimize_for_inference: traced and scripted modules and functions, their results, their files."""

from __future__ import annotations

import copy
import io
import threading
import warnings
from typing import Any

import pytest

import weft
from weft import jit, nn
from weft.nn import functional as F


class Block(nn.Module):
    """A residual block that changes what it made in place."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x
        return self.relu(y)


class Net(nn.Module):
    """Convolutions, a residual block, linear layers, dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU6(inplace=True))
        self.block = Block()
        self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 3)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        x = self.block(self.stem(x)).mean((2, 3))
        return self.fc2(self.drop(F.gelu(self.fc1(x))))


class Branching(nn.Module):
    """Two ways, by a value; by a size; by a number."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x, by: str = "value", times: int = 1):
        if by == "size":
            return weft.relu(self.a(x)) if x.shape[0] > 1 else self.b(x)
        if by == "times":
            for _ in range(times):
                x = weft.relu(self.a(x))
            return x
        if x.sum() > 0:
            return self.a(x)
        return self.b(x)


def ready(net: Any) -> Any:
    """A module with statistics of its own, in the mode of evaluation."""
    for part in net.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.copy_(weft.randn(part.num_features) * 0.3)
            part.running_var.copy_(weft.rand(part.num_features) + 0.5)
    return net.eval()


def ops(graph: Any) -> list[str]:
    """The ops of a graph, in order."""
    return [node.op for node in graph]


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("way", ["trace", "script"])
def test_a_network(way: str, grad: bool) -> None:
    """Batch norms are gone, activations joined, nothing is in place; results equal up to rounding."""
    net, x = ready(Net()), weft.randn(2, 3, 8, 8)
    with weft.set_grad_enabled(grad):
        made = jit.trace(net, x) if way == "trace" else jit.script(net)
        fast = jit.optimize_for_inference(made)
        assert not fast.training and list(fast.parameters()) == [] and fast.state_dict() == {}
        for _ in range(3):
            x = weft.randn(2, 3, 8, 8)
            assert weft.allclose(fast(x), net(x), rtol=1e-5, atol=1e-6)
        names = ops(fast.graph)
        assert "norm_channels" not in names and "linear_gelu" in names
        assert not any(n.inplace or n.op.endswith("_") for n in fast.graph)
        assert fast.graph._fast is not None  # it ran as a static program
        assert list(net.parameters()) and made(x).equal(net(x))


def test_it_is_a_copy() -> None:
    """Later steps of the network leave it alone."""
    net, x = nn.Linear(2, 2).eval(), weft.ones(1, 2)
    traced, scripted = jit.trace(net, x), jit.script(net)
    fast = [jit.optimize_for_inference(m) for m in (traced, scripted)]
    before = net(x)
    with weft.no_grad():
        net.weight.zero_()
    assert all(f(x).equal(before) for f in fast)


def test_training_mode_is_left() -> None:
    """As in PyTorch, what is given is set to the mode of evaluation."""
    scripted = jit.script(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)))
    fast = jit.optimize_for_inference(scripted)
    assert not scripted.training and not fast.training
    assert fast(weft.ones(1, 2)).equal(scripted(weft.ones(1, 2)))
    with pytest.raises(RuntimeError, match="frozen"):
        fast.train()


def test_traces_in_training_mode() -> None:
    """Dropout goes; what cannot be made what evaluation does is told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = jit.trace(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)), weft.ones(4, 2))
        normed = jit.trace(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), weft.randn(4, 2))
    assert ops(jit.optimize_for_inference(traced).graph) == ["linear"]
    with pytest.warns(jit.TracerWarning, match=r"mode of training.*norm_channels"):
        jit.optimize_for_inference(normed)


def test_functions() -> None:
    """A traced function; its constants are copies, also those that wanted gradients."""
    w = weft.randn(3, 3, requires_grad=True)
    traced = jit.trace(lambda x: weft.relu(x @ (w * 2).t()), (weft.ones(1, 3),))
    fast = jit.optimize_for_inference(traced)
    x = weft.randn(1, 3)
    want = traced(x).detach()
    assert len(fast.graph.nodes) < len(traced.graph.nodes)
    with weft.no_grad():
        w.zero_()
    assert fast(x).equal(want) and not fast(x).requires_grad


def test_gradients_of_inputs() -> None:
    """A frozen network can still be explained: gradients reach its inputs."""
    net = ready(Net())
    fast = jit.optimize_for_inference(jit.trace(net, weft.randn(1, 3, 8, 8)))
    x = weft.randn(1, 3, 8, 8, requires_grad=True)
    want, got = (weft.autograd.grad(f(x).sum(), x)[0] for f in (net, fast))
    assert weft.allclose(got, want, rtol=1e-4, atol=1e-6)


def test_other_shapes_of_a_script() -> None:
    """Each shape gets a graph when it is first seen; few are kept."""
    net = ready(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
    fast = jit.optimize_for_inference(jit.script(net))
    assert fast.graphs == [] and "Sequential" in str(fast)
    for size in range(1, 40):
        x = weft.randn(size, 3)
        assert fast(x).equal(net(x)) and fast(x).equal(net(x))
    assert len(fast.graphs) == 16 and fast.reasons == []
    assert fast.graph.inputs[0].shape == (39, 3)
    strided = weft.randn(3, 5).t()
    assert fast(strided).equal(net(strided))


def test_branches_on_values_are_interpreted() -> None:
    """Never the wrong branch; branches on sizes and numbers are settled in the graph."""
    net = Branching().eval()
    fast = jit.optimize_for_inference(jit.script(net))
    one = weft.ones(2, 3)
    for x in (one, -one, one, -one):
        assert fast(x).equal(net(x))
    assert fast.graphs == [] and "turns a tensor into Python values" in fast.reasons[0]
    for size in (1, 2, 1, 2):
        x = weft.randn(size, 3)
        assert fast(x, by="size").equal(net(x, by="size"))
    for times in (1, 3, 1, 3):
        assert fast(one, "times", times).equal(net(one, "times", times))
    assert [len(g.nodes) for g in fast.graphs] == [1, 1, 1, 3]


class Counting(nn.Module):
    """Changes itself."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.seen: list[int] = []

    def forward(self, x, many: bool = False):
        if many:
            self.seen.append(1)
            return x * len(self.seen)
        self.calls += 1
        return x * self.calls


def test_state_is_kept() -> None:
    """A module that counts its calls goes on counting."""
    fast = jit.optimize_for_inference(jit.script(Counting().eval()))
    assert [fast(weft.ones(1)).item() for _ in range(5)] == [1, 2, 3, 4, 5]
    assert [fast(weft.ones(1), True).item() for _ in range(5)] == [1, 2, 3, 4, 5]
    assert fast.reasons == ["the call changes attributes of the module"]


def test_one_tensor_in_two_places() -> None:
    """Which arguments are the same is part of what a graph is for."""
    net = nn.MultiheadAttention(4, 2).eval()
    fast = jit.optimize_for_inference(jit.script(net))
    x, y = weft.randn(3, 1, 4), weft.randn(3, 1, 4)
    for given in ((x, x, x), (x, y, y), (y, x, y), (x, x, x)):
        assert weft.allclose(fast(*given)[0], net(*given)[0], atol=1e-6)


@pytest.mark.parametrize("way", ["trace", "script"])
def test_files_and_copies(way: str) -> None:
    """It can be saved and loaded, and copied."""
    net, x = ready(Net()), weft.randn(1, 3, 8, 8)
    made = jit.trace(net, x) if way == "trace" else jit.script(net)
    fast = jit.optimize_for_inference(made)
    want = fast(x)
    assert fast(x).equal(want)  # the first call folds as later ones do
    file = io.BytesIO()
    jit.save(fast, file)
    loaded = jit.load(io.BytesIO(file.getvalue()))
    for other in (loaded, copy.deepcopy(fast), jit.optimize_for_inference(loaded)):
        assert weft.allclose(other(x), want, atol=1e-6) and list(other.parameters()) == []
    if way == "trace":
        assert ops(loaded.graph) == ops(fast.graph)
    assert jit.optimize_for_inference(fast)(x).equal(want)


def test_part_of_another_module() -> None:
    """An optimised script inside a module that is scripted and saved in its turn."""

    class Outer(nn.Module):
        def __init__(self, inside: Any) -> None:
            super().__init__()
            self.inside, self.last = inside, nn.Linear(2, 2)

        def forward(self, x):
            return self.last(self.inside(x))

    fast = jit.optimize_for_inference(jit.script(nn.Linear(3, 2).eval()))
    outer, x, file = jit.script(Outer(fast)), weft.randn(1, 3), io.BytesIO()
    want = outer(x)
    jit.save(outer, file)
    assert jit.load(io.BytesIO(file.getvalue()))(x).equal(want) and outer(x).equal(want)


def test_other_methods() -> None:
    """Methods that are named stay."""

    class Two(nn.Module):
        def forward(self, x):
            return x + 1

        @jit.export
        def twice(self, x):
            return x * 2

        @jit.export
        def thrice(self, x):
            return x * 3

    fast = jit.optimize_for_inference(jit.script(Two().eval()), ["twice"])
    assert fast(weft.ones(1)).item() == fast.twice(weft.ones(1)).item() == 2
    assert not hasattr(fast, "thrice")


def test_inside_a_trace() -> None:
    """A trace of a program that calls static graphs holds their ops."""
    net, x = nn.Linear(2, 2).eval(), weft.ones(1, 2)
    for fast in map(jit.optimize_for_inference, (jit.trace(net, x), jit.script(net))):
        with weft.no_grad():
            fast(x)
            outer = jit.trace(lambda x, f=fast: f(x) + 1, (x,))
            assert ops(outer.graph) == ["linear", "add"]
            x2 = weft.randn(1, 2)
            assert outer(x2).equal(net(x2) + 1)


def test_threads() -> None:
    """Several threads call one module at once."""
    net = ready(nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)))
    fast = jit.optimize_for_inference(jit.script(net))
    wrong = []

    def work(seed: int) -> None:
        with weft.no_grad():
            for i in range(60):
                x = weft.full((1 + i % 4, 8), float(seed + i) / 50)
                if not fast(x).equal(net(x)):
                    wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_wrong_calls() -> None:
    """What cannot be optimised is named."""
    with pytest.raises(RuntimeError, match=r"takes what jit.script or jit.trace .* not a Linear"):
        jit.optimize_for_inference(nn.Linear(1, 1))
    traced = jit.trace(nn.Sequential(nn.Linear(1, 1)).eval(), weft.ones(1, 1))
    with pytest.raises(RuntimeError, match="part of a traced module"):
        jit.optimize_for_inference(traced.get_submodule("0"))
    fast = jit.optimize_for_inference(traced)
    with pytest.raises(RuntimeError, match=r"was traced as float32\[1, 1\], got float32\[2, 1\]"):
        fast(weft.ones(2, 1))
