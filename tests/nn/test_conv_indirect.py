"""Convolutions whose pixels are found by pointers, beside a twin in NumPy."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import weft
from weft.nn import functional as F

Case = dict[str, Any]


def draw(r: random.Random) -> Case:
    """Return a convolution of steps, gaps, groups and padding, and of sizes between vectors and tiles."""
    dims = r.choice([1, 2, 2, 3])
    groups = r.choice([1, 1, 1, 2, 3, 8, 16])
    channels = groups * r.choice([1, 2, 4, 8, 3, 16, 20, 33])
    out = channels if r.random() < 0.4 else groups * r.choice([1, 2, 5, 16, 17, 33, 48, 50, 65])
    kernel = [r.choice([1, 2, 3, 5]) for _ in range(dims)]
    dilation = [r.choice([1, 1, 2]) for _ in range(dims)]
    padding = [r.randint(0, 3) for _ in range(dims)]
    least = [(k - 1) * d + 1 - 2 * p for k, d, p in zip(kernel, dilation, padding)]
    return {
        "input": [r.choice([1, 2, 5]), channels, *(max(1, n) + r.randint(0, 8) for n in least)],
        "weight": [out, channels // groups, *kernel],
        "bias": r.random() < 0.5,
        "stride": [r.choice([1, 1, 2, 3]) for _ in range(dims)],
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
    }


def twin(c: Case, x: Any, w: Any, g: Any) -> tuple[Any, Any, Any]:
    """The result and both gradients, by the definition, a tap at a time in float64."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    n, groups = x.shape[0], c["groups"]
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in c["padding"])])
    y = np.zeros(g.shape)
    dx, dw = np.zeros_like(padded), np.zeros_like(w)

    def split(t: Any) -> Any:
        return t.reshape(n, groups, t.shape[1] // groups, -1)

    for tap in itertools.product(*(range(k) for k in w.shape[2:])):
        at = tuple(
            slice(t * d, t * d + s * (m - 1) + 1, s)
            for t, d, s, m in zip(tap, c["dilation"], c["stride"], y.shape[2:])
        )
        pixels = split(padded[(slice(None), slice(None), *at)])
        kernel = w[(slice(None), slice(None), *tap)].reshape(groups, -1, w.shape[1])
        y += np.einsum("ngip,goi->ngop", pixels, kernel).reshape(y.shape)
        there = dx[(slice(None), slice(None), *at)]
        there += np.einsum("ngop,goi->ngip", split(g), kernel).reshape(there.shape)
        of_tap = np.einsum("ngop,ngip->goi", split(g), pixels)
        dw[(slice(None), slice(None), *tap)] = of_tap.reshape(w.shape[:2])
    inner = tuple(slice(p, p + m) for p, m in zip(c["padding"], x.shape[2:]))
    return y, dx[(slice(None), slice(None), *inner)], dw


def results(c: Case, x: Any, w: Any, bias: Any, seed: int) -> tuple[Any, ...]:
    convolve = (F.conv1d, F.conv2d, F.conv3d)[len(c["stride"]) - 1]
    options = (c["stride"], c["padding"], c["dilation"], c["groups"])
    x, w = x.clone().requires_grad_(), w.clone().requires_grad_()
    y = convolve(x, w, bias, *options)
    g = weft.from_numpy(np.random.default_rng(seed).standard_normal(y.shape, np.float32))
    dx, dw = weft.autograd.grad(y, (x, w), g)
    with weft.no_grad():  # a packed kernel is kept, and used again
        assert weft.equal(convolve(x, w, bias, *options), y)
        assert weft.equal(convolve(x, w, bias, *options), y)
    return y, dx, dw, g


def check(seed: int, threads: tuple[int, ...] = ()) -> None:
    c = draw(random.Random(seed))
    made = np.random.default_rng(seed)
    x, w = (made.standard_normal(c[name], np.float32) for name in ("input", "weight"))
    bias = made.standard_normal(c["weight"][0], np.float32) if c["bias"] else None
    given = [None if t is None else weft.from_numpy(t) for t in (x, w, bias)]
    *found, g = results(c, *given, seed)
    wanted = list(twin(c, x, w, g.numpy().astype(np.float64)))
    if bias is not None:
        wanted[0] = wanted[0] + bias.reshape(-1, *[1] * len(c["stride"]))
    for name, a, b in zip(("result", "gradient of input", "gradient of weight"), found, wanted):
        assert a.shape == b.shape
        worst = np.abs(a.detach().numpy() - b).max()
        assert worst <= 2e-5 * max(np.abs(b).max(), 1), (name, c, worst)
    before = weft.get_num_threads()
    try:
        for count in threads:
            weft.set_num_threads(count)
            assert all(weft.equal(a, b) for a, b in zip(found, results(c, *given, seed))), (
                c,
                count,
            )
    finally:
        weft.set_num_threads(before)


@pytest.mark.parametrize("seed", range(60))
def test_random_convolutions(seed: int) -> None:
    check(seed, (1, 3))


@pytest.mark.parametrize("isa", ["avx2", "base"])
def test_on_lesser_machines(isa: str) -> None:
    """The same with shorter vectors."""
    program = "import test_conv_indirect as t\nfor seed in range(100, 140): t.check(seed)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=os.path.dirname(__file__),
        env={**os.environ, "WEFT_ISA": isa},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_large_padding_reads_zeros_only() -> None:
    """Padding that is much larger than the image: its taps are left out, and its lines not laid out."""
    x, w = weft.randn(1, 3, 4, 4), weft.randn(2, 3, 3, 3)
    y = F.conv2d(x, w, padding=(40, 900))
    assert y.shape == (1, 2, 82, 1802)
    assert weft.equal(
        y != 0, F.conv2d(weft.ones(1, 3, 4, 4), weft.ones(2, 3, 3, 3), padding=(40, 900)) != 0
    )
    assert weft.allclose(y[:, :, 39:43, 899:903], F.conv2d(x, w, padding=1), atol=1e-5)
