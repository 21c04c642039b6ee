"""Boxes, suppression, regions and losses against loops in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.autograd import gradcheck
from weft.vision import ops


def some_boxes(n: int, seed: int = 0, size: float = 20.0) -> Any:
    """Boxes of the form x1, y1, x2, y2."""
    rng = np.random.default_rng(seed)
    corner, side = rng.uniform(0, size, (n, 2)), rng.uniform(0.5, size / 2, (n, 2))
    return np.concatenate([corner, corner + side], 1).astype(np.float32)


def tensor(x: Any) -> weft.Tensor:
    """A tensor with values of its own."""
    return weft.tensor(np.asarray(x))


# ---- boxes --------------------------------------------------------------------------------------


def iou(a: Any, b: Any) -> tuple[float, float, float]:
    """Intersection over union of two boxes, the union, and the area of their hull."""
    w = max(min(a[2], b[2]) - max(a[0], b[0]), 0)
    h = max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h
    hull = (max(a[2], b[2]) - min(a[0], b[0])) * (max(a[3], b[3]) - min(a[1], b[1]))
    return w * h / union, union, hull


def by_pairs(a: Any, b: Any, f: Any) -> Any:
    """f of each with each."""
    return np.array([[f(x, y) for y in b] for x in a])


def generalized(a: Any, b: Any) -> float:
    value, union, hull = iou(a, b)
    return value - (hull - union) / hull


def distant(a: Any, b: Any) -> float:
    apart = ((a[0] + a[2] - b[0] - b[2]) / 2) ** 2 + ((a[1] + a[3] - b[1] - b[3]) / 2) ** 2
    diagonal = (max(a[2], b[2]) - min(a[0], b[0])) ** 2 + (max(a[3], b[3]) - min(a[1], b[1])) ** 2
    return iou(a, b)[0] - apart / diagonal


def complete(a: Any, b: Any) -> float:
    angles = [math.atan((x[2] - x[0]) / (x[3] - x[1])) for x in (a, b)]
    v = 4 / math.pi**2 * (angles[0] - angles[1]) ** 2
    return distant(a, b) - v * v / (1 - iou(a, b)[0] + v + 1e-7)


OVERLAPS = {
    "box_iou": lambda a, b: iou(a, b)[0],
    "generalized_box_iou": generalized,
    "distance_box_iou": distant,
    "complete_box_iou": complete,
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlaps(name: str) -> None:
    """All pairs, and the losses of pairs with their gradients."""
    a, b = some_boxes(7).astype(float), some_boxes(5, 1).astype(float)
    wanted = by_pairs(a, b, OVERLAPS[name])
    np.testing.assert_allclose(getattr(ops, name)(tensor(a), tensor(b)).numpy(), wanted, atol=1e-6)
    assert getattr(ops, name)(weft.zeros(0, 4), tensor(b)).shape == (0, 5)
    if name == "box_iou":
        return
    loss = getattr(ops, name + "_loss")
    pairs = tensor(a[:5]).requires_grad_()
    np.testing.assert_allclose(loss(pairs, tensor(b)).detach(), 1 - np.diag(wanted), atol=1e-6)
    if name != "complete_box_iou":  # whose weight alpha is taken as a constant
        assert gradcheck(lambda x: loss(x, tensor(b)), (pairs,))
    loss(pairs, tensor(b), reduction="sum").backward()
    with pytest.raises(ValueError, match="same shape"):
        loss(pairs, tensor(b)[:2])


def test_whole_numbers() -> None:
    """Boxes of whole numbers, narrow ones too, do not overflow."""
    boxes = weft.tensor([[0, 0, 100, 100], [50, 0, 100, 100]], dtype=weft.uint8)
    assert ops.box_area(boxes).tolist() == [10000, 5000]
    assert ops.box_iou(boxes, boxes)[0].tolist() == [1.0, 0.5]


def test_box_convert_round_trips() -> None:
    """Each form into each other one and back."""
    boxes = tensor(some_boxes(6))
    known = ops.box_convert(weft.tensor([[1.0, 2.0, 4.0, 8.0]]), "xyxy", "xywh")
    assert known.tolist() == [[1.0, 2.0, 3.0, 6.0]]
    for a in ("xyxy", "xywh", "cxcywh"):
        for b in ("xyxy", "xywh", "cxcywh"):
            there = ops.box_convert(ops.box_convert(boxes, "xyxy", a), a, b)
            back = ops.box_convert(there, b, "xyxy")
            np.testing.assert_allclose(back.numpy(), boxes.numpy(), rtol=1e-5)
    with pytest.raises(ValueError, match="'yxyx'"):
        ops.box_convert(boxes, "yxyx", "xyxy")


def test_borders_and_small_boxes() -> None:
    """Cut at the image; those that are too small are named."""
    boxes = weft.tensor([[-3.0, -2.0, 5.0, 50.0], [1.0, 1.0, 2.0, 9.0]])
    assert ops.clip_boxes_to_image(boxes, (10, 4)).tolist() == [[0, 0, 4, 10], [1, 1, 2, 9]]
    assert ops.remove_small_boxes(boxes, 1.0).tolist() == [0, 1]
    assert ops.remove_small_boxes(boxes, 1.5).tolist() == [0]


def test_masks_to_boxes() -> None:
    """The first and last set pixel of each mask; an empty one is refused by its number."""
    masks = weft.zeros(3, 5, 7, dtype=weft.bool)
    masks[0, 1, 2] = True
    masks[1, 0:5, 3:6] = True
    masks[2, 4, 0] = masks[2, 0, 6] = True
    assert ops.masks_to_boxes(masks).tolist() == [[2, 1, 2, 1], [3, 0, 5, 4], [0, 0, 6, 4]]
    assert ops.masks_to_boxes(masks[:0]).shape == (0, 4)
    with pytest.raises(ValueError, match=r"\[1\]"):
        ops.masks_to_boxes(weft.stack([masks[0], ~masks[0] & masks[0]]))


@pytest.mark.parametrize("f", [ops.box_area, lambda x: ops.box_iou(x, x)])
def test_boxes_need_four_numbers(f: Any) -> None:
    """The error names the shape."""
    with pytest.raises(ValueError, match=r"\(3, 5\)"):
        f(weft.zeros(3, 5))


# ---- suppression --------------------------------------------------------------------------------


def greedy(boxes: Any, scores: Any, threshold: float) -> list[int]:
    """nms by its definition."""
    order, kept = np.argsort(-scores, kind="stable"), []
    for i in order:
        if all(iou(boxes[i], boxes[j])[0] <= threshold for j in kept):
            kept.append(int(i))
    return kept


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [0, 1, 40, 400])
def test_nms(n: int, threshold: float) -> None:
    """As by definition, within one block of boxes and over several."""
    boxes = some_boxes(n, size=60.0)
    scores = np.random.default_rng(2).integers(0, 50, n) / 50  # with ties
    kept = ops.nms(tensor(boxes), tensor(scores), threshold)
    assert kept.dtype == weft.int64
    assert kept.tolist() == greedy(boxes.astype(float), scores, threshold)


def test_nms_threshold_is_exclusive() -> None:
    """An overlap equal to the threshold is allowed; boxes without area remove none."""
    boxes = weft.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    scores = weft.tensor([3.0, 2.0, 1.0])
    assert ops.nms(boxes, scores, 0.5).tolist() == [0, 1, 2]
    assert ops.nms(boxes, scores, 0.49).tolist() == [0, 2]
    assert ops.nms(boxes[[2, 2]], scores[:2], 0.5).tolist() == [0, 1]
    assert ops.nms(boxes.half(), scores, 0.49).tolist() == [0, 2]
    assert ops.nms(boxes.int(), scores, 0.49).tolist() == [0, 2]


def test_nms_of_many() -> None:
    """Ten thousand boxes on a few places: one is left of each."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 50, 10_000)
    corner = np.stack([place * 100.0, place * 0.0], 1)
    boxes = np.concatenate([corner, corner + 50], 1) + rng.uniform(0, 1, (10_000, 4))
    scores = rng.permutation(10_000) / 10_000
    kept = ops.nms(tensor(boxes), tensor(scores), 0.5).numpy()
    best = [np.nonzero(place == p)[0][scores[place == p].argmax()] for p in range(50)]
    assert sorted(kept) == sorted(best)
    assert (np.diff(scores[kept]) < 0).all()


