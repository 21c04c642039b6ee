"""Window functions: weights that fade a piece of a signal in and out."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from weft import dtype as DType

    Shape = Callable[[Tensor, float], Tensor]  # of the places 0, 1, … and the last, or one beyond


def sampled(shape: Shape, length: int, periodic: bool, dtype: DType | None) -> Tensor:
    """Return a window's values at ``length`` places, computed in double precision."""
    kind = dtype or weft.get_default_dtype()
    if length <= 1:
        return weft.ones(length, dtype=kind)
    places = weft.arange(length, dtype=weft.float64)
    return shape(places, float(length if periodic else length - 1)).to(kind)


def cosines(a: Sequence[float]) -> Shape:
    """Return the window a0 - a1 cos(x) + a2 cos(2 x) - …, where x is once around."""
    from math import pi

    def shape(k: Tensor, last: float) -> Tensor:
        terms = [c * (-1) ** i * weft.cos(k * (2 * pi * i / last)) for i, c in enumerate(a)]
        return weft.stack(terms).sum(0)

    return shape


def triangle(k: Tensor, last: float) -> Tensor:
    """Return straight lines from 0 to 1 in the middle, and back."""
    return 1 - (k * (2 / last) - 1).abs()


def kaiser(beta: float) -> Shape:
    """Return the window of Kaiser: Bessel functions, the narrower the larger ``beta`` is."""

    def shape(k: Tensor, last: float) -> Tensor:
        ends = weft.tensor(beta, dtype=weft.float64)
        inside = (1 - (k * (2 / last) - 1).square()).clamp(min=0)
        return weft.i0(beta * inside.sqrt()) / weft.i0(ends)

    return shape


def _checked(
    name: str, shape: Shape, window_length: int, periodic: bool, dtype: DType | None
) -> Tensor:
    if isinstance(window_length, float):
        raise TypeError(f"{name}: window_length must be an int, not a float")
    if window_length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={window_length}"
        )
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    return sampled(shape, window_length, periodic, dtype)


@op(method=False, creation=True, derivative="a constant")
def hann_window(window_length: int, periodic: bool = True, *, dtype: DType | None = None) -> Tensor:
    """Return one arch of a cosine, from 0 to 1 and back.

    >>> weft.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _checked("hann_window", cosines((0.5, 0.5)), window_length, periodic, dtype)


@op(method=False, creation=True, derivative="a constant")
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """Return alpha - beta * cos, from 0.08 to 1 and back.

    >>> weft.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _checked("hamming_window", cosines((alpha, beta)), window_length, periodic, dtype)


@op(method=False, creation=True, derivative="a constant")
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: DType | None = None
) -> Tensor:
    """Return a triangle from 0 to 1 and back.

    >>> weft.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _checked("bartlett_window", triangle, window_length, periodic, dtype)


@op(method=False, creation=True, derivative="a constant")
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: DType | None = None
) -> Tensor:
    """Return a sum of three cosines, from 0 to 1 and back.

    >>> weft.blackman_window(3).round(decimals=4)
    tensor([-0.0000,  0.6300,  0.6300])
    """
    return _checked("blackman_window", cosines((0.42, 0.5, 0.08)), window_length, periodic, dtype)


@op(method=False, creation=True, derivative="a constant")
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: DType | None = None
) -> Tensor:
    """Return the window of Kaiser, the narrower the larger ``beta`` is.

    >>> weft.kaiser_window(3, periodic=False, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    return _checked("kaiser_window", kaiser(beta), window_length, periodic, dtype)
