"""jit.fuse: the same module, with its layers joined; jit.show: what the passes did."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import jit, nn
from weft.nn import functional as F


class Net(nn.Module):
    """Linear layers with activations, batch norm and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(6, 16), nn.Linear(16, 8), nn.Linear(8, 3)
        self.norm, self.drop = nn.BatchNorm1d(16), nn.Dropout(0.2)

    def forward(self, x):
        x = self.drop(F.relu(self.norm(self.fc1(x)), inplace=True))
        return self.fc3(F.gelu(self.fc2(x)))


def ops(graph: Any) -> list[str]:
    """The ops of a graph, in order."""
    return [node.op for node in graph]


def train(model: Any, steps: int = 12) -> list[float]:
    """Losses of a training from the same numbers."""
    weft.manual_seed(1)
    x, y = weft.randn(32, 6), weft.randint(0, 3, (32,))
    sgd = weft.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    losses = []
    for i in range(steps):
        sgd.zero_grad()
        loss = F.cross_entropy(model(x[: 32 - 8 * (i % 2)]), y[: 32 - 8 * (i % 2)])
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("example", [False, True])
def test_training(example: bool) -> None:
    """Fused and not, from the same start: the same losses, weights and statistics, bit for bit."""
    weft.manual_seed(0)
    net = Net()
    twin = copy.deepcopy(net)
    fused = jit.fuse(twin, weft.randn(32, 6)) if example else jit.fuse(twin)
    assert train(net) == train(fused)
    assert "linear_gelu" in ops(fused.graph) and len(fused.graphs) == 2
    for (name, a), b in zip(net.state_dict().items(), fused.state_dict().values()):
        assert a.equal(b), name
    x = weft.randn(5, 6)
    assert fused.eval()(x).equal(net.eval()(x)) and not twin.training
    with weft.no_grad():
        for _ in range(3):
            assert fused(x).equal(net(x))
        assert fused.graph._fast is not None


def test_it_is_the_module() -> None:
    """Parameters, buffers, children, modes, state and attributes are those of the module."""
    net = Net()
    net.scale = 2.0
    fused = jit.fuse(net)
    assert all(a is b for a, b in zip(fused.parameters(), net.parameters(), strict=True))
    assert [n for n, _ in fused.named_modules()] == [n for n, _ in net.named_modules()]
    assert fused.fc1 is net.fc1 and fused.scale == 2.0 and list(fused.buffers())
    fused.scale = 3.0
    fused.eval()
    assert net.scale == 3.0 and not net.training and not fused.training and not net.drop.training
    other = Net().state_dict()
    fused.load_state_dict(other)
    assert net.fc1.weight.equal(other["fc1.weight"]) and list(fused.state_dict()) == list(other)
    fused.double()
    x = weft.randn(2, 6, dtype=weft.float64)
    assert net.norm.running_mean.dtype == weft.float64 and fused(x).equal(net(x))
    assert fused(x).equal(net(x))
    twin = copy.deepcopy(fused)
    assert twin(x).equal(fused(x)) and twin.fc1.weight is not net.fc1.weight
    assert "original_name=Net" in repr(fused) and jit.fuse(fused)(x).equal(net(x))


def test_an_example_changes_nothing() -> None:
    """Statistics and random numbers stay as they were."""
    net = Net()
    before = {n: t.clone() for n, t in net.state_dict().items()}
    weft.manual_seed(5)
    want = weft.rand(1)
    weft.manual_seed(5)
    fused = jit.fuse(net, weft.randn(4, 6).clone())
    weft.manual_seed(5)
    jit.fuse(net, weft.ones(4, 6))
    assert weft.rand(1).equal(want)
    assert all(before[n].equal(t) for n, t in net.state_dict().items())
    assert fused.graph is not None and fused.reasons == []


def test_changes_are_seen() -> None:
    """Weights that are replaced or changed, layers that are replaced, numbers, modes of parts."""

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.factor, self.options = nn.Linear(3, 3), 2.0, [1]
            self.shift = weft.zeros(3)

        def forward(self, x):
            return F.relu(self.fc(x)) * self.factor + self.shift + len(self.options)

    net, x = Scaled(), weft.randn(4, 3)
    fused = jit.fuse(net)

    def same() -> bool:
        return all(fused(x).equal(net(x)) for _ in range(2))

    assert same()
    net.factor = 5.0
    assert same()
    net.fc.weight = nn.Parameter(weft.randn(3, 3))
    assert same()
    net.fc.weight.data = weft.randn(3, 3)
    assert same()
    net.fc = nn.Linear(3, 3)
    assert same()
    net.shift = weft.ones(3)
    assert same()
    net.options.append(2)
    assert same()
    handle = net.fc.register_forward_hook(lambda m, i, o: o * 2)
    with pytest.warns(jit.TracerWarning, match="has hooks"):
        assert same()
    handle.remove()
    assert same() and fused.reasons == ["it has hooks"]