def test_batched_nms() -> None:
    """Each category by itself, all of them by falling score."""
    boxes, scores = some_boxes(60), np.random.default_rng(1).random(60)
    idxs = np.random.default_rng(2).integers(-1, 3, 60)
    kept = ops.batched_nms(tensor(boxes), tensor(scores), tensor(idxs), 0.3).tolist()
    wanted = []
    for c in np.unique(idxs):
        own = np.nonzero(idxs == c)[0]
        wanted += [int(own[k]) for k in greedy(boxes[own].astype(float), scores[own], 0.3)]
    assert kept == sorted(wanted, key=lambda k: -scores[k])
    empty = ops.batched_nms(weft.zeros(0, 4), weft.zeros(0), weft.zeros(0), 0.5)
    assert empty.shape == (0,)


def test_nms_refuses() -> None:
    """Shapes that do not belong together."""
    with pytest.raises(ValueError, match=r"\(N, 4\)"):
        ops.nms(weft.zeros(3, 5), weft.zeros(3), 0.5)
    with pytest.raises(ValueError, match=r"\(3,\)"):
        ops.nms(weft.zeros(3, 4), weft.zeros(2), 0.5)
    with pytest.raises(ValueError, match="iou_threshold"):
        ops.nms(weft.zeros(3, 4), weft.zeros(3), -0.5)
    with pytest.raises(ValueError, match="idxs"):
        ops.batched_nms(weft.zeros(3, 4), weft.zeros(3), weft.zeros(2), 0.5)


