"""U-Net: every pixel gets a class, from what is around it and from what is near."""

from __future__ import annotations

from itertools import pairwise

import weft
from weft import nn
from weft.nn import functional as F
from weft.vision.models.registry import model
from weft.vision.ops.misc import Conv2dNormActivation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["UNet", "unet"]


def _double(in_channels: int, out_channels: int) -> nn.Sequential:
    return nn.Sequential(
        Conv2dNormActivation(in_channels, out_channels),
        Conv2dNormActivation(out_channels, out_channels),
    )


class UNet(nn.Module):
    """Down to a small map and up again, with bridges between equal sizes (Ronneberger, 2015).

    Convolutions are padded and normalised, so that the result is as large as the image, which
    may have any size of at least 2 ** depth.

    Args:
        in_channels: channels of images.
        out_channels: channels of the result: the number of classes.
        width: channels of the first stage; each deeper one has twice as many.
        depth: how many times the image is halved.

    >>> weft.vision.models.UNet(1, 2, width=4, depth=2)(weft.ones(1, 1, 20, 31)).shape
    torch.Size([1, 2, 20, 31])
    """

    def __init__(
        self, in_channels: int = 3, out_channels: int = 1, width: int = 64, depth: int = 4
    ) -> None:
        super().__init__()
        if depth < 1 or width < 1:
            raise ValueError(f"UNet: width and depth must be positive, got {width} and {depth}")
        widths = [width << i for i in range(depth + 1)]
        self.first = _double(in_channels, width)
        self.down = nn.ModuleList([_double(a, b) for a, b in pairwise(widths)])
        pairs = list(pairwise(widths))[::-1]
        self.up = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, 2) for a, b in pairs])
        self.join = nn.ModuleList([_double(2 * a, a) for a, _ in pairs])
        self.last = nn.Conv2d(width, out_channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        bridges = []
        for down in self.down:
            bridges.append(x)
            x = down(F.max_pool2d(x, 2))
        for up, join in zip(self.up, self.join):
            bridge, x = bridges.pop(), up(x)
            missing = [a - b for a, b in zip(bridge.shape[2:], x.shape[2:])]
            if any(missing):  # the size was odd
                x = F.pad(x, [0, missing[1], 0, missing[0]])
            x = join(weft.cat([bridge, x], 1))
        return self.last(x)


@model
def unet(**kwargs: Any) -> UNet:
    """Make a U-Net.

    Args:
        kwargs: arguments of ``UNet``.

    >>> weft.vision.models.unet(width=4, depth=1)(weft.ones(1, 3, 8, 8)).shape
    torch.Size([1, 1, 8, 8])
    """
    return UNet(**kwargs)
