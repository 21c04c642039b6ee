"""What these functions share: ways to interpolate, sizes, checks."""

from __future__ import annotations

from enum import Enum
from numbers import Number
from typing import TYPE_CHECKING, Any

import weft
from weft.vision.pillow import is_pil

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft import Tensor

__all__ = ["InterpolationMode", "get_dimensions", "get_image_num_channels", "get_image_size"]


class InterpolationMode(Enum):
    """How values between pixels are found. Box, Hamming and Lanczos are for images of Pillow.

    >>> weft.vision.transforms.InterpolationMode.BILINEAR.value
    'bilinear'
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


_PILLOW = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.NEAREST_EXACT: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
}
_OF_NUMBER = {n: m for m, n in _PILLOW.items() if m is not InterpolationMode.NEAREST_EXACT}


def as_mode(interpolation: Any) -> InterpolationMode:
    """Return a mode that may be given as Pillow's number.

    >>> from weft.vision.transforms.functional.common import as_mode
    >>> as_mode(2)
    <InterpolationMode.BILINEAR: 'bilinear'>
    """
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    if isinstance(interpolation, int) and interpolation in _OF_NUMBER:
        return _OF_NUMBER[interpolation]
    raise TypeError(
        "Argument interpolation should be a InterpolationMode or a corresponding Pillow integer "
        f"constant, got {interpolation!r}"
    )


def pil_mode(interpolation: Any) -> int:
    """Return Pillow's number for a mode.

    >>> from weft.vision.transforms.functional.common import InterpolationMode, pil_mode
    >>> pil_mode(InterpolationMode.BICUBIC)
    3
    """
    return _PILLOW[as_mode(interpolation)]


def tensor_mode(interpolation: Any, allowed: Sequence[str], name: str) -> str:
    """Return the word for a mode that tensors can do.

    >>> from weft.vision.transforms.functional.common import tensor_mode
    >>> tensor_mode(2, ("nearest", "bilinear"), "rotate")
    'bilinear'
    """
    mode = as_mode(interpolation).value
    if mode not in allowed:
        raise ValueError(
            f"{name}: for tensors, interpolation can be {', '.join(allowed)}, got {mode}"
        )
    return mode


def check_image(img: Any, name: str) -> bool:
    """Return whether an image is one of Pillow (True) or a tensor (False); refuse all else.

    >>> from weft.vision.transforms.functional.common import check_image
    >>> check_image(weft.zeros(3, 2, 2), "crop")
    False
    """
    if is_pil(img):
        return True
    if not isinstance(img, weft.Tensor):
        raise TypeError(f"{name}: img should be PIL Image or Tensor Image. Got {type(img)}")
    if img.ndim < 2:
        raise TypeError(f"{name}: Tensor is not a torch image: its shape is {list(img.shape)}")
    return False


def check_channels(img: Tensor, allowed: Sequence[int], name: str) -> int:
    """Return the number of channels of a tensor, which must be one of ``allowed``.

    >>> from weft.vision.transforms.functional.common import check_channels
    >>> check_channels(weft.zeros(3, 2, 2), (1, 3), "adjust_hue")
    3
    """
    c = 1 if img.ndim == 2 else img.shape[-3]
    if c not in allowed:
        raise TypeError(
            f"{name}: Input image tensor permitted channel values are {list(allowed)}, "
            f"but found {c}"
        )
    return c


def get_dimensions(img: Any) -> list[int]:
    """Return channels, height and width of an image.

    >>> weft.vision.transforms.functional.get_dimensions(weft.zeros(3, 4, 5))
    [3, 4, 5]
    """
    if check_image(img, "get_dimensions"):
        return [len(img.getbands()), img.height, img.width]
    return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]


def get_image_size(img: Any) -> list[int]:
    """Return width and height of an image.

    >>> weft.vision.transforms.functional.get_image_size(weft.zeros(3, 4, 5))
    [5, 4]
    """
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img: Any) -> int:
    """Return the number of channels of an image.

    >>> weft.vision.transforms.functional.get_image_num_channels(weft.zeros(3, 4, 5))
    3
    """
    return get_dimensions(img)[0]


def largest(dtype: Any) -> int:
    """Return the value of white: 1 for floating point, the largest number for integers.

    >>> from weft.vision.transforms.functional.common import largest
    >>> largest(weft.uint8), largest(weft.float32)
    (255, 1)
    """
    if dtype.is_floating_point or dtype == weft.bool:
        return 1
    return weft.iinfo(dtype).max


def as_pair(size: Any, name: str) -> tuple[int, int]:
    """Return (height, width) of a number or of one or two numbers.

    >>> from weft.vision.transforms.functional.common import as_pair
    >>> as_pair(3, "CenterCrop"), as_pair([3, 4], "CenterCrop")
    ((3, 3), (3, 4))
    """
    if isinstance(size, Number):
        return int(size), int(size)  # type: ignore[call-overload]
    if not isinstance(size, (list, tuple)):
        raise TypeError(f"{name}: size should be an int or a sequence, got {type(size).__name__}")
    if len(size) == 1:
        return int(size[0]), int(size[0])
    if len(size) != 2:
        raise ValueError(f"{name}: Please provide only two dimensions (h, w) for size, got {size}")
    return int(size[0]), int(size[1])
