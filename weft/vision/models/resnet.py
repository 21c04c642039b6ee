"""Residual networks: layers that learn what to add to their input."""

from __future__ import annotations

from weft import nn
from weft.nn import init
from weft.vision.models.registry import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weft import Tensor

    Norm = Callable[[int], nn.Module]

__all__ = [
    "ResNet", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d",
    "resnext101_32x8d", "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2",
]  # fmt: skip


def conv3x3(
    in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1
) -> nn.Conv2d:
    """Make a 3 x 3 convolution without bias that keeps the size at stride 1.

    >>> from weft.vision.models.resnet import conv3x3
    >>> conv3x3(2, 4).weight.shape
    torch.Size([4, 2, 3, 3])
    """
    return nn.Conv2d(in_planes, out_planes, 3, stride, dilation, dilation, groups, bias=False)


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """Make a 1 x 1 convolution without bias.

    >>> from weft.vision.models.resnet import conv1x1
    >>> conv1x1(2, 4).weight.shape
    torch.Size([4, 2, 1, 1])
    """
    return nn.Conv2d(in_planes, out_planes, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions, added to the input.

    Args:
        inplanes: channels of the input.
        planes: channels of the output.
        stride: of the first convolution.
        downsample: brings the input to the shape of the output; None leaves it as it is.
        groups: must be 1.
        base_width: must be 64.
        dilation: must be 1.
        norm_layer: makes normalisations; None: ``BatchNorm2d``.

    >>> from weft.vision.models.resnet import BasicBlock
    >>> BasicBlock(4, 4)(weft.ones(2, 4, 8, 8)).shape
    torch.Size([2, 4, 8, 8])
    """

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError(
                "BasicBlock only supports groups=1 and base_width=64, "
                f"got groups={groups} and base_width={base_width}"
            )
        if dilation > 1:
            raise NotImplementedError(f"BasicBlock only supports dilation=1, got {dilation}")
        norm = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class Bottleneck(nn.Module):
    """A 3 x 3 convolution between two of 1 x 1, added to the input. The 3 x 3 one has the stride.

    Args:
        inplanes: channels of the input.
        planes: a quarter of the channels of the output.
        stride: of the middle convolution.
        downsample: brings the input to the shape of the output; None leaves it as it is.
        groups: of the middle convolution.
        base_width: the width of a group at 64 planes.
        dilation: of the middle convolution.
        norm_layer: makes normalisations; None: ``BatchNorm2d``.

    >>> from weft.vision.models.resnet import Bottleneck
    >>> Bottleneck(8, 2)(weft.ones(2, 8, 8, 8)).shape
    torch.Size([2, 8, 8, 8])
    """

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet(nn.Module):
    """A residual network (He and others, 2015): four stages of blocks.

    Args:
        block: the class of blocks, ``BasicBlock`` or ``Bottleneck`` of this file.
        layers: how many blocks each stage has.
        num_classes: the number of classes.
        zero_init_residual: whether blocks begin by adding nothing.
        groups: of the middle convolution of a Bottleneck.
        width_per_group: the width of a group in the first stage.
        replace_stride_with_dilation: for the last three stages, whether they keep the size of the
            image and dilate convolutions instead.
        norm_layer: makes normalisations; None: ``BatchNorm2d``.

    >>> from weft.vision.models.resnet import BasicBlock, ResNet
    >>> ResNet(BasicBlock, [1, 1, 1, 1], num_classes=7)(weft.ones(2, 3, 32, 32)).shape
    torch.Size([2, 7])
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        dilate = replace_stride_with_dilation or (False, False, False)
        if len(dilate) != 3:
            raise ValueError(
                "replace_stride_with_dilation should be None or a 3-element tuple, "
                f"got {replace_stride_with_dilation}"
            )
        self._norm_layer: Norm = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = 64, 1
        self.groups, self.base_width = groups, width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, 7, 2, 3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._draw(zero_init_residual)

    def _draw(self, zero_init_residual: bool) -> None:
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                init.ones_(m.weight)
                init.zeros_(m.bias)
        for m in self.modules() if zero_init_residual else ():
            if isinstance(m, (BasicBlock, Bottleneck)):
                last = m.bn3 if isinstance(m, Bottleneck) else m.bn2
                if last.weight is not None:
                    init.zeros_(last.weight)

    def _make_layer(
        self,
        block: type[BasicBlock | Bottleneck],
        planes: int,
        blocks: int,
        stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        before, width = self.dilation, planes * block.expansion
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        downsample = None
        if stride != 1 or self.inplanes != width:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, width, stride), self._norm_layer(width)
            )
        group = (self.groups, self.base_width)
        norm = self._norm_layer
        made = [block(self.inplanes, planes, stride, downsample, *group, before, norm)]
        self.inplanes = width
        made += [
            block(width, planes, 1, None, *group, self.dilation, norm) for _ in range(1, blocks)
        ]
        return nn.Sequential(*made)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


@model
def resnet18(**kwargs: Any) -> ResNet:
    """Make a residual network of 18 layers."""
    return ResNet(BasicBlock, [2, 2, 2, 2], **kwargs)


@model
def resnet34(**kwargs: Any) -> ResNet:
    """Make a residual network of 34 layers."""
    return ResNet(BasicBlock, [3, 4, 6, 3], **kwargs)


@model
def resnet50(**kwargs: Any) -> ResNet:
    """Make a residual network of 50 layers."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **kwargs)


@model
def resnet101(**kwargs: Any) -> ResNet:
    """Make a residual network of 101 layers."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **kwargs)


@model
def resnet152(**kwargs: Any) -> ResNet:
    """Make a residual network of 152 layers."""
    return ResNet(Bottleneck, [3, 8, 36, 3], **kwargs)


@model
def resnext50_32x4d(**kwargs: Any) -> ResNet:
    """Make a residual network of 50 layers in 32 groups of width 4."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **{"groups": 32, "width_per_group": 4, **kwargs})


@model
def resnext101_32x8d(**kwargs: Any) -> ResNet:
    """Make a residual network of 101 layers in 32 groups of width 8."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 32, "width_per_group": 8, **kwargs})


@model
def resnext101_64x4d(**kwargs: Any) -> ResNet:
    """Make a residual network of 101 layers in 64 groups of width 4."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 64, "width_per_group": 4, **kwargs})


@model
def wide_resnet50_2(**kwargs: Any) -> ResNet:
    """Make a residual network of 50 layers, twice as wide inside blocks."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **{"width_per_group": 128, **kwargs})


@model
def wide_resnet101_2(**kwargs: Any) -> ResNet:
    """Make a residual network of 101 layers, twice as wide inside blocks."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"width_per_group": 128, **kwargs})
