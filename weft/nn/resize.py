"""Layers that resize images, or move elements between space and channels."""

from __future__ import annotations

from weft.nn import functional as F
from weft.nn.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = [
    "ChannelShuffle",
    "PixelShuffle",
    "PixelUnshuffle",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class Upsample(Module):
    """Resizes sequences, images or volumes.

    Args:
        size: the sizes of the result, or …
        scale_factor: … how many times larger it is.
        mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear".
        align_corners: whether the corners stay where they are.
        recompute_scale_factor: whether to compute the factor anew from the sizes.

    >>> weft.nn.Upsample(scale_factor=2)(weft.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size, self.mode = size, mode
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(f) for f in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resizes images by the nearest elements; an old name of ``Upsample``.

    >>> weft.nn.UpsamplingNearest2d(scale_factor=2)(weft.randn(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resizes images, their corners in place; an old name of ``Upsample``.

    >>> weft.nn.UpsamplingBilinear2d(scale_factor=2)(weft.randn(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """Makes images larger with elements of their channels.

    Args:
        upscale_factor: how many times larger.

    >>> weft.nn.PixelShuffle(3)(weft.randn(1, 9, 4, 4)).shape
    torch.Size([1, 1, 12, 12])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Makes images smaller by moving elements to channels.

    Args:
        downscale_factor: how many times smaller.

    >>> weft.nn.PixelUnshuffle(3)(weft.randn(1, 1, 12, 12)).shape
    torch.Size([1, 9, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Deals the channels of groups out in turn.

    Args:
        groups: the number of groups.

    >>> weft.nn.ChannelShuffle(2)(weft.arange(4.0).reshape(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
