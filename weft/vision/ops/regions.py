"""Regions of feature maps as small maps of one size."""

from __future__ import annotations

import weft
from weft.nn import Module
from weft.nn.modules.utils import _pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["RoIAlign", "RoIPool", "roi_align", "roi_pool"]

_MOST_SAMPLES = 1 << 16  # along an axis of a bin
_ELEMENTS = 1 << 22  # of an intermediate result, which sets how many regions are done at once


def _regions(name: str, input: Tensor, boxes: Tensor | Sequence[Tensor]) -> Any:
    """Return a NumPy array (K, 5): the number of the image, and x1, y1, x2, y2."""
    import numpy as np

    if input.ndim != 4:
        raise ValueError(f"{name}: input must be (N, C, H, W), got {tuple(input.shape)}")
    if isinstance(boxes, weft.Tensor):
        if boxes.ndim != 2 or boxes.shape[1] != 5:
            raise ValueError(
                f"{name}: a tensor of boxes must be (K, 5), the number of the image and "
                f"x1, y1, x2, y2, got {tuple(boxes.shape)}"
            )
        rows = boxes.detach()
    else:
        if len(boxes) != input.shape[0]:
            raise ValueError(
                f"{name}: a list of boxes needs one tensor for each image: "
                f"{input.shape[0]} images, {len(boxes)} tensors"
            )
        for b in boxes:
            if b.ndim != 2 or b.shape[1] != 4:
                raise ValueError(f"{name}: boxes of an image must be (L, 4), got {tuple(b.shape)}")
        numbered = [
            weft.cat([b.new_full((len(b), 1), i), b.detach()], 1) for i, b in enumerate(boxes)
        ]
        rows = weft.cat(numbered) if numbered else weft.zeros(0, 5)
    regions = rows.double().numpy()
    if not np.isfinite(regions).all():
        raise ValueError(f"{name}: boxes must be finite numbers")
    outside = (regions[:, 0] < 0) | (regions[:, 0] >= input.shape[0])
    if outside.any():
        raise IndexError(
            f"{name}: image {int(regions[outside][0, 0])} of a box is not among the "
            f"{input.shape[0]} of the batch"
        )
    return regions


def _weights(start: Any, length: Any, bins: int, samples: int, size: int) -> Any:
    """Return (K, bins, size): how much each pixel of an axis counts in each bin.

    A bin is the mean of values at places within it. A value between two pixels is theirs,
    weighted by nearness. Places more than a pixel outside give zero.
    """
    import numpy as np

    weights = np.zeros((len(start), bins, size))
    each = np.maximum(np.ceil(length / bins), 0) if samples <= 0 else np.full(len(start), samples)
    if len(each) and each.max() > _MOST_SAMPLES:
        raise ValueError(
            f"roi_align: a box of {length.max():g} pixels needs {each.max():g} places in a bin, "
            f"more than {_MOST_SAMPLES}: give sampling_ratio, or clip the boxes to the image"
        )
    for count in np.unique(each[each > 0]).astype(int):
        own = np.nonzero(each == count)[0]
        step = (length[own] / bins)[:, None, None]
        at = np.arange(bins)[:, None] + (np.arange(count) + 0.5) / count
        y = start[own][:, None, None] + at * step
        inside = (y >= -1) & (y <= size)
        y = np.clip(y, 0, size - 1)
        low = np.floor(y).astype(int)
        high = np.minimum(low + 1, size - 1)
        rows, columns = own[:, None, None], np.arange(bins)[:, None]
        np.add.at(weights, (rows, columns, low), inside * (1 - (y - low)) / count)
        np.add.at(weights, (rows, columns, high), inside * (y - low) / count)
    return weights


