"""What lies in another way than eager tensors would: compiled sums run in the order of eager ones."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import nn
from weft.nn import functional as F

SHAPES = [(4, 8, 14, 14), (2, 32, 7, 7), (8, 4, 40, 40)]
ENDS = {
    "a plain image joins": lambda a, b, x, act: b(act(a(x)) + x).square().mean(),
    "a plain image is multiplied": lambda a, b, x, act: b(act(a(x)) * x).square().mean(),
    "reduced at once": lambda a, b, x, act: act(a(x)).mean() + b(x).sum(),
    "reduced by rows": lambda a, b, x, act: act(b(act(a(x)))).sum(-1).square().mean(),
    "both are used again": lambda a, b, x, act: (act(a(x)) + x + b(act(a(x)))).square().mean(),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("act", [F.gelu, F.silu, F.elu, F.relu, weft.tanh])
@pytest.mark.parametrize("end", ENDS)
def test_gradients_have_the_bits_of_eager_ones(end: str, act: Any, threads: int) -> None:
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        for shape in SHAPES:
            weft.manual_seed(0)
            layers = nn.ModuleList(nn.Conv2d(shape[1], shape[1], 3, padding=1) for _ in range(2))
            x = weft.randn(*shape, requires_grad=True)

            def step(x: Any, layers: Any = layers) -> Any:
                loss = ENDS[end](*layers, x, act)
                loss.backward()
                return loss

            fast = weft.compile(step, exact=True)
            for call in range(6):
                found = []
                for f in (step, fast):
                    layers.zero_grad()
                    x.grad = None
                    loss = f(x)
                    found.append([loss, x.grad, *[p.grad for p in layers.parameters()]])
                for i, (want, got) in enumerate(zip(*found)):
                    assert weft.equal(want, got), (shape, call, i)
    finally:
        weft.set_num_threads(before)


@pytest.mark.parametrize("rows", [1, 6, 7, 33, 100, 1000])
def test_gradients_that_arrive_expanded(rows: int) -> None:
    """``y.sum().backward()`` gives one number for all: it is summed as a copy of it would be."""
    net = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6))
    fast = weft.compile(net)
    for _ in range(5):
        x = weft.randn(rows, 6)
        found = []
        for f in (net, fast):
            net.zero_grad()
            (f(x).sum() * 0.3).backward()
            found.append([p.grad for p in net.parameters()])
        for want, got in zip(*found):
            assert weft.equal(want, got)
