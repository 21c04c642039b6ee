"""Convolutions of few channels, which take a vector of images at a time, against the reference in float64."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import weft
from weft.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Batch, channels, size of image and kernel, and how. Some fill whole vectors of images, some do not.
CASES: list[tuple[int, int, int, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    (64, 1, 6, (28, 28), (5, 5), {"padding": 2}),
    (64, 6, 16, (14, 14), (5, 5), {}),
    (31, 3, 7, (9, 11), (3, 3), {"padding": 1}),
    (13, 2, 5, (12, 7), (3, 2), {"padding": (2, 1), "stride": (2, 3)}),
    (16, 4, 10, (9, 8), (3, 3), {"padding": 2, "dilation": 2}),
    (15, 3, 9, (7, 12), (2, 3), {"padding": (0, 3), "dilation": (1, 3), "stride": (1, 2)}),
    (16, 16, 20, (5, 5), (3, 3), {"padding": (3, 0)}),
    (16, 16, 24, (6, 40), (3, 3), {"padding": 1}),
    (16, 2, 3, (200, 40), (3, 3), {"padding": 1}),
    (48, 1, 1, (3, 3), (3, 3), {}),
    (16, 5, 3, (4, 4), (1, 1), {}),
    (16, 3, 5, (60,), (7,), {"padding": 3}),
    (32, 2, 13, (50,), (3,), {"padding": 4, "dilation": 4, "stride": 3}),
    (16, 2, 5, (6, 5, 7), (3, 3, 2), {"padding": (1, 1, 0)}),
    (14, 3, 4, (6, 7, 5), (2, 3, 3), {"padding": (1, 2, 1), "stride": 2}),
    (16, 2, 3, (7, 6, 5), (2, 2, 2), {"dilation": (2, 1, 2)}),
]


def results(case: tuple[Any, ...], dtype: weft.dtype) -> list[weft.Tensor]:
    """The convolution and the gradients of all that it is made of."""
    batch, channels, wanted, size, kernel, how = case
    weft.manual_seed(0)
    x, w, b = (
        weft.randn(batch, channels, *size),
        weft.randn(wanted, channels, *kernel),
        weft.randn(wanted),
    )
    leaves = [t.to(dtype).requires_grad_() for t in (x, w, b)]
    y = getattr(F, f"conv{len(size)}d")(*leaves, **how)
    g = weft.randn(y.shape).to(dtype)
    return [y.detach(), *weft.autograd.grad(y, leaves, g)]


def check(case: tuple[Any, ...], more_threads: Sequence[int] = ()) -> None:
    """float32 is close to the reference implementation, and the same on more threads."""
    before = weft.get_num_threads()
    try:
        weft.set_num_threads(1)
        found, twins = results(case, weft.float32), results(case, weft.float64)
        for a, b in zip(found, twins):
            assert (a.double() - b).abs().max() < 1e-5 * b.abs().max()
        for threads in more_threads:
            weft.set_num_threads(threads)
            assert all(weft.equal(a, b) for a, b in zip(found, results(case, weft.float32)))
    finally:
        weft.set_num_threads(before)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_is_what_the_plain_twin_gives(case: tuple[Any, ...]) -> None:
    """Values and gradients, on one thread and on several."""
    check(case, (2, 3, 7))


@pytest.mark.parametrize("isa", ["avx2", "base"])
def test_on_lesser_machines(isa: str) -> None:
    """The same with shorter vectors."""
    program = "import test_conv_few_channels as t\nfor case in t.CASES: t.check(case)"
    here = os.path.dirname(__file__)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=here,
        env={**os.environ, "WEFT_ISA": isa},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_second_derivatives() -> None:
    """Gradients of gradients pass the same loops."""
    found = []
    for dtype in (weft.float32, weft.float64):
        weft.manual_seed(0)
        leaves = [
            t.to(dtype).requires_grad_() for t in (weft.randn(16, 2, 8, 8), weft.randn(5, 2, 3, 3))
        ]
        y = F.conv2d(*leaves, padding=1).tanh().sum()
        slopes = weft.autograd.grad(y, leaves, create_graph=True)
        found.append(weft.autograd.grad(sum((s * s).sum() for s in slopes), leaves))
    for a, b in zip(*found):
        assert (a.double() - b).abs().max() < 1e-5 * b.abs().max()


def test_infinite_kernels_stay_inside() -> None:
    """What lies beyond the edge is not multiplied: zero times infinity is no number."""
    w = weft.zeros(3, 1, 3, 3)
    w[:, :, 0] = float("inf")
    y = F.conv2d(weft.ones(16, 1, 5, 5), w, padding=(1, 0))
    assert weft.equal(y[:, :, 0], weft.zeros(16, 3, 3))
