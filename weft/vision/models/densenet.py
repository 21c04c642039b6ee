"""DenseNet: every layer sees what all layers before it found."""

from __future__ import annotations

from collections import OrderedDict

import weft
from weft import nn
from weft.nn import functional as F
from weft.nn import init
from weft.vision.models.registry import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]


class _DenseLayer(nn.Module):
    """Norm, ReLU and convolution, twice: ``growth_rate`` new channels from all those so far."""

    def __init__(self, channels: int, growth_rate: int, bn_size: int, drop_rate: float) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(channels, bn_size * growth_rate, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn_size * growth_rate)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn_size * growth_rate, growth_rate, 3, padding=1, bias=False)
        self.drop_rate = float(drop_rate)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.relu1(self.norm1(x)))
        x = self.conv2(self.relu2(self.norm2(x)))
        return F.dropout(x, self.drop_rate, self.training) if self.drop_rate > 0 else x


class _DenseBlock(nn.ModuleDict):
    """Layers whose results are joined to one another."""

    def __init__(
        self, count: int, channels: int, growth_rate: int, bn_size: int, drop_rate: float
    ) -> None:
        super().__init__()
        for i in range(count):
            layer = _DenseLayer(channels + i * growth_rate, growth_rate, bn_size, drop_rate)
            self.add_module(f"denselayer{i + 1}", layer)

    def forward(self, x: Tensor) -> Tensor:
        found = [x]
        for layer in self.values():
            found.append(layer(weft.cat(found, 1)))
        return weft.cat(found, 1)


class _Transition(nn.Sequential):
    """Half as many channels, half the width and height."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(channels, channels // 2, 1, bias=False)
        self.pool = nn.AvgPool2d(2, 2)


class DenseNet(nn.Module):
    """Blocks of layers that are all joined (Huang and others, 2016).

    Args:
        growth_rate: how many channels a layer adds.
        block_config: how many layers each block has.
        num_init_features: channels of the first convolution.
        bn_size: how many times the growth rate a layer is wide inside.
        drop_rate: the probability of dropout after each layer.
        num_classes: the number of classes.
        memory_efficient: must be False.

    >>> net = weft.vision.models.DenseNet(4, (1, 2), num_init_features=8, num_classes=3)
    >>> net(weft.ones(2, 3, 32, 32)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: Sequence[int] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        if memory_efficient:
            raise NotImplementedError("DenseNet: memory_efficient=True is not supported")
        layers: OrderedDict[str, nn.Module] = OrderedDict(
            conv0=nn.Conv2d(3, num_init_features, 7, 2, 3, bias=False),
            norm0=nn.BatchNorm2d(num_init_features),
            relu0=nn.ReLU(inplace=True),
            pool0=nn.MaxPool2d(3, 2, 1),
        )
        channels = num_init_features
        for i, count in enumerate(block_config, 1):
            if i > 1:
                layers[f"transition{i - 1}"] = _Transition(channels)
                channels //= 2
            layers[f"denseblock{i}"] = _DenseBlock(count, channels, growth_rate, bn_size, drop_rate)
            channels += count * growth_rate
        layers["norm5"] = nn.BatchNorm2d(channels)
        self.features = nn.Sequential(layers)
        self.classifier = nn.Linear(channels, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                init.kaiming_normal_(m.weight)
            elif isinstance(m, nn.BatchNorm2d):
                init.ones_(m.weight)
                init.zeros_(m.bias)
        init.zeros_(self.classifier.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.features(x), inplace=True)
        return self.classifier(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


@model
def densenet121(**kwargs: Any) -> DenseNet:
    """Make a DenseNet of 121 layers."""
    return DenseNet(32, (6, 12, 24, 16), 64, **kwargs)


@model
def densenet161(**kwargs: Any) -> DenseNet:
    """Make a DenseNet of 161 layers."""
    return DenseNet(48, (6, 12, 36, 24), 96, **kwargs)


@model
def densenet169(**kwargs: Any) -> DenseNet:
    """Make a DenseNet of 169 layers."""
    return DenseNet(32, (6, 12, 32, 32), 64, **kwargs)


@model
def densenet201(**kwargs: Any) -> DenseNet:
    """Make a DenseNet of 201 layers."""
    return DenseNet(32, (6, 12, 48, 32), 64, **kwargs)
