"""Rotation, affine maps, perspective, elastic deformation."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import weft

from .common import InterpolationMode, check_image, get_dimensions, pil_mode, tensor_mode
from .convert import as_tensor_and_back
from .shape import pil_fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft import Tensor

__all__ = ["affine", "elastic_transform", "perspective", "rotate"]

_ALLOWED = ("nearest", "bilinear")


def _inverse_affine(
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
) -> list[float]:
    """Return the map from places of the result to places of the image.

    The image is sheared, scaled and turned about ``center``, then moved: y = C T R S H C⁻¹ x.
    """
    turn, sx, sy = (math.radians(x) for x in (angle, *shear))
    a = math.cos(turn - sy) / math.cos(sy)
    b = -a * math.tan(sx) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -c * math.tan(sx) + math.cos(turn)
    # The determinant of turning and shearing is 1, so that the inverse has no division but by scale.
    m = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
    x, y = -center[0] - translate[0], -center[1] - translate[1]
    m[2] = m[0] * x + m[1] * y + center[0]
    m[5] = m[3] * x + m[4] * y + center[1]
    return m


def _sample(img: Tensor, x: Tensor, y: Tensor, mode: str, fill: Any) -> Tensor:
    """Return the pixels of an image at places, counted from its middle in halves of its sides."""
    h, w = img.shape[-2:]
    c = 1 if img.ndim == 2 else img.shape[-3]
    dtype = img.dtype if img.is_floating_point() else weft.float32
    planes = img.reshape(-1, c, h, w).to(dtype)
    grid = weft.stack([x, y], -1).to(dtype).expand(planes.shape[0], *x.shape, 2)
    values = _fill_values(fill, c)
    if values is not None:
        inside = weft.ones(planes.shape[0], 1, h, w, dtype=dtype)
        planes = weft.cat([planes, inside], 1)
    made = weft.nn.functional.grid_sample(
        planes, grid, mode=mode, padding_mode="zeros", align_corners=False
    )
    if values is not None:
        made, share = made[:, :-1], made[:, -1:]
        color = weft.tensor(values, dtype=dtype).reshape(1, -1, 1, 1)
        if mode == "nearest":
            made = weft.where(share < 0.5, color, made)
        else:
            made = made * share + (1 - share) * color
    made = made.reshape(*img.shape[:-2], *x.shape)
    return made if img.is_floating_point() else made.round().to(img.dtype)


def _fill_values(fill: Any, channels: int) -> list[float] | None:
    if fill is None:
        return None
    values = list(fill) if isinstance(fill, (list, tuple)) else [fill]
    if not all(isinstance(v, numbers.Real) for v in values) or len(values) not in (1, channels):
        raise ValueError(
            "The number of elements in 'fill' cannot broadcast to match the number of channels of "
            f"the image ({fill!r} != {channels})"
        )
    return None if not any(values) else [float(v) for v in values]


def _affine_places(m: Sequence[float], h: int, w: int, oh: int, ow: int) -> tuple[Tensor, Tensor]:
    """Return where in the image each pixel of the result lies, by a map about the middle."""
    x = weft.arange(ow, dtype=weft.float64) + 0.5 - 0.5 * ow
    y = (weft.arange(oh, dtype=weft.float64) + 0.5 - 0.5 * oh).unsqueeze(1)
    return (m[0] * x + m[1] * y + m[2]) / (0.5 * w), (m[3] * x + m[4] * y + m[5]) / (0.5 * h)


def _turned_size(m: Sequence[float], h: int, w: int) -> tuple[int, int]:
    """Return height and width that hold all of a turned image."""
    corners = [(x, y) for x in (-0.5 * w, 0.5 * w) for y in (-0.5 * h, 0.5 * h)]
    det = m[0] * m[4] - m[1] * m[3]
    xs = [(m[4] * x - m[1] * y) / det for x, y in corners]
    ys = [(m[0] * y - m[3] * x) / det for x, y in corners]
    # Rounded, so that what should be a whole number is one.
    spans = [math.ceil(round(max(v) - min(v), 4)) for v in (ys, xs)]
    return spans[0], spans[1]


def rotate(
    img: Any,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Any = None,
) -> Any:
    """Return an image turned by an angle in degrees, against the clock.

    Args:
        img: the image.
        angle: in degrees.
        interpolation: how values between pixels are found.
        expand: make the result as large as the turned image; without a ``center``.
        center: x and y of the point that stays, by default the middle.
        fill: the pixels outside of the image.

    >>> weft.vision.transforms.functional.rotate(weft.tensor([[[1, 2], [3, 4]]]), 90)
    tensor([[[2, 4],
             [1, 3]]])
    """
    if not isinstance(angle, numbers.Real):
        raise TypeError(f"rotate: Argument angle should be int or float, got {angle!r}")
    if center is not None and len(center) != 2:
        raise ValueError(f"rotate: center should be x and y, got {center!r}")
    if check_image(img, "rotate"):
        color = pil_fill(fill, img, "rotate")
        return img.rotate(angle, pil_mode(interpolation), expand, center, fillcolor=color)
    mode = tensor_mode(interpolation, _ALLOWED, "rotate")
    h, w = img.shape[-2:]
    about = [0.0, 0.0] if center is None else [center[0] - 0.5 * w, center[1] - 0.5 * h]
    m = _inverse_affine(about, -float(angle), [0.0, 0.0], 1.0, [0.0, 0.0])
    oh, ow = _turned_size(m, h, w) if expand else (h, w)
    return _sample(img, *_affine_places(m, h, w, oh, ow), mode, fill)


def affine(
    img: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: Any = InterpolationMode.NEAREST,
    fill: Any = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Return an image turned, moved, scaled and sheared.

    Args:
        img: the image.
        angle: in degrees, with the clock.
        translate: how many pixels to the right and down.
        scale: how much larger.
        shear: in degrees, along x, or along x and y.
        interpolation: how values between pixels are found.
        fill: the pixels outside of the image.
        center: x and y of the point that stays, by default the middle.

    >>> image = weft.tensor([[[1, 2, 3]]])
    >>> weft.vision.transforms.functional.affine(image, 0, (1, 0), 1.0, 0)
    tensor([[[0, 1, 2]]])
    """
    if not isinstance(angle, numbers.Real):
        raise TypeError(f"affine: Argument angle should be int or float, got {angle!r}")
    if not isinstance(translate, (list, tuple)) or len(translate) != 2:
        raise ValueError(f"affine: translate should be a sequence of length 2, got {translate!r}")
    if not scale > 0:
        raise ValueError(f"affine: Argument scale should be positive, got {scale!r}")
    slants = [shear, 0.0] if isinstance(shear, (int, float)) else list(shear)
    slants = slants + [0.0] if len(slants) == 1 else slants
    if len(slants) != 2:
        raise ValueError(f"affine: Shear should be a sequence containing two values. Got {shear!r}")
    if center is not None and len(center) != 2:
        raise ValueError(f"affine: center should be x and y, got {center!r}")
    of_pillow = check_image(img, "affine")
    _, h, w = get_dimensions(img)
    if of_pillow:
        about = [0.5 * w, 0.5 * h] if center is None else center
        m = _inverse_affine(about, angle, translate, scale, slants)
        color = pil_fill(fill, img, "affine")
        return img.transform((w, h), 0, m, pil_mode(interpolation), fillcolor=color)
    mode = tensor_mode(interpolation, _ALLOWED, "affine")
    about = [0.0, 0.0] if center is None else [center[0] - 0.5 * w, center[1] - 0.5 * h]
    m = _inverse_affine(about, angle, translate, scale, slants)
    return _sample(img, *_affine_places(m, h, w, h, w), mode, fill)


