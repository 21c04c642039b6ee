"""Images in other sizes."""

from __future__ import annotations

import math

import weft
from weft._C import Tensor
from weft.nn.functional.common import functional, wide
from weft.nn.functional.pooling import plain_adaptive_avg_pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NEEDS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


def _scale(size: int, out: int, factor: float | None, corners: bool) -> float:
    """Return the distance between two neighbours of the result, in elements of the input."""
    if corners:
        return (size - 1) / (out - 1) if out > 1 else 0.0
    return 1.0 / factor if factor is not None and factor > 0 else size / out


def _sources(
    size: int, out: int, factor: float | None, corners: bool, dtype: Any, cubic: bool
) -> Tensor:
    """Return where in the input each element of the result lies."""
    i = weft.arange(out, dtype=dtype)
    scale = weft.tensor(_scale(size, out, factor, corners), dtype=dtype)
    if corners:
        return i * scale
    at = scale * (i + 0.5) - 0.5
    return at if cubic else at.clamp_min(0)


def _nearest(x: Tensor, d: int, out: int, factor: float | None, exact: bool) -> Tensor:
    size = x.shape[d]
    dtype = weft.float64 if x.dtype == weft.float64 else weft.float32
    scale = weft.tensor(_scale(size, out, factor, False), dtype=dtype)
    i = weft.arange(out, dtype=dtype)
    at = weft.floor((i + 0.5 if exact else i) * scale).to(weft.int64).clamp_max(size - 1)
    return x.index_select(d, at)


def _column(w: Tensor, x: Tensor, d: int) -> Tensor:
    """Return weights along dimension d."""
    return w.reshape(-1, *[1] * (x.ndim - d - 1))


def _linear(x: Tensor, d: int, out: int, factor: float | None, corners: bool) -> Tensor:
    size = x.shape[d]
    if size == out and (corners or factor is None or factor == 1):
        return x
    at = _sources(size, out, factor, corners, x.dtype, False)
    low = at.to(weft.int64).clamp_max(size - 1)
    share = _column((at - low).clamp(0, 1), x, d)
    a, b = x.index_select(d, low), x.index_select(d, (low + 1).clamp_max(size - 1))
    return a * (1 - share) + b * share


def cubic_weights(t: Tensor, a: float = -0.75) -> list[Tensor]:
    """Return the weights of four neighbours at the distance t from the second."""

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(x: Tensor, d: int, out: int, factor: float | None, corners: bool) -> Tensor:
    size = x.shape[d]
    at = _sources(size, out, factor, corners, x.dtype, True)
    low = weft.floor(at)
    weights, first = cubic_weights(at - low), low.to(weft.int64) - 1
    parts = [
        x.index_select(d, (first + k).clamp(0, size - 1)) * _column(w, x, d)
        for k, w in enumerate(weights)
    ]
    return parts[0] + parts[1] + parts[2] + parts[3]


def _smooth(
    x: Tensor, d: int, out: int, factor: float | None, corners: bool, cubic: bool
) -> Tensor:
    """Resize along d with a filter as wide as the elements of the result."""
    size = x.shape[d]
    scale = _scale(size, out, factor, corners)
    inverse = 1.0 / max(scale, 1.0)
    reach = (2.0 if cubic else 1.0) / inverse
    center = scale * (weft.arange(out, dtype=weft.float64).unsqueeze(1) + 0.5)
    j = weft.arange(size, dtype=weft.float64)
    first = (center - reach + 0.5).trunc().clamp_min(0)
    end = (center + reach + 0.5).trunc().clamp_max(size)
    weight = _filter((j - center + 0.5) * inverse, cubic) * ((j >= first) & (j < end))
    total = weight.sum(1, keepdim=True)
    weight = (weight / weft.where(total == 0, 1.0, total)).to(x.dtype)
    return weft.matmul(x.transpose(d, -1), weight.t()).transpose(d, -1)


def _filter(x: Tensor, cubic: bool) -> Tensor:
    x = x.abs()
    if not cubic:
        return (1.0 - x).clamp_min(0)
    a = -0.5
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return weft.where(x < 1, near, weft.where(x < 2, far, 0.0))


