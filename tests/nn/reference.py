"""Layers' functions made of other ops, slow and obvious: the oracle of ``test_twins.py``."""

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor
from weft.nn.functional.common import prod
from weft.nn.functional.conv import _paddings
from weft.nn.functional.embedding import _scaled_by_frequency
from weft.nn.functional.pooling import _settings
from weft.nn.functional.sliding import padded, places, sliding


def hardtanh(x: Tensor, low: float, high: float) -> Tensor:
    """Return x between two bounds."""
    inside = (x > low) & (x < high)  # at the bounds, the derivative is zero
    return weft.where(inside, x, x.detach().clamp(low, high))


def hardsigmoid(x: Tensor) -> Tensor:
    """Return (x + 3) / 6, between 0 and 1."""
    return hardtanh(x + 3, 0, 6) / 6


def hardswish(x: Tensor) -> Tensor:
    """Return x times its hardsigmoid."""
    low, middle = x <= -3, (x > -3) & (x < 3)
    inner = weft.where(middle, x, 0.0)  # so that infinity is not in the derivative
    return weft.where(middle, inner * (inner + 3) / 6, weft.where(low, x * 0.0, x))


def elu(x: Tensor, alpha: float) -> Tensor:
    """Return x, or alpha (exp(x) - 1) below zero."""
    below = weft.where(x > 0, 0.0, x)  # exp of large numbers would make the gradient NaN
    return weft.where(x > 0, x, alpha * weft.expm1(below))


def leaky_relu(x: Tensor, slope: float) -> Tensor:
    """Return x, or a multiple of it below zero."""
    return weft.where(x > 0, x, x * slope)


def threshold(x: Tensor, threshold: float, value: float) -> Tensor:
    """Return x where it is larger than threshold, and value elsewhere."""
    return weft.where(x <= threshold, x.new_full((), value), x)


def gelu(x: Tensor) -> Tensor:
    """Return x times the share of a normal distribution below x."""
    return 0.5 * x * (1.0 + weft.erf(x * 0.7071067811865476))


def silu(x: Tensor) -> Tensor:
    """Return x times its sigmoid."""
    return x * weft.sigmoid(x)


def softplus(x: Tensor, beta: float, threshold: float) -> Tensor:
    """Return log(1 + exp(beta x)) / beta."""
    t = x * beta
    linear = t > threshold
    return weft.where(linear, x, weft.log1p(weft.exp(weft.where(linear, 0.0, t))) / beta)


def mish(x: Tensor) -> Tensor:
    """Return x tanh(log(1 + exp(x)))."""
    return x * weft.tanh(softplus(x, 1, 40))


def logsigmoid(x: Tensor) -> Tensor:
    """Return the logarithm of the sigmoid."""
    below = x < 0
    return weft.where(below, x, 0.0) - weft.log1p(weft.exp(weft.where(below, x, -x)))


