"""Changes of colour: brightness, contrast, saturation, hue, gamma."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft.vision.pillow import pillow

from .common import check_channels, check_image, largest
from .convert import convert_image_dtype

if TYPE_CHECKING:
    from weft import Tensor

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "autocontrast",
    "equalize",
    "invert",
    "posterize",
    "rgb_to_grayscale",
    "solarize",
    "to_grayscale",
]


def blend(img: Tensor, other: Any, ratio: float) -> Tensor:
    """Return ``ratio * img + (1 - ratio) * other``, within the range of the dtype.

    >>> from weft.vision.transforms.functional.color import blend
    >>> blend(weft.tensor([0.5]), weft.tensor([0.0]), 1.5)
    tensor([0.7500])
    """
    mixed = ratio * img + (1.0 - ratio) * other
    return mixed.clamp(0, largest(img.dtype)).to(img.dtype)


def _enhanced(img: Any, kind: str, factor: float) -> Any:
    return getattr(pillow("ImageEnhance"), kind)(img).enhance(factor)


def _check_factor(factor: float, name: str) -> None:
    if factor < 0:
        raise ValueError(f"{name}: the factor ({factor}) is not non-negative.")


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Return an image as many times as bright.

    >>> weft.vision.transforms.functional.adjust_brightness(weft.full((1, 1, 2), 0.25), 2)
    tensor([[[0.5000, 0.5000]]])
    """
    _check_factor(brightness_factor, "adjust_brightness")
    if check_image(img, "adjust_brightness"):
        return _enhanced(img, "Brightness", brightness_factor)
    check_channels(img, (1, 3), "adjust_brightness")
    return blend(img, 0.0, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Return an image with each pixel as many times as far from the mean of the greys.

    >>> image = weft.tensor([[[0.25, 0.75]]])
    >>> weft.vision.transforms.functional.adjust_contrast(image, 0.5)
    tensor([[[0.3750, 0.6250]]])
    """
    _check_factor(contrast_factor, "adjust_contrast")
    if check_image(img, "adjust_contrast"):
        return _enhanced(img, "Contrast", contrast_factor)
    c = check_channels(img, (1, 3), "adjust_contrast")
    grey = (rgb_to_grayscale(img) if c == 3 else img).to(_working(img))
    dims = [-2, -1] if img.ndim == 2 else [-3, -2, -1]
    return blend(img, grey.mean(dims, keepdim=True), contrast_factor)


def _working(img: Tensor) -> Any:
    return img.dtype if img.is_floating_point() else weft.float32


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Return an image with each pixel as many times as far from its grey.

    >>> red = weft.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
    >>> weft.vision.transforms.functional.adjust_saturation(red, 0.0).flatten()
    tensor([0.2989, 0.2989, 0.2989])
    """
    _check_factor(saturation_factor, "adjust_saturation")
    if check_image(img, "adjust_saturation"):
        return _enhanced(img, "Color", saturation_factor)
    if check_channels(img, (1, 3), "adjust_saturation") == 1:
        return img
    return blend(img, rgb_to_grayscale(img), saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Return an image with its colours moved along their circle; 0.5 and -0.5 are half of it.

    >>> red = weft.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
    >>> weft.vision.transforms.functional.adjust_hue(red, 0.5).flatten()
    tensor([0., 1., 1.])
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if check_image(img, "adjust_hue"):
        if img.mode in ("L", "1", "I", "F"):
            return img
        hue, saturation, value = img.convert("HSV").split()
        step = int(hue_factor * 255) % 256
        hue = hue.point([(i + step) % 256 for i in range(256)])
        return pillow().merge("HSV", (hue, saturation, value)).convert(img.mode)
    if check_channels(img, (1, 3), "adjust_hue") == 1:
        return img
    x = convert_image_dtype(img, _working(img))
    h, s, v = _hsv(x)
    return convert_image_dtype(_rgb((h + hue_factor) % 1.0, s, v), img.dtype)


def _hsv(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return hue, saturation and value, each from 0 to 1."""
    r, g, b = x.unbind(-3)
    high, low = x.amax(-3), x.amin(-3)
    span = high - low
    some = weft.where(span == 0, weft.ones_like(span), span)
    s = span / weft.where(span == 0, weft.ones_like(high), high)
    rc, gc, bc = (high - r) / some, (high - g) / some, (high - b) / some
    of_rest = weft.where(high == g, 2.0 + rc - bc, 4.0 + gc - rc)
    h = weft.where(high == r, bc - gc, of_rest)
    return (h / 6.0 + 1.0) % 1.0, s, high


def _rgb(h: Tensor, s: Tensor, v: Tensor) -> Tensor:
    """Return the image of hue, saturation and value: v - v s max(0, min(k, 4 - k, 1))."""
    planes = []
    for n in (5, 3, 1):
        k = (n + 6 * h) % 6
        planes.append(v - v * s * weft.minimum(k, 4 - k).clamp(0, 1))
    return weft.stack(planes, -3)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """Return ``gain * img ** gamma``, for values from 0 to 1.

    >>> weft.vision.transforms.functional.adjust_gamma(weft.full((1, 1, 1), 0.5), 2)
    tensor([[[0.2500]]])
    """
    if gamma < 0:
        raise ValueError(f"adjust_gamma: Gamma should be a non-negative real number, got {gamma}")
    if check_image(img, "adjust_gamma"):
        rgb = img.convert("RGB")
        table = [int((255 + 1 - 1e-3) * gain * (i / 255.0) ** gamma) for i in range(256)]
        return rgb.point([min(max(t, 0), 255) for t in table] * 3).convert(img.mode)
    check_channels(img, (1, 3), "adjust_gamma")
    x = convert_image_dtype(img, _working(img))
    return convert_image_dtype((gain * x**gamma).clamp(0, 1), img.dtype)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Return an image in grey, in one channel or in three equal ones.

    >>> image = weft.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
    >>> weft.vision.transforms.functional.rgb_to_grayscale(image)
    tensor([[[0.2989]]])
    """
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels should be either 1 or 3, got {num_output_channels}")
    if check_image(img, "rgb_to_grayscale"):
        return to_grayscale(img, num_output_channels)
    if img.ndim < 3:
        raise TypeError(
            "rgb_to_grayscale: Input image tensor should have at least 3 dimensions, but found "
            f"{img.ndim}"
        )
    if check_channels(img, (1, 3), "rgb_to_grayscale") == 1:
        grey = img.clone()
    else:
        r, g, b = img.unbind(-3)
        grey = (0.2989 * r + 0.587 * g + 0.114 * b).to(img.dtype).unsqueeze(-3)
    return grey.expand(*img.shape[:-3], 3, *img.shape[-2:]) if num_output_channels == 3 else grey


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Return an image of Pillow in grey, in one channel or in three equal ones.

    >>> from weft.vision.pillow import pillow
    >>> weft.vision.transforms.functional.to_grayscale(pillow().new("RGB", (1, 1))).mode
    'L'
    """
    if not check_image(img, "to_grayscale"):
        raise TypeError("to_grayscale: Input should be PIL Image; rgb_to_grayscale takes tensors")
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels should be either 1 or 3, got {num_output_channels}")
    grey = img.convert("L")
    return grey if num_output_channels == 1 else pillow().merge("RGB", (grey, grey, grey))


def invert(img: Any) -> Any:
    """Return the negative of an image.

    >>> weft.vision.transforms.functional.invert(weft.tensor([[[0.25, 1.0]]]))
    tensor([[[0.7500, 0.0000]]])
    """
    if check_image(img, "invert"):
        return pillow("ImageOps").invert(img)
    check_channels(img, (1, 3), "invert")
    return largest(img.dtype) - img


def posterize(img: Any, bits: int) -> Any:
    """Return an image of bytes with only the first bits of each.

    >>> weft.vision.transforms.functional.posterize(weft.tensor([[[200]]], dtype=weft.uint8), 2)
    tensor([[[192]]], dtype=torch.uint8)
    """
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    if check_image(img, "posterize"):
        if bits == 0:  # Pillow asks for one at least
            return img.point([0] * 256 * len(img.getbands()))
        return pillow("ImageOps").posterize(img, bits)
    check_channels(img, (1, 3), "posterize")
    if img.dtype != weft.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    return img & (256 - 2 ** (8 - bits))


def solarize(img: Any, threshold: float) -> Any:
    """Return an image with the pixels from ``threshold`` on inverted.

    >>> weft.vision.transforms.functional.solarize(weft.tensor([[[0.25, 0.75]]]), 0.5)
    tensor([[[0.2500, 0.2500]]])
    """
    if check_image(img, "solarize"):
        return pillow("ImageOps").solarize(img, threshold)
    check_channels(img, (1, 3), "solarize")
    if threshold > largest(img.dtype):
        raise TypeError(f"Threshold should be less than bound of img, got {threshold}")
    return weft.where(img >= threshold, invert(img), img)


def autocontrast(img: Any) -> Any:
    """Return an image with the values of each channel spread over their whole range.

    >>> weft.vision.transforms.functional.autocontrast(weft.tensor([[[0.25, 0.5]]]))
    tensor([[[0., 1.]]])
    """
    if check_image(img, "autocontrast"):
        return pillow("ImageOps").autocontrast(img)
    check_channels(img, (1, 3), "autocontrast")
    white, x = largest(img.dtype), img.to(_working(img))
    low, high = x.amin((-2, -1), keepdim=True), x.amax((-2, -1), keepdim=True)
    flat = low == high
    scale = white / weft.where(flat, weft.ones_like(low), high - low)
    spread = ((x - low) * scale).clamp(0, white)
    return weft.where(flat, x, spread).to(img.dtype)


def equalize(img: Any) -> Any:
    """Return an image of bytes in which all values are as frequent as can be.

    >>> image = weft.tensor([[[0, 1], [2, 3]]], dtype=weft.uint8).repeat(1, 16, 16)
    >>> weft.vision.transforms.functional.equalize(image).unique().tolist()
    [0, 85, 171, 255]
    """
    if check_image(img, "equalize"):
        return pillow("ImageOps").equalize(img)
    check_channels(img, (1, 3), "equalize")
    if img.dtype != weft.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    planes = img.reshape(-1, img.shape[-2] * img.shape[-1])
    return weft.stack([_equalized(plane) for plane in planes]).reshape(img.shape)


def _equalized(plane: Tensor) -> Tensor:
    places = plane.to(weft.int64)
    counts = weft.bincount(places, minlength=256)
    step = int(counts[counts != 0][:-1].sum()) // 255
    if step == 0:
        return plane
    table = (counts.cumsum(0) - counts + step // 2) // step
    return table.clamp(0, 255).to(weft.uint8)[places]
