"""Averages and maxima of sliding windows."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import (
    functional,
    functional_out,
    like,
    need_floating,
    prod,
    tuple_of,
    wide,
)
from weft.nn.functional.windows import padded, places, pooled_size, sliding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Ints = int | Sequence[int]


_pool_largest, _pool_mean = _C._op_function("pool_largest"), _C._op_function("pool_mean")
_resample = _C._op_function("resample")


def _need_planes(name: str, input: Tensor, n: int) -> None:
    if input.ndim not in (n + 1, n + 2) or any(s == 0 for s in input.shape[-n - 1 :]):
        raise RuntimeError(
            f"{name}: Expected {n + 1}D or {n + 2}D tensor with optional 0 dim batch size for "
            f"input, but got: {list(input.shape)}"
        )


def batched(name: str, input: Tensor, n: int) -> Tensor:
    """Return the input with a batch dimension; check its sizes."""
    _need_planes(name, input, n)
    return input if input.ndim == n + 2 else input.unsqueeze(0)


def _settings(
    name: str, input: Tensor, n: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Return kernel, stride, padding, dilation and the number of windows, after checks."""
    kernel = tuple_of(kernel_size, n, name, "kernel_size")
    empty = stride is None or (isinstance(stride, (list, tuple)) and not stride)
    stride = kernel if empty else tuple_of(stride, n, name, "stride")
    padding = tuple_of(padding, n, name, "padding")
    dilation = tuple_of(dilation, n, name, "dilation")
    for what, values in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
        if any(v <= 0 for v in values):
            raise RuntimeError(f"{name}: {what} should be greater than zero, but got {values}")
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"{name}: pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"{name}: pad should be at most half of effective kernel size, but got pad={p}, "
                f"kernel_size={k} and dilation={d}"
            )
    sizes = input.shape[-n:]
    out = tuple(
        pooled_size(*args, ceil_mode) for args in zip(sizes, kernel, stride, padding, dilation)
    )
    if any(o < 1 for o in out):
        raise RuntimeError(
            f"{name}: Given input size: {tuple(sizes)}. Calculated output size: {out}. Output size "
            "is too small"
        )
    return kernel, stride, padding, dilation, out


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


def lowest(x: Tensor) -> Any:
    """Return the smallest value of a dtype."""
    return -float("inf") if x.is_floating_point() else weft.iinfo(x.dtype).min