def conv(
    n: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: int, padding: Any,
    dilation: int, groups: int,
) -> Tensor:  # fmt: skip
    """Convolve n dimensions: windows as the columns of a matrix, times the weights."""
    strides, dilations, kernel = (stride,) * n, (dilation,) * n, tuple(weight.shape[2:])
    before, after = _paddings("conv", padding, strides, dilations, kernel)
    x = padded(input if input.ndim == n + 2 else input.unsqueeze(0), before, after)
    batch, outputs, share = x.shape[0], *weight.shape[:2]
    out = tuple(
        (size - dilation * (k - 1) - 1) // stride + 1 for size, k in zip(x.shape[2:], kernel)
    )
    columns = sliding(x, kernel, strides, dilations, out)
    columns = columns.reshape(batch, groups, share * prod(kernel), prod(out))
    y = weft.matmul(weight.reshape(groups, outputs // groups, share * prod(kernel)), columns)
    y = y.reshape(batch, outputs, *out)
    if bias is not None:
        y = y + bias.reshape(-1, *[1] * n)
    return y if input.ndim == n + 2 else y.squeeze(0)


def _windows(x: Tensor, settings: tuple[Any, ...], value: Any) -> tuple[Tensor, tuple[int, ...]]:
    """Return windows (N, C, *kernel, *out), and the sizes of the padded input."""
    kernel, stride, padding, dilation, out = settings
    n = len(kernel)
    after = [
        max((o - 1) * s + d * (k - 1) + 1 - size - p, 0)
        for o, s, d, k, size, p in zip(out, stride, dilation, kernel, x.shape[-n:], padding)
    ]
    x = padded(x, padding, after, value)
    return sliding(x, kernel, stride, dilation, out), tuple(x.shape[-n:])


def max_pool(
    n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the largest element of every window, and its place in the flattened input."""
    x = input if input.ndim == n + 2 else input.unsqueeze(0)
    settings = _settings("max_pool", x.shape, n, kernel_size, stride, padding, dilation, ceil_mode)
    kernel, stride, padding, dilation, out = settings
    windows, sizes = _windows(x, settings, -float("inf"))
    values, which = windows.reshape(*x.shape[:2], prod(kernel), prod(out)).max(2)
    at = places(sizes, kernel, stride, dilation, out).reshape(prod(kernel), prod(out))
    index = at.expand(*x.shape[:2], -1, -1).gather(2, which.unsqueeze(2)).squeeze(2)
    if sizes != tuple(x.shape[-n:]):  # from the padded input to the given one
        rest, parts = index, list[Tensor]()
        for size in reversed(sizes):
            parts.insert(0, rest % size)
            rest = rest.div(size, rounding_mode="floor")
        index = weft.zeros_like(rest)
        for part, pad, size in zip(parts, padding, x.shape[-n:]):
            index = index * size + (part - pad)
    shape = (*(x.shape[:2] if input.ndim == n + 2 else x.shape[1:2]), *out)
    return values.reshape(shape), index.reshape(shape)


def _overlap(size: int, kernel: int, stride: int, padding: int, out: int, pad: bool) -> Tensor:
    """Return how many elements each window holds, with or without the padding."""
    start = weft.arange(out) * stride - padding
    end = (start + kernel).clamp_max(size + padding)
    return end - start if pad else end.clamp_max(size) - start.clamp_min(0)


def avg_pool(
    n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    """Return the mean of every window."""
    x = input if input.ndim == n + 2 else input.unsqueeze(0)
    settings = _settings("avg_pool", x.shape, n, kernel_size, stride, padding, 1, ceil_mode)
    kernel, stride, padding, _, out = settings
    windows, sizes = _windows(x, settings, 0)
    total = windows.sum(list(range(2, 2 + n)))
    whole = all(s == size + 2 * p for s, size, p in zip(sizes, x.shape[-n:], padding))
    if divisor_override is not None:
        divisor: Any = divisor_override
    elif (not any(padding) and sizes == tuple(x.shape[-n:])) or (count_include_pad and whole):
        divisor = prod(kernel)
    else:
        counts = [
            _overlap(size, k, s, p, o, count_include_pad)
            for size, k, s, p, o in zip(x.shape[-n:], kernel, stride, padding, out)
        ]
        divisor = counts[0].reshape(-1, *[1] * (n - 1))
        for i, count in enumerate(counts[1:], 1):
            divisor = divisor * count.reshape(-1, *[1] * (n - 1 - i))
    y = total / divisor
    return y if input.ndim == n + 2 else y.squeeze(0)


def embedding(
    index: Tensor, weight: Tensor, padding_idx: int | None = None, scale_grad_by_freq: bool = False
) -> Tensor:
    """Return the row of weight for each index, made of other ops."""
    flat = index.reshape(-1)
    y = weight.index_select(0, flat)
    if padding_idx is not None:
        y = weft.where((flat == padding_idx).unsqueeze(-1), y.detach(), y)
    if scale_grad_by_freq:
        y = _scaled_by_frequency(y, flat, weight)
    return y.reshape(*index.shape, weight.shape[1])
