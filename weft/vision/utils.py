"""Grids of images; boxes and masks drawn on images."""

from __future__ import annotations

import io as _io
import math
import os
from typing import TYPE_CHECKING, Any

import weft

from .files import write_bytes
from .pillow import pillow
from .transforms.functional import pil_to_tensor, to_pil_image

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["draw_bounding_boxes", "draw_segmentation_masks", "make_grid", "save_image"]


def _as_batch(tensor: Any) -> Tensor:
    """Return images (N, 3, H, W), or (N, C, H, W) with other numbers of channels."""
    if isinstance(tensor, (list, tuple)) and tensor:
        tensor = weft.stack(list(tensor))
    if not isinstance(tensor, weft.Tensor):
        raise TypeError(f"make_grid: tensor or list of tensors expected, got {type(tensor)}")
    if tensor.ndim not in (2, 3, 4):
        raise ValueError(
            f"make_grid: expected images of shape (H, W), (C, H, W) or (N, C, H, W), got {list(tensor.shape)}"
        )
    if tensor.ndim == 2:
        tensor = tensor.unsqueeze(0)
    if tensor.ndim == 3:
        tensor = tensor.unsqueeze(0)
    return tensor.expand(-1, 3, -1, -1) if tensor.shape[1] == 1 else tensor


def _normed(x: Tensor, low: float, high: float) -> Tensor:
    return (x.clamp(low, high) - low) / max(high - low, 1e-5)


def make_grid(
    tensor: Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Return many images as one, in rows.

    Args:
        tensor: images (N, C, H, W), or a list of images (C, H, W).
        nrow: how many make a row.
        padding: pixels between them.
        normalize: bring the values into the range from 0 to 1.
        value_range: the values that become 0 and 1, by default the least and the largest.
        scale_each: take those of each image.
        pad_value: the pixels between them.

    >>> weft.vision.utils.make_grid(weft.ones(5, 1, 4, 4), nrow=3).shape
    torch.Size([3, 14, 20])
    """
    images = _as_batch(tensor)
    if value_range is not None and not isinstance(value_range, tuple):
        raise TypeError(f"make_grid: value_range has to be a tuple (min, max), got {value_range!r}")
    if normalize and images.numel():
        images = images.clone()
        for x in images if scale_each else [images]:
            low, high = value_range or (float(x.min()), float(x.max()))
            x.copy_(_normed(x, low, high))
    n, c, h, w = images.shape
    if n == 1:
        return images.squeeze(0).clone()
    columns = max(min(nrow, n), 1)
    rows = math.ceil(n / columns)
    high, wide = h + padding, w + padding
    grid = weft.full((c, high * rows + padding, wide * columns + padding), pad_value)
    grid = grid.to(images.dtype)
    for i, image in enumerate(images):
        y, x0 = i // columns * high + padding, i % columns * wide + padding
        grid[:, y : y + h, x0 : x0 + w] = image
    return grid


def save_image(tensor: Any, fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Write images, in one grid, to a file.

    Args:
        tensor: one image or several, with values from 0 to 1.
        fp: a path, which is written whole or not at all, or a file open for writing.
        format: such as 'PNG', by default what the path ends in.
        kwargs: those of ``make_grid``.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "grid.png")
    >>> weft.vision.utils.save_image(weft.rand(4, 3, 8, 8), path, nrow=2)
    >>> weft.vision.io.read_image(path).shape
    torch.Size([3, 22, 22])
    """
    grid = make_grid(tensor, **kwargs)
    scaled = grid.detach().to(weft.float32) * 255 + 0.5
    image = to_pil_image(scaled.clamp(0, 255).to(weft.uint8))
    if format is None:
        if not isinstance(fp, (str, os.PathLike)):
            raise ValueError("save_image: a file without a name needs format, such as 'PNG'")
        ending = os.path.splitext(os.fspath(fp))[1].lower()
        format = pillow().registered_extensions().get(ending)
        if format is None:
            raise ValueError(f"save_image: unknown file extension {ending!r} of {os.fspath(fp)}")
    out = _io.BytesIO()
    image.save(out, format=format)
    write_bytes(fp, out.getvalue())


def _check_canvas(image: Any, name: str) -> None:
    if not isinstance(image, weft.Tensor):
        raise TypeError(f"{name}: Tensor expected, got {type(image)}")
    if image.ndim != 3 or image.shape[0] not in (1, 3):
        raise ValueError(
            f"{name}: expected one image (C, H, W) in grey or RGB, got the shape {list(image.shape)}"
        )
    if image.dtype != weft.uint8 and not image.is_floating_point():
        raise ValueError(f"{name}: The image dtype must be uint8 or float, got {image.dtype}")


def _color_list(colors: Any, count: int, name: str) -> list[tuple[int, ...]]:
    """Return one RGB colour for each of ``count`` things."""
    if colors is None:
        steps = (2**25 - 1, 2**15 - 1, 2**21 - 1)  # far apart for neighbours
        return [tuple(i * s % 255 for s in steps) for i in range(1, count + 1)]
    if isinstance(colors, (str, tuple)):
        colors = [colors] * count
    if len(colors) < count:
        raise ValueError(f"{name}: {len(colors)} colors for {count} of them")
    get = pillow("ImageColor").getrgb
    return [get(c)[:3] if isinstance(c, str) else tuple(int(v) for v in c) for c in colors[:count]]


def _bytes_of(image: Tensor) -> Tensor:
    x = image.detach()
    x = x if x.dtype == weft.uint8 else (x * 255).clamp(0, 255).round().to(weft.uint8)
    return x.expand(3, -1, -1) if x.shape[0] == 1 else x


def _like(drawn: Tensor, image: Tensor) -> Tensor:
    return drawn.to(image.dtype) / 255 if image.is_floating_point() else drawn


def draw_bounding_boxes(
    image: Tensor,
    boxes: Tensor,
    labels: list[str | None] | None = None,
    colors: Any = None,
    fill: bool = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: Any = None,
) -> Tensor:
    """Return an image with rectangles drawn on it.

    Args:
        image: (C, H, W), bytes, or floating point from 0 to 1.
        boxes: (N, 4): left, top, right and bottom of each, in pixels.
        labels: a text for each.
        colors: one for all, or a list of them: names, '#rrggbb', or tuples.
        fill: fill the rectangles with a hint of their colour.
        width: of the lines.
        font: the file of a TrueType font for the labels, by default one that Pillow brings.
        font_size: in points.
        label_colors: those of the texts, by default the colours of the boxes.

    >>> image = weft.zeros(3, 8, 8, dtype=weft.uint8)
    >>> boxes = weft.tensor([[1, 1, 5, 6]])
    >>> weft.vision.utils.draw_bounding_boxes(image, boxes, colors="red")[0, 1, :8]
    tensor([  0, 255, 255, 255, 255, 255,   0,   0], dtype=torch.uint8)
    """
    name = "draw_bounding_boxes"
    _check_canvas(image, name)
    if boxes.numel() == 0:
        return image.clone()
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"{name}: boxes should have the shape (N, 4), got {list(boxes.shape)}")
    if bool((boxes[:, 0] > boxes[:, 2]).any()) or bool((boxes[:, 1] > boxes[:, 3]).any()):
        raise ValueError(f"{name}: Boxes need to be in (xmin, ymin, xmax, ymax) format")
    count = len(boxes)
    if labels is not None and len(labels) != count:
        raise ValueError(f"{name}: {len(labels)} labels for {count} boxes")
    shades = _color_list(colors, count, name)
    texts = shades if label_colors is None else _color_list(label_colors, count, name)
    canvas = to_pil_image(_bytes_of(image))
    draw = pillow("ImageDraw").Draw(canvas, "RGBA" if fill else None)
    letters = _font(font, font_size) if labels is not None else None
    for i, box in enumerate(boxes.to(weft.int64).tolist()):
        inside = (*shades[i], 100) if fill else None
        draw.rectangle(box, fill=inside, outline=shades[i], width=width)
        text = None if labels is None else labels[i]
        if text is not None:
            draw.text((box[0] + width + 1, box[1] + width + 1), text, texts[i], font=letters)
    return _like(pil_to_tensor(canvas), image)


