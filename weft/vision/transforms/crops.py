"""Resizing, cropping and flipping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import functional as F
from .common import RandomTransform, Transform, random_box, whole
from .functional.common import InterpolationMode, as_mode, as_pair, get_dimensions

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "CenterCrop",
    "FiveCrop",
    "Pad",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "TenCrop",
]


class Resize(Transform):
    """An image in another size.

    Args:
        size: height and width; or one number, for the shorter side, the longer one in proportion.
        interpolation: how values between pixels are found.
        max_size: the longer side gets no longer than this.
        antialias: take the mean of pixels that fall together, where a tensor gets smaller.

    >>> import weft.vision.transforms as transforms
    >>> transforms.Resize(10)(weft.zeros(3, 20, 30)).shape
    torch.Size([3, 10, 15])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: Any = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, (int, list, tuple)):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if not isinstance(size, int) and len(size) not in (1, 2):
            raise ValueError(f"If size is a sequence, it should have 1 or 2 values, got {size}")
        self.size, self.max_size, self.antialias = size, max_size, antialias
        self.interpolation = as_mode(interpolation)

    def forward(self, img: Any) -> Any:
        """Return the image in the other size."""
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias}"
        )


class CenterCrop(Transform):
    """The middle of an image.

    >>> weft.vision.transforms.CenterCrop(1)(weft.arange(9).reshape(1, 3, 3))
    tensor([[[4]]])
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = as_pair(size, "CenterCrop")

    def forward(self, img: Any) -> Any:
        """Return the middle of the image."""
        return F.center_crop(img, self.size)

    def extra_repr(self) -> str:
        """Return the size."""
        return f"size={self.size}"


class Pad(Transform):
    """An image with more pixels at its borders.

    Args:
        padding: how many on each side; or left/right and above/below; or left, above, right, below.
        fill: the new pixels: a number, or one for each channel.
        padding_mode: 'constant', 'edge', 'reflect' or 'symmetric'.

    >>> weft.vision.transforms.Pad(1)(weft.ones(1, 1, 1)).shape
    torch.Size([1, 3, 3])
    """

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        if not isinstance(padding, (int, list, tuple)):
            raise TypeError(f"Got inappropriate padding arg {padding!r}")
        if not isinstance(padding, int) and len(padding) not in (1, 2, 4):
            raise ValueError(
                f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} "
                "element tuple"
            )
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError(
                "Padding mode should be either constant, edge, reflect or symmetric, got "
                f"{padding_mode!r}"
            )
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img: Any) -> Any:
        """Return the larger image."""
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode}"


class RandomCrop(Transform):
    """A random part of an image.

    Args:
        size: height and width of the part; or one number for both.
        padding: is added to the image before, as by ``Pad``.
        pad_if_needed: add what is missing to an image that is smaller than the part.
        fill: the new pixels.
        padding_mode: 'constant', 'edge', 'reflect' or 'symmetric'.

    >>> weft.vision.transforms.RandomCrop(2, padding=1)(weft.ones(3, 4, 4)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = as_pair(size, "RandomCrop")
        self.padding, self.pad_if_needed = padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Return top, left, height and width of a random part.

        >>> weft.vision.transforms.RandomCrop.get_params(weft.ones(1, 4, 4), (4, 4))
        (0, 0, 4, 4)
        """
        _, h, w = get_dimensions(img)
        new_h, new_w = output_size
        if h < new_h or w < new_w:
            raise ValueError(
                f"Required crop size {(new_h, new_w)} is larger than input image size {(h, w)}"
            )
        return whole(0, h - new_h + 1), whole(0, w - new_w + 1), new_h, new_w

    def forward(self, img: Any) -> Any:
        """Return a random part of the image."""
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, h, w = get_dimensions(img)
        if self.pad_if_needed and w < self.size[1]:
            img = F.pad(img, [self.size[1] - w, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and h < self.size[0]:
            img = F.pad(img, [0, self.size[0] - h], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def extra_repr(self) -> str:
        """Return size and padding."""
        return f"size={self.size}, padding={self.padding}"


class RandomHorizontalFlip(RandomTransform):
    """An image with left and right exchanged, with probability ``p``.

    >>> weft.vision.transforms.RandomHorizontalFlip(p=1)(weft.tensor([[[1, 2]]]))
    tensor([[[2, 1]]])
    """

    def change(self, img: Any) -> Any:
        """Return the mirrored image."""
        return F.hflip(img)


class RandomVerticalFlip(RandomTransform):
    """An image upside down, with probability ``p``.

    >>> weft.vision.transforms.RandomVerticalFlip(p=1)(weft.tensor([[[1], [2]]]))
    tensor([[[2],
             [1]]])
    """

    def change(self, img: Any) -> Any:
        """Return the image upside down."""
        return F.vflip(img)


class RandomResizedCrop(Transform):
    """A random part of an image, in a given size.

    Args:
        size: height and width of the result; or one number for both.
        scale: the range of the part's share of the area.
        ratio: the range of its width to height.
        interpolation: how values between pixels are found.
        antialias: take the mean of pixels that fall together, where a tensor gets smaller.

    >>> weft.vision.transforms.RandomResizedCrop(2)(weft.ones(3, 4, 4)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = as_pair(size, "RandomResizedCrop")
        if not 0 <= scale[0] <= scale[1] or not 0 < ratio[0] <= ratio[1]:
            raise ValueError(
                "RandomResizedCrop: Scale and ratio should be of kind (min, max), got "
                f"{scale} and {ratio}"
            )
        self.scale, self.ratio, self.antialias = scale, ratio, antialias
        self.interpolation = as_mode(interpolation)

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """Return top, left, height and width of a random part.

        >>> crop = weft.vision.transforms.RandomResizedCrop
        >>> crop.get_params(weft.ones(1, 4, 4), (1, 1), (1, 1))
        (0, 0, 4, 4)
        """
        _, h, w = get_dimensions(img)
        box = random_box(h, w, scale, ratio)
        if box is not None:
            return box
        new_h, new_w = h, w  # the largest part in the middle that is not too flat or narrow
        if w / h < ratio[0]:
            new_h = min(round(w / ratio[0]), h)
        elif w / h > ratio[1]:
            new_w = min(round(h * ratio[1]), w)
        return (h - new_h) // 2, (w - new_w) // 2, new_h, new_w

    def forward(self, img: Any) -> Any:
        """Return a random part of the image, resized."""
        box = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *box, self.size, self.interpolation, self.antialias)

    def extra_repr(self) -> str:
        """Return the arguments."""
        scale, ratio = (tuple(round(v, 4) for v in pair) for pair in (self.scale, self.ratio))
        return (
            f"size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias}"
        )


class FiveCrop(Transform):
    """The four corners of an image and its middle, as a tuple.

    >>> len(weft.vision.transforms.FiveCrop(2)(weft.ones(3, 4, 4)))
    5
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = as_pair(size, "FiveCrop")

    def forward(self, img: Any) -> tuple[Any, ...]:
        """Return the five parts."""
        return F.five_crop(img, self.size)

    def extra_repr(self) -> str:
        """Return the size."""
        return f"size={self.size}"


class TenCrop(Transform):
    """The five parts of ``FiveCrop`` and those of the mirrored image, as a tuple.

    >>> len(weft.vision.transforms.TenCrop(2)(weft.ones(3, 4, 4)))
    10
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size, self.vertical_flip = as_pair(size, "TenCrop"), vertical_flip

    def forward(self, img: Any) -> tuple[Any, ...]:
        """Return the ten parts."""
        return F.ten_crop(img, self.size, self.vertical_flip)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"size={self.size}, vertical_flip={self.vertical_flip}"
