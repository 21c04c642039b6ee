"""A small detector that looks once: every cell of a grid says what lies in it."""

from __future__ import annotations

import weft
from weft import nn
from weft.nn import functional as F
from weft.vision.models.registry import model
from weft.vision.ops.boxes import box_convert, clip_boxes_to_image
from weft.vision.ops.misc import Conv2dNormActivation
from weft.vision.ops.suppression import batched_nms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["YOLO", "yolo"]


class YOLO(nn.Module):
    """A detector with one grid of cells, in the manner of YOLO (Redmon and others, 2016, 2018).

    An image is halved ``depth`` times. For each cell of that grid and each anchor, ``forward``
    gives 5 + num_classes numbers: where the centre of a box is within the cell (through a
    sigmoid), how much larger than the anchor it is (as logarithms), how sure it is that there is
    one, and scores of classes. Images must have sides that 2 ** depth divides.

    Args:
        num_classes: the number of classes.
        in_channels: channels of images.
        width: channels after the first convolution; each halving doubles them.
        depth: how many times the image is halved.
        anchors: widths and heights in pixels of boxes to begin with; None: two, four and six
            cells, square.

    >>> net = weft.vision.models.YOLO(num_classes=2, width=4, depth=3)
    >>> maps = net(weft.zeros(1, 3, 32, 32))
    >>> maps.shape
    torch.Size([1, 3, 7, 4, 4])
    >>> targets = [{"boxes": weft.tensor([[4.0, 4.0, 20.0, 20.0]]), "labels": weft.tensor([1])}]
    >>> net.loss(maps, targets).ndim
    0
    >>> [sorted(found) for found in net.detect(maps, threshold=0.9)]
    [['boxes', 'labels', 'scores']]
    """

    def __init__(
        self,
        num_classes: int = 20,
        in_channels: int = 3,
        width: int = 16,
        depth: int = 4,
        anchors: Sequence[Sequence[float]] | None = None,
    ) -> None:
        super().__init__()
        if num_classes < 1 or depth < 1:
            raise ValueError(
                f"YOLO: num_classes and depth must be positive, got {num_classes} and {depth}"
            )
        self.num_classes, self.stride = num_classes, 1 << depth
        sizes = anchors if anchors is not None else [(k * self.stride,) * 2 for k in (2, 4, 6)]
        self.register_buffer("anchors", weft.tensor([list(map(float, a)) for a in sizes]))
        if self.anchors.ndim != 2 or self.anchors.shape[1] != 2 or not (self.anchors > 0).all():
            raise ValueError(f"YOLO: anchors must be positive pairs (width, height), got {anchors}")
        layers: list[nn.Module] = [Conv2dNormActivation(in_channels, width, **_LEAKY)]
        for i in range(depth):
            wide = width << i
            layers += [
                Conv2dNormActivation(wide, 2 * wide, stride=2, **_LEAKY),
                Conv2dNormActivation(2 * wide, wide, 1, **_LEAKY),
                Conv2dNormActivation(wide, 2 * wide, **_LEAKY),
            ]
        self.backbone = nn.Sequential(*layers)
        self.head = nn.Conv2d(width << depth, len(self.anchors) * (5 + num_classes), 1)
        sure = nn.init.zeros_(self.head.bias).detach().reshape(-1, 5 + num_classes)[:, 4]
        nn.init.constant_(sure, -4.6)  # objects are rare: 1 in 100

    def forward(self, images: Tensor) -> Tensor:
        if images.ndim != 4 or any(n % self.stride or n == 0 for n in images.shape[2:]):
            raise ValueError(
                f"YOLO: expected images (N, C, H, W) with H and W divisible by {self.stride}, "
                f"got {tuple(images.shape)}"
            )
        maps = self.head(self.backbone(images))
        n, _, rows, columns = maps.shape
        return maps.reshape(n, len(self.anchors), 5 + self.num_classes, rows, columns)

    def boxes(self, maps: Tensor) -> Tensor:
        """Return the boxes of all cells in pixels: (N, anchors, 4, rows, columns), as corners.

        Args:
            maps: what ``forward`` gave.

        >>> net = weft.vision.models.YOLO(1, depth=3, anchors=[(8, 4)])
        >>> net.boxes(weft.zeros(1, 1, 6, 1, 2))[0, 0, :, 0]
        tensor([[ 0.,  8.],
                [ 2.,  2.],
                [ 8., 16.],
                [ 6.,  6.]])
        """
        rows, columns = maps.shape[3:]
        y, x = weft.meshgrid(weft.arange(rows), weft.arange(columns), indexing="ij")
        centre = (maps[:, :, :2].sigmoid() + weft.stack([x, y])) * self.stride
        # No box is more than e^8 times its anchor, so that none becomes infinite.
        half = maps[:, :, 2:4].clamp(max=8).exp() * self.anchors.reshape(-1, 2, 1, 1) / 2
        return weft.cat([centre - half, centre + half], 2)

    def loss(self, maps: Tensor, targets: Sequence[dict[str, Tensor]]) -> Tensor:
        """Return the loss of a batch, per image: boxes, objectness and classes.

        Each target belongs to the cell that holds its centre and to the anchor whose shape is
        nearest. There, the loss is the divergence of where in the cell the centre is, half the
        squared error of the logarithms of width and height, and cross entropy of classes.
        Objectness is asked of all cells; those without an object count half.

        Args:
            maps: what ``forward`` gave.
            targets: for each image a dict of ``boxes`` (L, 4) as corners in pixels and ``labels``.

        >>> net = weft.vision.models.YOLO(1, depth=3)
        >>> nothing = {"boxes": weft.zeros(0, 4), "labels": weft.zeros(0, dtype=weft.int64)}
        >>> net.loss(weft.zeros(1, 3, 6, 1, 1), [nothing])
        tensor(1.0397)
        """
        image, anchor, row, column, boxes, labels = self._owners(maps, targets)
        objectness = maps[:, :, 4]
        present = weft.zeros_like(objectness)
        present[image, anchor, row, column] = 1.0
        sure = F.binary_cross_entropy_with_logits(objectness, present, reduction="none")
        loss = (sure * (0.5 + 0.5 * present)).sum()
        if len(labels):
            found = maps[image, anchor, :, row, column]
            cell = weft.stack([column, row], 1)
            offset = (boxes[:, :2] / self.stride - cell).clamp(0, 1)
            size = (boxes[:, 2:] / self.anchors[anchor]).log()
            entropy = -(weft.xlogy(offset, offset) + weft.xlogy(1 - offset, 1 - offset)).sum()
            place = F.binary_cross_entropy_with_logits(found[:, :2], offset, reduction="sum")
            loss = loss + place - entropy + (found[:, 2:4] - size).square().sum() / 2
            loss = loss + F.cross_entropy(found[:, 5:], labels, reduction="sum")
        return loss / max(len(targets), 1)

    def _owners(self, maps: Tensor, targets: Sequence[dict[str, Tensor]]) -> tuple[Tensor, ...]:
        """Return image, anchor, row and column of the cell of each target, its box and label.

        The box is its centre, width and height.
        """
        count, _, _, rows, columns = maps.shape
        if len(targets) != count:
            raise ValueError(f"YOLO.loss: {count} images need as many targets, got {len(targets)}")
        for i, t in enumerate(targets):
            if t["boxes"].ndim != 2 or t["boxes"].shape[1] != 4:
                shape = tuple(t["boxes"].shape)
                raise ValueError(f"YOLO.loss: boxes of image {i} must be (L, 4), got {shape}")
            if t["labels"].shape != t["boxes"].shape[:1]:
                n, m = t["boxes"].shape[0], tuple(t["labels"].shape)
                raise ValueError(f"YOLO.loss: image {i} has {n} boxes and labels of shape {m}")
        boxes = weft.cat([t["boxes"].to(maps.dtype) for t in targets])
        labels = weft.cat([t["labels"] for t in targets]).to(weft.int64)
        if len(labels) and not bool(((labels >= 0) & (labels < self.num_classes)).all()):
            raise ValueError(f"YOLO.loss: labels must be in 0 … {self.num_classes - 1}")
        image = weft.cat(
            [weft.full((len(t["labels"]),), i, dtype=weft.int64) for i, t in enumerate(targets)]
        )
        boxes = box_convert(boxes, "xyxy", "cxcywh")
        if not bool((boxes[:, 2:] > 0).all()):
            raise ValueError("YOLO.loss: boxes must have a positive width and height")
        cell = (boxes[:, :2] / self.stride).to(weft.int64)
        column, row = cell[:, 0].clamp(0, columns - 1), cell[:, 1].clamp(0, rows - 1)
        size = boxes[:, None, 2:]
        shared = weft.minimum(size, self.anchors).prod(-1)
        iou = shared / (size.prod(-1) + self.anchors.prod(-1) - shared)
        return image, iou.argmax(1), row, column, boxes, labels

    @weft.no_grad()
    def detect(
        self, maps: Tensor, threshold: float = 0.5, iou_threshold: float = 0.5
    ) -> list[dict[str, Tensor]]:
        """Return for each image ``boxes`` (corners in pixels), ``scores`` and ``labels``, best first.

        Args:
            maps: what ``forward`` gave.
            threshold: boxes of a lower score are left out; a score is objectness times the
                probability of the class.
            iou_threshold: of boxes of one class that overlap more, the best is kept.

        >>> net = weft.vision.models.YOLO(1, depth=3, anchors=[(8, 8)])
        >>> maps = weft.zeros(1, 1, 6, 1, 2)
        >>> maps[0, 0, 4, 0, 1] = 3.0
        >>> net.detect(maps, threshold=0.9)[0]["boxes"]
        tensor([[ 8.,  0., 16.,  8.]])
        """
        size = (maps.shape[3] * self.stride, maps.shape[4] * self.stride)
        boxes = self.boxes(maps).movedim(2, -1).reshape(len(maps), -1, 4)
        chance, label = maps[:, :, 5:].softmax(2).max(2)
        score = (maps[:, :, 4].sigmoid() * chance).reshape(len(maps), -1)
        label = label.reshape(len(maps), -1)
        found = []
        for b, s, l in zip(boxes, score, label):
            good = weft.where(s >= threshold)[0]
            b, s, l = clip_boxes_to_image(b[good], size), s[good], l[good]
            best = batched_nms(b, s, l, iou_threshold)
            found.append({"boxes": b[best], "scores": s[best], "labels": l[best]})
        return found


_LEAKY: Any = {"activation_layer": nn.LeakyReLU}


@model
def yolo(**kwargs: Any) -> YOLO:
    """Make a small detector.

    Args:
        kwargs: arguments of ``YOLO``.

    >>> weft.vision.models.yolo(num_classes=2, width=4)(weft.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 3, 7, 2, 2])
    """
    return YOLO(**kwargs)
