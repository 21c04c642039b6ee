"""Discrete Fourier transforms (native: ``csrc/ops/fft.cpp``), frequencies and shifts."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TRANSFORMS = [
    f + n for f in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for n in ("", "2", "n")
]
globals().update({name: getattr(weft, f"fft_{name}") for name in _TRANSFORMS})
__all__ = [*_TRANSFORMS, "fftfreq", "fftshift", "ifftshift", "rfftfreq"]


@op(
    name="fft_fftfreq",
    function=False,
    method=False,
    out=True,
    creation=True,
    derivative="a constant",
)
def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None) -> Tensor:
    """Return the frequencies that the elements of a transform of n samples, d apart, stand for.

    >>> weft.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    k = weft.cat([weft.arange(0, (n + 1) // 2), weft.arange(-(n // 2), 0)])
    return k.to(dtype or weft.get_default_dtype()) * (1.0 / (n * d))


@op(
    name="fft_rfftfreq",
    function=False,
    method=False,
    out=True,
    creation=True,
    derivative="a constant",
)
def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None) -> Tensor:
    """Return the frequencies of the elements of half a transform of n samples, d apart.

    >>> weft.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return weft.arange(0, n // 2 + 1).to(dtype or weft.get_default_dtype()) * (1.0 / (n * d))


def _shifted(x: Tensor, dim: Any, back: bool) -> Tensor:
    dims = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    steps = [(x.shape[d] + 1) // 2 if back else x.shape[d] // 2 for d in dims]
    return x.roll(steps, dims) if dims else x.clone()


@op(name="fft_fftshift", function=False, method=False)
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Return a transform with frequency zero in the middle.

    >>> weft.fft.fftshift(weft.arange(4))
    tensor([2, 3, 0, 1])
    """
    return _shifted(input, dim, False)


@op(name="fft_ifftshift", function=False, method=False)
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Return the inverse of fftshift.

    >>> weft.fft.ifftshift(weft.arange(4))
    tensor([2, 3, 0, 1])
    """
    return _shifted(input, dim, True)
