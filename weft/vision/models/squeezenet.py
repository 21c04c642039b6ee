"""SqueezeNet: AlexNet's accuracy with a fiftieth of its parameters."""

from __future__ import annotations

import weft
from weft import nn
from weft.nn import init
from weft.vision.models.registry import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]

# The first convolution (channels, kernel), then widths of Fire modules; None is a pooling.
_VERSIONS: dict[str, tuple[tuple[int, int], tuple[int | None, ...]]] = {
    "1_0": ((96, 7), (None, 16, 16, 32, None, 32, 48, 48, 64, None, 64)),
    "1_1": ((64, 3), (None, 16, 16, None, 32, 32, None, 48, 48, 64, 64)),
}


class Fire(nn.Module):
    """A narrow 1 x 1 convolution, and wide ones of 1 x 1 and 3 x 3 side by side.

    Args:
        inplanes: channels of the input.
        squeeze_planes: channels of the narrow convolution.
        expand1x1_planes: channels of the wide 1 x 1 convolution.
        expand3x3_planes: channels of the wide 3 x 3 convolution.

    >>> from weft.vision.models.squeezenet import Fire
    >>> Fire(8, 2, 4, 4)(weft.ones(1, 8, 5, 5)).shape
    torch.Size([1, 8, 5, 5])
    """

    def __init__(
        self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int
    ) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, 1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, 1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, 3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        small = self.expand1x1_activation(self.expand1x1(x))
        return weft.cat([small, self.expand3x3_activation(self.expand3x3(x))], 1)


class SqueezeNet(nn.Module):
    """Fire modules (Iandola and others, 2016).

    Args:
        version: '1_0' or '1_1', which needs less than half of the time.
        num_classes: the number of classes.
        dropout: the probability of dropout before the last convolution.

    >>> weft.vision.models.SqueezeNet("1_1", num_classes=3)(weft.ones(1, 3, 32, 32)).shape
    torch.Size([1, 3])
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        if version not in _VERSIONS:
            raise ValueError(
                f"Unsupported SqueezeNet version {version}: {' or '.join(_VERSIONS)} expected"
            )
        (channels, kernel), plan = _VERSIONS[version]
        self.num_classes = num_classes
        layers: list[nn.Module] = [nn.Conv2d(3, channels, kernel, 2), nn.ReLU(inplace=True)]
        for squeeze in plan:
            if squeeze is None:
                layers.append(nn.MaxPool2d(3, 2, ceil_mode=True))
            else:
                layers.append(Fire(channels, squeeze, 4 * squeeze, 4 * squeeze))
                channels = 8 * squeeze
        self.features = nn.Sequential(*layers)
        final = nn.Conv2d(channels, num_classes, 1)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), final, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                if m is final:
                    init.normal_(m.weight, 0.0, 0.01)
                else:
                    init.kaiming_uniform_(m.weight)
                if m.bias is not None:
                    init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x)).flatten(1)


@model
def squeezenet1_0(**kwargs: Any) -> SqueezeNet:
    """Make a SqueezeNet 1.0."""
    return SqueezeNet("1_0", **kwargs)


@model
def squeezenet1_1(**kwargs: Any) -> SqueezeNet:
    """Make a SqueezeNet 1.1."""
    return SqueezeNet("1_1", **kwargs)
