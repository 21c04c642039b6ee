"""Nodes of the tape have the names that PyTorch gives them, where one op makes the result."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

import weft

# x is (2, 4, 8, 8), v (1, 2, 8, 8, 8), s (2, 4, 8), m (3, 5).
CALLS = """
nn.Conv1d(4,2,3)(s) nn.Conv2d(4,2,3)(x) nn.BatchNorm1d(4)(s) nn.BatchNorm2d(4)(x) nn.LayerNorm(8)(x)
nn.GroupNorm(2,4)(x) nn.MaxPool2d(2)(x) nn.MaxPool3d(2)(v) nn.AvgPool2d(2)(x) nn.AvgPool3d(2)(v)
nn.AdaptiveMaxPool2d(3)(x) nn.AdaptiveMaxPool3d(3)(v) F.max_unpool2d(*F.max_pool2d(x,2,return_indices=True),2)
F.cross_entropy(m,lib.tensor([0,1,2])) F.nll_loss(m,lib.tensor([0,1,2])) F.gelu(m) F.gelu(m,approximate='tanh')
F.silu(m) F.mish(m) F.leaky_relu(m) F.elu(m) F.logsigmoid(m) F.hardswish(m) F.hardtanh(m) F.softplus(m)
F.unfold(x,2) F.grid_sample(x,lib.zeros(2,3,3,2),align_corners=False) F.pad(x,(1,1)) lib.cat([m,m]) lib.stack([m,m])
m.half() m.t().contiguous() m[lib.tensor([0])] F.embedding(lib.tensor([1]),m) F.bilinear(m,m,lib.ones(2,5,5))
""".split()


def name_of(lib: Any, call: str) -> str:
    sizes = {"x": (2, 4, 8, 8), "v": (1, 2, 8, 8, 8), "s": (2, 4, 8), "m": (3, 5)}
    tensors = {name: lib.ones(*size, requires_grad=True) for name, size in sizes.items()}
    scope = {"lib": lib, "nn": lib.nn, "F": lib.nn.functional, **tensors}
    return str(eval(call, scope).grad_fn.name())


@pytest.mark.parametrize("call", CALLS)
def test_names_are_pytorchs(call: str) -> None:
    assert name_of(weft, call) == name_of(torch, call)


def test_names_of_subscripts_are_pytorchs() -> None:
    draw = random.Random(11)
    for _ in range(200):
        parts = [
            draw.choice(["0", "-1", ":", "1:", ":2", "::2", "None", "1:3"])
            for _ in range(draw.randint(1, 3))
        ]
        call = f"x[{','.join(parts)}]"
        assert name_of(weft, call) == name_of(torch, call), call