# ---- regions ------------------------------------------------------------------------------------


def bilinear(plane: Any, y: float, x: float) -> float:
    """The value between pixels; zero beyond one pixel outside."""
    rows, columns = plane.shape
    if y < -1 or y > rows or x < -1 or x > columns:
        return 0.0
    y, x = min(max(y, 0), rows - 1), min(max(x, 0), columns - 1)
    i, j = int(y), int(x)
    k, l = min(i + 1, rows - 1), min(j + 1, columns - 1)
    dy, dx = y - i, x - j
    top = plane[i, j] * (1 - dx) + plane[i, l] * dx
    bottom = plane[k, j] * (1 - dx) + plane[k, l] * dx
    return top * (1 - dy) + bottom * dy


def align_by_loop(x: Any, rois: Any, size: Any, scale: float, ratio: int, aligned: bool) -> Any:
    """roi_align, place by place."""
    out = np.zeros((len(rois), x.shape[1], *size))
    shift = 0.5 if aligned else 0.0
    for k, (n, *box) in enumerate(rois):
        x1, y1, x2, y2 = np.array(box) * scale - shift
        w, h = x2 - x1, y2 - y1
        if not aligned:
            w, h = max(w, 1.0), max(h, 1.0)
        my = ratio if ratio > 0 else math.ceil(h / size[0])
        mx = ratio if ratio > 0 else math.ceil(w / size[1])
        for c, i, j in np.ndindex(x.shape[1], *size):
            total = 0.0
            for a in range(my):
                for b in range(mx):
                    y = y1 + (i + (a + 0.5) / my) * h / size[0]
                    z = x1 + (j + (b + 0.5) / mx) * w / size[1]
                    total += bilinear(x[int(n), c], y, z)
            out[k, c, i, j] = total / max(my * mx, 1)
    return out


ROIS = np.array(
    [
        [0, 1.0, 1.5, 6.0, 5.0], [1, 0.0, 0.0, 9.0, 7.0], [0, -4.0, -3.0, 2.0, 2.0],
        [1, 5.0, 4.0, 20.0, 18.0], [0, 3.2, 3.1, 3.4, 3.3], [0, 6.0, 2.0, 7.5, 7.5],
    ]
)  # fmt: skip


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [-1, 0, 1, 3])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_roi_align(ratio: int, scale: float, aligned: bool) -> None:
    """Values as by the loop; regions inside, across borders, outside and tiny."""
    x = np.random.default_rng(0).normal(size=(2, 2, 7, 9))
    got = ops.roi_align(tensor(x), tensor(ROIS), (3, 2), scale, ratio, aligned)
    wanted = align_by_loop(x, ROIS, (3, 2), scale, ratio, aligned)
    np.testing.assert_allclose(got.numpy(), wanted, atol=1e-9)
    lists = [tensor(ROIS[ROIS[:, 0] == n, 1:]) for n in (0, 1)]
    order = np.argsort(ROIS[:, 0], kind="stable")
    got = ops.RoIAlign((3, 2), scale, ratio, aligned)(tensor(x), lists)
    np.testing.assert_allclose(got.numpy(), wanted[order], atol=1e-9)


