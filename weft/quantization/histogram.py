"""``HistogramObserver``: searches the range with the smallest quantisation error."""

from __future__ import annotations

import weft
from weft import Tensor
from weft.quantization.kinds import QuantizedDType, per_tensor_affine, qscheme, quint8
from weft.quantization.observer import UniformQuantizationObserverBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["HistogramObserver", "default_histogram_observer"]

_EPS = weft.finfo(weft.float32).eps
_TRIED = 256  # bounds on each side


class HistogramObserver(UniformQuantizationObserverBase):
    """Counts numbers in bins, and cuts off the ends where that makes the squared error smaller.

    The error of a range: step² / 12 for every number inside, the squared distance to the nearer
    bound for every number outside.

    Args:
        bins: how many bins there are.
        dtype: ``qint8`` or ``quint8``.
        qscheme: ``per_tensor_affine`` or ``per_tensor_symmetric``.
        reduce_range: use half of the integers only.
        quant_min: the lowest integer to use.
        quant_max: the highest one.
        eps: the smallest scale.

    >>> o = weft.quantization.HistogramObserver()
    >>> x = o(weft.cat([weft.linspace(0, 1, 10000), weft.tensor([8.0])]))
    >>> scale, zero_point = o.calculate_qparams()
    >>> scale.item() < 8 / 255
    True
    """

    histogram: Tensor

    def __init__(
        self,
        bins: int = 2048,
        dtype: QuantizedDType = quint8,
        qscheme: qscheme = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = _EPS,
    ) -> None:
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps)
        if qscheme.per_channel:
            raise NotImplementedError(f"HistogramObserver: qscheme {qscheme} is not supported")
        if bins < 2:
            raise ValueError(f"HistogramObserver: bins must be at least 2, got {bins}")
        self.bins = bins
        self.register_buffer("histogram", weft.zeros(bins))

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        super().reset_min_max_vals()
        self.histogram = weft.zeros(self.bins)

    def forward(self, x_orig: Tensor) -> Tensor:
        if not x_orig.numel():
            return x_orig
        x = x_orig.detach().to(weft.float32)
        low, high = x.amin(), x.amax()
        if not (weft.isfinite(low) and weft.isfinite(high)):
            raise ValueError(
                "HistogramObserver: a tensor with NaN or infinite numbers was observed"
            )
        if self.seen():
            low, high = weft.minimum(low, self.min_val), weft.maximum(high, self.max_val)
        counts = self._counted(x, low, high)
        if self.seen():
            counts = counts + self._moved(low, high)
        self.min_val, self.max_val, self.histogram = low, high, counts
        return x_orig

    def _counted(self, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        a, b = low.item(), high.item()
        if a == b:  # all the same number
            return weft.cat([weft.tensor([float(x.numel())]), weft.zeros(self.bins - 1)])
        return weft.histc(x, self.bins, a, b)

    def _moved(self, low: Tensor, high: Tensor) -> Tensor:
        """The bins of before in a wider range: each number goes to where its bin's middle lies."""
        old_low, old_high = self.min_val.item(), self.max_val.item()
        new_low, width = low.item(), high.item() - low.item()
        if width == 0 or (old_low == new_low and old_high == high.item()):
            return self.histogram
        at = (weft.arange(self.bins) + 0.5) * ((old_high - old_low) / self.bins) + old_low
        place = ((at - new_low) / width * self.bins).to(weft.int64).clamp(0, self.bins - 1)
        return weft.zeros(self.bins).index_add(0, place, self.histogram)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Return scale and zero point of the grid that loses least."""
        if not self.seen() or self.min_val.item() == self.max_val.item():
            return super().calculate_qparams()
        return self._grid(*self._best_range())

    def _best_range(self) -> tuple[Tensor, Tensor]:
        """Try many bounds on both sides; zero stays between them, since every grid has it."""
        low, high = self.min_val.item(), self.max_val.item()
        f = weft.float64
        counts = self.histogram.to(f)
        at = low + (weft.arange(self.bins, dtype=f) + 0.5) * ((high - low) / self.bins)
        lows = (
            weft.linspace(low, min(0.0, high), _TRIED, dtype=f)
            if low < 0
            else weft.tensor([low], dtype=f)
        )
        highs = (
            weft.linspace(high, max(0.0, low), _TRIED, dtype=f)
            if high > 0
            else weft.tensor([high], dtype=f)
        )
        below = (lows[:, None] - at).clamp(min=0)
        above = (at - highs[:, None]).clamp(min=0)
        outside = (below**2 * counts).sum(1)[:, None] + (above**2 * counts).sum(1)[None, :]
        inside = (
            counts.sum()
            - ((below > 0) * counts).sum(1)[:, None]
            - ((above > 0) * counts).sum(1)[None, :]
        )
        widths = self._widths(lows, highs)
        errors = outside + inside * (widths / (self.quant_max - self.quant_min)) ** 2 / 12
        best = int(errors.flatten().argmin().item())
        a, b = lows[best // len(highs)], highs[best % len(highs)]
        return a.to(weft.float32), b.to(weft.float32)

    def _widths(self, lows: Tensor, highs: Tensor) -> Tensor:
        a, b = lows.clamp(max=0.0)[:, None], highs.clamp(min=0.0)[None, :]
        return 2 * weft.maximum(-a, b) if self.qscheme.symmetric else b - a

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, bins={self.bins}"


default_histogram_observer: Any = HistogramObserver.with_args(quant_min=0, quant_max=127)