def roi_align(
    input: Tensor,
    boxes: Tensor | Sequence[Tensor],
    output_size: int | tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Return regions of feature maps as maps of one size: (K, C, height, width).

    Each bin of a region is the mean of the values at regular places within it, each read between
    the four pixels around it. Gradients go to ``input``, not to ``boxes``.

    Args:
        input: feature maps (N, C, H, W).
        boxes: (K, 5), the number of the image and x1, y1, x2, y2; or a list with boxes (L, 4) for
            each image.
        output_size: height and width of a region's map, or one number for both.
        spatial_scale: by which coordinates of boxes become those of the feature maps.
        sampling_ratio: places in a bin along each axis; not positive: as many as the bin has
            pixels, rounded up.
        aligned: whether the centre of the first pixel is at 0.5. If not, it is at 0, and regions
            are at least one pixel wide and high.

    >>> x = weft.arange(16.0).reshape(1, 1, 4, 4)
    >>> weft.vision.ops.roi_align(x, [weft.tensor([[1.0, 1.0, 3.0, 3.0]])], 1, aligned=True)
    tensor([[[[7.5000]]]])
    """
    import numpy as np

    regions = _regions("roi_align", input, boxes)
    if not input.is_floating_point():
        raise TypeError(f"roi_align: input must have a floating dtype, got {input.dtype}")
    height, width = _pair(output_size)
    (_, channels, rows, columns), count = input.shape, len(regions)
    if count == 0 or input.numel() == 0:
        return input.new_zeros((count, channels, height, width))
    corners = regions[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)
    sides = corners[:, 2:] - corners[:, :2]
    if not aligned:
        sides = np.maximum(sides, 1.0)
    down = _weights(corners[:, 1], sides[:, 1], height, sampling_ratio, rows)
    across = _weights(corners[:, 0], sides[:, 0], width, sampling_ratio, columns)
    # out[k] = down[k] @ image @ across[k].T: first all columns, then all rows of many regions.
    at_once = max(1, _ELEMENTS // (channels * rows * width))
    found, places = [], []
    for number in np.unique(regions[:, 0]):
        image = input[int(number)].reshape(channels * rows, columns)
        own = np.nonzero(regions[:, 0] == number)[0]
        for some in np.split(own, range(at_once, len(own), at_once)):
            a = weft.from_numpy(across[some].reshape(-1, columns).T.copy()).to(input.dtype)
            d = weft.from_numpy(down[some]).to(input.dtype)
            part = (image @ a).reshape(channels, rows, len(some), width)
            part = part.permute(2, 1, 0, 3).reshape(len(some), rows, channels * width)
            part = weft.bmm(d, part).reshape(len(some), height, channels, width)
            found.append(part.permute(0, 2, 1, 3))
            places.append(some)
    order = np.argsort(np.concatenate(places), kind="stable")
    return weft.cat(found)[weft.from_numpy(order)]


def roi_pool(
    input: Tensor,
    boxes: Tensor | Sequence[Tensor],
    output_size: int | tuple[int, int],
    spatial_scale: float = 1.0,
) -> Tensor:
    """Return the largest values in the bins of regions of feature maps: (K, C, height, width).

    Coordinates are rounded to pixels. A bin without a pixel gives 0. Gradients go to ``input``.

    Args:
        input: feature maps (N, C, H, W).
        boxes: (K, 5), the number of the image and x1, y1, x2, y2; or a list with boxes (L, 4) for
            each image.
        output_size: height and width of a region's map, or one number for both.
        spatial_scale: by which coordinates of boxes become those of the feature maps.

    >>> x = weft.arange(16.0).reshape(1, 1, 4, 4)
    >>> weft.vision.ops.roi_pool(x, [weft.tensor([[0.0, 0.0, 3.0, 3.0]])], 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    import numpy as np

    regions = _regions("roi_pool", input, boxes)
    height, width = _pair(output_size)
    _, channels, rows, columns = input.shape
    corners = regions[:, 1:] * spatial_scale
    corners = np.trunc(corners + np.copysign(0.5, corners)).astype(int)  # halves away from zero
    values = input.detach().double().numpy()
    shape = (len(regions), channels, height, width)
    best, empty = np.zeros(shape, np.int64), np.ones(shape, bool)
    for k, (number, (x1, y1, x2, y2)) in enumerate(zip(regions[:, 0].astype(int), corners)):
        down = _bins(y1, y2, height, rows)
        across = _bins(x1, x2, width, columns)
        for i, (top, bottom) in enumerate(down):
            for j, (left, right) in enumerate(across):
                if bottom <= top or right <= left:
                    continue
                window = values[number, :, top:bottom, left:right].reshape(channels, -1)
                at = window.argmax(1)
                y, x = at // (right - left) + top, at % (right - left) + left
                best[k, :, i, j] = ((number * channels + np.arange(channels)) * rows + y) * columns
                best[k, :, i, j] += x
                empty[k, :, i, j] = False
    if input.numel() == 0:
        return input.new_zeros(shape)
    pooled = input.reshape(-1)[weft.from_numpy(best)]
    return pooled.masked_fill(weft.from_numpy(empty), 0)


def _bins(first: int, last: int, count: int, size: int) -> list[tuple[int, int]]:
    """Return where the bins of a region begin and end along an axis of pixels."""
    length = max(last - first + 1, 1)
    begins = [first + i * length // count for i in range(count)]
    ends = [first - (-(i + 1) * length // count) for i in range(count)]
    return [(min(max(a, 0), size), min(max(b, 0), size)) for a, b in zip(begins, ends)]


class RoIAlign(Module):
    """``roi_align`` with its settings.

    Args:
        output_size: height and width of a region's map, or one number for both.
        spatial_scale: by which coordinates of boxes become those of the feature maps.
        sampling_ratio: places in a bin along each axis; not positive: one for each pixel.
        aligned: whether the centre of the first pixel is at 0.5.

    >>> align = weft.vision.ops.RoIAlign(2, spatial_scale=0.5, sampling_ratio=2)
    >>> align(weft.ones(1, 3, 8, 8), [weft.tensor([[0.0, 0.0, 8.0, 8.0]])]).shape
    torch.Size([1, 3, 2, 2])
    """

    def __init__(
        self,
        output_size: int | tuple[int, int],
        spatial_scale: float,
        sampling_ratio: int,
        aligned: bool = False,
    ) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio, self.aligned = sampling_ratio, aligned

    def forward(self, input: Tensor, rois: Tensor | Sequence[Tensor]) -> Tensor:
        settings = (self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)
        return roi_align(input, rois, *settings)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, aligned={self.aligned}"
        )


class RoIPool(Module):
    """``roi_pool`` with its settings.

    Args:
        output_size: height and width of a region's map, or one number for both.
        spatial_scale: by which coordinates of boxes become those of the feature maps.

    >>> pool = weft.vision.ops.RoIPool(2, spatial_scale=0.5)
    >>> pool(weft.ones(1, 3, 8, 8), [weft.tensor([[0.0, 0.0, 8.0, 8.0]])]).shape
    torch.Size([1, 3, 2, 2])
    """

    def __init__(self, output_size: int | tuple[int, int], spatial_scale: float) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale

    def forward(self, input: Tensor, rois: Tensor | Sequence[Tensor]) -> Tensor:
        return roi_pool(input, rois, self.output_size, self.spatial_scale)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, spatial_scale={self.spatial_scale}"
