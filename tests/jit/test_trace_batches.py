"""Traces take batches of other sizes where their ops follow the batch, and say why where not."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest

import weft
from weft import jit, nn


def net() -> nn.Module:
    """A small network with a batch norm and a view."""
    weft.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(32, 5),
    ).eval()


def stored(traced: Any) -> Any:
    """What a file brings back."""
    file = io.BytesIO()
    jit.save(traced, file)
    return jit.load(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize("traced_with", [1, 3])
@pytest.mark.parametrize("grad", [True, False])
def test_other_batches(traced_with: int, grad: bool) -> None:
    """Values and gradients are those of the module, for one row and for many."""
    model = net()
    traced = jit.trace(model, weft.randn(traced_with, 3, 8, 8))
    for rows in (1, 2, 7, 64, 2):
        x = weft.randn(rows, 3, 8, 8)
        with weft.set_grad_enabled(grad):
            got, want = traced(x), model(x)
        assert got.equal(want)
        if grad:
            ours, theirs = (
                weft.autograd.grad(y.square().sum(), list(m.parameters()))
                for y, m in ((got, traced), (want, model))
            )
            assert all(a.equal(b) for a, b in zip(ours, theirs))


@pytest.mark.parametrize("change", [stored, jit.freeze, copy.deepcopy, lambda m: m.optimize()])
def test_what_is_made_of_a_trace(change: Any) -> None:
    """Files, copies, frozen and improved traces take other batches too."""
    model, x = net(), weft.randn(9, 3, 8, 8)
    assert change(jit.trace(model, weft.randn(1, 3, 8, 8)))(x).equal(model(x))


def test_optimized_for_inference() -> None:
    """The passes run again for another batch; of what was saved after them the reason is told."""
    model, x = net(), weft.randn(9, 3, 8, 8)
    fast = jit.optimize_for_inference(jit.trace(model, weft.randn(1, 3, 8, 8)))
    weft.testing.assert_close(fast(x), model(x), atol=1e-6, rtol=1e-5)
    with pytest.raises(RuntimeError, match="save it before, and improve what is loaded"):
        stored(fast)(x)
    again = jit.optimize_for_inference(stored(jit.trace(model, weft.randn(1, 3, 8, 8))))
    assert again(x).equal(fast(x))


def test_layers_with_sizes() -> None:
    """Sizes that are computed from the batch follow it; so do states that are made for it."""
    cases: list[tuple[Any, tuple[int, ...]]] = [
        (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval(), (5, 16)),
        (lambda x: x.reshape(x.shape[0] * 2, -1).sum(1), (4, 3)),
        (lambda x: weft.cat([x, weft.zeros(x.shape[0] + 1, 3)]), (3,)),
        (lambda x: x.sum() / x.shape[0], (3,)),
        (lambda x: {"a": x[: len(x) - 1], "b": [x[-1]]}, (3,)),
    ]
    lstm = nn.LSTM(4, 6, batch_first=True)
    cases.append((lambda x: lstm(x)[0], (5, 4)))
    for func, rest in cases:
        traced = jit.trace(func, weft.randn(2, *rest))
        for rows in (1, 2, 5):
            x = weft.randn(rows, *rest)
            weft.testing.assert_close(traced(x), func(x))


def test_several_inputs() -> None:
    """Inputs with as many rows are of the batch; others stay as they are."""
    f = jit.trace(lambda x, w, y: x @ w + y, (weft.ones(2, 3), weft.ones(3, 4), weft.ones(2, 4)))
    assert f(weft.ones(5, 3), weft.ones(3, 4), weft.ones(5, 4)).equal(weft.full((5, 4), 4.0))
    with pytest.raises(
        RuntimeError, match=r"%x2 was traced as float32\[2, 4\], got float32\[4, 4\]"
    ):
        f(weft.ones(2, 3), weft.ones(3, 4), weft.ones(4, 4))
    square = jit.trace(weft.matmul, (weft.ones(3, 3), weft.ones(3, 3)))  # which has the batch?
    assert square(weft.ones(5, 3), weft.ones(3, 3)).equal(weft.full((5, 3), 3.0))


@pytest.mark.parametrize(
    ("func", "reason"),
    [
        (lambda x: sum(x[i] for i in range(x.shape[0])), "a larger batch takes other ops"),
        (lambda x: x * (1 / x.shape[0]), r"mul at .* takes 0\.5, 0\.33.*, 0\.25"),
        (lambda x: x + weft.tensor([float(x.shape[0])]), "made from the size of the batch"),
        (lambda x: x + weft.ones(2, 3), "with 3 rows it raised RuntimeError"),
        (lambda x: (x, x.shape[0]), "its result holds numbers"),
    ],
)
def test_reasons(func: Any, reason: str) -> None:
    """A function that does not follow the batch is refused for another one, and told why."""
    traced = jit.trace(func, weft.randn(2, 3))
    x = weft.randn(2, 3)
    weft.testing.assert_close(traced(x), func(x))
    with pytest.raises(RuntimeError, match=reason):
        traced(weft.randn(3, 3))
    with pytest.raises(RuntimeError, match="which take others"):
        traced(weft.randn(2, 4))


def test_nothing_is_left_behind() -> None:
    """Looking at larger batches changes neither buffers nor random numbers, nor do other batches."""
    bn, x = nn.BatchNorm1d(3), weft.randn(4, 3)
    twin = copy.deepcopy(bn)
    twin(x)
    jit.trace(bn, x)
    assert all(a.equal(b) for a, b in zip(bn.buffers(), twin.buffers()))

    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", weft.zeros(()))

        def forward(self, x: Any) -> Any:
            self.calls.add_(1)
            return x * self.calls

    counts = Counts()
    traced = jit.trace(counts, weft.ones(1, 2))
    assert counts.calls.item() == 1
    assert traced(weft.ones(4, 2)).equal(weft.full((4, 2), 2.0))
    assert traced(weft.ones(4, 2)).equal(weft.full((4, 2), 3.0))

    drop = jit.trace(lambda x: nn.functional.dropout(x, 0.5), weft.ones(2, 8))
    weft.manual_seed(1)
    got = drop(weft.ones(6, 8))
    weft.manual_seed(1)
    assert got.equal(nn.functional.dropout(weft.ones(6, 8), 0.5))


def test_members_stay_live() -> None:
    """Graphs for other batches see new parameters, in place and replaced, and other dtypes."""
    layer = nn.Linear(3, 2)
    traced = jit.trace(layer, weft.ones(1, 3))
    x = weft.randn(5, 3)
    traced(x)
    with weft.no_grad():
        layer.weight.mul_(2)
    assert traced(x).equal(layer(x))
    traced.weight = nn.Parameter(weft.zeros(2, 3))
    assert traced(x).equal(layer.bias.expand(5, 2))
    traced.double()
    assert traced(x.double()).dtype == weft.float64


def test_many_batches_stay_few() -> None:
    """Of a hundred sizes only the last graphs are kept."""
    traced = jit.trace(nn.Linear(3, 2), weft.ones(1, 3))
    for rows in range(2, 102):
        assert traced(weft.ones(rows, 3)).shape == (rows, 2)
    assert len(traced.graph._others) <= 16


def test_files_cannot_lie() -> None:
    """What a file says of the batch must name numbers that are there."""
    from weft.serialization.common import FileError

    traced = jit.trace(lambda x: x.reshape(x.shape[0] * 3), weft.ones(2, 3))
    file = io.BytesIO()
    jit.save(traced, file)
    content = weft.load(io.BytesIO(file.getvalue()))
    graph = content["traced"][1]
    batch, inputs, steps = graph["follow"]
    for wrong in (
        [0, inputs, steps],
        [batch, [7], steps],
        [batch, inputs, [[9, [1, 0], 3]]],
        [batch, inputs, [[0, [1, 5], 3]]],
        [batch, inputs, [[0, [0], 3]]],
        [batch, inputs, [[0, [1, 0], "3"]]],
        [batch, inputs],
    ):
        graph["follow"] = wrong
        bad = io.BytesIO()
        weft.save(content, bad)
        with pytest.raises(FileError):
            jit.load(io.BytesIO(bad.getvalue()))
