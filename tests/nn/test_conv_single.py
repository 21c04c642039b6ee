"""Convolutions of one channel by kernels too large for windows laid out in memory."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import weft
from weft.nn import functional as F

SIZES = {1: (900, 5000), 2: (40, 70), 3: (11, 19)}  # of images and kernels: at most, by dimensions


def dense(x: np.ndarray, w: np.ndarray, stride: list[int], dilation: list[int]) -> np.ndarray:
    """A transposed convolution without padding, tap by tap."""
    size = [
        (s - 1) * st + d * (k - 1) + 1 for s, st, d, k in zip(x.shape, stride, dilation, w.shape)
    ]
    y = np.zeros(size)
    for at in np.ndindex(*x.shape):
        y[tuple(slice(a * st, a * st + d * (k - 1) + 1, d) for a, st, d, k in
                zip(at, stride, dilation, w.shape))] += x[at] * w  # fmt: skip
    return y


def check(seed: int) -> None:
    """Values, and gradients by the adjoint: <y(x, w), g> is linear in x, w and g."""
    rng = random.Random(seed)
    n, numbers = rng.choice((1, 2, 3)), np.random.default_rng(seed)
    small, large = SIZES[n]
    size = [rng.randint(small - small // 3, small) for _ in range(n)]
    kernel = [rng.randint(large - large // 9, large) for _ in range(n)]
    stride = [rng.choice((1, 1, 2, 3)) for _ in range(n)]
    dilation = [rng.choice((1, 1, 2)) for _ in range(n)]
    pad = [rng.randint(0, 3) for _ in range(n)]
    dtype, tolerance = rng.choice((("float32", 2e-5), ("float64", 1e-12)))
    x, w = (numbers.standard_normal(s).astype(dtype) for s in (size, kernel))
    a, b = (weft.tensor(v[None, None], requires_grad=True) for v in (x, w))
    how: dict[str, Any] = {"stride": stride, "padding": pad, "dilation": dilation}
    y = getattr(F, f"conv_transpose{n}d")(a, b, **how)
    right = dense(x, w, stride, dilation)
    right = right[tuple(slice(p, s - p) for p, s in zip(pad, right.shape))]
    assert abs(y[0, 0].detach().numpy() - right).max() < tolerance * abs(right).max()
    g = weft.tensor(numbers.standard_normal(y.shape).astype(dtype))
    dx, dw = weft.autograd.grad(y, (a, b), g)
    total = float((y.detach().double() * g.double()).sum())
    scale = float(y.detach().norm() * g.norm())
    for given, grad in ((a, dx), (b, dw)):
        assert (
            abs(float((given.detach().double() * grad.double()).sum()) - total) < tolerance * scale
        )
    again = getattr(F, f"conv{n}d")(g, b.detach(), **how)  # the gradient of x
    assert weft.equal(again, dx)


@pytest.mark.parametrize("seed", range(6))
def test_random(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("isa", ["base", "avx2"])
def test_other_instruction_sets(isa: str) -> None:
    program = "import test_conv_single as t\nfor seed in range(10, 14): t.check(seed)"
    where = os.path.dirname(__file__)
    env = {**os.environ, "WEFT_ISA": isa}
    subprocess.run([sys.executable, "-c", program], cwd=where, env=env, check=True)


def test_infinite_kernels_stay_inside() -> None:
    w = weft.zeros(1, 1, 5000)
    w[0, 0, 10] = float("inf")
    y = F.conv_transpose1d(weft.ones(1, 1, 1000), w)
    assert y.isinf().sum() == 1000 and not y.isnan().any()
    assert y[0, 0, 10:1010].isinf().all()
