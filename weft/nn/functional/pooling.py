"""Averages and maxima of sliding windows."""

from __future__ import annotations

from functools import lru_cache

from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import (
    functional,
    functional_out,
    need_floating,
    tuple_of,
)
from weft.nn.functional.sliding import pooled_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Ints = int | Sequence[int]


_pool_largest, _pool_mean = _C._op_function("pool_largest"), _C._op_function("pool_mean")
_pool_adaptive, _resample = _C._op_function("pool_adaptive"), _C._op_function("resample")


def _need_planes(name: str, shape: tuple[int, ...], n: int) -> None:
    if len(shape) not in (n + 1, n + 2) or 0 in shape[-n - 1 :]:
        raise RuntimeError(
            f"{name}: Expected {n + 1}D or {n + 2}D tensor with optional 0 dim batch size for "
            f"input, but got: {list(shape)}"
        )


def batched(name: str, input: Tensor, n: int) -> Tensor:
    """Return the input with a batch dimension; check its sizes."""
    _need_planes(name, input.shape, n)
    return input if input.ndim == n + 2 else input.unsqueeze(0)


def _settings(
    name: str, shape: tuple[int, ...], n: int, kernel_size: Any, stride: Any, padding: Any,
    dilation: Any, ceil_mode: bool,
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
    sizes = shape[-n:]
    out = tuple(
        pooled_size(*args, ceil_mode) for args in zip(sizes, kernel, stride, padding, dilation)
    )
    if any(o < 1 for o in out):
        raise RuntimeError(
            f"{name}: Given input size: {tuple(sizes)}. Calculated output size: {out}. Output size "
            "is too small"
        )
    return kernel, stride, padding, dilation, out


@lru_cache(256)
def _kept_settings(
    name: str, n: int, shape: tuple[int, ...], kernel_size: Any, stride: Any, padding: Any,
    dilation: Any, ceil_mode: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Return ``_settings``, which depend on shapes alone, from calls before."""
    _need_planes(name, shape, n)
    return _settings(name, shape, n, kernel_size, stride, padding, dilation, ceil_mode)


def _hashable(value: Any) -> Any:
    return tuple(value) if type(value) is list else value


def _found_settings(*args: Any) -> tuple[Any, ...]:
    try:
        return _kept_settings(*args)
    except TypeError:  # lists
        return _kept_settings(*map(_hashable, args))


def _max_pooled(
    name: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return maxima and their places by the native op."""
    args = (kernel_size, stride, padding, dilation, ceil_mode)
    return _pool_largest(input, *_found_settings(name, n, input.shape, *args))


def _avg_pooled(
    name: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    """Return means by the native op."""
    if divisor_override == 0:
        raise RuntimeError(f"{name}: divisor must be not zero")
    args = (kernel_size, stride, padding, 1, ceil_mode)
    settings = _found_settings(name, n, input.shape, *args)
    return _pool_mean(input, *settings, count_include_pad, divisor_override or 0)


def adaptive_sizes(name: str, n: int, input: Tensor, output_size: Any) -> tuple[int, ...]:
    """Return the sizes asked for; None keeps that of the input."""
    if type(output_size) is int and output_size >= 0:
        return (output_size,) * n
    given = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * n
    if len(given) != n:
        raise RuntimeError(f"{name}: output_size must be {n} numbers, got {tuple(given)}")
    sizes = [int(s if g is None else g) for g, s in zip(given, input.shape[-n:])]
    if any(s < 0 for s in sizes):
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0")
    return tuple(sizes)


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


def _adaptive_largest(name: str, n: int, input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """Return maxima of as many windows as asked for, and their places."""
    _need_sizes(name, n, input)
    return _pool_adaptive(input, adaptive_sizes(name, n, input, output_size))


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
        return _adaptive_largest(name, n, input, output_size)

    def values(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        pair = _adaptive_largest(name, n, input, output_size)
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
