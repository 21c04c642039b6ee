"""Convolutions and their adjoints: arguments checked, then one native op."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import functional, prod, tuple_of
from weft.nn.functional.sliding import gathered, padded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Ints = int | Sequence[int]


_convolve, _convolve_input = _C._op_function("convolve"), _C._op_function("convolve_input")


def _check(name: str, input: Tensor, weight: Tensor, n: int) -> None:
    if weight.ndim != n + 2:
        raise RuntimeError(
            f"{name}: expected weight to be {n + 2}-dimensional, got size {list(weight.shape)}"
        )
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"{name}: Expected {n + 1}D (unbatched) or {n + 2}D (batched) input, but got input of "
            f"size: {list(input.shape)}"
        )
    if input.dtype != weight.dtype:
        raise RuntimeError(
            f"{name}: Input type ({input.dtype}) and weight type ({weight.dtype}) should be the same"
        )


def _check_numbers(name: str, stride: Any, padding: Any, dilation: Any, groups: int) -> None:
    for what, values, least in (("stride", stride, 1), ("padding", padding, 0)):
        if any(v < least for v in values):
            kind = "non-positive" if least else "negative"
            raise RuntimeError(f"{name}: {kind} {what} is not supported, got {values}")
    if any(v < 1 for v in dilation):
        raise RuntimeError(f"{name}: dilation should be greater than zero, got {dilation}")
    if groups <= 0:
        raise RuntimeError(f"{name}: expected positive groups, got {groups}")


def _check_bias(name: str, bias: Tensor | None, channels: int, dtype: Any) -> None:
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != channels):
        raise RuntimeError(
            f"{name}: expected bias to be 1-dimensional with {channels} elements, but got bias of "
            f"size {list(bias.shape)} instead"
        )
    if bias is not None and bias.dtype != dtype:
        raise RuntimeError(
            f"{name}: Input type ({dtype}) and bias type ({bias.dtype}) should be the same"
        )


def _paddings(
    name: str, padding: Any, stride: tuple[int, ...], dilation: tuple[int, ...], kernel: Any
) -> tuple[list[int], list[int]]:
    """Return how much is added before and after each dimension."""
    n = len(stride)
    if not isinstance(padding, str):
        p = tuple_of(padding, n, name, "padding")
        return list(p), list(p)
    if padding == "valid":
        return [0] * n, [0] * n
    if padding != "same":
        raise RuntimeError(f"{name}: Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError(f"{name}: padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, kernel)]
    return [t // 2 for t in total], [t - t // 2 for t in total]


def plain_conv_transpose(
    name: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    """Apply the adjoint of a convolution: each input element adds a kernel to the result."""
    _check(name, input, weight, n)
    stride = tuple_of(stride, n, name, "stride")
    dilation = tuple_of(dilation, n, name, "dilation")
    padding = tuple_of(padding, n, name, "padding")
    extra = tuple_of(output_padding, n, name, "output_padding")
    _check_numbers(name, stride, padding, dilation, groups)
    if any(e < 0 or (e >= s and e >= d) for e, s, d in zip(extra, stride, dilation)):
        raise RuntimeError(
            f"{name}: output padding must be smaller than either stride or dilation, but got "
            f"output_padding {extra}, stride {stride}, dilation {dilation}"
        )
    x = input if input.ndim == n + 2 else input.unsqueeze(0)
    batch, channels = x.shape[:2]
    share, kernel = weight.shape[1], tuple(weight.shape[2:])
    _check_bias(name, bias, share * groups, input.dtype)
    if weight.shape[0] != channels or channels % groups:
        raise RuntimeError(
            f"{name}: Given transposed=1, groups={groups}, weight of size {list(weight.shape)}, "
            f"expected input{list(input.shape)} to have {weight.shape[0]} channels, but got "
            f"{channels} channels instead"
        )
    sizes = tuple(x.shape[2:])
    w = weight.reshape(groups, channels // groups, share * prod(kernel)).transpose(1, 2)
    columns = weft.matmul(w, x.reshape(batch, groups, channels // groups, prod(sizes)))
    columns = columns.reshape(batch, groups * share, prod(kernel), prod(sizes))
    full = tuple(
        (size - 1) * s + d * (k - 1) + 1 for size, s, d, k in zip(sizes, stride, dilation, kernel)
    )
    out = [f - 2 * p + e for f, p, e in zip(full, padding, extra)]
    if any(o < 1 for o in out):
        raise RuntimeError(
            f"{name}: Given input size per channel: {sizes}. Calculated output size per channel: "
            f"{tuple(out)}. Output size is too small"
        )
    y = gathered(columns, full, kernel, stride, dilation, sizes)
    y = padded(y, [-p for p in padding], [e - p for e, p in zip(extra, padding)])
    if bias is not None:
        y = y + bias.reshape(-1, *[1] * n)
    return y if input.ndim == n + 2 else y.squeeze(0)


def _exact(value: Any, n: int, name: str, what: str) -> tuple[int, ...]:
    if type(value) is tuple and len(value) == n:
        return value
    return tuple_of(value, n, name, what)


def _conv(
    name: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    """Convolve by the native op."""
    _check(name, input, weight, n)
    stride = _exact(stride, n, name, "stride")
    dilation = _exact(dilation, n, name, "dilation")
    x = input if input.ndim == n + 2 else input.unsqueeze(0)
    if isinstance(padding, str):
        before, after = _paddings(name, padding, stride, dilation, tuple(weight.shape[2:]))
        if before != after:  # the native op pads alike on both sides
            x = padded(x, [0] * n, [a - b for a, b in zip(after, before)])
        padding = before
    else:
        padding = _exact(padding, n, name, "padding")
    y = _convolve(x, weight, bias, stride, padding, dilation, groups)
    return y if x is input or input.ndim == n + 2 else y.squeeze(0)


def _conv_transpose(
    name: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    """Apply the adjoint of the native convolution; ``plain_conv_transpose`` does what it cannot."""
    s, p, d = (
        _exact(v, n, name, what)
        for v, what in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"))
    )
    extra = _exact(output_padding, n, name, "output_padding")
    known = weight.ndim == n + 2 and input.ndim in (n + 1, n + 2) and groups > 0
    if not known or any(e < 0 or e >= k for e, k in zip(extra, s)) or 0 in input.shape:
        return plain_conv_transpose(name, n, input, weight, bias, s, p, extra, groups, d)
    _check(name, input, weight, n)
    x = input if input.ndim == n + 2 else input.unsqueeze(0)
    share = weight.shape[1] * groups
    _check_bias(name, bias, share, input.dtype)
    out = [
        (size - 1) * st - 2 * pad + di * (k - 1) + 1 + e
        for size, st, pad, di, k, e in zip(x.shape[2:], s, p, d, weight.shape[2:], extra)
    ]
    if any(o < 1 for o in out) or weight.shape[0] != x.shape[1]:
        return plain_conv_transpose(name, n, input, weight, bias, s, p, extra, groups, d)
    y = _convolve_input(x, weight, [x.shape[0], share, *out], s, p, d, groups)
    if bias is not None:
        y = y + bias.reshape(-1, *[1] * n)
    return y if input.ndim == n + 2 else y.squeeze(0)


@functional
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Slide weights over sequences: input (N, C, L), weight (out, C / groups, K).

    >>> weft.nn.functional.conv1d(weft.arange(4.0).reshape(1, 1, 4), weft.ones(1, 1, 2))
    tensor([[[1., 3., 5.]]])
    """
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@functional
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Slide weights over images: input (N, C, H, W), weight (out, C / groups, KH, KW).

    >>> weft.nn.functional.conv2d(weft.ones(1, 1, 3, 3), weft.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@functional
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Slide weights over volumes: input (N, C, D, H, W), weight (out, C / groups, KD, KH, KW).

    >>> weft.nn.functional.conv3d(weft.ones(1, 1, 2, 2, 2), weft.ones(1, 1, 2, 2, 2)).item()
    8.0
    """
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@functional
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """Add a kernel for every element of a sequence: weight (C, out / groups, K).

    >>> weft.nn.functional.conv_transpose1d(weft.ones(1, 1, 2), weft.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
    return _conv_transpose(
        "conv_transpose1d",
        1,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


@functional
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """Add a kernel for every element of an image: weight (C, out / groups, KH, KW).

    >>> weft.nn.functional.conv_transpose2d(weft.ones(1, 1, 1, 1), weft.ones(1, 1, 2, 2))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    return _conv_transpose(
        "conv_transpose2d",
        2,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


@functional
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """Add a kernel for every element of a volume: weight (C, out / groups, KD, KH, KW).

    >>> weft.nn.functional.conv_transpose3d(weft.ones(1, 1, 1, 1, 1), weft.ones(1, 1, 1, 1, 2))
    tensor([[[[[1., 1.]]]]])
    """
    return _conv_transpose(
        "conv_transpose3d",
        3,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


@functional
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Slide weights (K, C, out) over sequences laid out as (time, batch, channels).

    >>> weft.nn.functional.conv_tbc(weft.ones(2, 1, 1), weft.ones(2, 1, 1), weft.zeros(1))
    tensor([[[2.]]])
    """
    x, w = input.permute(1, 2, 0), weight.permute(2, 1, 0)
    return _conv("conv_tbc", 1, x, w, bias, 1, pad, 1, 1).permute(2, 0, 1)
