"""Observers: modules that watch tensors pass by and say which grid suits them."""

from __future__ import annotations

import warnings
from functools import partial

import weft
from weft import Tensor
from weft.nn.module import Module
from weft.quantization.kinds import (
    QuantizedDType,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    qscheme,
    quint8,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "UniformQuantizationObserverBase",
    "default_dynamic_quant_observer",
    "default_float_qparams_observer",
    "default_observer",
    "default_per_channel_weight_observer",
    "default_placeholder_observer",
    "default_weight_observer",
]

_EPS = weft.finfo(weft.float32).eps


class Maker:
    """A class with some of its arguments: called, it makes an object.

    >>> make = weft.quantization.MinMaxObserver.with_args(dtype=weft.qint8)
    >>> make().dtype, make.with_args(reduce_range=True)().reduce_range
    (torch.qint8, True)
    """

    def __init__(self, cls: Any, **kwargs: Any) -> None:
        """Take the class and the arguments."""
        self.cls, self.kwargs = cls, kwargs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make an object."""
        return partial(self.cls, **self.kwargs)(*args, **kwargs)

    def with_args(self, **kwargs: Any) -> Maker:
        """Return one with more arguments."""
        return Maker(self.cls, **{**self.kwargs, **kwargs})

    def __repr__(self) -> str:
        """Return the class and the arguments."""
        given = "".join(f", {name}={value!r}" for name, value in self.kwargs.items())
        return f"{self.cls.__name__}.with_args({given[2:]})"


class ObserverBase(Module):
    """What observers share: the type of the integers, and ``with_args``.

    Args:
        dtype: the type of the integers.

    >>> weft.quantization.NoopObserver()(weft.ones(1))
    tensor([1.])
    """

    def __init__(self, dtype: QuantizedDType) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say what it does with a tensor")

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Return scale and zero point of the grid that suits what was seen."""
        raise NotImplementedError(f"{type(self).__name__} does not say which grid suits")

    @classmethod
    def with_args(cls, **kwargs: Any) -> Maker:
        """Return what makes such observers with these arguments."""
        return Maker(cls, **kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    """Observers of ranges: from the smallest and largest number to a grid.

    Args:
        dtype: ``qint8``, ``quint8`` or ``qint32``.
        qscheme: one grid for all or one per channel, with zero in the middle or not.
        reduce_range: use half of the integers only.
        quant_min: the lowest integer to use.
        quant_max: the highest one.
        eps: the smallest scale.

    >>> o = weft.quantization.MinMaxObserver()
    >>> x = o(weft.tensor([-1.0, 4.1]))
    >>> scale, zero_point = o.calculate_qparams()
    >>> round(scale.item(), 4), zero_point.item()
    (0.02, 50)
    """

    def __init__(
        self,
        dtype: QuantizedDType = quint8,
        qscheme: qscheme = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = _EPS,
    ) -> None:
        super().__init__(dtype)
        name = type(self).__name__
        if not isinstance(dtype, QuantizedDType):
            raise ValueError(f"{name}: dtype must be qint8, quint8 or qint32, got {dtype}")
        if (quant_min is None) != (quant_max is None):
            raise ValueError(f"{name}: quant_min and quant_max must be given together")
        self.qscheme, self.reduce_range, self.eps = qscheme, reduce_range, eps
        low, high = dtype.lowest, dtype.highest
        if reduce_range:
            low, high = (low // 2, high // 2)
        self.has_customized_qrange = quant_min is not None
        if quant_min is not None and quant_max is not None:
            if not dtype.lowest <= quant_min < quant_max <= dtype.highest:
                raise ValueError(
                    f"{name}: quant_min and quant_max must be ordered and between {dtype.lowest} "
                    f"and {dtype.highest}, got {quant_min} and {quant_max}"
                )
            low, high = quant_min, quant_max
        self.quant_min, self.quant_max = low, high
        self.register_buffer("min_val", weft.tensor(float("inf")))
        self.register_buffer("max_val", weft.tensor(float("-inf")))

    min_val: Tensor
    max_val: Tensor

    def seen(self) -> bool:
        """Say whether a tensor was seen yet."""
        some = self.min_val.numel() > 0
        return some and bool((self.min_val <= self.max_val).all().item())

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = weft.tensor(float("inf")), weft.tensor(float("-inf"))

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Return scale and zero point of the grid that suits what was seen."""
        if not self.seen():
            if self.min_val.isnan().any() or self.max_val.isnan().any():
                raise ValueError(f"{type(self).__name__}: a tensor with NaN was observed")
            warnings.warn(
                "must run observer before calling calculate_qparams. Returning default values.",
                stacklevel=2,
            )
            return weft.tensor([1.0]), weft.tensor([0])
        return self._grid(self.min_val, self.max_val)

    def _grid(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        steps = float(self.quant_max - self.quant_min)
        low, high = low.reshape(-1), high.reshape(-1)
        if self.qscheme is per_channel_affine_float_qparams:
            scale = (high - low) / steps
            scale = weft.where(scale > self.eps, scale, weft.ones_like(scale))
            return scale, -low / scale
        below, above = low.clamp(max=0.0), high.clamp(min=0.0)
        if self.qscheme.symmetric:
            scale = (weft.maximum(-below, above) / (steps / 2)).clamp(min=self.eps)
            middle = 0
            if not self.dtype.is_signed:
                middle = (self.quant_min + self.quant_max + (not self.has_customized_qrange)) // 2
            return scale, weft.full(scale.shape, middle, dtype=weft.int64)
        scale = ((above - below) / steps).clamp(min=self.eps)
        zero = self.quant_min - weft.round(below / scale)
        return scale, zero.clamp(self.quant_min, self.quant_max).to(weft.int64)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name in ("min_val", "max_val"):  # what was seen may have one element per channel
            value = state_dict.get(prefix + name)
            if isinstance(value, Tensor):
                setattr(self, name, value.detach().clone())
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def extra_repr(self) -> str:
        return f"min_val={_text(self.min_val)}, max_val={_text(self.max_val)}"


def _text(value: Tensor) -> Any:
    return value.item() if value.numel() == 1 else value


class MinMaxObserver(UniformQuantizationObserverBase):
    """Remembers the smallest and the largest number.

    Args:
        dtype: ``qint8``, ``quint8`` or ``qint32``.
        qscheme: ``per_tensor_affine`` or ``per_tensor_symmetric``.
        reduce_range: use half of the integers only.
        quant_min: the lowest integer to use.
        quant_max: the highest one.
        eps: the smallest scale.

    >>> o = weft.quantization.MinMaxObserver(dtype=weft.qint8, qscheme=weft.per_tensor_symmetric)
    >>> x = o(weft.tensor([-2.55, 1.0]))
    >>> o
    MinMaxObserver(min_val=-2.549..., max_val=1.0)
    """

    def __init__(
        self,
        dtype: QuantizedDType = quint8,
        qscheme: qscheme = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = _EPS,
    ) -> None:
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps)
        if qscheme.per_channel:
            raise NotImplementedError(
                f"{type(self).__name__}: qscheme {qscheme} belongs to PerChannelMinMaxObserver"
            )

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            x = x_orig.detach().to(weft.float32)
            self._take(x.amin(), x.amax())
        return x_orig

    def _take(self, low: Tensor, high: Tensor) -> None:
        self.min_val = weft.minimum(low, self.min_val)
        self.max_val = weft.maximum(high, self.max_val)


class _Average:
    """What averages of ranges share: each new one counts for a fixed part."""

    min_val: Tensor
    max_val: Tensor
    averaging_constant: float

    def _take(self, low: Tensor, high: Tensor) -> None:
        if not self.seen() or self.min_val.shape != low.shape:  # type: ignore[attr-defined]
            self.min_val, self.max_val = low, high
            return
        c = self.averaging_constant
        self.min_val = self.min_val + c * (low - self.min_val)
        self.max_val = self.max_val + c * (high - self.max_val)


class MovingAverageMinMaxObserver(_Average, MinMaxObserver):
    """Remembers moving averages of the smallest and the largest number.

    Args:
        averaging_constant: how much of the average a new tensor is.
        dtype: ``qint8``, ``quint8`` or ``qint32``.
        qscheme: ``per_tensor_affine`` or ``per_tensor_symmetric``.
        reduce_range: use half of the integers only.
        quant_min: the lowest integer to use.
        quant_max: the highest one.
        eps: the smallest scale.

    >>> o = weft.quantization.MovingAverageMinMaxObserver(averaging_constant=0.5)
    >>> x = o(weft.tensor([0.0, 1.0])), o(weft.tensor([0.0, 2.0]))
    >>> o.max_val
    tensor(1.5000)
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        dtype: QuantizedDType = quint8,
        qscheme: qscheme = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = _EPS,
    ) -> None:
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps)
        self.averaging_constant = averaging_constant


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Remembers the smallest and the largest number of each channel.

    Args:
        ch_axis: which dimension the channels are.
        dtype: ``qint8``, ``quint8`` or ``qint32``.
        qscheme: one of the schemes with a scale per channel.
        reduce_range: use half of the integers only.
        quant_min: the lowest integer to use.
        quant_max: the highest one.
        eps: the smallest scale.

    >>> o = weft.quantization.PerChannelMinMaxObserver()
    >>> x = o(weft.tensor([[1.0, 2.0], [-3.0, 4.0]]))
    >>> o.min_val, o.max_val
    (tensor([ 1., -3.]), tensor([2., 4.]))
    """

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: QuantizedDType = quint8,
        qscheme: qscheme = per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = _EPS,
    ) -> None:
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps)
        if not qscheme.per_channel:
            raise NotImplementedError(
                f"{type(self).__name__}: qscheme {qscheme} belongs to MinMaxObserver"
            )
        self.ch_axis = ch_axis
        self.reset_min_max_vals()

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = weft.empty(0), weft.empty(0)

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            x = x_orig.detach().to(weft.float32).movedim(self.ch_axis, 0).flatten(1)
            self._take(x.amin(1), x.amax(1))
        return x_orig

    def _take(self, low: Tensor, high: Tensor) -> None:
        if self.min_val.numel():
            low, high = weft.minimum(low, self.min_val), weft.maximum(high, self.max_val)
        self.min_val, self.max_val = low, high


class MovingAveragePerChannelMinMaxObserver(_Average, PerChannelMinMaxObserver):
    """Remembers moving averages of the smallest and the largest number of each channel.

    Args:
        averaging_constant: how much of the average a new tensor is.
        ch_axis: which dimension the channels are.
        dtype: ``qint8``, ``quint8`` or ``qint32``.
        qscheme: one of the schemes with a scale per channel.
        reduce_range: use half of the integers only.
        quant_min: the lowest integer to use.
        quant_max: the highest one.
        eps: the smallest scale.

    >>> o = weft.quantization.MovingAveragePerChannelMinMaxObserver(averaging_constant=0.5)
    >>> x = o(weft.tensor([[1.0], [2.0]])), o(weft.tensor([[3.0], [2.0]]))
    >>> o.max_val
    tensor([2., 2.])
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        ch_axis: int = 0,
        dtype: QuantizedDType = quint8,
        qscheme: qscheme = per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = _EPS,
    ) -> None:
        super().__init__(ch_axis, dtype, qscheme, reduce_range, quant_min, quant_max, eps)
        self.averaging_constant = averaging_constant


