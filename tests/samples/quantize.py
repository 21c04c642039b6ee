"""Rows of numbers rounded to grids.

Their gradients pass as if nothing were rounded: tests/quantization checks them, not differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import E, S, ix, row, t


def rounded(x: np.ndarray, scale: Any, zero: Any, low: int, high: int) -> np.ndarray:
    """The nearest numbers (i - zero) scale with i between low and high."""
    return (np.clip(np.rint(x / scale) + zero, low, high) - zero) * scale


def by_channel(
    x: np.ndarray, scale: np.ndarray, zero: np.ndarray, axis: int, low: int, high: int
) -> np.ndarray:
    """The same with a grid for each channel."""
    shape = [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
    return rounded(x, scale.reshape(shape), zero.reshape(shape), low, high)


row(
    "fake_quantize_per_tensor_affine",
    lambda: [
        S(t(2, 3), 0.25, 2, 0, 15),
        S(t(7, lo=-30, hi=30), 0.5, -3, -8, 7),
        S(t(), 1.0, 0, 0, 255),
        S(t(0, 3), 1.0, 0, 0, 255),
    ],
    rounded,
    "f",
    grad=False,
    errors=lambda: [
        E(RuntimeError, t(2), 0.5, 0, 7, -8, match="quant_min"),
        E(RuntimeError, ix([1, 2]), 0.5, 0, 0, 7),
    ],
)
row(
    "fake_quantize_per_channel_affine",
    lambda: [
        S(t(2, 3), np.array([0.5, 0.25]), np.array([1.0, 0.0]), 0, 0, 15),
        S(t(2, 3, 2), np.array([0.5, 0.25, 1.0]), np.array([0.0, 0.0, 2.0]), 1, -8, 7),
    ],
    by_channel,
    "f",
    half=None,
    grad=False,
    errors=lambda: [
        E(RuntimeError, t(2, 3), t(3), t(3), 0, 0, 15),
        E(IndexError, t(2), t(2), t(2), 1, 0, 15),
    ],
)
