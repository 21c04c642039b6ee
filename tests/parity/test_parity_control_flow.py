"""``cond``, ``while_loop`` and ``scan`` beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch._higher_order_ops import scan, while_loop

import weft


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(dim: int, reverse: bool) -> None:
    x = np.random.default_rng(0).standard_normal((3, 3, 3)).astype("float32")
    results = []
    for lib, f in ((weft, weft.scan), (torch, scan)):

        def step(carry: Any, x: Any) -> Any:
            return carry * 0.5 + x, {"y": carry * x, "z": x.sin()}

        carry, ys = f(step, lib.zeros(3, 3), lib.tensor(x), dim=dim, reverse=reverse)
        results.append([carry.numpy(), ys["y"].numpy(), ys["z"].numpy()])
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


def test_while_loop() -> None:
    results = []
    for lib, f in ((weft, weft.while_loop), (torch, while_loop)):
        n, x = f(
            lambda n, x: n < 5, lambda n, x: (n + 1, x * 1.5 + n), (lib.tensor(0), lib.ones(2))
        )
        results.append((n.item(), x.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("sign", [1, -1])
def test_cond(sign: int) -> None:
    results = []
    for lib in (weft, torch):
        x = lib.ones(3) * sign
        results.append(lib.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)).tolist())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