class PlaceholderObserver(ObserverBase):
    """Sees nothing: it says which type is wanted, for layers that find their grids at run time.

    Args:
        dtype: the type of the integers.
        is_dynamic: whether grids are found at run time.
        quant_min: the lowest integer to use: 0.
        quant_max: the highest one: 255 (the default) or 127.

    >>> weft.quantization.PlaceholderObserver(dtype=weft.quint8).dtype
    torch.quint8
    """

    def __init__(
        self,
        dtype: Any = weft.float32,
        is_dynamic: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
    ) -> None:
        super().__init__(dtype)
        if quant_min not in (None, 0) or quant_max not in (None, 127, 255):
            raise NotImplementedError(
                f"PlaceholderObserver: quant_min={quant_min} and quant_max={quant_max} are not "
                "supported, only 0 with 127 or 255"
            )
        self.is_dynamic = is_dynamic
        self.quant_min, self.quant_max = 0, 255 if quant_max is None else quant_max

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Raise: it has seen nothing."""
        raise RuntimeError(f"calculate_qparams: a {type(self).__name__} observes nothing")


class NoopObserver(PlaceholderObserver):
    """Sees nothing.

    Args:
        dtype: the type that is wanted.

    >>> weft.quantization.NoopObserver(dtype=weft.float16).dtype
    torch.float16
    """

    def __init__(self, dtype: Any = weft.float16) -> None:
        super().__init__(dtype)


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=quint8, is_dynamic=True, quant_min=0, quant_max=127
)
default_weight_observer = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=qint8, qscheme=per_channel_symmetric
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=quint8, qscheme=per_channel_affine_float_qparams, ch_axis=0
)
