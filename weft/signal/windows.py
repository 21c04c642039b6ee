"""``weft.signal.windows``: window functions under SciPy's and PyTorch's names and signatures.

Symmetric unless ``sym=False``, which leaves out the last value, for a transform that repeats.
"""

from __future__ import annotations

from math import pi

import weft
from weft._C import Tensor
from weft.ops import _alike, op
from weft.ops.windows import cosines, sampled, triangle
from weft.ops.windows import kaiser as kaiser_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weft import dtype as DType
    from weft.ops.windows import Shape

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip


def _window(f: Callable[..., Any]) -> Callable[..., Any]:
    made = op(
        name="signal_windows_" + f.__name__, function=False, method=False, creation=True,
        derivative="a constant",
    )(f)  # fmt: skip

    def window(*args: Any, layout: Any = None, **kwargs: Any) -> Tensor:
        if layout not in (None, weft.strided):
            raise ValueError(f"{f.__name__} is not implemented for sparse types, got: {layout}")
        return made(*args, **kwargs)

    return _alike(window, made)


def _checked(name: str, shape: Shape, M: int, sym: bool, dtype: DType | None) -> Tensor:
    if not isinstance(M, int):
        raise TypeError(f"{name}: M must be an int, not {type(M).__name__}")
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if dtype not in (None, weft.float32, weft.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return sampled(shape, M, not sym, dtype)


@_window
def bartlett(M: int, *, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Return a triangle from 0 to 1 and back.

    >>> weft.signal.windows.bartlett(3)
    tensor([0., 1., 0.])
    """
    return _checked("bartlett", triangle, M, sym, dtype)


@_window
def blackman(M: int, *, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Return a sum of three cosines, from 0 to 1 and back.

    >>> weft.signal.windows.blackman(3)[1]
    tensor(1.)
    """
    return _checked("blackman", cosines((0.42, 0.5, 0.08)), M, sym, dtype)


@_window
def cosine(M: int, *, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Return one arch of a sine, sampled between its zeros.

    >>> weft.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """

    def shape(k: Tensor, last: float) -> Tensor:
        return weft.sin((k + 0.5) * (pi / (last + 1)))

    return _checked("cosine", shape, M, sym, dtype)


@_window
def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
) -> Tensor:
    """Return exp(-|k - center| / tau).

    >>> weft.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"exponential: tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("exponential: center must be None for symmetric windows")

    def shape(k: Tensor, last: float) -> Tensor:
        return weft.exp((k - (last / 2 if center is None else center)).abs() / -tau)

    return _checked("exponential", shape, M, sym, dtype)


@_window
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Return a Gaussian bell, 1 in the middle.

    >>> weft.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"gaussian: standard deviation must be positive, got: {std} instead.")

    def shape(k: Tensor, last: float) -> Tensor:
        return weft.exp(((k - last / 2) / std).square() * -0.5)

    return _checked("gaussian", shape, M, sym, dtype)


@_window
def general_cosine(
    M: int, *, a: Sequence[float], sym: bool = True, dtype: DType | None = None
) -> Tensor:
    """Return a0 - a1 cos(x) + a2 cos(2 x) - …, where x is once around.

    >>> weft.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not isinstance(a, (list, tuple)):
        raise TypeError("general_cosine: coefficients must be a list/tuple")
    if not a:
        raise ValueError("general_cosine: coefficients cannot be empty")
    return _checked("general_cosine", cosines(a), M, sym, dtype)


@_window
def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: DType | None = None
) -> Tensor:
    """Return alpha - (1 - alpha) * cos.

    >>> weft.signal.windows.general_hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _checked("general_hamming", cosines((alpha, 1 - alpha)), M, sym, dtype)


@_window
def hamming(M: int, *, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Return 0.54 - 0.46 * cos, from 0.08 to 1 and back.

    >>> weft.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _checked("hamming", cosines((0.54, 0.46)), M, sym, dtype)


@_window
def hann(M: int, *, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Return one arch of a cosine, from 0 to 1 and back.

    >>> weft.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return _checked("hann", cosines((0.5, 0.5)), M, sym, dtype)


@_window
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Return the window of Kaiser, the narrower the larger ``beta`` is.

    >>> weft.signal.windows.kaiser(3, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    if beta < 0:
        raise ValueError(f"kaiser: beta must be non-negative, got: {beta} instead.")
    return _checked("kaiser", kaiser_shape(beta), M, sym, dtype)


@_window
def nuttall(M: int, *, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Return a sum of four cosines, very flat at both ends.

    >>> weft.signal.windows.nuttall(3)
    tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
    """
    a = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
    return _checked("nuttall", cosines(a), M, sym, dtype)
