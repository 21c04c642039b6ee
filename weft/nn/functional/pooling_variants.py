"""Less common pooling: power means, windows at random places, and the way back."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import functional, prod, random, tuple_of
from weft.nn.functional.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    batched,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Ints = int | Sequence[int]


_pool_fractional, _pool_set = _C._op_function("pool_fractional"), _C._op_function("pool_set")


def _root(mean: Tensor, count: int, norm_type: float) -> Tensor:
    """Return the root of the sum of powers, from their mean."""
    return (weft.sign(mean) * weft.relu(weft.abs(mean)) * count).pow(1.0 / norm_type)


@functional
def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int,
    stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the norm_type-norm of every window of a sequence.

    >>> weft.nn.functional.lp_pool1d(weft.tensor([[3.0, 4.0]]), 2, 2)
    tensor([[5.]])
    """
    mean = avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(mean, prod(tuple_of(kernel_size, 1, "lp_pool1d", "kernel_size")), norm_type)


@functional
def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Ints,
    stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the norm_type-norm of every window of an image.

    >>> weft.nn.functional.lp_pool2d(weft.tensor([[[3.0, 4.0]]]), 2, (1, 2))
    tensor([[[5.]]])
    """
    mean = avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(mean, prod(tuple_of(kernel_size, 2, "lp_pool2d", "kernel_size")), norm_type)


@functional
def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Ints,
    stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the norm_type-norm of every window of a volume.

    >>> weft.nn.functional.lp_pool3d(weft.tensor([[[[3.0, 4.0]]]]), 2, (1, 1, 2))
    tensor([[[[5.]]]])
    """
    mean = avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _root(mean, prod(tuple_of(kernel_size, 3, "lp_pool3d", "kernel_size")), norm_type)


# ---- unpooling -----------------------------------------------------------------------------------


def _unpooled_sizes(
    name: str, n: int, input: Tensor, kernel: Any, stride: Any, padding: Any, output_size: Any
) -> list[int]:
    default = [
        (size - 1) * s - 2 * p + k
        for size, s, p, k in zip(input.shape[-n:], stride, padding, kernel)
    ]
    if output_size is None:
        return default
    given = list(output_size)
    if len(given) == n + 2:
        given = given[-n:]
    if len(given) != n:
        raise ValueError(
            f"{name}: output_size should be a sequence containing {n} or {n + 2} elements, but it "
            f"has a length of '{len(given)}'"
        )
    for size, usual, s in zip(given, default, stride):
        if not usual - s < size < usual + s:
            raise ValueError(
                f"{name}: invalid output_size {given}: sizes must be within the stride of {default}"
            )
    return given


def _max_unpool(
    name: str, n: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any,
    output_size: Any,
) -> Tensor:  # fmt: skip
    kernel = tuple_of(kernel_size, n, name, "kernel_size")
    empty = stride is None or (isinstance(stride, (list, tuple)) and not stride)
    stride = kernel if empty else tuple_of(stride, n, name, "stride")
    padding = tuple_of(padding, n, name, "padding")
    if any(s <= 0 for s in stride):
        raise RuntimeError(f"{name}: strides should be greater than zero, but got stride: {stride}")
    if indices.dtype != weft.int64:
        raise RuntimeError(
            f"{name}: elements in indices should be type int64 but got: {indices.dtype}"
        )
    if indices.shape != input.shape:
        raise RuntimeError(
            f"{name}: expected shape of indices to be same as that of the input tensor "
            f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    batched(name, input, n)
    sizes = _unpooled_sizes(name, n, input, kernel, stride, padding, output_size)
    if min(sizes) < 1:
        raise RuntimeError(f"{name}: output sizes must be positive, got {sizes}")
    return _pool_set(input, indices, [*input.shape[:-n], *sizes], n)


@functional
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put maxima back where max_pool1d found them, zeros elsewhere.

    >>> weft.nn.functional.max_unpool1d(weft.tensor([[3.0]]), weft.tensor([[1]]), 2)
    tensor([[0., 3.]])
    """
    args = (input, indices, kernel_size, stride, padding, output_size)
    return _max_unpool("max_unpool1d", 1, *args)


@functional
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put maxima back where max_pool2d found them, zeros elsewhere.

    >>> weft.nn.functional.max_unpool2d(weft.tensor([[[3.0]]]), weft.tensor([[[2]]]), 2)
    tensor([[[0., 0.],
             [3., 0.]]])
    """
    args = (input, indices, kernel_size, stride, padding, output_size)
    return _max_unpool("max_unpool2d", 2, *args)


@functional
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put maxima back where max_pool3d found them, zeros elsewhere.

    >>> one, at = weft.ones(1, 1, 1, 1), weft.tensor([[[[2]]]])
    >>> weft.nn.functional.max_unpool3d(one, at, 2).flatten()
    tensor([0., 0., 1., 0., 0., 0., 0., 0.])
    """
    args = (input, indices, kernel_size, stride, padding, output_size)
    return _max_unpool("max_unpool3d", 3, *args)


# ---- windows at random places --------------------------------------------------------------------


def _fractional(
    name: str, n: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any,
    samples: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name}: requires specifying either an output_size or an output_ratio")
    kernel = tuple_of(kernel_size, n, name, "kernel_size")
    x = batched(name, input, n)
    sizes = x.shape[-n:]
    if output_size is None:
        ratio = output_ratio if isinstance(output_ratio, (list, tuple)) else [output_ratio] * n
        output_size = [int(size * r) for size, r in zip(sizes, ratio)]
    out = tuple_of(output_size, n, name, "output_size")
    for k, o, size in zip(kernel, out, sizes):
        if k < 1 or o < 1 or o + k - 1 > size:
            raise RuntimeError(
                f"{name}: pool size {kernel} too large relative to input size {tuple(sizes)} for "
                f"output size {out}"
            )
    if samples is None:
        samples = weft.rand(x.shape[0], x.shape[1], n, dtype=x.dtype)
    if n == 3 and samples.ndim == 3:
        samples = samples[: x.shape[0]]
    if tuple(samples.shape) != (x.shape[0], x.shape[1], n):
        raise RuntimeError(
            f"{name}: Expect _random_samples of shape {(x.shape[0], x.shape[1], n)}, got "
            f"{list(samples.shape)}"
        )
    if samples.dtype != x.dtype:
        raise RuntimeError(f"{name}: Expect _random_samples to have the same dtype as input")
    return _pool_fractional(input, samples.detach(), kernel, out)


@random
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Return maxima of windows whose distances are drawn at random.

    >>> weft.nn.functional.fractional_max_pool2d(weft.ones(1, 5, 5), 2, 3).shape
    torch.Size([1, 3, 3])
    """
    pair = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return pair if return_indices else pair[0]


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return what ``fractional_max_pool2d`` does, and the places of the maxima."""
    args = (input, kernel_size, output_size, output_ratio, _random_samples)
    return _fractional("fractional_max_pool2d", 2, *args)


@random
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Return maxima of windows of volumes whose distances are drawn at random.

    >>> weft.nn.functional.fractional_max_pool3d(weft.ones(1, 5, 5, 5), 2, 3).shape
    torch.Size([1, 3, 3, 3])
    """
    pair = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return pair if return_indices else pair[0]


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return what ``fractional_max_pool3d`` does, and the places of the maxima."""
    args = (input, kernel_size, output_size, output_ratio, _random_samples)
    return _fractional("fractional_max_pool3d", 3, *args)
