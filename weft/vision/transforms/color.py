"""Random changes of colour, and blur."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import weft

from . import functional as F
from .common import RandomTransform, Transform, as_numbers, uniform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft import Tensor

__all__ = [
    "ColorJitter",
    "GaussianBlur",
    "Grayscale",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomEqualize",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPosterize",
    "RandomSolarize",
]


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed at random, in a random order.

    Each is a range of factors; one number ``x`` stands for the range from ``1 - x`` to ``1 + x``,
    for the hue from ``-x`` to ``x``.

    >>> weft.vision.transforms.ColorJitter(brightness=0.5, hue=(-0.1, 0.2))
    ColorJitter(brightness=(0.5, 1.5), contrast=None, saturation=None, hue=(-0.1, 0.2))
    """

    def __init__(
        self,
        brightness: float | tuple[float, float] = 0,
        contrast: float | tuple[float, float] = 0,
        saturation: float | tuple[float, float] = 0,
        hue: float | tuple[float, float] = 0,
    ) -> None:
        super().__init__()
        self.brightness = self._range(brightness, "brightness")
        self.contrast = self._range(contrast, "contrast")
        self.saturation = self._range(saturation, "saturation")
        self.hue = self._range(hue, "hue", 0.0, (-0.5, 0.5))

    @staticmethod
    def _range(
        value: Any,
        name: str,
        center: float = 1.0,
        bound: tuple[float, float] = (0.0, float("inf")),
    ) -> tuple[float, float] | None:
        if isinstance(value, numbers.Real):
            if float(value) < 0:
                raise ValueError(
                    f"If {name} is a single number, it must be non negative, got {value}"
                )
            low, high = center - float(value), center + float(value)
            if name != "hue":
                low = max(low, 0.0)
        elif isinstance(value, (tuple, list)) and len(value) == 2:
            low, high = (float(v) for v in value)
        else:
            raise TypeError(
                f"{name} should be a single number or a list/tuple with length 2, got {value!r}"
            )
        if not bound[0] <= low <= high <= bound[1]:
            raise ValueError(f"{name} values should be between {bound}, but got {(low, high)}")
        return None if low == high == center else (low, high)

    @staticmethod
    def get_params(
        brightness: tuple[float, float] | None,
        contrast: tuple[float, float] | None,
        saturation: tuple[float, float] | None,
        hue: tuple[float, float] | None,
    ) -> tuple[Tensor, float | None, float | None, float | None, float | None]:
        """Return an order of the four changes, and the factor of each.

        >>> weft.vision.transforms.ColorJitter.get_params((2, 2), None, None, None)[1:]
        (2.0, None, None, None)
        """
        order = weft.randperm(4)
        b, c, s, h = (
            None if r is None else float(uniform(*r))
            for r in (brightness, contrast, saturation, hue)
        )
        return order, b, c, s, h

    def forward(self, img: Any) -> Any:
        """Return the image in changed colours."""
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for i in order.tolist():
            factor = factors[i]
            if factor is not None:
                img = changes[i](img, factor)
        return img

    def extra_repr(self) -> str:
        """Return the ranges."""
        return (
            f"brightness={self.brightness}, contrast={self.contrast}, "
            f"saturation={self.saturation}, hue={self.hue}"
        )


class Grayscale(Transform):
    """An image in grey, in one channel or in three equal ones.

    >>> weft.vision.transforms.Grayscale(3)(weft.ones(3, 2, 2)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        """Return the image in grey."""
        return F.rgb_to_grayscale(img, self.num_output_channels)

    def extra_repr(self) -> str:
        """Return the number of channels."""
        return f"num_output_channels={self.num_output_channels}"


class RandomGrayscale(RandomTransform):
    """An image in grey with as many channels as before, with probability ``p``.

    >>> weft.vision.transforms.RandomGrayscale()
    RandomGrayscale(p=0.1)
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def change(self, img: Any) -> Any:
        """Return the image in grey."""
        return F.rgb_to_grayscale(img, 1 if F.get_dimensions(img)[0] == 1 else 3)


