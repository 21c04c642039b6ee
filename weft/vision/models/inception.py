"""Inception v3: large kernels factored into rows and columns."""

from __future__ import annotations

from collections import namedtuple

import weft
from weft import nn
from weft.nn import functional as F
from weft.vision.models.googlenet import BasicConv2d, draw_truncated, from_imagenet_range
from weft.vision.models.registry import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weft import Tensor

    Conv = Callable[..., nn.Module]

__all__ = ["Inception3", "InceptionOutputs", "inception_v3"]

InceptionOutputs = namedtuple("InceptionOutputs", ["logits", "aux_logits"])

ROW: dict[str, tuple[int, int]] = {"kernel_size": (1, 7), "padding": (0, 3)}
COLUMN: dict[str, tuple[int, int]] = {"kernel_size": (7, 1), "padding": (3, 0)}


def _chain(block: nn.Module, x: Tensor, name: str, count: int) -> Tensor:
    """Return what the layers name1, name2, … make of x."""
    for i in range(1, count + 1):
        x = getattr(block, f"{name}{i}")(x)
    return x


def _mean(x: Tensor) -> Tensor:
    return F.avg_pool2d(x, 3, 1, 1)


class InceptionA(nn.Module):
    """Branches of 1 x 1, 5 x 5 and two 3 x 3 windows.

    Args:
        in_channels: channels of the input.
        pool_features: channels of the branch with pooling.
        conv_block: makes convolutions; None: ``BasicConv2d``.

    >>> from weft.vision.models.inception import InceptionA
    >>> InceptionA(8, 32)(weft.ones(1, 8, 5, 5)).shape
    torch.Size([1, 256, 5, 5])
    """

    def __init__(
        self, in_channels: int, pool_features: int, conv_block: Conv | None = None
    ) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch1x1 = conv(in_channels, 64, kernel_size=1)
        self.branch5x5_1 = conv(in_channels, 48, kernel_size=1)
        self.branch5x5_2 = conv(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, padding=1)
        self.branch_pool = conv(in_channels, pool_features, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        branches = [
            self.branch1x1(x),
            _chain(self, x, "branch5x5_", 2),
            _chain(self, x, "branch3x3dbl_", 3),
            self.branch_pool(_mean(x)),
        ]
        return weft.cat(branches, 1)


class InceptionB(nn.Module):
    """Half the width and height: 3 x 3 windows, two of them, and pooling.

    Args:
        in_channels: channels of the input.
        conv_block: makes convolutions; None: ``BasicConv2d``.

    >>> from weft.vision.models.inception import InceptionB
    >>> InceptionB(8)(weft.ones(1, 8, 5, 5)).shape
    torch.Size([1, 488, 2, 2])
    """

    def __init__(self, in_channels: int, conv_block: Conv | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch3x3 = conv(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        double = _chain(self, x, "branch3x3dbl_", 3)
        return weft.cat([self.branch3x3(x), double, F.max_pool2d(x, 3, 2)], 1)


class InceptionC(nn.Module):
    """7 x 7 windows, taken apart into rows and columns.

    Args:
        in_channels: channels of the input.
        channels_7x7: the width within branches.
        conv_block: makes convolutions; None: ``BasicConv2d``.

    >>> from weft.vision.models.inception import InceptionC
    >>> InceptionC(8, 4)(weft.ones(1, 8, 5, 5)).shape
    torch.Size([1, 768, 5, 5])
    """

    def __init__(self, in_channels: int, channels_7x7: int, conv_block: Conv | None = None) -> None:
        super().__init__()
        conv, wide = conv_block or BasicConv2d, channels_7x7
        self.branch1x1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7_1 = conv(in_channels, wide, kernel_size=1)
        self.branch7x7_2 = conv(wide, wide, **ROW)
        self.branch7x7_3 = conv(wide, 192, **COLUMN)
        self.branch7x7dbl_1 = conv(in_channels, wide, kernel_size=1)
        self.branch7x7dbl_2 = conv(wide, wide, **COLUMN)
        self.branch7x7dbl_3 = conv(wide, wide, **ROW)
        self.branch7x7dbl_4 = conv(wide, wide, **COLUMN)
        self.branch7x7dbl_5 = conv(wide, 192, **ROW)
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        branches = [
            self.branch1x1(x),
            _chain(self, x, "branch7x7_", 3),
            _chain(self, x, "branch7x7dbl_", 5),
            self.branch_pool(_mean(x)),
        ]
        return weft.cat(branches, 1)


class InceptionD(nn.Module):
    """Half the width and height: 3 x 3, 7 x 7 before 3 x 3, and pooling.

    Args:
        in_channels: channels of the input.
        conv_block: makes convolutions; None: ``BasicConv2d``.

    >>> from weft.vision.models.inception import InceptionD
    >>> InceptionD(8)(weft.ones(1, 8, 5, 5)).shape
    torch.Size([1, 520, 2, 2])
    """

    def __init__(self, in_channels: int, conv_block: Conv | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch3x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch3x3_2 = conv(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7x3_2 = conv(192, 192, **ROW)
        self.branch7x7x3_3 = conv(192, 192, **COLUMN)
        self.branch7x7x3_4 = conv(192, 192, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        small, large = _chain(self, x, "branch3x3_", 2), _chain(self, x, "branch7x7x3_", 4)
        return weft.cat([small, large, F.max_pool2d(x, 3, 2)], 1)


class InceptionE(nn.Module):
    """3 x 3 windows as rows and columns side by side.

    Args:
        in_channels: channels of the input.
        conv_block: makes convolutions; None: ``BasicConv2d``.

    >>> from weft.vision.models.inception import InceptionE
    >>> InceptionE(8)(weft.ones(1, 8, 2, 2)).shape
    torch.Size([1, 2048, 2, 2])
    """

    def __init__(self, in_channels: int, conv_block: Conv | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        row: Any = {"kernel_size": (1, 3), "padding": (0, 1)}
        column: Any = {"kernel_size": (3, 1), "padding": (1, 0)}
        self.branch1x1 = conv(in_channels, 320, kernel_size=1)
        self.branch3x3_1 = conv(in_channels, 384, kernel_size=1)
        self.branch3x3_2a = conv(384, 384, **row)
        self.branch3x3_2b = conv(384, 384, **column)
        self.branch3x3dbl_1 = conv(in_channels, 448, kernel_size=1)
        self.branch3x3dbl_2 = conv(448, 384, kernel_size=3, padding=1)
        self.branch3x3dbl_3a = conv(384, 384, **row)
        self.branch3x3dbl_3b = conv(384, 384, **column)
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        one, two = self.branch3x3_1(x), _chain(self, x, "branch3x3dbl_", 2)
        branches = [
            self.branch1x1(x),
            self.branch3x3_2a(one), self.branch3x3_2b(one),
            self.branch3x3dbl_3a(two), self.branch3x3dbl_3b(two),
            self.branch_pool(_mean(x)),
        ]  # fmt: skip
        return weft.cat(branches, 1)


class InceptionAux(nn.Module):
    """A classifier on the way, which brings gradients to early layers.

    Args:
        in_channels: channels of the input.
        num_classes: the number of classes.
        conv_block: makes convolutions; None: ``BasicConv2d``.

    >>> from weft.vision.models.inception import InceptionAux
    >>> InceptionAux(8, 3)(weft.ones(2, 8, 17, 17)).shape
    torch.Size([2, 3])
    """

    def __init__(self, in_channels: int, num_classes: int, conv_block: Conv | None = None) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.conv0 = conv(in_channels, 128, kernel_size=1)
        self.conv1 = conv(128, 768, kernel_size=5)
        self.fc = nn.Linear(768, num_classes)
        if isinstance(self.conv1, BasicConv2d):
            self.conv1.conv.stddev = 0.01
        self.fc.stddev = 0.001

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(F.avg_pool2d(x, 5, 3)))
        return self.fc(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


class Inception3(nn.Module):
    """Inception v3 (Szegedy and others, 2015), for 299 x 299 pixels; at least 75 x 75.

    In training with ``aux_logits`` it returns ``InceptionOutputs(logits, aux_logits)``, else the
    logits.

    Args:
        num_classes: the number of classes.
        aux_logits: whether there is a classifier on the way; training then needs 299 x 299.
        transform_input: whether images normalised by ImageNet's statistics are brought to -1 … 1.
        inception_blocks: classes in place of ``BasicConv2d``, ``InceptionA`` to ``InceptionE`` and
            ``InceptionAux``.
        init_weights: whether weights are drawn from truncated normal distributions; None: yes.
        dropout: the probability of dropout before the last layer.

    >>> with weft.nn.utils.no_init():
    ...     net = weft.vision.models.Inception3(num_classes=3, aux_logits=False)
    >>> net.fc
    Linear(in_features=2048, out_features=3, bias=True)
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        inception_blocks: Sequence[Callable[..., nn.Module]] | None = None,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        blocks = inception_blocks or (
            BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux,
        )  # fmt: skip
        if len(blocks) != 7:
            raise ValueError(f"inception_blocks must have 7 members, got {len(blocks)}")
        conv, a, b, c, d, e, aux = blocks
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(3, 2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(3, 2)
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        self.Mixed_6b = c(768, channels_7x7=128)
        self.Mixed_6c = c(768, channels_7x7=160)
        self.Mixed_6d = c(768, channels_7x7=160)
        self.Mixed_6e = c(768, channels_7x7=192)
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights is not False:
            draw_truncated(self, 0.1)

    def forward(self, x: Tensor) -> Any:
        if self.transform_input:
            x = from_imagenet_range(x)
        x = self.maxpool1(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x)))
        x = self.Mixed_6b(self.Mixed_6a(x))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(x)))
        aux = self.AuxLogits(x) if self.training and self.AuxLogits is not None else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        logits = self.fc(self.dropout(self.avgpool(x)).flatten(1))
        return logits if aux is None else InceptionOutputs(logits, aux)


@model
def inception_v3(**kwargs: Any) -> Inception3:
    """Make an Inception v3.

    Args:
        kwargs: arguments of ``Inception3``.

    >>> with weft.nn.utils.no_init():
    ...     net = weft.vision.models.inception_v3(num_classes=3)
    >>> net.AuxLogits.fc.out_features
    3
    """
    return Inception3(**kwargs)