def _sizes(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[list[int], list[float | None]]:
    """Return the sizes of the result, and the factors that say where its elements lie."""
    n = input.ndim - 2
    if size is not None and scale_factor is not None:
        raise ValueError("interpolate: only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError(
                "interpolate: recompute_scale_factor is not meaningful with an explicit size"
            )
        sizes = list(size) if isinstance(size, (list, tuple)) else [size] * n
        if len(sizes) != n:
            raise ValueError(
                f"interpolate: Input and output must have the same number of spatial dimensions, "
                f"but got input with spatial dimensions of {list(input.shape[2:])} and output size "
                f"of {sizes}"
            )
        return [int(s) for s in sizes], [None] * n
    if scale_factor is None:
        raise ValueError("interpolate: either size or scale_factor should be defined")
    factors = list(scale_factor) if isinstance(scale_factor, (list, tuple)) else [scale_factor] * n
    if len(factors) != n:
        raise ValueError(
            "interpolate: Input and scale_factor must have the same number of spatial dimensions, "
            f"but got input with spatial dimensions of {list(input.shape[2:])} and scale_factor of "
            f"shape {factors}"
        )
    sizes = [math.floor(s * f) for s, f in zip(input.shape[2:], factors)]
    return sizes, [None] * n if recompute else [float(f) for f in factors]


@functional
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the dimensions behind batch and channels.

    mode is 'nearest', 'nearest-exact', 'area', 'linear', 'bilinear', 'trilinear' or 'bicubic'.

    >>> weft.nn.functional.interpolate(weft.tensor([[[1.0, 3.0]]]), 4, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    plain = mode in ("nearest", "area", "nearest-exact")
    if plain and align_corners is not None:
        raise ValueError(
            "interpolate: align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear"
        )
    if antialias and not (mode in ("bilinear", "bicubic") and input.ndim == 4):
        raise ValueError(
            "interpolate: Anti-alias option is restricted to bilinear and bicubic modes and "
            "requires a 4-D tensor as input"
        )
    if (not plain and mode not in _NEEDS) or input.ndim not in (3, 4, 5):
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.ndim}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
            f"area | nearest-exact (got {mode})"
        )
    if not plain and _NEEDS[mode] != input.ndim:
        raise NotImplementedError(
            f"Got {input.ndim}D input, but {mode} mode needs {_NEEDS[mode]}D input"
        )
    sizes, factors = _sizes(input, size, scale_factor, recompute_scale_factor)
    if any(s < 1 for s in (*sizes, *input.shape[2:])) or input.shape[1] == 0:
        raise RuntimeError(
            "interpolate: Input and output sizes should be greater than 0, but got input "
            f"{list(input.shape)} and output {sizes}"
        )
    if mode == "area":
        return plain_adaptive_avg_pool("interpolate", len(sizes), input, sizes)
    return _resized(input, sizes, factors, mode, bool(align_corners), antialias)


def _resized(
    input: Tensor, sizes: list[int], factors: list[Any], mode: str, corners: bool, antialias: bool
) -> Tensor:
    nearest = mode.startswith("nearest")
    x = input if nearest else (input.float() if input.dtype == weft.uint8 else wide(input))
    for d, (out, factor) in enumerate(zip(sizes, factors), 2):
        if nearest:
            x = _nearest(x, d, out, factor, mode == "nearest-exact")
        elif antialias:
            x = _smooth(x, d, out, factor, corners, mode == "bicubic")
        elif mode == "bicubic":
            x = _cubic(x, d, out, factor, corners)
        else:
            x = _linear(x, d, out, factor, corners)
    if input.dtype == weft.uint8 and not nearest:
        x = weft.round(x).clamp(0, 255)
    x = x.clone() if x is input else x
    return x if x.dtype == input.dtype else x.to(input.dtype)


@functional
def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Resize; the old name of ``interpolate``.

    >>> weft.nn.functional.upsample(weft.tensor([[[1.0, 3.0]]]), 4)
    tensor([[[1., 1., 3., 3.]]])
    """
    _warn("upsample", "interpolate")
    return interpolate(input, size, scale_factor, mode, align_corners)


@functional
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize by the nearest elements; an old name of ``interpolate``.

    >>> weft.nn.functional.upsample_nearest(weft.tensor([[[1.0, 3.0]]]), 4)
    tensor([[[1., 1., 3., 3.]]])
    """
    _warn("upsample_nearest", "interpolate")
    return interpolate(input, size, scale_factor, "nearest")


@functional
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize images, their corners in place; an old name of ``interpolate``.

    >>> weft.nn.functional.upsample_bilinear(weft.tensor([[[[1.0, 3.0]]]]), (1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    _warn("upsample_bilinear", "interpolate")
    return interpolate(input, size, scale_factor, "bilinear", True)


def _warn(name: str, instead: str) -> None:
    import warnings

    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.{instead}` instead.",
        stacklevel=4,
    )
