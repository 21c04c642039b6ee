"""``weft.ops.aten``: ops by the names of PyTorch's ATen library.

A public op is found under its own name, and ``op.default`` and the like are the op itself: weft
chooses overloads by the arguments. What PyTorch has only here is written here.
"""

from __future__ import annotations

import weft
from weft.ops.shape import _wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weft import Tensor

_OVERLOADS = ("default", "Tensor", "Scalar", "dim", "int")


class Packet:
    """An op with its overloads, which are all the same function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Take the function."""
        self._function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the op."""
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Return an overload."""
        if name in _OVERLOADS:
            return self
        raise AttributeError(f"aten.{self.__name__} has no overload {name!r}")

    def overloads(self) -> list[str]:
        """Return the names of the overloads.

        >>> weft.ops.aten.add.overloads()[0]
        'default'
        """
        return list(_OVERLOADS)


_private: dict[str, Packet] = {}


def _aten(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function an op of ``aten`` under its name without ``aten_``."""
    _private[f.__name__.removeprefix("aten_")] = Packet(f)
    return f


def __getattr__(name: str) -> Any:
    if name in _private:
        return _private[name]
    if not name.startswith("__"):
        found = getattr(weft, name, None) or getattr(weft.nn.functional, name, None)
        if callable(found) and not isinstance(found, type):
            _private[name] = Packet(found)
            return _private[name]
    raise AttributeError(f"module 'weft.ops.aten' has no op {name!r}")


@_aten
def aten_slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Return ``input[start:end:step]`` along a dimension.

    >>> weft.ops.aten.slice(weft.arange(6), 0, 1, 5, 2)
    tensor([1, 3])
    """
    dim = _wrap(dim, input.dim(), "slice")
    return input[(*(slice(None),) * dim, slice(start, end, step))]


@_aten
def aten__softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    """Return the gradient of softmax from its result and the gradient of that.

    >>> y = weft.tensor([0.5, 0.5])
    >>> weft.ops.aten._softmax_backward_data(weft.tensor([1.0, 0.0]), y, 0, weft.float32)
    tensor([ 0.2500, -0.2500])
    """
    t = grad_output * output
    return (t - output * t.sum(dim, keepdim=True)).to(input_dtype)


@_aten
def aten__safe_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Return softmax, of rows that are all minus infinity zeros.

    >>> weft.ops.aten._safe_softmax(weft.full((2,), float("-inf")), 0)
    tensor([0., 0.])
    """
    x = input if dtype is None else input.to(dtype)
    if not x.is_floating_point():
        x = x.to(weft.get_default_dtype())
    nothing = (x == float("-inf")).all(dim, keepdim=True)
    return x.masked_fill(nothing, 0.0).softmax(dim).masked_fill(nothing, 0.0)


@_aten
def aten__native_batch_norm_legit(
    input: Tensor, weight: Any, bias: Any, *settings: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Return batch norm with the mean and the inverse deviation that it used.

    ``settings`` are the running mean and variance, if there are some, then training, momentum, eps.

    >>> x = weft.tensor([[1.0], [3.0]])
    >>> weft.ops.aten._native_batch_norm_legit(x, None, None, True, 0.1, 0.0)[0]
    tensor([[-1.],
            [ 1.]])
    """
    running = settings[:-3] or (None, None)
    training, momentum, eps = settings[-3:]
    return weft.native_batch_norm(input, weight, bias, *running, training, momentum, eps)


@_aten
def aten__batch_norm_with_update(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return batch norm in training, what it used, and an empty tensor for what others keep.

    >>> x, m, v = weft.tensor([[1.0], [3.0]]), weft.zeros(1), weft.ones(1)
    >>> weft.ops.aten._batch_norm_with_update(x, None, None, m, v, 0.5, 0.0)[0]
    tensor([[-1.],
            [ 1.]])
    >>> m
    tensor([1.])
    """
    found = weft.native_batch_norm(
        input, weight, bias, running_mean, running_var, True, momentum, eps
    )
    return (*found, weft.empty(0, dtype=weft.uint8))


@_aten
def aten__upsample_bilinear2d_aa(
    input: Tensor,
    output_size: Sequence[int] | None,
    align_corners: bool,
    scales_h: Any = None,
    scales_w: float | None = None,
    *,
    scale_factors: Sequence[float] | None = None,
) -> Tensor:
    """Return images in another size, smoothed where they shrink.

    >>> weft.ops.aten._upsample_bilinear2d_aa(weft.ones(1, 1, 4, 4), [2, 2], False).shape
    torch.Size([1, 1, 2, 2])
    """
    from weft.nn.functional.resize import resized

    factors = [scales_h or 0.0, scales_w or 0.0]
    if scale_factors is not None:
        factors = list(scale_factors)
        output_size = [int(n * factor) for n, factor in zip(input.shape[-2:], factors)]
    if output_size is None:
        raise RuntimeError("_upsample_bilinear2d_aa: give output_size or scale_factors")
    return resized(input, list(output_size), factors, "bilinear", align_corners, True)


@_aten
def aten_max_pool2d_with_indices_backward(
    grad_output: Tensor,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """Return the gradient of max pooling: each window's goes to where its largest element was.

    >>> x, g = weft.arange(4.0).reshape(1, 2, 2), weft.ones(1, 1, 1)
    >>> at = weft.tensor([[[3]]])
    >>> weft.ops.aten.max_pool2d_with_indices_backward(g, x, 2, 2, 0, 1, False, at)
    tensor([[[0., 0.],
             [0., 1.]]])
    """
    found = weft.zeros(input.shape, dtype=grad_output.dtype).flatten(-2)
    found = found.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2))
    found = found.reshape(input.shape)
    if input.requires_grad:  # which moves no maximum: its gradient is zero, but it has one
        found = weft.where(weft.tensor(False), input, found)
    return found


def _within(input: Tensor, indices: Sequence[Any]) -> tuple[Any, ...]:
    """Return indices for ``x[...]``, those out of range moved to the border."""
    return tuple(
        slice(None) if i is None else i.clamp(-input.shape[d], input.shape[d] - 1)
        for d, i in enumerate(indices)
    )


@_aten
def aten__unsafe_masked_index(
    input: Tensor, mask: Tensor, indices: Sequence[Any], fill: Any
) -> Tensor:
    """Return ``input[indices]`` where the mask is True, and ``fill`` elsewhere.

    >>> x, at = weft.tensor([5, 6]), [weft.tensor([1, 9])]
    >>> weft.ops.aten._unsafe_masked_index(x, weft.tensor([True, False]), at, 0)
    tensor([6, 0])
    """
    return input[_within(input, indices)].masked_fill(~mask, fill)


@_aten
def aten__unsafe_masked_index_put_accumulate(
    input: Tensor, mask: Tensor, indices: Sequence[Any], values: Tensor
) -> Tensor:
    """Return the input with values added at indices, where the mask is True.

    >>> x, at, v = weft.tensor([5, 6]), [weft.tensor([1, 9])], weft.tensor([2, 3])
    >>> weft.ops.aten._unsafe_masked_index_put_accumulate(x, weft.tensor([True, False]), at, v)
    tensor([5, 8])
    """
    found = weft.zeros_like(input)
    at = _within(input, indices)
    slots = weft.arange(input.numel()).reshape(input.shape)[at].reshape(-1)
    added = values.masked_fill(~mask, 0).expand(input[at].shape).reshape(-1)
    return input + found.reshape(-1).index_add(0, slots, added).reshape(input.shape)


@_aten
def aten__chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Cut each tensor along ``dim`` into chunks, filled up with zeros, and join them by chunk.

    >>> weft.ops.aten._chunk_cat([weft.tensor([1, 2, 3]), weft.tensor([4])], 0, 2)
    tensor([[1, 2, 4],
            [3, 0, 0]])
    """
    if not tensors:
        raise RuntimeError("_chunk_cat: expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat: expects positive num_chunks, got {num_chunks}")
    parts = []
    for t in tensors:
        if t.dtype != tensors[0].dtype:
            raise RuntimeError("_chunk_cat: expects all inputs to have the same dtype")
        at = dim + t.dim() if dim < 0 else dim
        if not 0 <= at < t.dim():
            raise RuntimeError(f"_chunk_cat: dim={dim} for a tensor with {t.dim()} dimensions")
        if t.shape[:at] != tensors[0].shape[:at]:
            raise RuntimeError(
                "_chunk_cat: expects the same sizes of dimensions before dim in all input tensors"
            )
        if not t.numel():
            raise RuntimeError("_chunk_cat: expects non-empty tensors")
        missing = -t.shape[at] % num_chunks
        extra = weft.zeros((*t.shape[:at], missing, *t.shape[at + 1 :]), dtype=t.dtype)
        parts.append(weft.cat([t, extra], at).reshape(*t.shape[:at], num_chunks, -1))
    return weft.cat(parts, dim + 1 if dim >= 0 else len(parts[0].shape) - 1)


_private["_segment_reduce"] = Packet(weft.segment_reduce)
