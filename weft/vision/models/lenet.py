"""LeNet-5: convolutions for digits of 28 x 28 pixels."""

from __future__ import annotations

from weft import nn
from weft.nn import functional as F
from weft.vision.models.registry import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["LeNet", "lenet"]


class LeNet(nn.Module):
    """Two convolutions with pooling, three linear layers (LeCun and others, 1998), with ReLU.

    Args:
        num_classes: the number of classes.
        in_channels: 1 for grey images, 3 for colour.

    >>> weft.vision.models.LeNet()(weft.ones(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(self, num_classes: int = 10, in_channels: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))


@model
def lenet(**kwargs: Any) -> LeNet:
    """Make a LeNet-5.

    Args:
        kwargs: arguments of ``LeNet``.

    >>> weft.vision.models.lenet(num_classes=3)(weft.ones(1, 1, 28, 28)).shape
    torch.Size([1, 3])
    """
    return LeNet(**kwargs)
