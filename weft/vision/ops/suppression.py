"""Of boxes that overlap much, only the best is kept."""

from __future__ import annotations

import weft
from weft.vision.ops.boxes import widened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["batched_nms", "nms"]

_BLOCK = 256  # boxes that are compared with all others at once


def _checked(name: str, boxes: Tensor, scores: Tensor) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"{name}: boxes must have the shape (N, 4), got {tuple(boxes.shape)}")
    if scores.ndim != 1 or scores.shape[0] != boxes.shape[0]:
        raise ValueError(
            f"{name}: scores must have the shape ({boxes.shape[0]},), one for each box, "
            f"got {tuple(scores.shape)}"
        )


def _overlaps(a: Any, b: Any, threshold: Any) -> Any:
    """Return whether the IoU of columns of boxes (4, N, 1) and (4, M) is above the threshold."""
    import numpy as np

    width = np.minimum(a[2], b[2])
    width -= np.maximum(a[0], b[0])
    np.maximum(width, 0, out=width)
    height = np.minimum(a[3], b[3])
    height -= np.maximum(a[1], b[1])
    np.maximum(height, 0, out=height)
    width *= height
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    union -= width
    with np.errstate(divide="ignore", invalid="ignore"):  # boxes without area overlap with none
        width /= union
    return width > threshold


def _kept(boxes: Any, threshold: float) -> Any:
    """Return the places of boxes that no better box overlaps; they come best first."""
    import numpy as np

    limit = boxes.dtype.type(threshold)
    if float(limit) > threshold:  # as if compared in double precision
        limit = np.nextafter(limit, boxes.dtype.type(-np.inf))
    columns, left, kept = np.ascontiguousarray(boxes.T), np.arange(len(boxes)), []
    while len(left):
        block, left = left[:_BLOCK], left[_BLOCK:]
        head = columns[:, block]
        over = _overlaps(head[:, :, None], head[:, None], limit)
        alive = np.ones(len(block), bool)
        for i in range(len(block)):
            if alive[i]:
                alive[i + 1 :] &= ~over[i, i + 1 :]
        kept.append(block[alive])
        rest = columns[:, left]
        left = left[~_overlaps(head[:, alive, None], rest[:, None], limit).any(0)]
    return np.concatenate(kept) if kept else left


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Return the indices of boxes that no better one overlaps, best first.

    Boxes are taken by falling score. Each that is taken removes those that overlap with it by an
    IoU above the threshold.

    Args:
        boxes: boxes (N, 4) of the form x1, y1, x2, y2.
        scores: N numbers; of equal ones the first comes first.
        iou_threshold: how much overlap is allowed.

    >>> boxes = weft.tensor([[0.0, 0.0, 9.0, 9.0], [0.0, 0.0, 9.0, 8.0], [20.0, 0.0, 30.0, 9.0]])
    >>> weft.vision.ops.nms(boxes, weft.tensor([0.5, 0.9, 0.4]), 0.5)
    tensor([1, 2])
    """
    _checked("nms", boxes, scores)
    order = scores.detach().sort(descending=True, stable=True).indices
    x = widened(boxes.detach())
    x = x if x.is_floating_point() else x.double()
    return order[weft.from_numpy(_kept(x[order].numpy(), float(iou_threshold)))]


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """Return the indices that ``nms`` keeps in each category, best first over all of them.

    Args:
        boxes: boxes (N, 4) of the form x1, y1, x2, y2.
        scores: N numbers.
        idxs: the categories of the boxes: boxes of different ones do not remove each other.
        iou_threshold: how much overlap is allowed within a category.

    >>> boxes = weft.tensor([[0.0, 0.0, 9.0, 9.0], [0.0, 0.0, 9.0, 8.0]])
    >>> weft.vision.ops.batched_nms(boxes, weft.tensor([0.5, 0.9]), weft.tensor([0, 1]), 0.5)
    tensor([1, 0])
    """
    _checked("batched_nms", boxes, scores)
    if idxs.shape != scores.shape:
        raise ValueError(
            f"batched_nms: idxs must have the shape {tuple(scores.shape)}, one for each box, "
            f"got {tuple(idxs.shape)}"
        )
    kept = weft.zeros(len(scores), dtype=weft.bool)
    for category in idxs.unique():
        own = weft.where(idxs == category)[0]
        kept[own[nms(boxes[own], scores[own], iou_threshold)]] = True
    places = weft.where(kept)[0]
    return places[scores.detach()[places].sort(descending=True, stable=True).indices]
