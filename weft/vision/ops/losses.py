"""Losses of detection."""

from __future__ import annotations

from weft.nn import functional as F
from weft.nn.functional.common import reduced
from weft.vision.ops.boxes import checked
from weft.vision.ops.overlap import areas, aspect, distance, hull

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

__all__ = [
    "complete_box_iou_loss", "distance_box_iou_loss", "generalized_box_iou_loss",
    "sigmoid_focal_loss",
]  # fmt: skip


def sigmoid_focal_loss(
    inputs: Tensor,
    targets: Tensor,
    alpha: float = 0.25,
    gamma: float = 2,
    reduction: str = "none",
) -> Tensor:
    """Return binary cross entropy times alpha_t (1 - p_t)^gamma: easy examples count less.

    p_t is the probability given to the true answer, alpha_t is alpha for positives and 1 - alpha
    for negatives.

    Args:
        inputs: scores before the sigmoid.
        targets: 0 or 1, of the same shape.
        alpha: the weight of positives; a negative number leaves weights out.
        gamma: how much easy examples are played down.
        reduction: 'none', 'mean' or 'sum'.

    >>> weft.vision.ops.sigmoid_focal_loss(weft.zeros(2), weft.tensor([0.0, 1.0]))
    tensor([0.1300, 0.0433])
    """
    if alpha > 1:
        raise ValueError(f"sigmoid_focal_loss: alpha must be at most 1, got {alpha}")
    p = inputs.sigmoid()
    entropy = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    missed = p + targets - 2 * p * targets  # 1 - p_t
    loss = entropy * missed**gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return reduced(loss, reduction)


def _paired(name: str, boxes1: Tensor, boxes2: Tensor) -> None:
    checked(name, boxes1, "boxes1"), checked(name, boxes2, "boxes2")
    if boxes1.shape != boxes2.shape:
        shapes = f"{tuple(boxes1.shape)} and {tuple(boxes2.shape)}"
        raise ValueError(f"{name}: boxes1 and boxes2 must have the same shape, got {shapes}")


def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """Return 1 minus the generalised IoU of pairs of boxes.

    Args:
        boxes1: boxes (N, 4) of the form x1, y1, x2, y2.
        boxes2: as many boxes.
        reduction: 'none', 'mean' or 'sum'.
        eps: is added to denominators.

    >>> a, b = weft.tensor([[0.0, 0.0, 1.0, 1.0]]), weft.tensor([[3.0, 0.0, 4.0, 1.0]])
    >>> weft.vision.ops.generalized_box_iou_loss(a, b)
    tensor([1.5000])
    """
    _paired("generalized_box_iou_loss", boxes1, boxes2)
    intersection, union = areas(boxes1, boxes2)
    around = hull(boxes1, boxes2).prod(-1)
    giou = intersection / (union + eps) - (around - union) / (around + eps)
    return reduced(1 - giou, reduction)


def distance_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """Return 1 minus the IoU of pairs of boxes, plus the distance of their centres.

    Args:
        boxes1: boxes (N, 4) of the form x1, y1, x2, y2.
        boxes2: as many boxes.
        reduction: 'none', 'mean' or 'sum'.
        eps: is added to denominators.

    >>> a, b = weft.tensor([[0.0, 0.0, 1.0, 1.0]]), weft.tensor([[0.0, 1.0, 1.0, 2.0]])
    >>> weft.vision.ops.distance_box_iou_loss(a, b)
    tensor([1.2000])
    """
    _paired("distance_box_iou_loss", boxes1, boxes2)
    intersection, union = areas(boxes1, boxes2)
    loss = 1 - intersection / (union + eps) + distance(boxes1, boxes2, eps)
    return reduced(loss, reduction)


def complete_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """Return ``distance_box_iou_loss`` plus a term for the difference of the ratios of sides.

    Args:
        boxes1: boxes (N, 4) of the form x1, y1, x2, y2.
        boxes2: as many boxes.
        reduction: 'none', 'mean' or 'sum'.
        eps: is added to denominators.

    >>> a, b = weft.tensor([[0.0, 0.0, 1.0, 1.0]]), weft.tensor([[0.0, 1.0, 1.0, 2.0]])
    >>> weft.vision.ops.complete_box_iou_loss(a, b)
    tensor([1.2000])
    """
    _paired("complete_box_iou_loss", boxes1, boxes2)
    intersection, union = areas(boxes1, boxes2)
    iou = intersection / (union + eps)
    loss = 1 - iou + distance(boxes1, boxes2, eps) + aspect(boxes1, boxes2, iou, eps)
    return reduced(loss, reduction)
