"""Rows of weft.nn.functional: attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from samples import E, K, S, mask, row, t
from samples.nn import LOOSE, F, softmax


def attention(
    q: Any, k: Any, v: Any, m: Any = None, p: float = 0.0, causal: bool = False, scale: Any = None
) -> Any:
    """softmax(q k^T scale + mask) v."""
    s = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        s = np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -np.inf)
    if m is not None:
        s = np.where(m, s, -np.inf) if m.dtype == bool else s + m
    return softmax(s, -1) @ v


row(
    F + "scaled_dot_product_attention",
    lambda: [
        S(t(2, 3), t(2, 3), t(2, 2)),
        S(t(1, 2, 2), t(1, 3, 2), t(1, 3, 2), t(2, 3)),
        S(t(2, 2), t(2, 2), t(2, 2), None, 0.0, True),
        S(t(2, 2), t(2, 2), t(2, 2), scale=0.3),
        K(t(2, 1, 2, 3), t(2, 1, 3, 3), t(2, 1, 3, 2), mask(2, 3) | np.eye(2, 3, dtype=bool)),
    ],
    attention,
    "f",
    **LOOSE,
    errors=lambda: [E(RuntimeError, t(2, 3), t(2, 3), t(2, 2), t(2, 2), 0.0, True)],
)


def _mha(
    q: Any,
    k: Any,
    v: Any,
    e: int,
    h: int,
    w: Any,
    b: Any,
    bk: Any,
    bv: Any,
    zero: bool,
    p: float,
    wo: Any,
    bo: Any,
) -> Any:
    def heads(x: Any, i: int) -> Any:
        y = x @ w[i * e : (i + 1) * e].T + (0 if b is None else b[i * e : (i + 1) * e])
        return y.reshape(*y.shape[:2], h, e // h).transpose(1, 2, 0, 3)

    q, k, v = (heads(x, i) for i, x in enumerate((q, k, v)))
    a = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(e // h), -1)
    y = (a @ v).transpose(2, 0, 1, 3)
    return y.reshape(*y.shape[:2], e) @ wo.T + (0 if bo is None else bo), a.mean(1)


row(
    F + "multi_head_attention_forward",
    lambda: [
        S(
            t(2, 1, 2),
            t(1, 1, 2),
            t(1, 1, 2),
            2,
            1,
            t(6, 2),
            None,
            None,
            None,
            False,
            0.0,
            t(2, 2),
            None,
        ),
        S(
            t(3, 2, 4),
            t(2, 2, 4),
            t(2, 2, 4),
            4,
            2,
            t(12, 4),
            t(12),
            None,
            None,
            False,
            0.0,
            t(4, 4),
            t(4),
        ),
    ],
    _mha,
    "f",
    ulp=64,
    atol=1e-4,
    half=None,
    errors=lambda: [
        E(
            AssertionError,
            t(2, 1, 2),
            t(1, 1, 2),
            t(1, 1, 2),
            4,
            1,
            t(6, 2),
            None,
            None,
            None,
            False,
            0.0,
            t(2, 2),
            None,
            match="embedding",
        )
    ],
)