class GaussianBlur(Transform):
    """An image blurred by a bell curve of random width.

    Args:
        kernel_size: width and height of the window, odd; or one number for both.
        sigma: the range of the bell's width; or one number.

    >>> weft.vision.transforms.GaussianBlur(3)
    GaussianBlur(kernel_size=(3, 3), sigma=(0.1, 2.0))
    """

    def __init__(
        self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)
    ) -> None:
        super().__init__()
        sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
        if len(sizes) != 2 or any(k < 1 or k % 2 == 0 for k in sizes):
            raise ValueError(
                f"Kernel size value should be an odd and positive number, or two, got {kernel_size}"
            )
        self.kernel_size = (sizes[0], sizes[1])
        widths = (
            [sigma] * 2 if isinstance(sigma, (int, float)) else as_numbers(sigma, "sigma", (2,))
        )
        if not 0 < widths[0] <= widths[1]:
            raise ValueError(
                f"sigma values should be positive and of the form (min, max), got {sigma}"
            )
        self.sigma = (widths[0], widths[1])

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """Return a random width.

        >>> weft.vision.transforms.GaussianBlur.get_params(1.0, 1.0)
        1.0
        """
        return uniform(sigma_min, sigma_max)

    def forward(self, img: Any) -> Any:
        """Return the blurred image."""
        sigma = self.get_params(*self.sigma)
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"kernel_size={self.kernel_size}, sigma={self.sigma}"


class RandomInvert(RandomTransform):
    """The negative of an image, with probability ``p``.

    >>> weft.vision.transforms.RandomInvert(p=1)(weft.tensor([[[0.25]]]))
    tensor([[[0.7500]]])
    """

    def change(self, img: Any) -> Any:
        """Return the negative."""
        return F.invert(img)


class RandomPosterize(RandomTransform):
    """An image of bytes with only the first bits of each, with probability ``p``.

    >>> weft.vision.transforms.RandomPosterize(bits=2)
    RandomPosterize(bits=2,p=0.5)
    """

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def change(self, img: Any) -> Any:
        """Return the image with fewer bits."""
        return F.posterize(img, self.bits)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"bits={self.bits},p={self.p}"


class RandomSolarize(RandomTransform):
    """An image with the pixels from ``threshold`` on inverted, with probability ``p``.

    >>> weft.vision.transforms.RandomSolarize(threshold=0.5, p=1)(weft.tensor([[[0.75]]]))
    tensor([[[0.2500]]])
    """

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def change(self, img: Any) -> Any:
        """Return the image with bright pixels inverted."""
        return F.solarize(img, self.threshold)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"threshold={self.threshold},p={self.p}"


class RandomAdjustSharpness(RandomTransform):
    """An image sharper (above 1) or softer (below 1), with probability ``p``.

    >>> weft.vision.transforms.RandomAdjustSharpness(sharpness_factor=2)
    RandomAdjustSharpness(sharpness_factor=2,p=0.5)
    """

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def change(self, img: Any) -> Any:
        """Return the sharper image."""
        return F.adjust_sharpness(img, self.sharpness_factor)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"sharpness_factor={self.sharpness_factor},p={self.p}"


class RandomAutocontrast(RandomTransform):
    """An image with its values spread over their whole range, with probability ``p``.

    >>> weft.vision.transforms.RandomAutocontrast(p=1)(weft.tensor([[[0.25, 0.5]]]))
    tensor([[[0., 1.]]])
    """

    def change(self, img: Any) -> Any:
        """Return the image with the full range."""
        return F.autocontrast(img)


class RandomEqualize(RandomTransform):
    """An image of bytes with all values as frequent as can be, with probability ``p``.

    >>> weft.vision.transforms.RandomEqualize()
    RandomEqualize(p=0.5)
    """

    def change(self, img: Any) -> Any:
        """Return the equalised image."""
        return F.equalize(img)
