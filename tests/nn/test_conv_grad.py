"""``nn.grad``: gradients of convolutions as functions."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft.nn import functional as F
from weft.nn import grad

HOW: list[dict[str, Any]] = [
    {},
    {"stride": 2, "padding": 1},
    {"dilation": 2, "groups": 2},
    {"stride": (2,), "padding": 2, "dilation": 1},
]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_is_what_backward_gives(n: int, how: dict[str, Any], dtype: Any) -> None:
    """Both gradients, for all strides, paddings, dilations and groups."""
    x = weft.randn(2, 4, *[7] * n, dtype=dtype, requires_grad=True)
    w = weft.randn(6, 4 // how.get("groups", 1), *[3] * n, dtype=dtype, requires_grad=True)
    y = getattr(F, f"conv{n}d")(x, w, None, **how)
    g = weft.randn_like(y)
    y.backward(g)
    of_input = getattr(grad, f"conv{n}d_input")(x.shape, w, g, **how)
    of_weight = getattr(grad, f"conv{n}d_weight")(x, w.shape, g, **how)
    assert weft.equal(of_input, x.grad) and weft.equal(of_weight, w.grad)
    assert of_input.requires_grad and of_weight.requires_grad


def test_refusals() -> None:
    """Shapes that do not fit, and paddings by name."""
    w, g = weft.ones(1, 1, 2), weft.ones(1, 1, 2)
    with pytest.raises(RuntimeError, match=r"gradient of shape \[1, 1, 8\], got \[1, 1, 2\]"):
        grad.conv1d_input((1, 1, 9), w, g)
    with pytest.raises(RuntimeError, match="padding must be numbers, got 'same'"):
        grad.conv1d_weight(weft.ones(1, 1, 3), (1, 1, 2), g, padding="same")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="stride must be an int or a tuple of 1 ints"):
        grad.conv1d_input((1, 1, 3), w, g, stride=(1, 1))
