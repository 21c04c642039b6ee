"""Tensors of integers that stand for numbers: (integer - zero point) * scale."""

from __future__ import annotations

import weft
from weft import Tensor
from weft.quantization.kinds import (
    QuantizedDType,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_tensor_affine,
    qscheme,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "QuantizedTensor",
    "dequantize",
    "quantize_per_channel",
    "quantize_per_tensor",
    "quantize_per_tensor_dynamic",
]


class QuantizedTensor:
    """Integers with their scale and zero point.

    It can be looked into, given another shape and turned into floats. It is no ``Tensor``: ops on
    it raise a TypeError, so that nobody takes its integers for its numbers.

    >>> q = weft.quantize_per_tensor(weft.tensor([0.0, 1.0, 2.5]), 0.5, 10, weft.quint8)
    >>> q.int_repr(), q.q_scale(), q.q_zero_point()
    (tensor([10, 12, 15], dtype=torch.uint8), 0.5, 10)
    >>> q.dequantize()
    tensor([0.0000, 1.0000, 2.5000])
    """

    is_quantized = True
    requires_grad = False

    def __init__(
        self,
        ints: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        dtype: QuantizedDType,
        axis: int | None = None,
    ) -> None:
        """Take the integers; scale and zero point have one element, or one for each of an axis."""
        self._ints, self._scale, self._zero_point = ints, scale, zero_point
        self.dtype, self._axis = dtype, axis

    # ---- what it is

    @property
    def shape(self) -> weft.Size:
        """Return the sizes of its dimensions."""
        return self._ints.shape

    @property
    def ndim(self) -> int:
        """Return how many dimensions it has."""
        return self._ints.dim()

    def size(self, dim: int | None = None) -> Any:
        """Return its shape, or the size of one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """Return how many dimensions it has."""
        return self._ints.dim()

    def numel(self) -> int:
        """Return how many elements it has."""
        return self._ints.numel()

    def __len__(self) -> int:
        """Return the size of its first dimension."""
        return len(self._ints)

    def qscheme(self) -> qscheme:
        """Return how scales are shared."""
        if self._axis is None:
            return per_tensor_affine
        floating = self._zero_point.is_floating_point()
        return per_channel_affine_float_qparams if floating else per_channel_affine

    def q_scale(self) -> float:
        """Return the scale of all elements."""
        return float(self._single("q_scale", self._scale))

    def q_zero_point(self) -> int:
        """Return the integer that stands for zero."""
        return int(self._single("q_zero_point", self._zero_point))

    def q_per_channel_scales(self) -> Tensor:
        """Return one scale for each channel."""
        return self._many("q_per_channel_scales", self._scale)

    def q_per_channel_zero_points(self) -> Tensor:
        """Return one zero point for each channel."""
        return self._many("q_per_channel_zero_points", self._zero_point)

    def q_per_channel_axis(self) -> int:
        """Return which dimension the channels are."""
        self._many("q_per_channel_axis", self._scale)
        return self._axis or 0

    def _single(self, name: str, value: Tensor) -> Any:
        if self._axis is not None:
            raise RuntimeError(
                f"{name}: expected one scale for all, the tensor has one per channel"
            )
        return value.item()

    def _many(self, name: str, value: Tensor) -> Tensor:
        if self._axis is None:
            raise RuntimeError(f"{name}: expected a scale per channel, the tensor has one for all")
        return value

    # ---- what it stands for

    def int_repr(self) -> Tensor:
        """Return the integers."""
        return self._ints.clone()

    def dequantize(self) -> Tensor:
        """Return the numbers as float32."""
        shape = _along(self.ndim, self._axis)
        zero = self._zero_point.to(weft.float32).reshape(shape)
        return (self._ints.to(weft.float32) - zero) * self._scale.to(weft.float32).reshape(shape)

    # ---- the same elements otherwise

    def _with(self, ints: Tensor) -> QuantizedTensor:
        return QuantizedTensor(ints, self._scale, self._zero_point, self.dtype, self._axis)

    def _reshaped(self, name: str, ints: Tensor) -> QuantizedTensor:
        if self._axis is not None:
            raise NotImplementedError(f"{name}: tensors with a scale per channel keep their shape")
        return self._with(ints)

    def clone(self) -> QuantizedTensor:
        """Return a copy."""
        return self._with(self._ints.clone())

    def detach(self) -> QuantizedTensor:
        """Return itself: it has no history."""
        return self

    def contiguous(self) -> QuantizedTensor:
        """Return it with its elements side by side in memory."""
        return self._with(self._ints.contiguous())

    def cpu(self) -> QuantizedTensor:
        """Return itself."""
        return self

    def reshape(self, *shape: Any) -> QuantizedTensor:
        """Return it in another shape."""
        return self._reshaped("reshape", self._ints.reshape(*shape))

    def view(self, *shape: Any) -> QuantizedTensor:
        """Return it in another shape, on the same memory."""
        return self._reshaped("view", self._ints.view(*shape))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> QuantizedTensor:
        """Return it with some dimensions joined."""
        return self._reshaped("flatten", self._ints.flatten(start_dim, end_dim))

    def permute(self, *dims: Any) -> QuantizedTensor:
        """Return it with its dimensions in another order."""
        return self._reshaped("permute", self._ints.permute(*dims))

    def __getitem__(self, key: Any) -> QuantizedTensor:
        """Return a part."""
        return self._reshaped("indexing", self._ints[key])

    def relu(self) -> QuantizedTensor:
        """Return it without what is negative."""
        return self._reshaped("relu", self._ints.clamp(min=int(self._zero_point.item())))

    def __repr__(self) -> str:
        """Return the numbers and the grid they lie on."""
        text = repr(self.dequantize())[:-1]
        text += f", size={tuple(self.shape)}, dtype={self.dtype}, "
        text += f"quantization_scheme={self.qscheme()}, "
        if self._axis is None:
            return text + f"scale={self.q_scale()}, zero_point={self.q_zero_point()})"
        return text + f"scale={self._scale}, zero_point={self._zero_point}, axis={self._axis})"


def _along(ndim: int, axis: int | None) -> list[int]:
    return [-1 if i == axis else 1 for i in range(ndim)]


def _need_float(name: str, x: Tensor) -> None:
    if not isinstance(x, Tensor) or x.dtype != weft.float32:
        got = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise RuntimeError(f"{name}: expected a tensor of float32, got {got}")


def _need_kind(name: str, dtype: Any) -> None:
    if not isinstance(dtype, QuantizedDType):
        raise RuntimeError(f"{name}: dtype must be qint8, quint8 or qint32, got {dtype}")


def to_ints(x: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
    """Return the integers of a grid that are nearest to numbers, as floats."""
    steps = x * (1.0 / scale)
    if zero_point.is_floating_point():  # zero may lie between two integers
        return weft.round(steps + zero_point).clamp(low, high)
    return (weft.round(steps) + zero_point).clamp(low, high)


def quantize_per_tensor(
    input: Tensor, scale: float | Tensor, zero_point: int | Tensor, dtype: QuantizedDType
) -> QuantizedTensor:
    """Return the nearest integers of a grid.

    Args:
        input: float32.
        scale: distance of two neighbours on the grid.
        zero_point: the integer that stands for zero.
        dtype: ``qint8``, ``quint8`` or ``qint32``.

    >>> weft.quantize_per_tensor(weft.tensor([-1.0, 0.26]), 0.25, 3, weft.quint8)
    tensor([-0.7500,  0.2500], size=(2,), dtype=torch.quint8,
           quantization_scheme=torch.per_tensor_affine, scale=0.25, zero_point=3)
    """
    _need_float("quantize_per_tensor", input)
    _need_kind("quantize_per_tensor", dtype)
    s, z = weft.tensor(float(scale), dtype=weft.float64), weft.tensor(int(zero_point))
    if not s.item() > 0:
        raise RuntimeError(f"quantize_per_tensor: scale must be positive, got {s.item()}")
    if not dtype.lowest <= z.item() <= dtype.highest:
        raise RuntimeError(
            f"quantize_per_tensor: zero_point {z.item()} is not between {dtype.lowest} and "
            f"{dtype.highest}, as {dtype} needs"
        )
    with weft.no_grad():
        step = s.to(weft.float32)
        ints = to_ints(input, step, z, dtype.lowest, dtype.highest).to(dtype.ints)
    return QuantizedTensor(ints, s, z, dtype)


def quantize_per_channel(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: QuantizedDType
) -> QuantizedTensor:
    """Return the nearest integers of grids, one for each channel.

    Args:
        input: float32.
        scales: one for each channel.
        zero_points: one for each channel.
        axis: the dimension that the channels are.
        dtype: ``qint8``, ``quint8`` or ``qint32``.

    >>> x = weft.tensor([[1.0, 2.0], [10.0, 20.0]])
    >>> s, z = weft.tensor([1.0, 10.0]), weft.tensor([0, 0])
    >>> weft.quantize_per_channel(x, s, z, 0, weft.qint8).int_repr()
    tensor([[1, 2],
            [1, 2]], dtype=torch.int8)
    """
    _need_float("quantize_per_channel", input)
    _need_kind("quantize_per_channel", dtype)
    axis = axis + input.dim() if axis < 0 else axis
    if not 0 <= axis < input.dim():
        raise IndexError(f"quantize_per_channel: the input has no dimension {axis}")
    for name, value in (("scales", scales), ("zero_points", zero_points)):
        if tuple(value.shape) != (input.shape[axis],):
            raise RuntimeError(
                f"quantize_per_channel: {name} must have shape [{input.shape[axis]}], got "
                f"{list(value.shape)}"
            )
    shape = _along(input.dim(), axis)
    with weft.no_grad():
        s, z = scales.to(weft.float32).reshape(shape), zero_points.reshape(shape)
        ints = to_ints(input, s, z, dtype.lowest, dtype.highest).to(dtype.ints)
    return QuantizedTensor(ints, scales.clone(), zero_points.clone(), dtype, axis)


def quantize_per_tensor_dynamic(
    input: Tensor, dtype: QuantizedDType, reduce_range: bool
) -> QuantizedTensor:
    """Return the nearest integers of the grid that just holds the input.

    Args:
        input: float32.
        dtype: ``qint8`` or ``quint8``.
        reduce_range: use half of the integers only.

    >>> q = weft.quantize_per_tensor_dynamic(weft.tensor([0.0, 25.5]), weft.quint8, False)
    >>> round(q.q_scale(), 4), q.int_repr()
    (0.1, tensor([  0, 255], dtype=torch.uint8))
    """
    from weft.quantization.observer import MinMaxObserver

    observer = MinMaxObserver(dtype=dtype, reduce_range=reduce_range)
    observer(input)
    scale, zero_point = observer.calculate_qparams()
    return quantize_per_tensor(input, scale.item(), int(zero_point.item()), dtype)


def dequantize(tensors: Any) -> Any:
    """Return quantised tensors as float32: one, or a list of them.

    >>> q = weft.quantize_per_tensor(weft.tensor([1.0]), 1.0, 0, weft.qint8)
    >>> weft.dequantize(q)
    tensor([1.])
    """
    if isinstance(tensors, (list, tuple)):
        return type(tensors)(dequantize(t) for t in tensors)
    if isinstance(tensors, QuantizedTensor):
        return tensors.dequantize()
    if isinstance(tensors, Tensor):
        return tensors.to(weft.float32)
    raise TypeError(f"dequantize: expected tensors, got {type(tensors).__name__}")
