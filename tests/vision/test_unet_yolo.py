"""U-Net and the small detector: shapes, learning, decoding against loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.vision import models


@pytest.mark.parametrize("size", [(16, 16), (17, 23), (4, 31)])
def test_unet_keeps_the_size(size: tuple[int, int]) -> None:
    """The result is as large as the image, also where halves are odd."""
    net = models.unet(in_channels=2, out_channels=3, width=4, depth=2)
    assert net(weft.randn(2, 2, *size)).shape == (2, 3, *size)


def test_unet_learns_a_mask() -> None:
    """Bright pixels are found within a few steps."""
    net = models.UNet(1, 1, width=4, depth=2)
    x = weft.rand(4, 1, 16, 16)
    y = (x > 0.5).float()
    optimizer = weft.optim.Adam(net.parameters(), lr=0.02)
    loss = nn.BCEWithLogitsLoss()
    first = loss(net(x), y).item()
    for _ in range(40):
        optimizer.zero_grad()
        loss(net(x), y).backward()
        optimizer.step()
    out = net(x)
    assert loss(out, y).item() < 0.5 * first
    assert float(((out > 0) == (y > 0)).float().mean()) > 0.9


def test_unet_refuses() -> None:
    """Widths and depths that make no network."""
    with pytest.raises(ValueError, match="depth"):
        models.UNet(depth=0)


def nothing() -> dict[str, weft.Tensor]:
    """An image without objects."""
    return {"boxes": weft.zeros(0, 4), "labels": weft.zeros(0, dtype=weft.int64)}


def test_yolo_boxes_by_loop() -> None:
    """Decoding is the formula, written out for each cell."""
    net = models.YOLO(2, depth=3, anchors=[(8, 4), (10, 20)])
    maps = weft.randn(2, 2, 7, 3, 4)
    boxes, raw = net.boxes(maps).numpy(), maps.double().numpy()
    for n, a, i, j in np.ndindex(2, 2, 3, 4):
        tx, ty, tw, th = raw[n, a, :4, i, j]
        x, y = 8 * (j + 1 / (1 + math.exp(-tx))), 8 * (i + 1 / (1 + math.exp(-ty)))
        w, h = np.array([(8, 4), (10, 20)][a]) * np.exp([tw, th])
        wanted = [x - w / 2, y - h / 2, x + w / 2, y + h / 2]
        np.testing.assert_allclose(boxes[n, a, :, i, j], wanted, rtol=1e-4, atol=1e-4)


def test_yolo_owner_of_a_target() -> None:
    """The cell of the centre and the anchor of the nearest shape."""
    net = models.YOLO(3, depth=3, anchors=[(8, 8), (32, 8), (8, 32)])
    targets = [
        nothing(),
        {"boxes": weft.tensor([[2.0, 18.0, 30.0, 26.0]]), "labels": weft.tensor([2])},
    ]
    image, anchor, row, column, _, label = net._owners(weft.zeros(2, 3, 8, 4, 4), targets)
    assert [int(v) for v in (image, anchor, row, column, label)] == [1, 1, 2, 2, 2]


def test_yolo_loss_by_hand() -> None:
    """One object, met exactly: what is left is objectness and classes."""
    net = models.YOLO(2, depth=3, anchors=[(8, 8)])
    maps = weft.zeros(1, 1, 7, 2, 2)
    target = {"boxes": weft.tensor([[0.0, 8.0, 8.0, 16.0]]), "labels": weft.tensor([1])}
    log2 = math.log(2)
    wanted = log2 + 3 * 0.5 * log2 + log2  # the cell, three others at half, two classes
    assert net.loss(maps, [target]).item() == pytest.approx(wanted, rel=1e-5)
    maps[0, 0, 0, 1, 0], maps[0, 0, 2, 1, 0] = 2.0, 0.7  # too far to the right, and too wide
    p = 1 / (1 + math.exp(-2.0))
    wanted += 0.5 * math.log(0.5 / p) + 0.5 * math.log(0.5 / (1 - p)) + 0.7**2 / 2
    assert net.loss(maps, [target]).item() == pytest.approx(wanted, rel=1e-5)
    both = net.loss(weft.cat([maps, weft.zeros_like(maps)]), [target, nothing()])
    assert both.item() == pytest.approx((wanted + 4 * 0.5 * log2) / 2, rel=1e-5)


def test_yolo_learns_to_detect() -> None:
    """Bright and dark squares are found where they are, with their classes."""
    weft.manual_seed(0)
    net = models.yolo(num_classes=2, in_channels=1, width=8, depth=3, anchors=[(10, 10)])
    images, targets = weft.zeros(8, 1, 32, 32), []
    for n in range(8):
        x, y, label = 3 * n, 21 - 3 * n, n % 2
        images[n, 0, y : y + 10, x : x + 10] = 1.0 if label else -1.0
        box = weft.tensor([[x, y, x + 10, y + 10]], dtype=weft.float32)
        targets.append({"boxes": box, "labels": weft.tensor([label])})
    optimizer = weft.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for _ in range(80):
        optimizer.zero_grad()
        loss = net.loss(net(images), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]
    for found, target in zip(net.detect(net(images), threshold=0.3), targets):
        assert found["labels"][0] == target["labels"][0]
        overlap = weft.vision.ops.box_iou(found["boxes"][:1], target["boxes"])
        assert float(overlap) > 0.6
        assert len(found["scores"]) <= 3


def test_yolo_detect_thresholds() -> None:
    """Two boxes on top of one another: one is kept; a high threshold leaves none."""
    net = models.YOLO(1, depth=3, anchors=[(16, 16), (17, 16)])
    maps = weft.zeros(1, 2, 6, 2, 2)
    maps[:, :, 4] = -9.0
    maps[0, :, 4, 0, 0] = weft.tensor([2.0, 3.0])
    (found,) = net.detect(maps, threshold=0.5)
    assert found["boxes"].shape == (1, 4) and float(found["scores"]) == pytest.approx(0.9526, 1e-3)
    assert found["boxes"].tolist() == [[0.0, 0.0, 12.5, 12.0]]  # cut at the border
    assert len(net.detect(maps, threshold=0.5, iou_threshold=0.99)[0]["boxes"]) == 2
    (none,) = net.detect(maps, threshold=0.99)
    assert none["boxes"].shape == (0, 4) and none["labels"].shape == (0,)
    assert not net.detect(maps.requires_grad_())[0]["boxes"].requires_grad


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [5]}, "0 … 1"),
        ({"labels": [0, 0]}, "1 boxes"),
        ({"boxes": [[0.0, 0.0, 1.0]]}, r"\(L, 4\)"),
        ({"boxes": [[1.0, 0.0, 1.0, 2.0]]}, "positive width"),
    ],
)
def test_yolo_refuses_targets(change: dict[str, Any], message: str) -> None:
    """Targets that fit no image or class."""
    net = models.YOLO(2, depth=3)
    target = {"boxes": [[0.0, 0.0, 1.0, 1.0]], "labels": [0], **change}
    with pytest.raises(ValueError, match=message):
        net.loss(weft.zeros(1, 3, 7, 1, 1), [{k: weft.tensor(v) for k, v in target.items()}])


def test_yolo_refuses() -> None:
    """Images that the grid does not divide, the wrong number of targets, anchors without size."""
    net = models.YOLO(2, depth=3)
    with pytest.raises(ValueError, match="divisible by 8"):
        net(weft.zeros(1, 3, 20, 16))
    with pytest.raises(ValueError, match="1 images"):
        net.loss(weft.zeros(1, 3, 7, 1, 1), [])
    with pytest.raises(ValueError, match="positive pairs"):
        models.YOLO(2, anchors=[(0, 4)])
