"""Blur, sharpness, and erased regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft.vision.pillow import pillow

from .color import blend
from .common import check_channels, check_image
from .convert import as_tensor_and_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft import Tensor

__all__ = ["adjust_sharpness", "erase", "gaussian_blur"]


def _convolved(img: Tensor, kernel: Tensor, edges: Sequence[int] | None) -> Tensor:
    """Return each plane of an image convolved with a kernel; edges reflected, or left out."""
    h, w = img.shape[-2:]
    dtype = img.dtype if img.is_floating_point() else weft.float32
    x = img.reshape(-1, 1, h, w).to(dtype)
    if edges is not None:
        x = weft.nn.functional.pad(x, list(edges), mode="reflect")
    made = weft.nn.functional.conv2d(x, kernel.to(dtype).reshape(1, 1, *kernel.shape[-2:]))
    made = made if img.is_floating_point() else made.round().to(img.dtype)
    return made.reshape(*img.shape[:-2], *made.shape[-2:])


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """Return an image sharper than it was (above 1) or softer (from 0 to 1).

    >>> weft.vision.transforms.functional.adjust_sharpness(weft.ones(1, 3, 3), 2.0).sum()
    tensor(9.)
    """
    if sharpness_factor < 0:
        raise ValueError(f"sharpness_factor ({sharpness_factor}) is not non-negative.")
    if check_image(img, "adjust_sharpness"):
        return pillow("ImageEnhance").Sharpness(img).enhance(sharpness_factor)
    check_channels(img, (1, 3), "adjust_sharpness")
    if min(img.shape[-2:]) <= 2:
        return img
    kernel = weft.ones(3, 3)
    kernel[1, 1] = 5.0
    soft = img.clone()
    soft[..., 1:-1, 1:-1] = _convolved(img, kernel / 13, None)
    return blend(img, soft, sharpness_factor)


def _bell(size: int, sigma: float) -> Tensor:
    x = weft.arange(size, dtype=weft.float64) - (size - 1) / 2
    weights = weft.exp(-0.5 * (x / sigma) ** 2)
    return weights / weights.sum()


def gaussian_blur(
    img: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Any:
    """Return an image blurred by a bell curve; edges are reflected.

    Args:
        img: the image.
        kernel_size: width and height of the window, odd; or one number for both.
        sigma: the width of the bell along x and y; or one number; by default
            ``0.15 * kernel_size + 0.35``.

    >>> weft.vision.transforms.functional.gaussian_blur(weft.ones(1, 4, 4), 3).mean()
    tensor(1.)
    """
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if len(sizes) != 2 or any(k < 1 or k % 2 == 0 for k in sizes):
        raise ValueError(
            f"gaussian_blur: kernel_size should be one or two odd and positive numbers, got {kernel_size}"
        )
    if sigma is None:
        widths = [k * 0.15 + 0.35 for k in sizes]
    else:
        widths = [sigma] if isinstance(sigma, (int, float)) else list(sigma)
        widths = [float(s) for s in (widths * 2 if len(widths) == 1 else widths)]
    if len(widths) != 2 or any(s <= 0 for s in widths):
        raise ValueError(f"gaussian_blur: sigma should be one or two positive numbers, got {sigma}")
    across, down = (_bell(k, s) for k, s in zip(sizes, widths))
    kernel = down.unsqueeze(1) * across
    half_x, half_y = sizes[0] // 2, sizes[1] // 2
    return as_tensor_and_back(
        "gaussian_blur", img, lambda x: _convolved(x, kernel, (half_x, half_x, half_y, half_y))
    )


def erase(img: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """Return a tensor with ``v`` in a rectangle, whose corner above left is (i, j).

    >>> weft.vision.transforms.functional.erase(weft.ones(1, 2, 2), 0, 1, 2, 1, 0.0)
    tensor([[[1., 0.],
             [1., 0.]]])
    """
    if not isinstance(img, weft.Tensor):
        raise TypeError(f"erase: img should be Tensor Image. Got {type(img)}")
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img