def plain_max_pool(
    name: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the largest element of every window, and its place in the flattened input."""
    x = batched(name, input, n)
    settings = _settings(name, x, n, kernel_size, stride, padding, dilation, ceil_mode)
    kernel, stride, padding, dilation, out = settings
    windows, sizes = _windows(x, settings, lowest(x))
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


def plain_avg_pool(
    name: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    """Return the mean of every window."""
    if divisor_override == 0:
        raise RuntimeError(f"{name}: divisor must be not zero")
    x = batched(name, input, n)
    settings = _settings(name, x, n, kernel_size, stride, padding, 1, ceil_mode)
    kernel, stride, padding, _, out = settings
    windows, sizes = _windows(wide(x), settings, 0)
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
    if input.is_floating_point():
        y = like(total / divisor, input)
    else:
        y = total.div(divisor, rounding_mode="trunc").to(input.dtype)
    return y if input.ndim == n + 2 else y.squeeze(0)


def _max_pooled(
    name: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return maxima and their places by the native op, whose twin is ``plain_max_pool``."""
    _need_planes(name, input, n)
    settings = _settings(name, input, n, kernel_size, stride, padding, dilation, ceil_mode)
    return _pool_largest(input, *settings)


def _avg_pooled(
    name: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    """Return means by the native op, whose twin is ``plain_avg_pool``."""
    if divisor_override == 0:
        raise RuntimeError(f"{name}: divisor must be not zero")
    _need_planes(name, input, n)
    settings = _settings(name, input, n, kernel_size, stride, padding, 1, ceil_mode)
    return _pool_mean(input, *settings, count_include_pad, divisor_override or 0)


def _overlap(size: int, kernel: int, stride: int, padding: int, out: int, pad: bool) -> Tensor:
    """Return how many elements each window holds, with or without the padding."""
    start = weft.arange(out) * stride - padding
    end = (start + kernel).clamp_max(size + padding)
    return end - start if pad else end.clamp_max(size) - start.clamp_min(0)


def bounds(size: int, out: int) -> tuple[Tensor, Tensor, int]:
    """Return first elements (out,), lengths (out,) and the longest of adaptive windows."""
    i = weft.arange(out)
    start = (i * size).div(max(out, 1), rounding_mode="floor")
    end = -(-(i + 1) * size).div(max(out, 1), rounding_mode="floor")
    longest = max((-(-(j + 1) * size // out) - j * size // out for j in range(out)), default=0)
    return start, end - start, longest


def adaptive_sizes(name: str, n: int, input: Tensor, output_size: Any) -> tuple[int, ...]:
    """Return the sizes asked for; None keeps that of the input."""
    given = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * n
    if len(given) != n:
        raise RuntimeError(f"{name}: output_size must be {n} numbers, got {tuple(given)}")
    sizes = [int(s if g is None else g) for g, s in zip(given, input.shape[-n:])]
    if any(s < 0 for s in sizes):
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0")
    return tuple(sizes)


def spread(x: Tensor, dim: int, start: Tensor, length: Tensor, longest: int) -> Any:
    """Replace a dimension by (windows, longest); also say which elements are inside a window."""
    offset = weft.arange(longest)
    inside = offset < length.unsqueeze(1)
    index = weft.where(inside, start.unsqueeze(1) + offset, start.unsqueeze(1))
    shape = (*x.shape[:dim], *index.shape, *x.shape[dim + 1 :])
    return x.index_select(dim, index.reshape(-1)).reshape(shape), inside, index


def _need_sizes(name: str, n: int, input: Tensor) -> None:
    if input.ndim not in (n + 1, n + 2) or 0 in input.shape[-n:]:
        raise RuntimeError(
            f"{name}: Expected {n + 1}D or {n + 2}D tensor with non-zero size for non-batch "
            f"dimensions, but got {list(input.shape)}"
        )


def _adaptive_avg_pool(name: str, n: int, input: Tensor, output_size: Any) -> Tensor:
    """Return means of as many windows as asked for, as equal as can be."""
    _need_sizes(name, n, input)
    need_floating(input, name)
    sizes = adaptive_sizes(name, n, input, output_size)
    if sizes == (1,) * n:
        return input.mean([-1, -2, -3][:n], keepdim=True)
    return _resample(input, sizes, "area", False, 0.0, 0.0, 0.0)


def largest_of(
    x: Tensor, starts: list[Tensor], lengths: list[Tensor], longest: list[int]
) -> tuple[Tensor, Tensor]:
    """Return maxima of windows that are given by their first elements, and their places."""
    n = len(starts)
    sizes, lead = x.shape[-n:], x.shape[:-n]
    at = weft.arange(prod(sizes)).reshape(sizes)
    keep: Any = None
    for i, (start, length, most) in enumerate(zip(starts, lengths, longest)):
        d = len(lead) + 2 * i
        x, inside, _ = spread(x, d, start, length, most)
        at, _, _ = spread(at, 2 * i, start, length, most)
        inside = inside.reshape(*inside.shape, *[1] * (2 * (n - 1 - i)))
        keep = inside if keep is None else keep & inside
    k = len(lead)
    order = [k + 2 * i for i in range(n)] + [k + 2 * i + 1 for i in range(n)]
    x = weft.where(keep, x, lowest(x)).permute(*range(k), *order).flatten(k + n)
    at = at.permute(*[o - k for o in order]).flatten(n)
    values, which = x.max(-1)
    index = at.expand(*lead, *at.shape).gather(-1, which.unsqueeze(-1)).squeeze(-1)
    return values, index


def _largest_of_equal(x: Tensor, counts: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Return maxima of so many windows of one size, and their places."""
    n = len(counts)
    lead, sizes = x.shape[:-n], x.shape[-n:]
    lengths = [size // count for size, count in zip(sizes, counts)]
    # For larger windows the maximum along one dimension is faster.
    if prod(lengths) < 32 and x.numel() and x.is_floating_point():
        return _pool_largest(x, lengths, lengths, [0] * n, [1] * n, counts)
    split = [s for pair in zip(counts, lengths) for s in pair]
    k = len(lead)
    order = [*range(k), *range(k, k + 2 * n, 2), *range(k + 1, k + 2 * n, 2)]
    values, which = x.reshape(*lead, *split).permute(order).flatten(k + n).max(-1)
    index, step = 0, 1
    for i in range(n - 1, -1, -1):  # from the place in a window to that in x
        first = weft.arange(0, sizes[i], lengths[i]).reshape(-1, *[1] * (n - 1 - i))
        index = index + (which % lengths[i] + first) * step
        which = which.div(lengths[i], rounding_mode="floor")
        step *= sizes[i]
    return values, index


def plain_adaptive_max_pool(
    name: str, n: int, input: Tensor, output_size: Any
) -> tuple[Tensor, Tensor]:
    """Return maxima of as many windows as asked for, and their places."""
    _need_sizes(name, n, input)
    sizes = adaptive_sizes(name, n, input, output_size)
    if prod(sizes) == 0:
        shape = (*input.shape[:-n], *sizes)
        return input.reshape(-1)[:0].reshape(shape), weft.empty(shape, dtype=weft.int64)
    if not any(size % out for size, out in zip(input.shape[-n:], sizes)):
        return _largest_of_equal(input, sizes)
    found = [bounds(size, out) for size, out in zip(input.shape[-n:], sizes)]
    return largest_of(input, *(list(part) for part in zip(*found)))


# ---- maxima --------------------------------------------------------------------------------------


def _max_pool(n: int, doc: str) -> tuple[Any, Any]:
    name = f"max_pool{n}d"

    def with_indices(
        input: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        return _max_pooled(name, n, input, kernel_size, stride, padding, dilation, ceil_mode)

    def values(
        input: Tensor,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        pair = _max_pooled(name, n, input, kernel_size, stride, padding, dilation, ceil_mode)
        return pair if return_indices else pair[0]

    return _both(name, doc, values, with_indices)


def _both(name: str, doc: str, values: Any, with_indices: Any) -> tuple[Any, Any]:
    """Name and declare a function, and its twin that always gives indices."""
    values.__name__ = values.__qualname__ = name
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    values.__doc__ = with_indices.__doc__ = doc
    return functional(values), with_indices


max_pool1d, max_pool1d_with_indices = _max_pool(
    1,
    """Return the largest element of every window of a sequence; with its place if asked.

    >>> weft.nn.functional.max_pool1d(weft.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[3., 4.]])
    """,
)
max_pool2d, max_pool2d_with_indices = _max_pool(
    2,
    """Return the largest element of every window of an image; with its place if asked.

    >>> weft.nn.functional.max_pool2d(weft.tensor([[[1.0, 3.0], [2.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """,
)
max_pool3d, max_pool3d_with_indices = _max_pool(
    3,
    """Return the largest element of every window of a volume; with its place if asked.

    >>> weft.nn.functional.max_pool3d(weft.arange(8.0).reshape(1, 2, 2, 2), 2).item()
    7.0
    """,
)


def _adaptive_max_pool(n: int, doc: str) -> tuple[Any, Any]:
    name = f"adaptive_max_pool{n}d"

    def with_indices(
        input: Tensor, output_size: Any, return_indices: bool = False
    ) -> tuple[Tensor, Tensor]:
        return plain_adaptive_max_pool(name, n, input, output_size)

    def values(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        pair = plain_adaptive_max_pool(name, n, input, output_size)
        return pair if return_indices else pair[0]

    return _both(name, doc, values, with_indices)


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(
    1,
    """Return maxima of output_size windows of a sequence.

    >>> weft.nn.functional.adaptive_max_pool1d(weft.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[3., 3.]])
    """,
)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(
    2,
    """Return maxima of output_size windows of an image; None keeps a size.

    >>> weft.nn.functional.adaptive_max_pool2d(weft.arange(4.0).reshape(1, 2, 2), (None, 1))
    tensor([[[1.],
             [3.]]])
    """,
)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(
    3,
    """Return maxima of output_size windows of a volume; None keeps a size.

    >>> weft.nn.functional.adaptive_max_pool3d(weft.arange(8.0).reshape(1, 2, 2, 2), 1).item()
    7.0
    """,
)


# ---- means ---------------------------------------------------------------------------------------


@functional
def avg_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the mean of every window of a sequence.

    >>> weft.nn.functional.avg_pool1d(weft.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[2., 3.]])
    """
    args = (input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)
    return _avg_pooled("avg_pool1d", 1, *args)


@functional_out
def avg_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of every window of an image.

    >>> weft.nn.functional.avg_pool2d(weft.tensor([[[1.0, 3.0], [2.0, 4.0]]]), 2)
    tensor([[[2.5000]]])
    """
    args = (input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _avg_pooled("avg_pool2d", 2, *args)


@functional_out
def avg_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of every window of a volume.

    >>> weft.nn.functional.avg_pool3d(weft.arange(8.0).reshape(1, 2, 2, 2), 2).item()
    3.5
    """
    args = (input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _avg_pooled("avg_pool3d", 3, *args)


@functional
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of output_size windows of a sequence.

    >>> weft.nn.functional.adaptive_avg_pool1d(weft.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[2.0000, 2.5000]])
    """
    return _adaptive_avg_pool("adaptive_avg_pool1d", 1, input, output_size)


@functional
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of output_size windows of an image; None keeps a size.

    >>> weft.nn.functional.adaptive_avg_pool2d(weft.arange(4.0).reshape(1, 2, 2), (None, 1))
    tensor([[[0.5000],
             [2.5000]]])
    """
    return _adaptive_avg_pool("adaptive_avg_pool2d", 2, input, output_size)


@functional
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of output_size windows of a volume; None keeps a size.

    >>> weft.nn.functional.adaptive_avg_pool3d(weft.arange(8.0).reshape(1, 2, 2, 2), 1).item()
    3.5
    """
    return _adaptive_avg_pool("adaptive_avg_pool3d", 3, input, output_size)
