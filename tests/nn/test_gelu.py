"""gelu keeps its digits where the normal distribution's share is small."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

import weft
from weft.nn import functional as F

LAST_PLACE = 2.0**-23


def of(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return gelu of floats and its derivative."""
    t = weft.from_numpy(x).requires_grad_()
    y = F.gelu(t)
    (slope,) = weft.autograd.grad(y, t, weft.ones_like(y))
    return y.detach().numpy(), slope.numpy()


def test_tail() -> None:
    """By less than 40 last places of the result, down to 1e-33; ``1 + erf`` is off by all of them."""
    x = np.linspace(-12, 12, 100_001, dtype=np.float32)
    wide = x.astype(np.float64)
    y, slope = of(x)
    want = wide * ndtr(wide)
    assert np.all(np.abs(y - want) <= 40 * LAST_PLACE * np.abs(want))
    bell = np.exp(-0.5 * wide * wide) / np.sqrt(2 * np.pi)
    assert np.max(np.abs(slope - (ndtr(wide) + wide * bell))) < 3e-7


def test_far_out() -> None:
    """Far from zero it is zero or its input, NaN stays, and signs of zeros do."""
    x = np.array([-1e30, -13, -0.0, 0.0, 13, 1e30, np.inf, np.nan], dtype=np.float32)
    y, slope = of(x)
    np.testing.assert_array_equal(y, np.array([0, 0, 0, 0, 13, 1e30, np.inf, np.nan], np.float32))
    assert np.signbit(y[:3]).all()
    np.testing.assert_array_equal(slope[:6], [0, 0, 0.5, 0.5, 1, 1])


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_fused_is_the_same(dtype: weft.dtype) -> None:
    """Bit for bit, there and back."""
    x = weft.linspace(-14, 14, 4001, dtype=dtype).requires_grad_()

    def work() -> weft.Tensor:
        (slope,) = weft.autograd.grad((F.gelu(x * 1.5) * 2).sum(), x)
        return slope

    compiled, want = weft.compile(work), work()
    for _ in range(4):
        assert compiled().equal(want)