def test_what_cannot_be_a_graph() -> None:
    """A branch on a value is told once, and never wrong."""

    class Choosing(nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x - 1

    fused = jit.fuse(Choosing())
    with pytest.warns(jit.TracerWarning, match=r"fuse: bool\(\) at .*test_fuse.py:\d+") as told:
        for x in (weft.ones(2), -weft.ones(2), weft.ones(2)):
            assert fused(x).equal(Choosing()(x))
    assert len(told) == 1 and fused.graphs == []
    with pytest.raises(TypeError, match="fuse: takes a Module, not a function"):
        jit.fuse(lambda x: x)


def test_inputs_with_gradients() -> None:
    """With and without gradients are two kinds of calls."""
    net = Net().eval()
    fused = jit.fuse(net)
    x = weft.randn(3, 6, requires_grad=True)
    for _ in range(2):
        want, got = (weft.autograd.grad(f(x).square().sum(), x)[0] for f in (net, fused))
        assert got.equal(want)
        with weft.no_grad():
            assert not fused(x).requires_grad
        with weft.inference_mode():
            assert fused(x).equal(net(x))


# ---- show ---------------------------------------------------------------------------------------


def test_show(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Text with counts and lines of the program; a page with pictures and no address in it."""
    net = Net().eval()
    fast = jit.optimize_for_inference(jit.trace(net, weft.randn(2, 6)))
    path = tmp_path / "page.html"
    assert jit.show(fast, path) is None
    text = capsys.readouterr().out
    assert re.search(r"fold_batch_norm: 6 -> 5 ops, [\d,]+ -> [\d,]+ bytes written", text)
    assert "drop_dropout: nothing to do" in text and "test_fuse.py" in text
    assert "= member fc1.weight" in text and "linear_gelu" in text
    page = path.read_text(encoding="utf-8")
    assert page.count("<svg") == 6 and "fc1.weight" in page and page.endswith("</html>\n")
    assert set(re.findall(r"https?://[\w./]+", page)) == {"http://www.w3.org/2000/svg"}
    assert 'class="less"' in page and 'class="more"' in page


def test_show_of_others(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Traces, graphs, fused modules before and after a call; what has no graph is named."""
    traced = jit.trace(lambda x: x.exp() + x.exp(), (weft.ones(2),))
    for thing in (traced, traced.graph, traced.optimize()):
        jit.show(thing)
        assert "share: 3 -> 2 ops" in capsys.readouterr().out
    fused = jit.fuse(Net())
    jit.show(fused, tmp_path / "none.html")
    assert capsys.readouterr().out == "no graph yet: call it first\n"
    assert "No graph yet" in (tmp_path / "none.html").read_text(encoding="utf-8")
    fused(weft.randn(2, 6))
    fused(weft.randn(3, 6))
    jit.show(fused)
    assert capsys.readouterr().out.count("join_activations: ") == 2
    with pytest.raises(TypeError, match=r"show: takes a Graph .* not a int"):
        jit.show(3)


def test_containers_as_arguments() -> None:
    """Lists and dicts are taken apart; a call that changes one runs as it is written."""

    class Sums(nn.Module):
        def forward(self, xs, options):
            if options.get("pop"):
                options.pop("pop")
            return sum(xs) * options["scale"]

    net, xs = Sums(), [weft.randn(2), weft.randn(2)]
    fused = jit.fuse(net)
    for scale in (2, 3, 2):
        assert fused(xs, {"scale": scale}).equal(net(xs, {"scale": scale}))
        assert fused([*xs, xs[0]], {"scale": scale}).equal(net([*xs, xs[0]], {"scale": scale}))
    assert len(fused.graphs) == 4 and not fused.reasons
    with pytest.warns(jit.TracerWarning, match="changes a list, dict or object"):
        for _ in range(3):
            options = {"scale": 2, "pop": 1}
            assert fused(xs, options).equal(net(xs, {"scale": 2})) and "pop" not in options
