"""Features frame by frame: deltas, sliding-window means, masks."""

from __future__ import annotations

import weft
from weft.nn import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["compute_deltas", "mask_along_axis", "mask_along_axis_iid", "sliding_window_cmn"]


def compute_deltas(specgram: Tensor, win_length: int = 5, mode: str = "replicate") -> Tensor:
    """Return slopes along time: d_t = sum_n n (c_{t+n} - c_{t-n}) / (2 sum_n n^2).

    Args:
        specgram: features (…, frames).
        win_length: how many frames a slope is fitted to: odd, at least 3.
        mode: how frames are added at both ends, as of ``nn.functional.pad``.

    >>> weft.audio.functional.compute_deltas(weft.tensor([[0.0, 1.0, 2.0, 3.0]]), 3)
    tensor([[0.5000, 1.0000, 1.0000, 0.5000]])
    """
    if win_length < 3:
        raise ValueError(f"compute_deltas: win_length must be at least 3, got {win_length}")
    n = (win_length - 1) // 2
    shape = specgram.shape
    x = F.pad(specgram.reshape(1, -1, shape[-1]), (n, n), mode=mode)
    slope = weft.arange(-n, n + 1).to(x.dtype) * (3 / (n * (n + 1) * (2 * n + 1)))
    return F.conv1d(x.transpose(0, 1), slope.reshape(1, 1, -1)).reshape(shape)


def _window_of_each_frame(frames: int, window: int, least: int, center: bool) -> tuple[Tensor, ...]:
    """Return where the windows of frames begin and end."""
    t = weft.arange(frames)
    if center:
        start = (t - window // 2).clamp(min=0)
        end = start + window
    else:
        start, end = (t - window).clamp(min=0), (t + 1).clamp(min=least)
    over = (end - frames).clamp(min=0)
    return (start - over).clamp(min=0), end - over


def sliding_window_cmn(
    specgram: Tensor,
    cmn_window: int = 600,
    min_cmn_window: int = 100,
    center: bool = False,
    norm_vars: bool = False,
) -> Tensor:
    """Return features minus their means over a window of frames around or before each.

    Args:
        specgram: features (…, frames, features).
        cmn_window: how many frames a window has.
        min_cmn_window: how many it has at least at the beginning, if it is not centred.
        center: whether a window has its frame in the middle, else at its end.
        norm_vars: whether features are also divided by their standard deviation.

    >>> weft.audio.functional.sliding_window_cmn(weft.tensor([[1.0], [3.0]]))
    tensor([[-1.],
            [ 1.]])
    """
    if cmn_window < 1 or min_cmn_window < 1:
        raise ValueError(
            f"sliding_window_cmn: windows must be positive, got {cmn_window} and {min_cmn_window}"
        )
    if specgram.ndim < 2:
        raise ValueError(
            f"sliding_window_cmn: expected (…, frames, features), got {tuple(specgram.shape)}"
        )
    start, end = _window_of_each_frame(specgram.shape[-2], cmn_window, min_cmn_window, center)
    x = specgram.double()
    count = (end - start).double().unsqueeze(-1)

    def mean(y: Tensor) -> Tensor:
        sums = F.pad(y.cumsum(-2), (0, 0, 1, 0))
        return (sums.index_select(-2, end) - sums.index_select(-2, start)) / count

    middle = mean(x)
    out = x - middle
    if norm_vars:
        deviation = (mean(x.square()) - middle.square()).clamp(min=1e-20).sqrt()
        out = weft.where(count > 1, out / deviation, weft.zeros_like(out))
    return out.to(specgram.dtype)


def _limit(name: str, mask_param: int, size: int, p: float) -> float:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: p must be between 0 and 1, got {p}")
    if mask_param < 0:
        raise ValueError(f"{name}: mask_param must not be negative, got {mask_param}")
    return mask_param if p == 1.0 else min(mask_param, int(size * p))


def mask_along_axis(
    specgram: Tensor, mask_param: int, mask_value: float, axis: int, p: float = 1.0
) -> Tensor:
    """Return spectra in which the same neighbouring rows or columns of all are set to a value.

    How many is drawn evenly from 0 to ``mask_param``, and where they begin as well.

    Args:
        specgram: spectra (…, frequencies, frames).
        mask_param: how many rows or columns at most.
        mask_value: what they are set to.
        axis: one of the last two dimensions.
        p: which share of them at most.

    >>> weft.audio.functional.mask_along_axis(weft.ones(1, 4, 4), 1, 0.0, 2).sum() >= 12
    tensor(True)
    """
    if axis not in (specgram.ndim - 2, specgram.ndim - 1):
        raise ValueError(
            f"mask_along_axis: axis must be one of the last two of {specgram.ndim}, got {axis}"
        )
    size = specgram.shape[axis]
    length = float(weft.rand(1)) * _limit("mask_along_axis", mask_param, size, p)
    start = int(float(weft.rand(1)) * (size - length))
    places = weft.arange(size)
    masked = (places >= start) & (places < start + int(length))
    masked = masked.unsqueeze(-1) if axis == specgram.ndim - 2 else masked
    return specgram.masked_fill(masked, mask_value)


def mask_along_axis_iid(
    specgrams: Tensor, mask_param: int, mask_value: float, axis: int, p: float = 1.0
) -> Tensor:
    """Return ``mask_along_axis`` of each spectrum with a draw of its own.

    Args:
        specgrams: spectra (…, frequencies, frames), of at least three dimensions.
        mask_param: how many rows or columns at most.
        mask_value: what they are set to.
        axis: one of the last two dimensions.
        p: which share of them at most.

    >>> weft.audio.functional.mask_along_axis_iid(weft.ones(5, 4, 4), 1, 0.0, 1).shape
    torch.Size([5, 4, 4])
    """
    if specgrams.ndim < 3:
        raise ValueError(
            "mask_along_axis_iid: expected (…, frequencies, frames) of at least 3 dimensions, "
            f"got {tuple(specgrams.shape)}"
        )
    if axis not in (specgrams.ndim - 2, specgrams.ndim - 1):
        raise ValueError(
            f"mask_along_axis_iid: axis must be one of the last two of {specgrams.ndim}, got {axis}"
        )
    size = specgrams.shape[axis]
    batch = [*specgrams.shape[:-2], 1]
    length = weft.rand(batch) * _limit("mask_along_axis_iid", mask_param, size, p)
    start = (weft.rand(batch) * (size - length)).long()
    places = weft.arange(size)
    masked = (places >= start) & (places < start + length.long())
    masked = masked.unsqueeze(-1 if axis == specgrams.ndim - 2 else -2)
    return specgrams.masked_fill(masked, mask_value)
