"""VGG: many small convolutions."""

from __future__ import annotations

from weft import nn
from weft.nn import init
from weft.vision.models.registry import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = [
    "VGG", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
]  # fmt: skip

# Convolutions in each of five stages, which are 64, 128, 256, 512 and 512 channels wide.
_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_WIDTHS = (64, 128, 256, 512, 512)


class VGG(nn.Module):
    """Stages of 3 x 3 convolutions, each closed by pooling (Simonyan and Zisserman, 2014).

    Args:
        features: the convolutions; their result has 512 channels.
        num_classes: the number of classes.
        init_weights: whether weights are drawn as in the paper of He and others.
        dropout: the probability of dropout before linear layers.

    >>> with weft.nn.utils.no_init():
    ...     net = weft.vision.models.VGG(weft.nn.Conv2d(3, 512, 3), num_classes=2)
    >>> net.classifier[6]
    Linear(in_features=4096, out_features=2, bias=True)
    """

    def __init__(
        self,
        features: nn.Module,
        num_classes: int = 1000,
        init_weights: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096), nn.ReLU(True), nn.Dropout(dropout),
            nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(dropout),
            nn.Linear(4096, num_classes),
        )  # fmt: skip
        if init_weights:
            self._draw()

    def _draw(self) -> None:
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(layer, nn.Linear):
                init.normal_(layer.weight, 0, 0.01)
            if isinstance(layer, (nn.Conv2d, nn.Linear)) and layer.bias is not None:
                init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _features(depth: int, batch_norm: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    channels = 3
    for count, width in zip(_STAGES[depth], _WIDTHS):
        for _ in range(count):
            layers.append(nn.Conv2d(channels, width, 3, padding=1))
            layers += [nn.BatchNorm2d(width)] if batch_norm else []
            layers.append(nn.ReLU(inplace=True))
            channels = width
        layers.append(nn.MaxPool2d(2, 2))
    return nn.Sequential(*layers)


@model
def vgg11(**kwargs: Any) -> VGG:
    """Make a VGG of 11 layers."""
    return VGG(_features(11, False), **kwargs)


@model
def vgg11_bn(**kwargs: Any) -> VGG:
    """Make a VGG of 11 layers with batch normalisation."""
    return VGG(_features(11, True), **kwargs)


@model
def vgg13(**kwargs: Any) -> VGG:
    """Make a VGG of 13 layers."""
    return VGG(_features(13, False), **kwargs)


@model
def vgg13_bn(**kwargs: Any) -> VGG:
    """Make a VGG of 13 layers with batch normalisation."""
    return VGG(_features(13, True), **kwargs)


@model
def vgg16(**kwargs: Any) -> VGG:
    """Make a VGG of 16 layers."""
    return VGG(_features(16, False), **kwargs)


@model
def vgg16_bn(**kwargs: Any) -> VGG:
    """Make a VGG of 16 layers with batch normalisation."""
    return VGG(_features(16, True), **kwargs)


@model
def vgg19(**kwargs: Any) -> VGG:
    """Make a VGG of 19 layers."""
    return VGG(_features(19, False), **kwargs)


@model
def vgg19_bn(**kwargs: Any) -> VGG:
    """Make a VGG of 19 layers with batch normalisation."""
    return VGG(_features(19, True), **kwargs)
