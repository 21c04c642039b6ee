"""Boxes as rows of four numbers: formats, areas, clipping."""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

__all__ = [
    "box_area", "box_convert", "clip_boxes_to_image", "masks_to_boxes", "remove_small_boxes",
]  # fmt: skip

FORMS = ("xyxy", "xywh", "cxcywh")


def checked(name: str, boxes: Tensor, what: str = "boxes") -> Tensor:
    """Return the boxes if their last dimension has size 4, else raise."""
    if not isinstance(boxes, weft.Tensor):
        raise TypeError(f"{name}: {what} must be a Tensor, not {type(boxes).__name__}")
    if boxes.ndim < 1 or boxes.shape[-1] != 4:
        raise ValueError(f"{name}: {what} must have the shape (…, 4), got {tuple(boxes.shape)}")
    return boxes


def widened(boxes: Tensor) -> Tensor:
    """Return the boxes in a dtype in which areas do not overflow."""
    if boxes.is_floating_point():
        return boxes if boxes.dtype in (weft.float32, weft.float64) else boxes.float()
    return boxes if boxes.dtype in (weft.int32, weft.int64) else boxes.int()


def box_area(boxes: Tensor) -> Tensor:
    """Return the areas (x2 - x1) (y2 - y1) of boxes (…, 4) of the form x1, y1, x2, y2.

    >>> weft.vision.ops.box_area(weft.tensor([[0.0, 0.0, 2.0, 3.0]]))
    tensor([6.])
    """
    x1, y1, x2, y2 = widened(checked("box_area", boxes)).unbind(-1)
    return (x2 - x1) * (y2 - y1)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Return boxes (…, 4) in another form.

    Args:
        boxes: rows of four numbers.
        in_fmt: 'xyxy' (two corners), 'xywh' (a corner, width, height) or 'cxcywh' (the centre,
            width, height).
        out_fmt: one of the same.

    >>> weft.vision.ops.box_convert(weft.tensor([[1.0, 1.0, 3.0, 5.0]]), "xyxy", "cxcywh")
    tensor([[2., 3., 2., 4.]])
    """
    for name, form in (("in_fmt", in_fmt), ("out_fmt", out_fmt)):
        if form not in FORMS:
            raise ValueError(f"box_convert: {name} must be one of {FORMS}, got {form!r}")
    a, b, c, d = checked("box_convert", boxes).unbind(-1)
    if in_fmt == out_fmt:
        return boxes.clone()
    if in_fmt == "xywh":
        a, b, c, d = a, b, a + c, b + d
    elif in_fmt == "cxcywh":
        a, b, c, d = a - c / 2, b - d / 2, a + c / 2, b + d / 2
    if out_fmt == "xywh":
        a, b, c, d = a, b, c - a, d - b
    elif out_fmt == "cxcywh":
        a, b, c, d = (a + c) / 2, (b + d) / 2, c - a, d - b
    return weft.stack([a, b, c, d], -1)


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Return boxes (…, 4) cut at the borders of an image of a size (height, width).

    >>> weft.vision.ops.clip_boxes_to_image(weft.tensor([[-1.0, 2.0, 9.0, 9.0]]), (4, 8))
    tensor([[0., 2., 8., 4.]])
    """
    height, width = size
    x1, y1, x2, y2 = checked("clip_boxes_to_image", boxes).unbind(-1)
    x = [v.clamp(min=0, max=width) for v in (x1, x2)]
    y = [v.clamp(min=0, max=height) for v in (y1, y2)]
    return weft.stack([x[0], y[0], x[1], y[1]], -1)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """Return the indices of those boxes (N, 4) whose sides are both at least ``min_size``.

    >>> weft.vision.ops.remove_small_boxes(weft.tensor([[0, 0, 1, 9], [0, 0, 5, 5]]), 2)
    tensor([1])
    """
    x1, y1, x2, y2 = checked("remove_small_boxes", boxes).unbind(-1)
    return weft.where((x2 - x1 >= min_size) & (y2 - y1 >= min_size))[0]


def masks_to_boxes(masks: Tensor) -> Tensor:
    """Return for each mask (N, H, W) the box x1, y1, x2, y2 of its first and last set pixels.

    >>> mask = weft.zeros(1, 4, 6)
    >>> mask[0, 1:3, 2:5] = 1
    >>> weft.vision.ops.masks_to_boxes(mask)
    tensor([[2., 1., 4., 2.]])
    """
    if masks.ndim != 3:
        raise ValueError(f"masks_to_boxes: expected masks (N, H, W), got {tuple(masks.shape)}")
    count, height, width = masks.shape
    if count == 0:
        return weft.zeros(0, 4)
    on = masks != 0
    sides = []
    for lines, size in ((on.any(1), width), (on.any(2), height)):
        empty = (~lines.any(1)).nonzero().reshape(-1).tolist()
        if empty:
            raise ValueError(f"masks_to_boxes: masks {empty} are empty: an empty mask has no box")
        first = lines.to(weft.int64).argmax(1)
        last = size - 1 - lines.flip(1).to(weft.int64).argmax(1)
        sides.append((first, last))
    (x1, x2), (y1, y2) = sides
    return weft.stack([x1, y1, x2, y2], 1).float()
