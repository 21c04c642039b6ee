"""Images in other sizes."""

from __future__ import annotations

import math

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import functional

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_resample = _C._op_function("resample")
_NEEDS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
_PLAIN = ("nearest", "area", "nearest-exact")  # modes without corners
_NATIVE = {"bicubic": "cubic", "linear": "linear", "bilinear": "linear", "trilinear": "linear"}


def _sizes(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[list[int], list[float]]:
    """Return the sizes of the result, and the factors that say where its elements lie, or zeros."""
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
        return [int(s) for s in sizes], [0.0] * n
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
    return sizes, [0.0] * n if recompute else [float(f) for f in factors]


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
    return _interpolated(
        input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias
    )


def _interpolated(
    input: Tensor, size: Any, scale_factor: Any, mode: str, align_corners: bool | None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Return images in another size, as ``interpolate`` is asked for them."""
    plain, ndim = mode in _PLAIN, input.ndim
    if plain and align_corners is not None:
        raise ValueError(
            "interpolate: align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear"
        )
    if antialias and not (mode in ("bilinear", "bicubic") and ndim == 4):
        raise ValueError(
            "interpolate: Anti-alias option is restricted to bilinear and bicubic modes and "
            "requires a 4-D tensor as input"
        )
    if (not plain and mode not in _NEEDS) or ndim not in (3, 4, 5):
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{ndim}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
            f"area | nearest-exact (got {mode})"
        )
    if not plain and _NEEDS[mode] != ndim:
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {_NEEDS[mode]}D input")
    sizes, factors = _sizes(input, size, scale_factor, recompute_scale_factor)
    if min(sizes) < 1 or 0 in input.shape[1:]:
        raise RuntimeError(
            "interpolate: Input and output sizes should be greater than 0, but got input "
            f"{list(input.shape)} and output {sizes}"
        )
    return resized(input, sizes, factors, mode, bool(align_corners), antialias)


def resized(
    input: Tensor, sizes: list[int], factors: list[float], mode: str, corners: bool, antialias: bool
) -> Tensor:
    """Return images in these sizes; a factor of 0 is the ratio of the sizes."""
    x = input.float() if input.dtype == weft.uint8 and mode in _NATIVE else input
    native = _NATIVE.get(mode, mode)
    native = f"smooth-{native}" if antialias else native
    y = _resample(x, sizes, native, corners, *factors, *(0.0,) * (3 - len(sizes)))
    return y if x is input else weft.round(y).clamp(0, 255).to(weft.uint8)


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
    return _interpolated(input, size, scale_factor, mode, align_corners)


@functional
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize by the nearest elements; an old name of ``interpolate``.

    >>> weft.nn.functional.upsample_nearest(weft.tensor([[[1.0, 3.0]]]), 4)
    tensor([[[1., 1., 3., 3.]]])
    """
    _warn("upsample_nearest", "interpolate")
    return _interpolated(input, size, scale_factor, "nearest", None)


@functional
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize images, their corners in place; an old name of ``interpolate``.

    >>> weft.nn.functional.upsample_bilinear(weft.tensor([[[[1.0, 3.0]]]]), (1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    _warn("upsample_bilinear", "interpolate")
    return _interpolated(input, size, scale_factor, "bilinear", True)


def _warn(name: str, instead: str) -> None:
    import warnings

    text = f"`nn.functional.{name}` is deprecated. Use `nn.functional.{instead}` instead."
    warnings.warn(text, stacklevel=4)
