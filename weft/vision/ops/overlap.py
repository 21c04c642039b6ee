"""How much boxes overlap, for all pairs of two sets."""

from __future__ import annotations

import weft
from weft.vision.ops.boxes import box_area, checked, widened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["box_iou", "complete_box_iou", "distance_box_iou", "generalized_box_iou"]


def _pairs(name: str, boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """Return the boxes (N, 1, 4) and (1, M, 4), so that ops pair each with each."""
    checked(name, boxes1, "boxes1"), checked(name, boxes2, "boxes2")
    return boxes1.unsqueeze(-2), boxes2.unsqueeze(-3)


def areas(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return the areas of intersections and unions of boxes that broadcast."""
    sides = (
        widened(weft.minimum(a[..., 2:], b[..., 2:]) - weft.maximum(a[..., :2], b[..., :2]))
    ).clamp(min=0)
    intersection = sides[..., 0] * sides[..., 1]
    return intersection, box_area(a) + box_area(b) - intersection


def hull(a: Tensor, b: Tensor) -> Tensor:
    """Return width and height of the smallest boxes around two."""
    low, high = weft.minimum(a[..., :2], b[..., :2]), weft.maximum(a[..., 2:], b[..., 2:])
    return widened(high - low).clamp(min=0)


def distance(a: Tensor, b: Tensor, eps: float) -> Tensor:
    """Return the squared distance of centres over the squared diagonal of the hull."""
    diagonal = (hull(a, b).float() if not a.is_floating_point() else hull(a, b)).square().sum(-1)
    apart = (a[..., :2] + a[..., 2:] - b[..., :2] - b[..., 2:]) / 2
    return apart.square().sum(-1) / (diagonal + eps)


def aspect(a: Tensor, b: Tensor, iou: Tensor, eps: float) -> Tensor:
    """Return the part of complete IoU that compares the ratios of sides."""
    from math import pi

    def angle(boxes: Tensor) -> Tensor:
        sides = boxes[..., 2:] - boxes[..., :2]
        return weft.atan(sides[..., 0] / sides[..., 1])

    v = (4 / pi**2) * (angle(a) - angle(b)).square()
    with weft.no_grad():
        alpha = v / (1 - iou + v + eps)
    return alpha * v


def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return the intersection over union of each of N boxes with each of M: (N, M).

    Args:
        boxes1: boxes (N, 4) of the form x1, y1, x2, y2.
        boxes2: boxes (M, 4).

    >>> boxes = weft.tensor([[0.0, 0.0, 2.0, 2.0]])
    >>> weft.vision.ops.box_iou(boxes, weft.tensor([[1.0, 0.0, 3.0, 2.0], [5.0, 5.0, 6.0, 6.0]]))
    tensor([[0.3333, 0.0000]])
    """
    intersection, union = areas(*_pairs("box_iou", boxes1, boxes2))
    return intersection / union


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return IoU minus the share of the hull that neither box covers: (N, M), from -1 to 1.

    Args:
        boxes1: boxes (N, 4) of the form x1, y1, x2, y2.
        boxes2: boxes (M, 4).

    >>> a, b = weft.tensor([[0.0, 0.0, 1.0, 1.0]]), weft.tensor([[3.0, 0.0, 4.0, 1.0]])
    >>> weft.vision.ops.generalized_box_iou(a, b)
    tensor([[-0.5000]])
    """
    a, b = _pairs("generalized_box_iou", boxes1, boxes2)
    intersection, union = areas(a, b)
    around = hull(a, b).prod(-1)
    return intersection / union - (around - union) / around


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Return IoU minus the squared distance of centres over the squared diagonal of the hull.

    Args:
        boxes1: boxes (N, 4) of the form x1, y1, x2, y2.
        boxes2: boxes (M, 4).
        eps: is added to the squared diagonal.

    >>> a, b = weft.tensor([[0.0, 0.0, 1.0, 1.0]]), weft.tensor([[0.0, 1.0, 1.0, 2.0]])
    >>> weft.vision.ops.distance_box_iou(a, b)
    tensor([[-0.2000]])
    """
    a, b = _pairs("distance_box_iou", boxes1, boxes2)
    intersection, union = areas(a, b)
    return intersection / union - distance(a, b, eps)


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Return ``distance_box_iou`` minus a term for the difference of the ratios of sides.

    Args:
        boxes1: boxes (N, 4) of the form x1, y1, x2, y2.
        boxes2: boxes (M, 4).
        eps: is added to denominators.

    >>> a = weft.tensor([[0.0, 0.0, 1.0, 1.0]])
    >>> weft.vision.ops.complete_box_iou(a, a)
    tensor([[1.]])
    """
    a, b = _pairs("complete_box_iou", boxes1, boxes2)
    intersection, union = areas(a, b)
    iou = intersection / union
    return iou - distance(a, b, eps) - aspect(a, b, iou, eps)
