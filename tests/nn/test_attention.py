"""Attention without its scores in memory, against its reference implementation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft
from weft.nn import functional as F
from weft.nn.functional.attention import plain_attention

INF = float("inf")


def tensors(dtype: weft.dtype, *shapes: tuple[int, ...]) -> list[weft.Tensor]:
    weft.manual_seed(0)
    return [weft.randn(*s, dtype=weft.float64).to(dtype).requires_grad_() for s in shapes]


def both(q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float | None) -> list[list[Any]]:
    """Return result and gradients of the op and of the reference implementation."""
    found = []
    for f in (F.scaled_dot_product_attention, plain_attention):
        y = f(q, k, v, mask, 0.0, causal, scale)
        weights = weft.arange(y.numel(), dtype=y.dtype).reshape(y.shape).sin()
        found.append([y.detach(), *weft.autograd.grad((y * weights).sum(), (q, k, v))])
    return found


MASKS = {
    "none": lambda b, h, q, k: None,
    "bool": lambda b, h, q, k: weft.rand(q, k) > 0.3,
    "bool per batch": lambda b, h, q, k: weft.rand(b, 1, 1, k) > 0.3,
    "added": lambda b, h, q, k: weft.randn(b, h, q, k, dtype=weft.float64),
    "a row sees nothing": lambda b, h, q, k: weft.arange(q).reshape(q, 1).expand(q, k) != 1,
    "one column": lambda b, h, q, k: weft.randn(q, 1, dtype=weft.float64),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("sizes", [(2, 3, 5, 7, 4, 6), (1, 2, 130, 600, 8, 8), (2, 1, 1, 1, 1, 1)])
def test_as_its_plain_twin(mask: Any, sizes: tuple[int, ...]) -> None:
    b, h, lq, lk, e, ev = sizes
    q, k, v = tensors(weft.float64, (b, h, lq, e), (b, h, lk, e), (b, h, lk, ev))
    for a, c in zip(*both(q, k, v, mask(b, h, lq, lk), False, None)):
        np.testing.assert_allclose(a, c, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("lq", "lk"), [(5, 5), (70, 70), (600, 600), (5, 9), (9, 5)])
def test_causal(lq: int, lk: int) -> None:
    q, k, v = tensors(weft.float64, (2, lq, 4), (2, lk, 4), (2, lk, 3))
    for a, c in zip(*both(q, k, v, None, True, 0.7)):
        np.testing.assert_allclose(a, c, rtol=1e-9, atol=1e-11)


def test_heads_side_by_side_stay_so() -> None:
    weft.manual_seed(0)
    x = weft.randn(2, 6, 3 * 4 * 5, dtype=weft.float64, requires_grad=True)
    q, k, v = x.view(2, 6, 3, 4, 5).permute(2, 0, 3, 1, 4)
    y = F.scaled_dot_product_attention(q, k, v)
    assert y.transpose(1, 2).is_contiguous()  # heads join without a copy
    twin = plain_attention(q, k, v, None, 0.0, False, None)
    np.testing.assert_allclose(y.detach(), twin.detach(), rtol=1e-9)
    (g,) = weft.autograd.grad(y.pow(2).sum(), x, retain_graph=True)
    (expected,) = weft.autograd.grad(twin.pow(2).sum(), x)
    np.testing.assert_allclose(g, expected, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("layout", ["transposed", "expanded", "strided"])
def test_odd_layouts(layout: str) -> None:
    weft.manual_seed(0)
    if layout == "transposed":
        q, k, v = (weft.randn(2, 4, 5).transpose(1, 2) for _ in range(3))
    elif layout == "expanded":
        q, k, v = (weft.randn(2, 1, 4).expand(2, 5, 4) for _ in range(3))
    else:
        q, k, v = (weft.randn(2, 5, 8)[:, :, ::2] for _ in range(3))
    y = F.scaled_dot_product_attention(q, k, v)
    twin = plain_attention(*(t.double() for t in (q, k, v)), None, 0.0, False, None)
    np.testing.assert_allclose(y, twin, rtol=1e-5, atol=1e-6)


def test_float32_and_threads() -> None:
    q, k, v = tensors(weft.float32, (4, 130, 16), (4, 700, 16), (4, 700, 16))
    results = []
    for threads in (1, 2, 4):
        weft.set_num_threads(threads)
        results.append(both(q, k, v, None, False, None)[0])
    weft.set_num_threads(2)
    for a, b, c in zip(*results):
        assert weft.equal(a, b) and weft.equal(a, c)
    wide = both(*(t.detach().double().requires_grad_() for t in (q, k, v)), None, False, None)[1]
    for a, b in zip(results[0], wide):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_derivatives(causal: bool) -> None:
    q, k, v = tensors(weft.float64, (1, 2, 3, 2), (1, 2, 4, 2), (1, 2, 4, 3))
    mask = None if causal else weft.tensor([[0.0, -INF, 0.5, 0.0]] * 3, dtype=weft.float64)

    def f(*x: weft.Tensor) -> weft.Tensor:
        return F.scaled_dot_product_attention(*x, mask, 0.0, causal)

    assert weft.autograd.gradcheck(f, (q, k, v))
    assert weft.autograd.gradgradcheck(f, (q, k, v))


def test_memory_does_not_grow_with_the_square_of_the_length() -> None:
    q, k, v = (weft.randn(1, 1, 8192, 8, requires_grad=True) for _ in range(3))
    weft.reset_peak_memory_stats()
    before = weft.memory_allocated()
    F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
    assert weft.max_memory_allocated() - before < 8 << 20  # the scores alone would be 256 MB


def test_far_scores_do_not_overflow() -> None:
    q = weft.full((1, 2, 4), 200.0)
    y = F.scaled_dot_product_attention(q, q, weft.tensor([[[1.0], [3.0]]]))
    assert y.tolist() == [[[2.0], [2.0]]]
    nothing = F.scaled_dot_product_attention(q, q, q, weft.full((2, 2), -INF))
    assert nothing.tolist() == [[[0.0] * 4] * 2]
    assert math.isnan(F.scaled_dot_product_attention(q * INF * 0, q, q).sum())
