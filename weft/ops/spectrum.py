"""Short-time Fourier transforms: a spectrum for each of many overlapping frames, and back."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _window(name: str, window: Tensor | None, win_length: int, n_fft: int, dtype: Any) -> Tensor:
    """Return the window, filled up with zeros on both sides to the length of a frame."""
    if window is None:
        w = weft.ones(win_length, dtype=dtype)
    elif window.ndim != 1 or window.shape[0] != win_length:
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, "
            f"but got window with size {list(window.shape)}"
        )
    else:
        w = window
    left = (n_fft - win_length) // 2
    if win_length < n_fft:
        w = weft.cat([w.new_zeros(left), w, w.new_zeros(n_fft - win_length - left)])
    return w


def _padded(x: Tensor, n: int, mode: str) -> Tensor:
    """Return x with n more elements on both sides of the last dimension."""
    if mode == "constant":
        zeros = x.new_zeros([*x.shape[:-1], n])
        return weft.cat([zeros, x, zeros], -1)
    size = x.shape[-1]
    if mode == "reflect":
        if n >= size:
            raise RuntimeError(
                "stft: Padding size should be less than the corresponding input dimension, but "
                f"got: padding ({n}, {n}) at dimension {x.ndim} of input {list(x.shape)}"
            )
        return weft.cat(
            [x.narrow(-1, 1, n).flip(-1), x, x.narrow(-1, size - 1 - n, n).flip(-1)], -1
        )
    if mode == "replicate":
        ends = [x.narrow(-1, i, 1).expand([*x.shape[:-1], n]) for i in (0, size - 1)]
        return weft.cat([ends[0], x, ends[1]], -1)
    if mode == "circular":
        return weft.cat([x.narrow(-1, size - n, n), x, x.narrow(-1, 0, n)], -1)
    raise NotImplementedError(f"stft: unrecognised padding mode {mode}")


def _check_sizes(name: str, n_fft: int, hop: int, win_length: int) -> None:
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(
            f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}"
        )


@op()
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Return the spectra of overlapping frames: (…, frequencies, frames).

    >>> weft.stft(weft.ones(8), 4, return_complex=True).shape
    torch.Size([3, 9])
    """
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            f"stft: expected a tensor of floating point or complex values, got {input.dtype}"
        )
    if input.ndim not in (1, 2):
        raise RuntimeError(
            f"stft: expected a 1D or 2D tensor, but got {input.ndim}D tensor of shape "
            f"{list(input.shape)}"
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    any_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not any_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will "
                "further require that return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if n_fft <= 0:
        raise RuntimeError(f"stft: expected 0 < n_fft, but got n_fft={n_fft}")
    x = _padded(input, n_fft // 2, pad_mode) if center else input
    if n_fft > x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x.shape[-1]}, but got n_fft={n_fft}")
    _check_sizes("stft", n_fft, hop, size)
    frames = x.unfold(-1, n_fft, hop)
    if window is not None or size < n_fft:
        frames = frames * _window("stft", window, size, n_fft, x.dtype)
    norm = "ortho" if normalized else None
    onesided = not any_complex if onesided is None else onesided
    if onesided and any_complex:
        raise RuntimeError("stft: Cannot have onesided output if window or input is complex")
    columns = frames.transpose(-2, -1)  # frames side by side, as in the result
    spectra = (weft.fft.rfft if onesided else weft.fft.fft)(columns, dim=-2, norm=norm)
    return spectra if return_complex else weft.view_as_real(spectra)


@op()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """Return the signal of short-time spectra: the frames, overlapped, over the squared windows.

    >>> weft.istft(weft.stft(weft.ones(8), 4, return_complex=True), 4)
    tensor([1., 1., 1., 1., 1., 1., 1., 1.])
    """
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    if input.numel() == 0:
        raise RuntimeError("istft: expected a non-empty tensor")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {input.ndim}")
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    onesided = input.shape[-2] != n_fft if onesided is None else onesided
    if input.shape[-2] != (n_fft // 2 + 1 if onesided else n_fft):
        raise RuntimeError(
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match n_fft={n_fft}, got {input.shape[-2]}"
        )
    _check_sizes("istft", n_fft, hop, size)
    if hop > size:
        raise RuntimeError(f"istft: expected 0 < hop_length <= win_length, got {hop}")
    spectra = input.transpose(-2, -1)
    real = weft.float64 if input.dtype == weft.complex128 else weft.float32
    w = _window("istft", window, size, n_fft, real)
    norm = "ortho" if normalized else None
    if return_complex:
        frames = weft.fft.ifft(spectra, norm=norm)
    else:  # of a full spectrum, the second half mirrors the first
        frames = weft.fft.irfft(spectra, n_fft, norm=norm)
    count = frames.shape[-2]
    signal = _overlapped(frames * w, hop)
    weight = _overlapped((w * w).expand(count, n_fft), hop)
    start = n_fft // 2 if center else 0
    total = signal.shape[-1]
    end = total - start if length is None else min(total, start + length)
    if length is None and not center:
        end = total
    signal, weight = signal.narrow(-1, start, end - start), weight.narrow(-1, start, end - start)
    if not bool((weight.detach().abs() > 1e-11).all()):
        raise RuntimeError(
            "istft: window overlap add min: 1, which means that some samples lie under no window"
        )
    out = signal / weight
    if length is not None and length > out.shape[-1]:
        out = weft.cat([out, out.new_zeros([*out.shape[:-1], length - out.shape[-1]])], -1)
    return out


def _overlapped(frames: Tensor, hop: int) -> Tensor:
    """Add frames (…, count, n), each hop elements after the one before."""
    *batch, count, n = frames.shape
    total, hops = n + hop * (count - 1), -(-n // hop)
    if hops > count:  # a few frames
        at = (weft.arange(count).unsqueeze(1) * hop + weft.arange(n)).reshape(-1)
        flat = frames.reshape([*batch, count * n])
        return flat.new_zeros([*batch, total]).index_add(-1, at, flat)
    if n < hops * hop:
        frames = weft.cat([frames, frames.new_zeros([*batch, count, hops * hop - n])], -1)
    # Row i: the parts i hops after the start of each frame, then zeros. Read as shorter rows, each
    # begins one hop later than the one above, and what belongs together stands in one column.
    parts = frames.view([*batch, count, hops, hop]).transpose(-3, -2)
    rows = weft.cat([parts, frames.new_zeros([*batch, hops, hops, hop])], -2)
    length = (count + hops - 1) * hop
    flat = rows.view([*batch, hops * (length + hop)]).narrow(-1, 0, hops * length)
    return flat.reshape([*batch, hops, length]).sum(-2).narrow(-1, 0, total)