def test_roi_align_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many regions are done at once, the result is the same."""
    x = weft.randn(2, 3, 7, 9)
    whole = ops.roi_align(x, tensor(ROIS).float(), 2)
    monkeypatch.setattr("weft.vision.ops.regions._ELEMENTS", 1)
    assert weft.equal(ops.roi_align(x, tensor(ROIS).float(), 2), whole)
    assert ops.roi_align(x.half(), tensor(ROIS).half(), 2).dtype == weft.float16


@pytest.mark.parametrize("f", [ops.roi_align, ops.roi_pool])
def test_region_gradients(f: Any) -> None:
    """Gradients of the feature maps."""
    x = weft.randn(2, 2, 5, 6, dtype=weft.float64, requires_grad=True)
    assert gradcheck(lambda y: f(y, tensor(ROIS), 2, 0.5), (x,))


def test_roi_pool() -> None:
    """The largest value of each bin, as by the loop; the gradient goes to its place."""
    x = np.random.default_rng(0).normal(size=(2, 2, 7, 9))
    size, scale = (3, 2), 0.5
    wanted = np.zeros((len(ROIS), 2, *size))
    for k, (n, *box) in enumerate(ROIS):
        x1, y1, x2, y2 = (math.floor(abs(v * scale) + 0.5) * (1 if v > 0 else -1) for v in box)
        w, h = max(x2 - x1 + 1, 1), max(y2 - y1 + 1, 1)
        for c, i, j in np.ndindex(2, *size):
            rows = [y for y in range(7) if y1 + i * h // 3 <= y < y1 + -(-(i + 1) * h // 3)]
            columns = [z for z in range(9) if x1 + j * w // 2 <= z < x1 + -(-(j + 1) * w // 2)]
            if rows and columns:
                wanted[k, c, i, j] = x[int(n), c][np.ix_(rows, columns)].max()
    pooled = ops.RoIPool(size, scale)(tensor(x), tensor(ROIS))
    np.testing.assert_allclose(pooled.numpy(), wanted)
    narrow = tensor(x).bfloat16()
    assert ops.roi_pool(narrow, tensor(ROIS), size, scale).dtype == weft.bfloat16
    ones = weft.zeros(1, 1, 3, 3, requires_grad=True)  # all equal: the first wins
    ops.roi_pool(ones, weft.tensor([[0.0, 0.0, 0.0, 2.0, 2.0]]), 1).sum().backward()
    assert ones.grad is not None and ones.grad.reshape(-1).tolist() == [1.0] + [0.0] * 8


@pytest.mark.parametrize("f", [ops.roi_align, ops.roi_pool])
def test_regions_refuse(f: Any) -> None:
    """Images that are not there, shapes that do not fit, numbers that are none."""
    x = weft.zeros(1, 2, 4, 4)
    assert f(x, weft.zeros(0, 5), 2).shape == (0, 2, 2, 2)
    assert f(x, [weft.zeros(0, 4)], 2).shape == (0, 2, 2, 2)
    for boxes, error in (
        (weft.tensor([[1.0, 0, 0, 1, 1]]), IndexError),
        (weft.tensor([[-1.0, 0, 0, 1, 1]]), IndexError),
        (weft.tensor([[0.0, 0, 0, 1, math.nan]]), ValueError),
        (weft.tensor([[0.0, 0, 0, 1, math.inf]]), ValueError),
        (weft.zeros(1, 4), ValueError),
        ([weft.zeros(1, 5)], ValueError),
        ([], ValueError),
    ):
        with pytest.raises(error):
            f(x, boxes, 2)


def test_roi_align_of_a_huge_box() -> None:
    """Without a sampling ratio it would need as many places as it has pixels."""
    huge = weft.tensor([[0.0, 0.0, 0.0, 1e9, 1e9]])
    with pytest.raises(ValueError, match="sampling_ratio"):
        ops.roi_align(weft.zeros(1, 2, 4, 4), huge, 2)
    assert ops.roi_align(weft.zeros(1, 2, 4, 4), huge, 2, sampling_ratio=2).abs().sum() == 0


# ---- losses and blocks --------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.25, 0.9, -1])
@pytest.mark.parametrize("gamma", [0.0, 2.0, 1.5])
def test_focal_loss(alpha: float, gamma: float) -> None:
    """-alpha_t (1 - p_t)^gamma log p_t, element by element."""
    x = np.random.default_rng(0).normal(size=(3, 4)) * 3
    t = (np.random.default_rng(1).random((3, 4)) > 0.5).astype(float)
    p = 1 / (1 + np.exp(-x))
    pt, at = np.where(t > 0, p, 1 - p), np.where(t > 0, alpha, 1 - alpha) if alpha >= 0 else 1
    wanted = -at * (1 - pt) ** gamma * np.log(pt)
    for reduction, expected in (
        ("none", wanted), ("mean", wanted.mean()), ("sum", wanted.sum()),
    ):  # fmt: skip
        got = ops.sigmoid_focal_loss(tensor(x), tensor(t), alpha, gamma, reduction)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)
    y = tensor(x).requires_grad_()
    assert gradcheck(lambda z: ops.sigmoid_focal_loss(z, tensor(t), alpha, gamma), (y,))
    with pytest.raises(ValueError, match="median"):
        ops.sigmoid_focal_loss(tensor(x), tensor(t), reduction="median")


def test_frozen_batch_norm() -> None:
    """As BatchNorm2d in eval, loaded from its state; nothing to learn."""
    norm = nn.BatchNorm2d(3)
    norm(weft.randn(4, 3, 5, 5) * 2 + 1)
    nn.init.normal_(norm.weight), nn.init.normal_(norm.bias)
    frozen = ops.FrozenBatchNorm2d(3)
    frozen.load_state_dict(norm.state_dict())
    x = weft.randn(2, 3, 4, 4)
    assert weft.allclose(frozen(x), norm.eval()(x), atol=1e-5)
    assert not list(frozen.parameters()) and str(frozen) == "FrozenBatchNorm2d(3, eps=1e-05)"


def test_conv_norm_activation() -> None:
    """Which layers there are, padding that keeps sizes, biases where nothing normalises."""
    block = ops.Conv2dNormActivation(2, 4, (3, 5), dilation=2, groups=2, activation_layer=nn.ReLU6)
    assert block(weft.randn(1, 2, 11, 12)).shape == (1, 4, 11, 12) and block.out_channels == 4
    assert block[0].bias is None and isinstance(block[2], nn.ReLU6) and block[2].inplace
    plain = ops.Conv2dNormActivation(2, 4, norm_layer=None, activation_layer=None)
    assert len(plain) == 1 and plain[0].bias is not None
    gelu = ops.Conv2dNormActivation(2, 4, activation_layer=nn.GELU, inplace=None, bias=True)
    assert gelu[0].bias is not None and isinstance(gelu[2], nn.GELU)


def test_mlp() -> None:
    """Names of layers as in torchvision, so that states fit."""
    mlp = ops.MLP(3, [4, 5, 2], norm_layer=nn.LayerNorm, dropout=0.5, bias=False)
    kinds = [type(layer).__name__ for layer in mlp]
    assert kinds == ["Linear", "LayerNorm", "ReLU", "Dropout"] * 2 + ["Linear", "Dropout"]
    assert mlp[8].weight.shape == (2, 5) and mlp[0].bias is None and mlp[3].p == 0.5
    with pytest.raises(ValueError, match="hidden_channels"):
        ops.MLP(3, [])


def test_squeeze_excitation() -> None:
    """Channels scaled by sigmoid(W2 relu(W1 mean))."""
    block, x = ops.SqueezeExcitation(4, 2), weft.randn(2, 4, 3, 3)
    hidden = (x.mean((2, 3)) @ block.fc1.weight.reshape(2, 4).T + block.fc1.bias).relu()
    scale = (hidden @ block.fc2.weight.reshape(4, 2).T + block.fc2.bias).sigmoid()
    assert weft.allclose(block(x), x * scale.reshape(2, 4, 1, 1), atol=1e-6)


def test_stochastic_depth() -> None:
    """Whole rows or the whole batch, scaled so that the mean stays."""
    x = weft.ones(2000, 3)
    rows = ops.stochastic_depth(x, 0.25, "row")
    assert {round(v, 5) for v in rows.reshape(-1).tolist()} == {0.0, 1.33333}
    assert (rows.std(1) == 0).all() and abs(float(rows.mean()) - 1) < 0.1
    batch = ops.StochasticDepth(0.5, "batch")(x)
    assert float(batch.std()) == 0 and float(batch[0, 0]) in (0.0, 2.0)
    assert ops.StochasticDepth(0.5, "row").eval()(x) is x
    for p, mode in ((1.5, "row"), (0.5, "column")):
        with pytest.raises(ValueError):
            ops.stochastic_depth(x, p, mode)
