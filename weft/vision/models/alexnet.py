"""AlexNet."""

from __future__ import annotations

from weft import nn
from weft.vision.models.registry import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["AlexNet", "alexnet"]


class AlexNet(nn.Module):
    """Five convolutions and three linear layers (Krizhevsky, 2014), for 224 x 224 pixels.

    Args:
        num_classes: the number of classes.
        dropout: the probability of dropout before linear layers.

    >>> with weft.nn.utils.no_init():
    ...     net = weft.vision.models.AlexNet(num_classes=10)
    >>> net.classifier[6].out_features
    10
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        convolutions = (
            (64, 11, 4, 2),
            (192, 5, 1, 2),
            (384, 3, 1, 1),
            (256, 3, 1, 1),
            (256, 3, 1, 1),
        )
        channels = 3
        for i, (width, kernel, stride, padding) in enumerate(convolutions):
            layers += [nn.Conv2d(channels, width, kernel, stride, padding), nn.ReLU(inplace=True)]
            if i in (0, 1, 4):
                layers.append(nn.MaxPool2d(3, 2))
            channels = width
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(channels * 36, 4096), nn.ReLU(inplace=True),
            nn.Dropout(dropout), nn.Linear(4096, 4096), nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


@model
def alexnet(**kwargs: Any) -> AlexNet:
    """Make an AlexNet.

    Args:
        kwargs: arguments of ``AlexNet``.

    >>> with weft.nn.utils.no_init():
    ...     net = weft.vision.models.alexnet(num_classes=10)
    >>> net.features[0].kernel_size
    (11, 11)
    """
    return AlexNet(**kwargs)