def _font(font: str | None, size: int | None) -> Any:
    fonts = pillow("ImageFont")
    if font is None:
        return fonts.load_default(size=size or 10)
    return fonts.truetype(font, size or 10)


def draw_segmentation_masks(
    image: Tensor, masks: Tensor, alpha: float = 0.8, colors: Any = None
) -> Tensor:
    """Return an image with masks laid over it.

    Args:
        image: (C, H, W), bytes, or floating point from 0 to 1.
        masks: (N, H, W) or (H, W), of bool.
        alpha: from 0, nothing to be seen of the masks, to 1, nothing of the image under them.
        colors: one for all, or a list of them: names, '#rrggbb', or tuples.

    >>> image = weft.zeros(3, 1, 2, dtype=weft.uint8)
    >>> mask = weft.tensor([[True, False]])
    >>> weft.vision.utils.draw_segmentation_masks(image, mask, 1.0, "lime")[1]
    tensor([[255,   0]], dtype=torch.uint8)
    """
    name = "draw_segmentation_masks"
    _check_canvas(image, name)
    masks = masks.unsqueeze(0) if masks.ndim == 2 else masks
    if masks.dtype != weft.bool or masks.ndim != 3:
        raise ValueError(
            f"{name}: masks must be of bool and of shape (N, H, W), got {masks.dtype} of shape "
            f"{list(masks.shape)}"
        )
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError(
            f"{name}: the image is {list(image.shape[-2:])} pixels large, the masks "
            f"{list(masks.shape[-2:])}"
        )
    if not 0 <= alpha <= 1:
        raise ValueError(f"{name}: alpha should be from 0 to 1, got {alpha}")
    under = _bytes_of(image).to(weft.float32)
    over = under.clone()
    for mask, color in zip(masks, _color_list(colors, len(masks), name)):
        over = weft.where(mask, weft.tensor(color, dtype=weft.float32).reshape(3, 1, 1), over)
    mixed = under * (1 - alpha) + over * alpha
    return _like(mixed.round().clamp(0, 255).to(weft.uint8), image)
