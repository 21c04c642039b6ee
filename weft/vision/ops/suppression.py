"""Of boxes that overlap much, only the best is kept."""

from __future__ import annotations

import weft
from weft.vision.ops.boxes import widened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["batched_nms", "nms"]


def _checked(name: str, boxes: Tensor, scores: Tensor) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"{name}: boxes must have the shape (N, 4), got {tuple(boxes.shape)}")
    if scores.ndim != 1 or scores.shape[0] != boxes.shape[0]:
        raise ValueError(
            f"{name}: scores must have the shape ({boxes.shape[0]},), one for each box, "
            f"got {tuple(scores.shape)}"
        )


def _kept(boxes: Any, threshold: float) -> Any:
    """Return the places of boxes that no better box overlaps; they come best first.

    Boxes are held by rising x1, so that those that can overlap with one lie side by side.
    """
    import numpy as np

    limit = boxes.dtype.type(threshold)
    if float(limit) > threshold:  # as if compared in double precision
        limit = np.nextafter(limit, boxes.dtype.type(-np.inf))
    order = np.argsort(boxes[:, 0], kind="stable")
    x1, y1, x2, y2 = np.ascontiguousarray(boxes[order].T)
    areas, alive = (x2 - x1) * (y2 - y1), np.ones(len(boxes), bool)
    left, right = x1.astype(np.float64), x2.astype(np.float64)
    widest = max(np.nanmax(right - left, initial=0.0), 0.0)
    begin, end = np.searchsorted(left, left - widest), np.searchsorted(left, right, "right")
    place, kept = np.empty_like(order), []
    place[order] = np.arange(len(order))
    for i, k in enumerate(place.tolist()):
        if not alive[k]:
            continue
        kept.append(i)
        near = slice(begin[k], end[k])
        width = np.minimum(x2[near], x2[k]) - np.maximum(x1[near], x1[k])
        height = np.minimum(y2[near], y2[k]) - np.maximum(y1[near], y1[k])
        shared = np.maximum(width, 0) * np.maximum(height, 0)
        alive[near] &= ~(shared / (areas[near] + areas[k] - shared) > limit)
    return np.array(kept, np.int64)


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
    import numpy as np

    _checked("nms", boxes, scores)
    if not iou_threshold >= 0:
        raise ValueError(f"nms: iou_threshold must not be negative, got {iou_threshold}")
    order = scores.detach().sort(descending=True, stable=True).indices
    x = widened(boxes.detach())
    x = x if x.is_floating_point() else x.double()
    with np.errstate(divide="ignore", invalid="ignore"):  # boxes without area overlap with none
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
