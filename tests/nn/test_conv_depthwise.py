"""Depthwise convolutions of random sizes against the same in float64, which another way computes."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

import weft
from weft.nn import functional as F


def _drawn(rng: random.Random) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    """Return sizes, kernel, stride, padding and dilation, such that there is a result."""
    n = rng.choice((1, 2, 3))
    while True:
        size = [rng.randint(1, (40, 14, 7)[n - 1]) for _ in range(n)]
        kernel = [rng.choice((1, 2, 3, 5, 7)) for _ in range(n)]
        stride, dilation = ([rng.choice((1, 1, 2, 3)) for _ in range(n)] for _ in range(2))
        padding = [rng.randint(0, 4) for _ in range(n)]
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
        if all(s + 2 * p >= r for s, p, r in zip(size, padding, reach)):
            return size, kernel, stride, padding, dilation


def check(seed: int) -> None:
    """Compare results and gradients of one drawn convolution."""
    rng = random.Random(seed)
    size, kernel, stride, padding, dilation = _drawn(rng)
    batch, channels = rng.choice((1, 2, 3)), rng.choice((2, 3, 5, 8, 16, 17, 33, 40))
    conv = (F.conv1d, F.conv2d, F.conv3d)[len(size) - 1]
    weft.manual_seed(seed)
    inputs = [
        weft.randn(batch, channels, *size),
        weft.randn(channels, 1, *kernel),
        weft.randn(channels),
    ]
    results = []
    gradient = None
    for dtype in (weft.float64, weft.float32):
        leaves = [t.to(dtype).requires_grad_() for t in inputs]
        y = conv(*leaves, stride, padding, dilation, channels)
        gradient = weft.randn(*y.shape) if gradient is None else gradient
        results.append((y, *weft.autograd.grad(y, leaves, gradient.to(dtype))))
    for want, got in zip(*results):
        assert weft.allclose(
            got.double(), want, rtol=1e-4, atol=1e-4 * want.abs().max().item() + 1e-6
        )


@pytest.mark.parametrize("seed", range(40))
def test_random(seed: int) -> None:
    """Any number of dimensions, sizes, steps, paddings and dilations."""
    check(seed)


@pytest.mark.parametrize("isa", ["base", "avx2"])
def test_other_instruction_sets(isa: str) -> None:
    """The loops of the instruction sets that this machine would not choose."""
    program = "import test_conv_depthwise as t\nfor seed in range(100, 140): t.check(seed)"
    env = {**os.environ, "WEFT_ISA": isa}
    subprocess.run(
        [sys.executable, "-c", program], env=env, cwd=os.path.dirname(__file__), check=True
    )
