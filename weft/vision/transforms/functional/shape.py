"""Resizing, cropping, padding and flipping."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import weft
from weft.vision.pillow import pillow

from .common import (
    InterpolationMode,
    as_mode,
    as_pair,
    check_image,
    get_dimensions,
    pil_mode,
    tensor_mode,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft import Tensor

__all__ = [
    "center_crop",
    "crop",
    "five_crop",
    "hflip",
    "pad",
    "resize",
    "resized_crop",
    "ten_crop",
    "vflip",
]


def _output_size(height: int, width: int, size: Any, max_size: int | None) -> tuple[int, int]:
    """Return the new height and width."""
    if not isinstance(size, (int, list, tuple)):
        raise TypeError(f"Size should be int or sequence. Got {type(size)}")
    wanted = [size] if isinstance(size, int) else [int(s) for s in size]
    if len(wanted) not in (1, 2):
        raise ValueError(f"If size is a sequence, it should have 1 or 2 values, got {wanted}")
    if min(wanted) < 1:
        raise ValueError(f"Size should be positive, got {wanted}")
    if max_size is not None and len(wanted) != 1:
        raise ValueError(
            "max_size should only be passed if size specifies the length of the smaller edge, "
            f"i.e. size should be an int or a sequence of length 1, got {wanted}"
        )
    if len(wanted) == 2:
        return wanted[0], wanted[1]
    short, long = min(height, width), max(height, width)
    new_short, new_long = wanted[0], int(wanted[0] * long / short)
    if max_size is not None:
        if max_size <= wanted[0]:
            raise ValueError(
                f"max_size = {max_size} must be strictly greater than the requested size for the "
                f"smaller edge size = {size}"
            )
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    new_short = max(new_short, 1)
    return (new_short, new_long) if height <= width else (new_long, new_short)


def resize(
    img: Any,
    size: int | Sequence[int],
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Return an image in another size.

    Args:
        img: the image.
        size: height and width; or one number, for the shorter side, the longer one in proportion.
        interpolation: how values between pixels are found.
        max_size: the longer side gets no longer than this.
        antialias: take the mean of the pixels that fall together, where a tensor gets smaller.
            Images of Pillow always do.

    >>> weft.vision.transforms.functional.resize(weft.zeros(3, 20, 30), 10).shape
    torch.Size([3, 10, 15])
    """
    mode = as_mode(interpolation)
    of_pillow = check_image(img, "resize")
    _, height, width = get_dimensions(img)
    new_height, new_width = _output_size(height, width, size, max_size)
    if (new_height, new_width) == (height, width):
        return img
    if of_pillow:
        return img.resize((new_width, new_height), pil_mode(mode))
    allowed = ("nearest", "nearest-exact", "bilinear", "bicubic")
    word = tensor_mode(mode, allowed, "resize")
    smooth = word in ("bilinear", "bicubic")
    x = img.reshape(-1, 1, height, width)
    whole = not x.is_floating_point()
    made = weft.nn.functional.interpolate(
        x.float() if whole and smooth else x,
        (new_height, new_width),
        mode=word,
        align_corners=False if smooth else None,
        antialias=bool(antialias) and smooth,
    )
    if whole and smooth:
        if word == "bicubic" and img.dtype == weft.uint8:
            made = made.clamp(0, 255)
        made = made.round().to(img.dtype)
    return made.reshape(*img.shape[:-2], new_height, new_width)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Return a part of an image; what lies outside of it is zero.

    >>> image = weft.arange(6).reshape(1, 2, 3)
    >>> weft.vision.transforms.functional.crop(image, 0, 1, 2, 3)
    tensor([[[1, 2, 0],
             [4, 5, 0]]])
    """
    if check_image(img, "crop"):
        return img.crop((left, top, left + width, top + height))
    h, w = img.shape[-2:]
    part = img[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    if 0 <= left and 0 <= top and left + width <= w and top + height <= h:
        return part
    inside_h, inside_w = part.shape[-2:]
    before_h, before_w = min(max(-top, 0), height), min(max(-left, 0), width)
    edges = [before_w, before_h, width - inside_w - before_w, height - inside_h - before_h]
    return pad(part, edges)


def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """Return the middle of an image; a smaller image gets zeros around it.

    >>> weft.vision.transforms.functional.center_crop(weft.arange(9).reshape(1, 3, 3), 1)
    tensor([[[4]]])
    """
    new_h, new_w = as_pair(output_size, "center_crop")
    _, h, w = get_dimensions(img)
    if new_w > w or new_h > h:
        more_h, more_w = max(new_h - h, 0), max(new_w - w, 0)
        img = pad(img, [more_w // 2, more_h // 2, (more_w + 1) // 2, (more_h + 1) // 2])
        h, w = max(h, new_h), max(w, new_w)
    return crop(img, round((h - new_h) / 2), round((w - new_w) / 2), new_h, new_w)


def _edges(padding: Any) -> list[int]:
    """Return how much is added left, above, right and below."""
    if isinstance(padding, int):
        return [padding] * 4
    if not isinstance(padding, (list, tuple)):
        raise TypeError(f"pad: Got inappropriate padding arg {padding!r}")
    if len(padding) not in (1, 2, 4):
        raise ValueError(
            f"pad: Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} "
            "element tuple"
        )
    return [int(p) for p in (*padding, *padding, *padding, *padding)[:4]]


def pad(
    img: Any,
    padding: int | Sequence[int],
    fill: Any = 0,
    padding_mode: str = "constant",
) -> Any:
    """Return an image with more pixels at its borders, or fewer where padding is negative.

    Args:
        img: the image.
        padding: how many on each side; or left/right and above/below; or left, above, right, below.
        fill: the new pixels: a number, or one for each channel.
        padding_mode: 'constant', 'edge', 'reflect' or 'symmetric' (the same with the edge itself).

    >>> weft.vision.transforms.functional.pad(weft.ones(1, 1, 1), (1, 0), fill=5)
    tensor([[[5., 1., 5.]]])
    """
    left, top, right, bottom = edges = _edges(padding)
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(
            "pad: Padding mode should be either constant, edge, reflect or symmetric, got "
            f"{padding_mode!r}"
        )
    if not isinstance(fill, (numbers.Number, str, list, tuple)):
        raise TypeError(f"pad: Got inappropriate fill arg {fill!r}")
    of_pillow = check_image(img, "pad")
    _, h, w = get_dimensions(img)
    if min(w + left + right, h + top + bottom) < 1:
        raise ValueError(f"pad: nothing is left of {h}x{w} pixels with the padding {edges}")
    if of_pillow:
        return _pad_pillow(img, edges, fill, padding_mode)
    if padding_mode == "constant":
        return _pad_constant(img, edges, fill)
    rows = _places(h, top, bottom, padding_mode)
    return img.index_select(-2, rows).index_select(-1, _places(w, left, right, padding_mode))


def _places(size: int, before: int, after: int, mode: str) -> Tensor:
    """Return which old row each new one is."""
    import numpy as np

    if mode == "reflect" and max(before, after) >= size:
        raise ValueError(f"pad: padding {max(before, after)} is too much to reflect {size} pixels")
    places = np.pad(np.arange(size), (max(before, 0), max(after, 0)), mode)  # type: ignore[call-overload]
    places = places[max(-before, 0) : len(places) - max(-after, 0)]
    return weft.from_numpy(places.astype(np.int64))


def _pad_constant(img: Tensor, edges: list[int], fill: Any) -> Tensor:
    left, top, right, bottom = edges
    h, w = img.shape[-2:]
    values = fill if isinstance(fill, (list, tuple)) else (fill,)
    c = 1 if img.ndim == 2 else img.shape[-3]
    if isinstance(fill, str) or len(values) not in (1, c):
        raise ValueError(f"pad: expected a number to fill, or {c} of them, got {fill!r}")
    made = weft.empty(*img.shape[:-2], h + top + bottom, w + left + right, dtype=img.dtype)
    made.copy_(weft.tensor(values, dtype=img.dtype).reshape(-1, *[1] * min(img.ndim - 1, 2)))
    inner = img[..., max(-top, 0) : h - max(-bottom, 0), max(-left, 0) : w - max(-right, 0)]
    y, x = max(top, 0), max(left, 0)
    made[..., y : y + inner.shape[-2], x : x + inner.shape[-1]] = inner
    return made


def pil_fill(fill: Any, img: Any, name: str) -> Any:
    """Return what Pillow is given to fill with.

    >>> from weft.vision.pillow import pillow
    >>> from weft.vision.transforms.functional.shape import pil_fill
    >>> pil_fill(7, pillow().new("RGB", (1, 1)), "rotate")
    (7, 7, 7)
    """
    bands = len(img.getbands())
    if fill is None or isinstance(fill, str):
        return fill or 0 if bands == 1 else fill or tuple([0] * bands)
    values = fill if isinstance(fill, (list, tuple)) else (fill,)
    if len(values) not in (1, bands):
        raise ValueError(
            f"{name}: The number of elements in 'fill' does not match the number of channels of "
            f"the image ({len(values)} != {bands})"
        )
    if img.mode != "F":
        values = [int(v) for v in values]
    return (
        values[0] if bands == 1 else tuple(values if len(values) == bands else [values[0]] * bands)
    )


def _pad_pillow(img: Any, edges: list[int], fill: Any, padding_mode: str) -> Any:
    import numpy as np

    left, top, right, bottom = edges
    if padding_mode == "constant":
        w, h = img.size
        palette = img.palette if img.mode == "P" else None
        made = pillow().new(
            img.mode, (w + left + right, h + top + bottom), pil_fill(fill, img, "pad")
        )
        if palette is not None:
            made.putpalette(img.getpalette())
        made.paste(img, (left, top))
        return made
    rows = _places(img.height, top, bottom, padding_mode).numpy()
    columns = _places(img.width, left, right, padding_mode).numpy()
    source = img.convert("L") if img.mode == "1" else img
    array = np.ascontiguousarray(np.asarray(source)[rows][:, columns])
    made = pillow().frombytes(source.mode, (len(columns), len(rows)), array.tobytes())
    if img.mode == "P":
        made.putpalette(img.getpalette())
    return made.convert("1") if img.mode == "1" else made


def hflip(img: Any) -> Any:
    """Return an image with left and right exchanged.

    >>> weft.vision.transforms.functional.hflip(weft.tensor([[[1, 2]]]))
    tensor([[[2, 1]]])
    """
    if check_image(img, "hflip"):
        return img.transpose(0)  # Pillow's FLIP_LEFT_RIGHT
    return img.flip(-1)


def vflip(img: Any) -> Any:
    """Return an image upside down.

    >>> weft.vision.transforms.functional.vflip(weft.tensor([[[1], [2]]]))
    tensor([[[2],
             [1]]])
    """
    if check_image(img, "vflip"):
        return img.transpose(1)  # Pillow's FLIP_TOP_BOTTOM
    return img.flip(-2)


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Return a part of an image in another size.

    >>> weft.vision.transforms.functional.resized_crop(
    ...     weft.ones(1, 4, 4), 0, 0, 2, 2, (3, 3)
    ... ).shape
    torch.Size([1, 3, 3])
    """
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def five_crop(img: Any, size: int | Sequence[int]) -> tuple[Any, Any, Any, Any, Any]:
    """Return the four corners of an image and its middle.

    >>> image = weft.arange(9).reshape(1, 3, 3)
    >>> [int(part) for part in weft.vision.transforms.functional.five_crop(image, 1)]
    [0, 2, 6, 8, 4]
    """
    new_h, new_w = as_pair(size, "five_crop")
    _, h, w = get_dimensions(img)
    if new_w > w or new_h > h:
        raise ValueError(f"Requested crop size {(new_h, new_w)} is bigger than input size {(h, w)}")
    return (
        crop(img, 0, 0, new_h, new_w),
        crop(img, 0, w - new_w, new_h, new_w),
        crop(img, h - new_h, 0, new_h, new_w),
        crop(img, h - new_h, w - new_w, new_h, new_w),
        center_crop(img, [new_h, new_w]),
    )


def ten_crop(img: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """Return what ``five_crop`` does, and the same of the mirrored image.

    >>> image = weft.arange(9).reshape(1, 3, 3)
    >>> [int(part) for part in weft.vision.transforms.functional.ten_crop(image, 1)]
    [0, 2, 6, 8, 4, 2, 0, 8, 6, 4]
    """
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)