def _perspective_map(start: Any, end: Any) -> list[float]:
    """Return the eight numbers of the map from ``end`` to ``start``, four points each."""
    import numpy as np

    if np.shape(start) != (4, 2) or np.shape(end) != (4, 2):
        raise ValueError(
            f"perspective: expected four points x, y each, got {start!r:.200} and {end!r:.200}"
        )
    rows = []
    for (x, y), (u, v) in zip(end, start):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    wanted = np.asarray(start, np.float64).reshape(8)
    solved = np.linalg.lstsq(np.asarray(rows, np.float64), wanted, rcond=None)[0]
    return [float(s) for s in solved]


def perspective(
    img: Any,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
) -> Any:
    """Return an image in which four points have moved to other places.

    Args:
        img: the image.
        startpoints: x and y of four points: above left, above right, below right, below left.
        endpoints: where they go.
        interpolation: how values between pixels are found.
        fill: the pixels outside of the image.

    >>> image = weft.arange(4.0).reshape(1, 2, 2)
    >>> corners = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> weft.vision.transforms.functional.perspective(image, corners, corners).round()
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    a, b, c, d, e, f, g, h_ = numbers_ = _perspective_map(startpoints, endpoints)
    if check_image(img, "perspective"):
        color = pil_fill(fill, img, "perspective")
        return img.transform(img.size, 2, numbers_, pil_mode(interpolation), fillcolor=color)
    mode = tensor_mode(interpolation, _ALLOWED, "perspective")
    h, w = img.shape[-2:]
    x = weft.arange(w, dtype=weft.float64) + 0.5
    y = (weft.arange(h, dtype=weft.float64) + 0.5).unsqueeze(1)
    below = g * x + h_ * y + 1
    u, v = (a * x + b * y + c) / below, (d * x + e * y + f) / below
    return _sample(img, u / (0.5 * w) - 1, v / (0.5 * h) - 1, mode, fill)


def elastic_transform(
    img: Any,
    displacement: Tensor,
    interpolation: Any = InterpolationMode.BILINEAR,
    fill: Any = None,
) -> Any:
    """Return an image of which each pixel was taken from another place.

    Args:
        img: the image.
        displacement: how far, (1, H, W, 2): x and y in halves of the sides of the image.
        interpolation: how values between pixels are found.
        fill: the pixels outside of the image.

    >>> image = weft.tensor([[[1.0, 2.0]]])
    >>> to_the_right = weft.tensor([1.0, 0.0]).expand(1, 1, 2, 2)
    >>> weft.vision.transforms.functional.elastic_transform(image, to_the_right)
    tensor([[[2., 0.]]])
    """
    if not isinstance(displacement, weft.Tensor):
        raise TypeError(f"elastic_transform: displacement should be a Tensor, got {displacement!r}")
    _, h, w = get_dimensions(img)
    if tuple(displacement.shape) != (1, h, w, 2):
        raise ValueError(
            "elastic_transform: Argument displacement shape should be (1, H, W, 2) = "
            f"{(1, h, w, 2)}, but given {tuple(displacement.shape)}"
        )
    mode = tensor_mode(interpolation, _ALLOWED, "elastic_transform")
    x, y = _affine_places([1, 0, 0, 0, 1, 0], h, w, h, w)
    u, v = x + displacement[0, :, :, 0], y + displacement[0, :, :, 1]
    return as_tensor_and_back("elastic_transform", img, lambda t: _sample(t, u, v, mode, fill))
